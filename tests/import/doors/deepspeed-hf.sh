deepspeed --num_gpus 8 train.py --deepspeed zero3.json --model_name_or_path meta-llama/Llama-3.1-8B \
  --max_seq_length 4096 --bf16 true --optim adamw_8bit
