#!/bin/bash
# The form of ML.ENERGY's benchmark v3 (github.com/ml-energy/benchmark): vLLM 0.11 in its container on two H100, and a
# client that keeps 32 chats in flight. Lengths come from scenarios/benchmark-qwen3-32b-vllm-h100.yaml.
docker run --rm --gpus '"device=0,1"' --ipc=host -p 8000:8000 \
  -v ~/.cache/huggingface:/root/.cache/huggingface -e HF_TOKEN=none \
  vllm/vllm-openai:v0.11.1 \
  --model Qwen/Qwen3-32B --tensor-parallel-size 2 --max-num-seqs 32 --disable-log-requests &
vllm bench serve --backend openai-chat --model Qwen/Qwen3-32B --dataset-name random --random-input-len 161 \
  --random-output-len 642 --max-concurrency 32 --num-prompts 320 --percentile-metrics ttft,tpot,itl
