vllm serve Qwen/Qwen3-8B &
ollama serve &
k6 run x.js
