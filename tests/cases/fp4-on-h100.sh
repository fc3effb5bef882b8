vllm serve meta-llama/Llama-3.1-8B-Instruct --quantization modelopt_fp4
