CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8000 &
CUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen3-8B --port 8001 &
vllm bench serve --model Qwen/Qwen3-8B --port 8001 --dataset-name random --random-input-len 2000 --random-output-len 200 --max-concurrency 16 --num-prompts 160
