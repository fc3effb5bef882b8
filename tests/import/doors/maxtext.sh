python3 -m MaxText.train MaxText/configs/base.yml run_name=r1 model_name=llama3.1-8b \
  per_device_batch_size=4 max_target_length=8192 ici_fsdp_parallelism=8 remat_policy=full \
  dtype=bfloat16 steps=30 hardware=gpu dataset_type=synthetic
