CUDA_VISIBLE_DEVICES=0,1,2,3 deepspeed train.py --deepspeed ds3b.json --model_name_or_path Qwen/Qwen3-8B --model_max_length 2048 --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --bf16
