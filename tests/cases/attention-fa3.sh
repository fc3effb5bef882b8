VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve meta-llama/Llama-3.1-8B-Instruct
vllm bench serve --dataset-name random --num-prompts 10 --random-input-len 64 --random-output-len 8
