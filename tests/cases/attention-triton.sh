python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --attention-backend triton
python -m sglang.bench_serving --dataset-name random --num-prompts 10 --random-input 64 --random-output 8
