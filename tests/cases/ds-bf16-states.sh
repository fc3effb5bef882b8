deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --bf16 --max_seq_length 2048 --gradient_checkpointing --deepspeed ds-bf16-states.json
