# The form of InferenceX's dsr1_fp8_b200.sh (github.com/SemiAnalysisAI/InferenceX, benchmarks/single_node).
PYTHONNOUSERSITE=1 python3 -m sglang.launch_server --model-path=deepseek-ai/DeepSeek-R1-0528 --host=0.0.0.0 --port=8888 \
  --tensor-parallel-size=8 --data-parallel-size=1 --cuda-graph-max-bs 128 --max-running-requests 128 \
  --mem-fraction-static 0.82 --kv-cache-dtype fp8_e4m3 --chunked-prefill-size 32768 --max-prefill-tokens 32768 \
  --enable-flashinfer-allreduce-fusion --scheduler-recv-interval 30 --disable-radix-cache --attention-backend trtllm_mla \
  --stream-interval 30 --ep-size 1 --moe-runner-backend flashinfer_trtllm --quantization fp8 > server.log 2>&1 &
run_benchmark_serving --model deepseek-ai/DeepSeek-R1-0528 --port 8888 --backend vllm --input-len 1024 \
  --output-len 1024 --random-range-ratio 0.8 --num-prompts 640 --max-concurrency 64 --result-filename a --result-dir /tmp
