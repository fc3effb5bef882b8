# The form of SGLang's cookbook (github.com/sgl-project/sgl-cookbook, Llama 3.1): `sglang serve`, and its client.
pip install "sglang[all]==0.5.6"
sglang serve --model-path meta-llama/Llama-3.1-70B-Instruct --tp 8
python -m sglang.bench_serving --backend sglang --model meta-llama/Llama-3.1-70B-Instruct --dataset-name random \
  --random-input-len 1000 --random-output-len 1000 --num-prompts 80 --max-concurrency 16
