python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --port 30001
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --port 30002
python -m sglang_router.launch_router --worker-urls http://127.0.0.1:30001 http://127.0.0.1:30002 --policy cache_aware
python -m sglang.bench_serving --dataset-name random --random-input 1000 --random-output 100 --random-range-ratio 1 --num-prompts 100 --request-rate 4
