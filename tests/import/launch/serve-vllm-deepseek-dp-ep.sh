# The form of vLLM's guide to wide expert parallelism (docs.vllm.ai, serving/expert_parallel_deployment).
VLLM_ALL2ALL_BACKEND=deepep_low_latency VLLM_USE_DEEP_GEMM=1 NCCL_SOCKET_IFNAME=eth0 \
vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 1 --data-parallel-size 16 --data-parallel-size-local 8 \
  --data-parallel-address 10.0.0.1 --data-parallel-rpc-port 13345 --enable-expert-parallel --enable-dbo --max-model-len 8k \
  --all2all-backend deepep_low_latency --api-server-count=4 --gpu_memory_utilization 0.92 --max-num-seqs 128 \
  --quantization fp8 --kv-cache-dtype fp8
