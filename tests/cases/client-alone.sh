vllm bench serve --model meta-llama/Llama-3.3-70B-Instruct --dataset-name random --random-input-len 100 --random-output-len 50 --num-prompts 10
