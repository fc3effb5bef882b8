python -m sglang.bench_offline_throughput --model-path Qwen/Qwen2.5-72B-Instruct --tp 4 --num-prompts 10 \
  --dataset-name random --random-input 1024 --random-output 128
