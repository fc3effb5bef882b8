# The form of InferenceX's dsr1_fp8_h200.sh (github.com/SemiAnalysisAI/InferenceX, benchmarks/single_node).
PYTHONNOUSERSITE=1 python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1-0528 --host 0.0.0.0 \
  --port 8888 --trust-remote-code --tensor-parallel-size=8 --data-parallel-size=1 --disable-radix-cache \
  --max-running-requests 512 --cuda-graph-max-bs 512 --chunked-prefill-size 32768 --max-prefill-tokens 32768 \
  --mem-fraction-static 0.82 --attention-backend flashinfer --stream-interval 10 --decode-log-interval 1 > server.log 2>&1 &
run_benchmark_serving --model deepseek-ai/DeepSeek-R1-0528 --port 8888 --backend vllm --input-len 1024 \
  --output-len 1024 --random-range-ratio 0.8 --num-prompts 40 --max-concurrency 4 --result-filename a --result-dir /tmp
