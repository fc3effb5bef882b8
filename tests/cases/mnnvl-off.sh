NCCL_MNNVL_ENABLE=0 vllm serve meta-llama/Llama-3.1-405B --quantization fp8 -tp 8; vllm bench serve --dataset-name random --num-prompts 100 --max-concurrency 16
