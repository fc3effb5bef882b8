accelerate launch --num_processes 8 -m trl.scripts.grpo --model_name_or_path Qwen/Qwen2.5-3B --num_generations 8 \
  --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --max_completion_length 1024 --max_prompt_length 512 \
  --use_vllm --vllm_mode colocate --vllm_gpu_memory_utilization 0.3 --beta 0.0 --bf16 --gradient_checkpointing
