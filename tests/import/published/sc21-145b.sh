# source: Narayanan et al. 2021 (arXiv 2104.04473), table 1: 148 TFLOP/s per GPU with recomputation; 24.8 s
# import: --cluster selene --stack megatron-2021.03
# measured: iteration_time_s 24.817
GPUS="--nproc_per_node 8 --nnodes 192 --node_rank $RANK --master_addr $HEAD"
MODEL="--num-layers 80 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048"
python -m torch.distributed.launch $GPUS pretrain_gpt.py $MODEL --fp16 \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 8 --num-layers-per-virtual-pipeline-stage 5 \
  --micro-batch-size 2 --global-batch-size 2304 --checkpoint-activations --DDP-impl local
