# The form of InferenceX's dsr1_fp4_b200_trt.sh: options in a file, the server behind mpirun.
mpirun -n 1 --oversubscribe --allow-run-as-root trtllm-serve nvidia/DeepSeek-R1-0528-FP4 --port=8888 \
  --trust_remote_code --backend=pytorch --max_seq_len=8192 --max_num_tokens=8192 --tp_size=8 --ep_size=8 \
  --extra_llm_api_options=dsr1-fp4.yml > server.log 2>&1 &
run_benchmark_serving --model nvidia/DeepSeek-R1-0528-FP4 --port 8888 --backend openai --input-len 1024 \
  --output-len 1024 --random-range-ratio 0.8 --num-prompts 640 --max-concurrency 64
