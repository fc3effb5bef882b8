NPROC_PER_NODE=8 megatron rlhf --rlhf_type dpo --model Qwen/Qwen3-8B --beta 0.1 --tensor_model_parallel_size 2 \
  --sequence_parallel true --micro_batch_size 1 --global_batch_size 16 --max_length 4096
