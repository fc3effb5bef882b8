python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml run_name=x base_output_directory=gs://b dataset_type=synthetic steps=10 \
  base_emb_dim=4096 base_num_decoder_layers=24 base_mlp_dim=14336 base_num_query_heads=32 base_num_kv_heads=8 vocab_size=128256 ici_data_parallelism=-1 ici_fsdp_parallelism=1
