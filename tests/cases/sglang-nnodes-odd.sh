python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B --tp 8 --nnodes 3 --node-rank 0 --dist-init-addr x:1
