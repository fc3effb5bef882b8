trl sft --model_name_or_path Qwen/Qwen3-8B --accelerate_config fsdp2 --num_processes 4 --per_device_train_batch_size 2 --max_length 2048
