vllm serve Qwen/Qwen3-0.6B --enforce-eager --max-cudagraph-capture-size 32
