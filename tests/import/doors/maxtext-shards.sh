python3 -m MaxText.train MaxText/configs/base.yml run_name=r model_name=llama3.1-405b per_device_batch_size=1 \
  max_target_length=8192 dcn_fsdp_parallelism=16 ici_fsdp_parallelism=8 hardware=gpu
