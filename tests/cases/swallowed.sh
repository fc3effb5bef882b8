NCCL_MNNVL_ENABLE=0 NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-30B-A3B --num_generations 8 \
  --micro_batch_size 1 --global_batch_size 64 --tensor_model_parallel_size 2 --expert_model_parallel_size 2 \
  --expert_tensor_parallel_size 2 --moe_enable_deepep true --max_completion_length 2048 --max_length 2048
