python MaxText/train.py MaxText/configs/base.yml hardware=gpu steps=30 model_name=llama2-7b \
    dcn_data_parallelism=4 ici_fsdp_parallelism=8 per_device_batch_size=4 max_target_length=4096
