python -m sglang.bench_one_batch --model-path Qwen/Qwen3-32B --batch 32 --input-len 256 --output-len 32 --tp 2
