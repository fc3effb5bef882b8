vllm serve Qwen/Qwen3-32B -tp 2 --quantization awq
