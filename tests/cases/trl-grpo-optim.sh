torchrun --nproc_per_node 8 trl/scripts/grpo.py --model_name_or_path Qwen/Qwen3-8B --num_generations 8 \
  --per_device_train_batch_size 4 --optim adamw_8bit --use_liger_kernel true --max_completion_length 1024
