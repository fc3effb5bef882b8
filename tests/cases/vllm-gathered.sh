vllm serve Qwen/Qwen3-235B-A22B-FP8 --data-parallel-size 8 --enable-expert-parallel --all2all-backend allgather_reducescatter
