vllm serve meta-llama/Llama-3.1-8B
vllm bench serve --model meta-llama/Llama-3.1-8B --request-rate 0 --num-prompts 100
