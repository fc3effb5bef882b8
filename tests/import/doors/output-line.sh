SERVER_LOG=/workspace/server.log
python3 -m sglang.launch_server --model-path $MODEL \
    --tensor-parallel-size=8 \
    --max-running-requests 512 \
    > $SERVER_LOG 2>&1 &
wait_for_server_ready --server-log "$SERVER_LOG"
