torchrun --nproc_per_node=8 train.py --model_name_or_path Qwen/Qwen2.5-7B --lora_enable True --lora_r 128 --bf16 True \
  --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --max_seq_length 4096
