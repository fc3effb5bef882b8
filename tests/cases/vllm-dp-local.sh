vllm serve meta-llama/Llama-3.1-70B -tp 2 --data-parallel-size 4 --data-parallel-size-local 2
