deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed --deepspeed_config deepspeed-config.json \
  --model_name_or_path meta-llama/Llama-3.1-8B --max_length 4096
