vllm serve Qwen/Qwen3-32B-FP8 -tp 2 --quantization awq
