#!/bin/sh
# test_import_launch.sh ORRERY - launch lines and benchmarks on the command line: scenarios that run, questions and their
# answers, several lines in one script, and what is not a launch line. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
run() { "$orrery" "$@" > said 2>&1; status=$?; } # the checks below see $status, not $?
refuses() { rm -f out.yaml; run import launch --strict "$@" -o out.yaml; [ $status -eq 2 ] && [ ! -e out.yaml ]; }
unreadable() { rm -f out.yaml; run import launch "$@" --cluster dgx-h100-superpod -o out.yaml; [ $status -eq 1 ] && [ ! -e out.yaml ]; }
cd "$work" || exit 1

# --- Training ---

cat > train.sh <<'END'
#!/bin/bash
# the dimensions of Llama 3.1 8B; "$1" is the tensor-parallel size
source common.sh
GPUS=${GPUS:-8}
DISTRIBUTED="--nproc_per_node $GPUS --nnodes ${NNODES:=4} --node_rank $RANK"
if [ "$RECOMPUTE" = 1 ]; then MORE="--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"; fi
torchrun $DISTRIBUTED pretrain_gpt.py --num-layers 32 --hidden-size 4096 \
    --num-attention-heads 32 \ # heads
    --group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 --swiglu
    --normalization RMSNorm --position-embedding-type rope --disable-bias-linear \
    --untie-embeddings-and-output-weights --vocab-size 128256 --max-position-embeddings 8192 \
    --tensor-model-parallel-size $1 $BATCH --bf16 --wandb-project $PROJECT ${MORE} > log 2>&1 &
END
printf 'BATCH="--seq-length 8192 --micro-batch-size 1 --global-batch-size 64"\n' > common.sh

check "an unset size is asked for by name" 'refuses train.sh common.sh --cluster dgx-h100-superpod && grep -q "needs the value of 1: add --set 1=VALUE" said'
run import launch train.sh common.sh --cluster dgx-h100-superpod --set 1=2 --account -o ours.yaml
check "two files, a comment after a backslash, a missing backslash" '[ $status -eq 0 ] && grep -q "model: llama-3" ours.yaml && [ "$(grep -c backslash said)" -eq 2 ]'
check "the account has every key" '[ "$(grep -c "^mapped\|^irrelevant\|^not simulated" said)" -eq 22 ] && grep -q "nobody has set MORE" said'
check "nodes by the script, tp by --set" 'grep -q "nodes: 4" ours.yaml && grep -q "tp: 2" ours.yaml'
run check ours.yaml
check "check takes it" '[ $status -eq 0 ]'
run run ours.yaml --db none --json
check "it runs" '[ $status -eq 0 ] && grep -q iteration_time_s said'
run run --from-launch train.sh --cluster dgx-h100-superpod --set 1=4 --set "BATCH=--seq-length 4096 --micro-batch-size 1 --global-batch-size 64" --db none
check "run --from-launch, with variables" '[ $status -eq 0 ] && grep -q "iteration .* s ([0-9.]* to [0-9]" said && grep -q "it fits" said'
run run --from-launch train.sh --cluster dgx-h100-superpod --set 1=2 --set RECOMPUTE=1 --set "BATCH=--seq-length 4096 --micro-batch-size 1 --global-batch-size 64" --set workload.steps=2 --nodes 2 --stack megatron-core-25.02 --model llama-3.1-8b --db none --json
check "run --from-launch --nodes --stack --model, and a key of the scenario" '[ $status -eq 0 ] && grep -q "megatron-core-25.02" said'
run run --from-launch train.sh --cluster dgx-h100-superpod --gpus 12 --set 1=4 --set "BATCH=--seq-length 4096 --micro-batch-size 1 --global-batch-size 63" --db none
check "run --from-launch --gpus: 12 in two nodes" '[ $status -eq 0 ] && grep -q "12 GPUs" said'
run run ours.yaml --gpus 8 --db none
check "the options of launch lines are for launch lines" '[ $status -eq 2 ] && grep -q "are for --from-launch" said'

# --- Several lines ---

printf 'vllm serve Qwen/Qwen3-8B --tp 1\nvllm serve Qwen/Qwen3-32B --tp 2\n' > two.sh
check "several launch lines are listed" 'refuses two.sh --cluster dgx-h100-superpod && grep -q "choose" said'
run import launch two.sh --cluster dgx-h100-superpod --choose 1 --stack none
check "import launch --stack none" '[ $status -eq 0 ] && grep -q "stack: none" said'
run import launch two.sh --cluster dgx-h100-superpod --choose 2 --stack vllm-0.11.1
check "--choose takes one, --stack the release" '[ $status -eq 0 ] && grep -q "Qwen3-32B" said && grep -q "stack: vllm-0.11" said'
check "standard input, --model, --gpus" 'echo "vllm serve \$M --max-num-seqs 8" | "$orrery" import launch - --cluster dgx-h100-superpod --gpus 1 --set M=x --model llama-3.1-8b 2>/dev/null | grep -q "max-num-seqs: 8"'

# --- What is not one ---

