vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 2 --max-model-len auto
