vllm serve meta-llama/Llama-3.1-8B-Instruct
vllm bench serve --dataset-name prefix_repetition --prefix-repetition-prefix-len 2048 --prefix-repetition-suffix-len 256 --prefix-repetition-num-prefixes 10 --prefix-repetition-output-len 128 --num-prompts 500 --request-rate inf
