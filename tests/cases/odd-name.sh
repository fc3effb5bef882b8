trtllm-bench --tp 2 --pp 1 --model %nvidia/Llama-3.3-70B-Instruct-FP8 throughput --dataset d.txt --backend pytorch
