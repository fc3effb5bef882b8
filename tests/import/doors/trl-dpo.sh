accelerate launch --num_processes 8 trl/scripts/dpo.py --model_name_or_path Qwen/Qwen3-8B --max_length 2048 \
  --per_device_train_batch_size 2 --bf16 --beta 0.1
