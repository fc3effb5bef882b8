FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=1.2.3.4 llamafactory-cli train llama-factory.yaml
