SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
source "${SCRIPT_DIR}/models/slime-same-name.sh"
ray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
  ${MODEL_ARGS[@]} --hf-checkpoint /root/Moonlight-16B-A3B-Instruct --rollout-batch-size 32 \
  --n-samples-per-prompt 8 --rollout-max-response-len 4096 --global-batch-size 256 \
  --tensor-model-parallel-size 2 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --rollout-num-gpus-per-engine 4 \
  --sequence-parallel --moe-token-dispatcher-type flex --moe-enable-deepep --max-tokens-per-gpu 8192
