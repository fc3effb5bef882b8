torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 2 --global-batch-size 256 \
  --tensor-model-parallel-size 2 --bf16 --vocab-size 50257 --use-distributed-optimizer
