python3 -m verl.trainer.main_ppo --config-path=config  \
 algorithm.adv_estimator=grpo data.train_batch_size=512 data.max_prompt_length=1024 data.max_response_length=8192 \
 actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B actor_rollout_ref.actor.ppo_mini_batch_size=128 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
     \
    \
 actor_rollout_ref.rollout.tensor_model_parallel_size=4 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.gpu_memory_utilization=0.7 actor_rollout_ref.actor.use_kl_loss=True  \
 trainer.n_gpus_per_node=8 trainer.nnodes=4
