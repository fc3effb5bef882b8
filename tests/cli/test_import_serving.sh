#!/bin/bash
# test_import_serving.sh ORRERY - every line of tests/import/launch that starts a server becomes a scenario that passes
# `check` and runs; the published figures of one of them lie in its bands; what is not a line is refused.
set -u
orrery=$1
here=$(cd "$(dirname "$0")/../import/launch" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }

# A line with the cluster and the files that it needs.
cases="serve-vllm-qwen3-32b-tp2.sh:dgx-h100-superpod serve-sglang-deepseek-r1-h200.sh:aws-p5en
serve-trtllm-deepseek-r1-b200.sh:dgx-b200-superpod:dsr1-fp4.yml serve-vllm-gpt-oss.sh:dgx-h100-superpod:gpt-oss.yaml
serve-sglang-llama-70b.sh:dgx-h100-superpod serve-vllm-deepseek-dp-ep.sh:dgx-h100-superpod
serve-vllm-eagle3.sh:dgx-h100-superpod serve-sglang-deepseek-dp-mtp.sh:aws-p5en
serve-vllm-prefill-decode.sh:dgx-h100-superpod serve-sglang-prefill-decode.sh:dgx-h100-superpod
serve-trtllm-aiperf.sh:dgx-h100-superpod serve-trtllm-bench.sh:dgx-h100-superpod
serve-vllm-guidellm.sh:dgx-h100-superpod serve-vllm-awq-lora.sh:dgx-h100-superpod
serve-deployment.yaml:dgx-h100-superpod serve-leader-worker.yaml:aws-p5en serve-compose.yaml:dgx-h100-superpod
serve-disaggregated.yaml:dgx-h100-superpod serve-skypilot.yaml:dgx-h100-superpod serve-dstack.yaml:aws-p5en
serve-trtllm-disaggregated.yaml:dgx-h100-superpod serve-production-stack.yaml:dgx-h100-superpod"
for case in $cases; do
  IFS=: read -r file cluster other <<< "$case"
  "$orrery" import launch "$here/$file" ${other:+"$here/$other"} --cluster "$cluster" -o "$work/s.yaml" 2> "$work/err" &&
    "$orrery" check "$work/s.yaml" > "$work/out" 2>&1 && "$orrery" run "$work/s.yaml" --db none > "$work/$file.out" 2>&1
  status=$?
  [ $status = 0 ] || sed 's/^/# /' "$work/err" "$work/out"
  ok $status "$file becomes a scenario that passes check and runs"
  ! grep -q 'unknown' "$work/err"
  ok $? "every key of $file is accounted for"
done

