BASE_DIR="/root"
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
   --hf-checkpoint “${BASE_DIR}/Qwen3-30B-A3B/” \
   --rollout-batch-size 16 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --global-batch-size 128 \
   --tensor-model-parallel-size 4 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 \
   --rollout-num-gpus-per-engine 8
