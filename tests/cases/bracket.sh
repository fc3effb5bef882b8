vllm serve meta-llama/Llama-3.1-8B-Instruct
vllm bench serve --extra {(1,2)} --random-input-len 100 --random-output-len 200 --num-prompts 100
