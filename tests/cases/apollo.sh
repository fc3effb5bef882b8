torchrun --nproc_per_node 8 sft.py --model_name_or_path Qwen/Qwen3-8B --max_length 2048 --per_device_train_batch_size 1 --bf16 --optim apollo_adamw
