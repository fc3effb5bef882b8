python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --chunked-prefill-size -1 --disable-cuda-graph --cuda-graph-max-bs 16
python -m sglang.bench_serving --backend sglang --dataset-name random --random-input-len 1000 --random-output-len 100 --max-concurrency 4 --num-prompts 8
