python -m verl.trainer.main_ppo --config-path=./ --config-name='qwen_trainer' data.train_batch_size=512 \
  actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.n_gpus_per_node=8 trainer.nnodes=1
