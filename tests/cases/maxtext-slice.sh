python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-8b per_device_batch_size=2 max_target_length=4096 ici_fsdp_parallelism=16 remat_policy=full
