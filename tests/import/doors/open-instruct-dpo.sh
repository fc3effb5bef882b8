python mason.py --num_nodes 2 --gpus 8 -- torchrun --nnodes 2 --nproc_per_node 8 open_instruct/dpo.py \
  --model_name_or_path allenai/OLMo-2-1124-7B --max_seq_length 4096 --per_device_train_batch_size 1 \
  --gradient_accumulation_steps 2 --shard_degree 4 --num_replicas 2 --tensor_parallel_degree 2
