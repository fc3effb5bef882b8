NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --reward_funcs accuracy format --use_vllm true --vllm_mode colocate \
 --vllm_gpu_memory_utilization 0.5 --vllm_tensor_parallel_size 2 --train_type full --torch_dtype bfloat16 --dataset x --max_completion_length 2048 \
 --num_train_epochs 1 --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --num_generations 8 --deepspeed zero3 --max_length 4096 --beta 0.001 --temperature 1.0
