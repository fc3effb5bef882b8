lmdeploy serve api_server internlm/internlm2_5-7b-chat --tp 2 --server-port 8000 &
pip install evalscope
bash start_engine_server.sh
vllm bench serve --model Qwen/Qwen3-8B --num-prompts 10
