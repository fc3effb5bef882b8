# The form of vLLM's recipe for gpt-oss on H100 (docs.vllm.ai, recipes/OpenAI): a config file beside the line.
export VLLM_MXFP4_USE_MARLIN=1
vllm serve openai/gpt-oss-120b --config gpt-oss.yaml -tp 4 --max-num-seqs 64 --host 0.0.0.0 --served-model-name gpt
vllm bench serve --model openai/gpt-oss-120b --dataset-name random --random-input-len 1024 --random-output-len 512 \
  --ignore-eos --max-concurrency 16 --num-prompts 64
