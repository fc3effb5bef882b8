python -m sglang_router.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --dp-size 4 --router-policy round_robin --router-balance-abs-threshold 32
python -m sglang.bench_serving --dataset-name random --random-input 1000 --random-output 100 --random-range-ratio 1 --num-prompts 100 --request-rate 4
