torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2-xl --block_size 512 --per_device_train_batch_size 8 --bf16
