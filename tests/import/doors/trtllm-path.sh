trtllm-bench --model meta-llama/Llama-3.1-8B-Instruct --model_path /models/8b throughput --dataset d.txt --num_requests 100
