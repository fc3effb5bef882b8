python3 -m MaxText.train MaxText/configs/base.yml run_name=r1 model_name=llama3.1-8b per_device_batch_size=0.5 \
  max_target_length=8192 ici_fsdp_parallelism=8 ici_tensor_parallelism=4 remat_policy=save_dot_except_mlp steps=30
