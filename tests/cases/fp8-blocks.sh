vllm serve Qwen/Qwen3-30B-A3B-FP8 -tp 4
