# The form of GuideLLM's guide (github.com/vllm-project/guidellm, docs/getting-started): a server and a rate.
vllm serve neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8 --max-model-len=2k &
guidellm benchmark --target http://localhost:8000 --rate-type constant --rate 5 --max-seconds 30 \
  --data "prompt_tokens=256,output_tokens=128"
