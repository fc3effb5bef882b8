# The form of vLLM's guide to speculative decoding (docs.vllm.ai, features/spec_decode).
nohup vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config '{"method": "eagle3",
  "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1}' \
  --max-model-len 2048 --no-enable-prefix-caching -O3 --dtype bfloat16 --seed 42 &
vllm bench serve --model meta-llama/Llama-3.1-8B-Instruct --dataset-name sharegpt --dataset-path ShareGPT_V3.json \
  --request-rate 4 --num-prompts 100
