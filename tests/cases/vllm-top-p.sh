vllm serve meta-llama/Llama-3.1-8B; vllm bench serve --dataset-name random --random-input-len 1000 --random-output-len 200 --num-prompts 1024 --max-concurrency 256 --top-p 0.9 --temperature 0.8
