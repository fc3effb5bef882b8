composer train/train.py train/yamls/pretrain/mpt-7b.yaml max_duration=10ba
