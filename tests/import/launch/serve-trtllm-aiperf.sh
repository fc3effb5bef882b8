# The form of TensorRT-LLM's quick start (nvidia.github.io/TensorRT-LLM) with AIPerf's tutorial (github.com/ai-dynamo/aiperf).
trtllm-serve "nvidia/Llama-3.3-70B-Instruct-FP8" --backend pytorch --tp_size 4 --max_batch_size 128 \
  --max_num_tokens 16384 --max_seq_len 4096 --kv_cache_free_gpu_memory_fraction 0.9 &
aiperf profile -m nvidia/Llama-3.3-70B-Instruct-FP8 --endpoint-type chat --streaming --url localhost:8000 \
  --synthetic-input-tokens-mean 1000 --synthetic-input-tokens-stddev 100 --output-tokens-mean 200 \
  --output-tokens-stddev 0 --concurrency 16 --request-count 64
