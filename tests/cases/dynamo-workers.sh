python -m dynamo.frontend --router-mode kv --http-port 8000 &
python -m dynamo.vllm --model Qwen/Qwen3-32B-FP8 --tensor-parallel-size 2 &
python -m dynamo.vllm --model Qwen/Qwen3-32B-FP8 --tensor-parallel-size 2
