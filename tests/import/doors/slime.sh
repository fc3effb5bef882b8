MODEL_ARGS=(--num-layers 36 --hidden-size 2560 --swiglu)
ROLLOUT_ARGS=(--rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --global-batch-size 256)
PERF_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel --recompute-granularity full)
ray job submit --address="http://127.0.0.1:8265" -- python3 train.py \
   --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint Qwen/Qwen3-4B \
   ${MODEL_ARGS[@]} ${ROLLOUT_ARGS[@]} ${PERF_ARGS[@]} \
   --advantage-estimator grpo --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7
