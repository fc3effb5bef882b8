python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B --json-model-override-args '{"num_hidden_layers": 4}'