# published FILE FIGURE: the output tokens per second that its source measured lie in the band.
published() {
  local low high
  read -r low high < <(sed -n 's|.*output  *\([0-9,]*\) to \([0-9,]*\) tokens/s.*|\1 \2|p' "$work/$1.out" | tr -d ,)
  [ "${low:-99999}" -le "$2" ] && [ "${high:-0}" -ge "$2" ]
  ok $? "$1: the published $2 tokens/s lie between $low and $high"
}
# ML.ENERGY, Qwen3-32B on two H100, 32 requests: 1,706 tokens/s (a row of scenarios/validation/serving-mlenergy.csv).
published serve-vllm-qwen3-32b-tp2.sh 1706
# refuse NAME PATTERN TEXT: exit 2, the message, nothing written.
refuse() {
  printf '%s' "$3" > "$work/$1"
  rm -f "$work/never.yaml"
  "$orrery" import launch "$work/$1" --cluster dgx-h100-superpod -o "$work/never.yaml" 2> "$work/err"
  [ $? = 2 ] && grep -q -- "$2" "$work/err" && [ ! -e "$work/never.yaml" ]
  status=$?
  [ $status = 0 ] || sed 's/^/# /' "$work/err"
  ok $status "refused: $2"
}
refuse a.sh "did you mean 'tensor-parallel-size'" 'vllm serve Qwen/Qwen3-8B --tensor-paralel-size 8'
refuse b.sh 'the library has no model' 'sglang serve --model-path nobody/knows-this-one'
refuse c.yaml 'no container of this manifest' 'apiVersion: v1
kind: Pod
spec: {containers: [{name: a, image: nginx, command: [nginx]}]}'
refuse d.yaml 'd.yaml:4:' 'apiVersion: v1
kind: Pod
spec: {containers: ['
refuse e.sh 'choose 2' 'vllm serve Qwen/Qwen3-8B
sglang serve --model-path Qwen/Qwen3-8B --tp 2'

# A config.json beside the line is the model.
cat > "$work/config.json" <<'EOF'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
 "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
 "max_position_embeddings": 131072, "tie_word_embeddings": true, "rms_norm_eps": 1e-05}
EOF
echo 'vllm serve /models/ours --max-model-len 4096' > "$work/line.sh"
"$orrery" import launch "$work/line.sh" "$work/config.json" --cluster dgx-h100-superpod -o "$work/own.yaml" 2> "$work/err" &&
  "$orrery" check "$work/own.yaml" > "$work/out" 2>&1 && grep -q 'layers: 16' "$work/own.yaml"
status=$?
[ $status = 0 ] || sed 's/^/# /' "$work/err" "$work/out"
ok $status 'a config.json beside the line is the model'

# Servers that prefill and servers that decode keep formats and settings of their own, but for what all engines share.
role() { echo "vllm serve Qwen/Qwen3-8B ${2:-} --kv-transfer-config '{\"kv_role\":\"kv_$1\"}'"; }
{ role producer '--quantization fp8'; role consumer; } > "$work/first.sh"
{ role producer '--max-num-seqs 16'; role consumer '--kv-cache-dtype fp8 --max-num-batched-tokens 4096'; } > "$work/second.sh"
"$orrery" import launch "$work/first.sh" --cluster dgx-h100-superpod > "$work/out" 2> "$work/err"
grep -q '^  quantization: fp8' "$work/out" && grep -q 'groups: \[{replicas: 1, quantization: null}\]' "$work/out" &&
  ! grep -q '^not simulated' "$work/err"
ok $? 'a format of the prefill servers is theirs alone'
"$orrery" import launch "$work/second.sh" --cluster dgx-h100-superpod > "$work/out" 2> "$work/err"
grep -q -- '--kv-cache-dtype fp8: all engines share one setting' "$work/err"
ok $? 'a format of the cache of the decode servers alone is said to be the prefill servers, too'
grep -q '^    max-num-seqs: 16' "$work/out" &&
  grep -q 'engine: {max-num-batched-tokens: 4096, max-num-seqs: null}' "$work/out"
ok $? 'settings of engines belong to their role'

# Half of gpt-oss' layers have a window of 128 tokens. Of 1,536 tokens per request, with the same memory: two pools of
# ratio 0.5 take 0.75 of them, one that keeps all 1, and TensorRT-LLM keeps all unless it is given windows.
requests() { # LINE: from how many requests on the cache is full, and the tokens of its blocks
  echo "$1" > "$work/window.sh"
  "$orrery" run --from-launch "$work/window.sh" --cluster dgx-h100-superpod --db none 2> "$work/err" |
    sed -n 's|.*cache of \([0-9,]*\) tokens, full from \([0-9,]*\) .*|\2 \1|p' | tr -d ,
}
near() { # REQUESTS TOKENS TOKENS_EACH
  awk -v n="$1" -v t="$2" -v each="$3" 'BEGIN { exit !(n > 0 && n > t / each - 2 && n < t / each + 2) }'
}
sglang='sglang serve --model-path openai/gpt-oss-120b --tp 4 --disable-radix-cache'
read -r n_two tokens < <(requests "$sglang --swa-full-tokens-ratio 0.5") && near "$n_two" "$tokens" 1152
ok $? "two pools of ratio 0.5 hold $n_two requests"
read -r n_all tokens < <(requests "$sglang --disable-hybrid-swa-memory") && near "$n_all" "$tokens" 1536
ok $? "one pool that keeps all tokens holds $n_all requests"
trtllm='trtllm-serve openai/gpt-oss-120b --tp_size 4'
read -r n_whole tokens < <(requests "$trtllm")
read -r n_window _ < <(requests "cat > w.yaml << END
kv_cache_config: {max_attention_window: [128, 32768], enable_block_reuse: false}
END
$trtllm --extra_llm_api_options w.yaml")
[ "${n_window:-0}" -gt "$((${n_whole:-0} * 3 / 2))" ]
ok $? "TensorRT-LLM holds $n_whole requests, with windows $n_window"
echo "1..$n"
