# source: ml-energy/leaderboard, chats with Qwen3-32B on two H100: 1,706 tokens/s; prompts of ShareGPT's mean length
# import: --cluster dgx-h100-superpod
# measured: output_tokens_per_s 1706
docker run --gpus all --ipc host vllm/vllm-openai:v0.11.1 --model Qwen/Qwen3-32B --tensor-parallel-size 2 \
  --max-num-seqs 32 --max-num-batched-tokens 8192 --max-model-len 20480 --async-scheduling
vllm bench serve --model Qwen/Qwen3-32B --dataset-name random --random-input-len 161 --random-output-len 642 \
  --max-concurrency 32 --num-prompts 320
