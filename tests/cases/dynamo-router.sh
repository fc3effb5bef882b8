python -m dynamo.frontend --router-mode kv &
CUDA_VISIBLE_DEVICES=0 python3 -m dynamo.vllm --model Qwen/Qwen3-8B --is-decode-worker &
CUDA_VISIBLE_DEVICES=1 python3 -m dynamo.vllm --model Qwen/Qwen3-8B --is-decode-worker &
CUDA_VISIBLE_DEVICES=2 python3 -m dynamo.vllm --model Qwen/Qwen3-8B --is-prefill-worker &
CUDA_VISIBLE_DEVICES=3 python3 -m dynamo.vllm --model Qwen/Qwen3-8B --is-prefill-worker
