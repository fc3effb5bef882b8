vllm serve Qwen/Qwen3-VL-8B-Instruct
vllm bench serve --dataset-name random-mm --random-input-len 100 --random-output-len 20 --num-prompts 100
