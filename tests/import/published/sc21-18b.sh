# source: Narayanan et al. 2021 (arXiv 2104.04473), table 1: 135 TFLOP/s per GPU with recomputation; 9.40 s
# import: --cluster selene --stack megatron-2021.03 --nodes 32
# measured: iteration_time_s 9.399
python -m torch.distributed.launch --nproc_per_node 8 --nnodes 32 pretrain_gpt.py \
  --num-layers 40 --hidden-size 6144 --num-attention-heads 48 --seq-length 2048 --max-position-embeddings 2048 \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 1 --micro-batch-size 8 --global-batch-size 1024 \
  --fp16 --checkpoint-activations --DDP-impl torch --vocab-file vocab.json --merge-file merges.txt --train-iters 100
