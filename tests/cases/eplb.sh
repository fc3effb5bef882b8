vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 1 --data-parallel-size 8 --enable-expert-parallel --enable-eplb \
  --eplb-config '{"num_redundant_experts": 32}'
