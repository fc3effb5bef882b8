vllm serve Qwen/Qwen3-32B \
> --tensor-parallel-size 2 \
> --max-model-len 16384
