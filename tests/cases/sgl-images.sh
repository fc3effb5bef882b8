python -m sglang.launch_server --model-path Qwen/Qwen3-8B
python -m sglang.bench_serving --backend sglang --dataset-name image --image-count 2 --image-resolution 1080p --random-input-len 100 --random-output-len 50 --num-prompts 20
