python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B algorithm.adv_estimator=grpo \
  algorithm.rollout_correction.bypass_mode=True actor_rollout_ref.actor.optim.optimizer=Muon \
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.top_p=0.9 actor_rollout_ref.rollout.top_k=-1
