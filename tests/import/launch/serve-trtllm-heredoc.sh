# The form of InferenceX's *_trt.sh: the options are written in two parts, and sizes are computed.
# --set CONC=64 --set TP=8 --set DP_ATTENTION=true
EXTRA_CONFIG_FILE="options.yml"
CUDA_GRAPH_MAX_BATCH_SIZE=$CONC
if [[ "$DP_ATTENTION" == "true" ]]; then
    CUDA_GRAPH_MAX_BATCH_SIZE=$(( CONC < 4 ? CONC : CONC / 4 ))
fi
cat > $EXTRA_CONFIG_FILE << EOF
cuda_graph_config:
    enable_padding: true
    max_batch_size: $CUDA_GRAPH_MAX_BATCH_SIZE
enable_attention_dp: $DP_ATTENTION
EOF
if [[ "$DP_ATTENTION" == "true" ]]; then
    cat << EOF >> $EXTRA_CONFIG_FILE
attention_dp_config:
    enable_balance: true
    timeout_iters: 60
EOF
fi
MAX_NUM_TOKENS=$(( ($CONC+1024+64+63)/64*64 ))
MAX_NUM_TOKENS=$(( MAX_NUM_TOKENS > 8192 ? MAX_NUM_TOKENS : 8192 ))
mpirun -n 1 --allow-run-as-root trtllm-serve nvidia/DeepSeek-R1-0528-FP4 --max_num_tokens=$MAX_NUM_TOKENS --tp_size=$TP \
  --extra_llm_api_options=$EXTRA_CONFIG_FILE > server.log 2>&1 &
run_benchmark_serving --input-len 1024 --output-len 1024 --num-prompts $((CONC * 10)) --max-concurrency "$CONC" $EVAL_ARGS