check "an unknown option, with the nearest" 'echo "vllm serve Qwen/Qwen3-8B --tensor-paralel-size 2" > bad.sh; refuses bad.sh --cluster dgx-h100-superpod && grep -q "bad.sh:1:26: error: vllm does not know .tensor-paralel-size.: did you mean .tensor-parallel-size" said'
run import launch bad.sh --cluster dgx-h100-superpod --skip-unknown
check "import launch --skip-unknown: a warning" '[ $status -eq 0 ] && grep -q "not simulated  bad.sh:1  --tensor-paralel-size 2: an unknown option" said'
run run --from-launch bad.sh --cluster dgx-h100-superpod --skip-unknown --db none
check "run --from-launch --skip-unknown" '[ $status -eq 0 ] && grep -q "an unknown option" said'
printf '$ vllm serve Qwen/Qwen3-8B \\\n>   --max-num-seqs 8\n' > prompts.sh # a page's second prompt
run import launch prompts.sh --cluster dgx-h100-superpod
check "prompts of a page" '[ $status -eq 0 ] && grep -q "max-num-seqs: 8" said'
printf 'N=$1\nvllm serve Qwen/Qwen3-8B -tp $2\n' > inner.sh
echo "bash inner.sh x 2" > outer.sh
run import launch outer.sh inner.sh --cluster dgx-h100-superpod
check "a script with its arguments" '[ $status -eq 0 ] && grep -q "tp: 2" said'
printf 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n' > helm.yaml
check "a template of Helm" 'refuses helm.yaml --cluster dgx-h100-superpod && grep -q "a template of Helm: give the output of .helm template." said'
check "a program that is not read" 'echo "python3 -m areal.launcher.ray a=b" > rl.sh; refuses rl.sh --cluster dgx-h100-superpod && grep -q "a command of AReaL, which is not read: give its YAML alone" said'
check "no cluster" 'refuses two.sh --choose 1 && grep -q "on which cluster? Add --cluster NAME" said'
check "an unknown cluster" 'refuses two.sh --choose 1 --cluster dgx-h100 && grep -q "dgx-h100-superpod" said'
check "a script that starts nothing" 'echo "ls -l" > ls.sh; refuses ls.sh --cluster dgx-h100-superpod && grep -q "no command starts training or serving" said'
check "a script that ends too early" 'printf "if true; then\n  vllm serve x\n" > cut.sh; refuses cut.sh --cluster dgx-h100-superpod && grep -q "cut.sh:3:1: error" said'
check "binary" 'printf "\377\376\000x" > raw.sh; refuses raw.sh --cluster dgx-h100-superpod && grep -q "raw.sh: not a text" said'
printf '%s\n' 'export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=0 NCCL_NET=Socket' "torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 --tensor-model-parallel-size 4 --vocab-size 32000" > nvte.sh
run import launch nvte.sh --cluster dgx-h100-superpod
check "Transformer Engine's variables choose the attention kernel" '[ $status -eq 0 ] && grep -q "attention: unfused" said && grep -q "not simulated.*NCCL_NET" said'
sed 's/NVTE_FLASH_ATTN=0//' nvte.sh > flash.sh; run import launch flash.sh --cluster dgx-h100-superpod
check "without cuDNN's it is FlashAttention" 'grep -q "attention: flash-2" said'
sed 's/--bf16/--bf16 --attention-backend fused/' nvte.sh > fused.sh; run import launch fused.sh --cluster dgx-h100-superpod
check "the line's own choice wins" '! grep -q "attention: " said'
sed 's/--bf16/--bf16 --use-megatron-fsdp/' flash.sh > whole.sh; run import launch whole.sh --cluster dgx-h100-superpod
check "Megatron's FSDP shards nothing unless it is told what" 'grep -q "kind: none" said'
echo 'python3 -m MaxText.train configs/base.yml model_name=llama3.1-8b per_device_batch_size=1 max_target_length=8192 ici_fsdp_parallelism=16 remat_policy=full weight_dtype=bfloat16' > weights.sh; run import launch weights.sh --cluster dgx-h100-superpod --nodes 2
check "MaxText's weights in bf16 have their state in it, too" 'grep -q "master: weights" said && grep -q "moments: bf16" said && grep -q "gradients: same" said'
echo 'deepspeed --module openrlhf.cli.train_sft --pretrain meta-llama/Llama-3.1-8B --max_len 8192 --train_batch_size 64 --micro_train_batch_size 1 --zero_stage 3 --param_dtype bf16 --attn_implementation eager' > eager.sh; run import launch eager.sh --cluster dgx-h100-superpod --gpus 8
check "eager attention is not fused" 'grep -q "attention: unfused" said'
check "an empty file" ': > empty.sh; refuses empty.sh --cluster dgx-h100-superpod && grep -q "the file is empty" said'
check "a device that never ends" 'unreadable /dev/zero'
check "a folder" 'unreadable .'
check "a pipe without a writer" 'mkfifo pipe; unreadable pipe'
check "no such file" 'unreadable absent.sh && grep -q absent.sh said'
check "a bad --set" 'refuses two.sh --set =x && grep -q "VAR=VALUE was expected" said'
check "the output is not an input" 'cp two.sh same.sh; run import launch same.sh --cluster dgx-h100-superpod --choose 1 -o same.sh; [ $status -eq 2 ] && cmp -s two.sh same.sh'

# --- Benchmarks ---

printf '{"max_concurrency": 4, "completed": 8, "mean_ttft_ms": 20.5}\n{"request_rate": 2, "completed": 9, "mean_ttft_ms": 30}\n' > b.json
run import bench b.json
check "rows of two results" '[ $status -eq 0 ] && grep -q "^b.json:1,vllm,,4,,8,0.0205$" said && grep -q "^b.json:2,vllm,,,2,9,0.03$" said'
run import bench b.json --load --choose 2
check "the load of the second" '[ $status -eq 0 ] && grep -q "rate: 2" said'
run import bench b.json --load
check "which of two loads is asked" '[ $status -eq 2 ] && grep -q -- "--choose N, from 1 to 2" said'
run import bench train.sh -o rows.csv
check "a script is not a benchmark, and nothing is written" '[ $status -eq 2 ] && [ ! -e rows.csv ]'
echo "1..$n"
