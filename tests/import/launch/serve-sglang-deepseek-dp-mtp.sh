# The form of SGLang's guide to DeepSeek (docs.sglang.ai, basic_usage/deepseek): attention in groups, its own drafts.
python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention --ep-size 8 \
  --moe-a2a-backend deepep --deepep-mode low_latency --speculative-algorithm EAGLE --speculative-num-steps 2 \
  --speculative-eagle-topk 1 --speculative-num-draft-tokens 3 --max-running-requests 256 --mem-fraction-static 0.85 \
  --schedule-policy fcfs --cuda-graph-bs 1 2 4 8 16 32 --quantization fp8 --trust-remote-code \
  --enable-two-batch-overlap
python3 -m sglang.bench_serving --backend sglang --dataset-name random --random-input 512 --random-output 256 \
  --random-range-ratio 0.5 --num-prompts 64 --max-concurrency 32
