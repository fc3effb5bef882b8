cat > config.yml << EOF
cuda_graph_config:
  max_batch_size: $CONC
kv_cache_config:
  free_gpu_memory_fraction: 0.85
EOF
trtllm-serve openai/gpt-oss-120b --tp_size 4 --extra_llm_api_options config.yml > /tmp/server.log
