# The form of SGLang's guide to disaggregation (docs.sglang.ai, advanced_features/pd_disaggregation): two of each.
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --disaggregation-mode prefill --port 30000 \
  --disaggregation-ib-device mlx5_0
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --disaggregation-mode prefill --port 30010 \
  --base-gpu-id 1 --disaggregation-ib-device mlx5_1
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --disaggregation-mode decode --port 30001 \
  --base-gpu-id 2 --max-running-requests 128
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --disaggregation-mode decode --port 30002 \
  --base-gpu-id 3 --max-running-requests 128
