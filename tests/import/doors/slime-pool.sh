#!/bin/bash
MODEL_ARGS=(
   --swiglu --num-layers 28 --hidden-size 3584 --ffn-hidden-size 18944 --num-attention-heads 28
   --group-query-attention --num-query-groups 4
)
CKPT_ARGS=( --hf-checkpoint /root/Qwen2.5-7B-Instruct --ref-load /root/x --save-interval 20 )
ROLLOUT_ARGS=( --prompt-data /root/x.jsonl --input-key prompt --apply-chat-template --rollout-shuffle --rm-type deepscaler
 --num-rollout 3000 --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --rollout-temperature 0.8
 --global-batch-size 256 --balance-data )
PERF_ARGS=( --tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 1 --context-parallel-size 2
 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --use-dynamic-batch-size --max-tokens-per-gpu 9216 )
GRPO_ARGS=( --advantage-estimator grpo --use-kl-loss --kl-loss-coef 0.00 --kl-loss-type low_var_kl --entropy-coef 0.00 --eps-clip 0.2 )
SGLANG_ARGS=( --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7 )
ray job submit --address="http://127.0.0.1:8265" -- python3 train_async.py \
   --actor-num-nodes 1 --actor-num-gpus-per-node 4 --rollout-num-gpus 4 \
   ${MODEL_ARGS[@]} ${CKPT_ARGS[@]} ${ROLLOUT_ARGS[@]} ${PERF_ARGS[@]} ${GRPO_ARGS[@]} ${SGLANG_ARGS[@]}
