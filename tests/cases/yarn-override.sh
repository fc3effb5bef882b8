vllm serve Qwen/Qwen3-32B -tp 4 --hf-overrides '{"rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}}'
vllm bench serve --model Qwen/Qwen3-32B --dataset-name random --random-input-len 100000 --random-output-len 500 --num-prompts 8 --max-concurrency 2
