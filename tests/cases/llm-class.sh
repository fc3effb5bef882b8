vllm bench throughput --model meta-llama/Llama-3.1-8B --input-len 1024 --output-len 8 --num-prompts 200
