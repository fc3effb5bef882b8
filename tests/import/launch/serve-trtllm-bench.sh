# The form of NVIDIA's performance overview of TensorRT-LLM 1.0 (nvidia.github.io/TensorRT-LLM, performance/perf-overview).
pip install tensorrt-llm==1.0.0
python benchmarks/cpp/prepare_dataset.py --tokenizer=nvidia/Llama-3.3-70B-Instruct-FP8 --stdout token-norm-dist \
  --num-requests=1500 --input-mean=1000 --output-mean=1000 --input-stdev=0 --output-stdev=0 > /tmp/dataset.txt
trtllm-bench --tp 2 --pp 1 --model nvidia/Llama-3.3-70B-Instruct-FP8 throughput --dataset /tmp/dataset.txt \
  --backend pytorch --kv_cache_free_gpu_mem_fraction 0.95 --num_requests 1500
