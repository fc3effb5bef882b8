# source: NVIDIA/Megatron-LM README, weak scaling on H100: 489.1 TFLOP/s per GPU on 192 GPUs; 0.85 s
# import: --cluster dgx-h100-superpod --stack megatron-core-24.07
# measured: iteration_time_s 0.85
# outside: the line has micro-batches of one sequence, which the table does not say; with four the step takes 0.77 s
torchrun --nproc-per-node 8 --nnodes 24 pretrain_gpt.py --use-mcore-models --transformer-impl transformer_engine \
  --num-layers 32 --hidden-size 6144 --num-attention-heads 48 --seq-length 4096 --max-position-embeddings 4096 \
  --make-vocab-size-divisible-by 128 --vocab-size 131072 --bf16 --tensor-model-parallel-size 4 --sequence-parallel \
  --pipeline-model-parallel-size 1 --micro-batch-size 1 --global-batch-size 192 --use-flash-attn \
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap \
  --attention-dropout 0 --hidden-dropout 0 --disable-bias-linear
