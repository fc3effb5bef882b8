# The form of vLLM's page on LoRA (docs.vllm.ai, features/lora): adapters on a model with 4-bit weights, one GPU.
python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq_marlin \
  --enable-lora --lora-modules sql=/loras/sql chat=/loras/chat code=/loras/code --max-loras 2 --max-lora-rank 32 \
  --max-model-len 4096 --swap-space 8 --enable-chunked-prefill --max-num-batched-tokens 2048 --enforce-eager
genai-perf profile -m Qwen/Qwen2.5-7B-Instruct-AWQ --service-kind openai --synthetic-input-tokens-mean 300 \
  --output-tokens-mean 100 --request-rate 2 --request-count 40 --streaming
