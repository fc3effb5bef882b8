ray job submit --address="http://127.0.0.1:8265" -- python3 examples/train_ppo_ray.py \
  --actor_num_nodes 1 --actor_num_gpus_per_node 4 --critic_num_nodes 1 --critic_num_gpus_per_node 4 \
  --vllm_num_engines 2 --vllm_tensor_parallel_size 2 --pretrain meta-llama/Llama-3.1-8B-Instruct \
  --micro_train_batch_size 2 --train_batch_size 128 --rollout_batch_size 512 --prompt_max_len 1024 \
  --generate_max_len 2048 --zero_stage 3 --bf16 --gradient_checkpointing
