# The form of vLLM's examples of disaggregated prefill (examples/online_serving/disaggregated_prefill.sh): two servers.
CUDA_VISIBLE_DEVICES=0 vllm serve meta-llama/Meta-Llama-3.1-8B-Instruct --port 8100 --max-model-len 8192 \
  --gpu-memory-utilization 0.8 --kv-transfer-config \
  '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer","kv_rank":0,"kv_parallel_size":2}' &
CUDA_VISIBLE_DEVICES=1,2 vllm serve meta-llama/Meta-Llama-3.1-8B-Instruct --port 8200 --max-model-len 8192 -tp 2 \
  --gpu-memory-utilization 0.8 --kv-transfer-config \
  '{"kv_connector":"P2pNcclConnector","kv_role":"kv_consumer","kv_rank":1,"kv_parallel_size":2}' &
python3 benchmarks/benchmark_serving.py --backend vllm --model meta-llama/Meta-Llama-3.1-8B-Instruct \
  --dataset-name sonnet --sonnet-input-len 550 --sonnet-output-len 150 --num-prompts 50 --request-rate 8
