/*
 * dialect_gpt_neox.c - GPT-NeoX's configs: JSON in YAML, several files laid over each other.
 *
 * Source: megatron/neox_arguments of EleutherAI/gpt-neox, v1.0 to v2.0 with main of 2025.
 * Most keys are Megatron-LM's by other names; what DeepSpeed decides is read here.
 */
#include <string.h>

#include "sim/import/launch/config_macros.h"
#include "sim/import/launch/dialects_training.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_translate.h"

static const OrrLaunchRule rules[] = {
    {.keys = "model-parallel-size", MEGATRON("tensor-model-parallel-size", "workload.parallel.tp")},
    {.keys = "pipe-parallel-size", LATER("workload.parallel.pp")},
    {.keys = "context-parallel-size", MEGATRON("context-parallel-size", "workload.parallel.cp")},
    {.keys = "sequence-parallel",
     MEGATRON("sequence-parallel", "workload.parallel.sequence-parallel")},
    {.keys = "num-layers", MEGATRON("num-layers", "model.layers")},
    {.keys = "hidden-size", MEGATRON("hidden-size", "model.hidden")},
    {.keys = "num-attention-heads", MEGATRON("num-attention-heads", "model.heads")},
    {.keys = "num-kv-heads", MEGATRON("num-query-groups", "model.kv-heads")},
    {.keys = "intermediate-size", LATER("model.ffn")},
    {.keys = "seq-length", MEGATRON("seq-length", "workload.sequence")},
    {.keys = "max-position-embeddings", MEGATRON("max-position-embeddings", "model.context")},
    {.keys = "padded-vocab-size", MEGATRON("padded-vocab-size", "model.vocab")},
    {.keys = "make-vocab-size-divisible-by",
     MEGATRON("make-vocab-size-divisible-by", "model.vocab")},
    {.keys = "tokenizer-type", MEGATRON("tokenizer-type", "model.vocab")},
    {.keys = "vocab-file", LATER("model.vocab")},
    {.keys = "norm", MEGATRON("normalization", "model.norm")},
    {.keys = "pos-emb", MEGATRON("position-embedding-type", "model.position")},
    {.keys = "no-weight-tying",
     MEGATRON("untie-embeddings-and-output-weights", "model.tied-embeddings")},
    {.keys = "activation", LATER("model.activation")},
    {.keys = "use-bias-in-attn-linear", MEGATRON("!disable-bias-linear", "model.bias")},
    {.keys = "use-qk-layernorm", MEGATRON("qk-layernorm", "model.qk-norm")},
    {.keys = "moe-num-experts", MEGATRON("num-experts", "model.moe.experts")},
    {.keys = "moe-top-k", MEGATRON("moe-router-topk", "model.moe.topk")},
    {.keys = "moe-expert-parallel-size",
     MEGATRON("expert-model-parallel-size", "workload.parallel.ep")},
    {.keys = "attention-dropout", MEGATRON("attention-dropout", "workload.dropout")},
    {.keys = "hidden-dropout", MEGATRON("hidden-dropout", "workload.dropout")},
    {.keys = "train-micro-batch-size-per-gpu batch-size",
     MEGATRON("micro-batch-size", "workload.batch.micro")},
    {.keys = "train-batch-size", MEGATRON("global-batch-size", "workload.batch.global")},
    {.keys = "gradient-accumulation-steps gas", LATER("workload.batch.global")},
    {.keys = "checkpoint-activations", MEGATRON("checkpoint-activations", "workload.recompute")},
    {.keys = "checkpoint-num-layers",
     MEGATRON("checkpoint-num-layers", "workload.recompute-layers")},
    {.keys = "zero-optimization.stage", MEGATRON("zero-stage", "workload.optimizer.sharding")},
    {.keys = "zero-optimization.overlap-comm", LATER("workload.optimizer.sharding.overlap-comm")},
    {.keys = "zero-optimization.reduce-bucket-size",
     LATER("workload.optimizer.sharding.reduce-bucket")},
    {.keys = "zero-optimization.offload-optimizer.device zero-optimization.cpu-offload",
     LATER("workload.offload.optimizer")},
    {.keys = "zero-optimization.offload-*", SKIPPED("offload beside the optimizer's", "none")},
    {.keys = "zero-optimization.*",
     IRRELEVANT("buffers whose size is less than a per cent of a step")},
    {.keys = "fp16.enabled", MEGATRON("fp16", "workload.precision")},
    {.keys = "bf16.enabled", MEGATRON("bf16", "workload.precision")},
    {.keys = "precision", LATER("workload.precision")},
    {.keys = "fp32-allreduce",
     MEGATRON("accumulate-allreduce-grads-in-fp32", "workload.data-parallel.gradients")},
    {.keys = "optimizer.type", LATER("workload.optimizer.kind")},
    {.keys = "launcher", WHERE},
    {.keys = "num-gpus num-nodes", SKIPPED("which GPUs: --gpus and --nodes say it", "null")},
    /* --- not simulated --- */
    {.keys = "gpt-j-residual gpt-j-tied",
     SKIPPED("attention and feed-forward side by side: one after the other is simulated", "false")},
    {.keys = "attention-config attention-config.*",
     SKIPPED("kinds of attention other than global and flash", "")},
    {.keys = "sparsity-config.*", SKIPPED("sparse attention", "")},
    {.keys = "mamba-* rwkv-* expansion-factor",
     SKIPPED("layers other than attention: write a model document and add --model", "")},
    {.keys = "moe-*", SKIPPED("how experts are routed", "")},
    {.keys = "train-impl dpo-* kto-* rm-* reinforce-* rmm-*",
     SKIPPED("training other than of the next token", "normal")},
    {.keys = "partition-activations checkpoint-in-cpu contiguous-checkpointing",
     SKIPPED("inputs of layers split over tensor-parallel GPUs, or kept by the host", "false")},
    {.keys = "te-*", SKIPPED("layers of Transformer Engine", "false")},
    {.keys = "use-mup mup-*", NUMERICS},
    {.keys = "rope-fusion layernorm-fusion rmsnorm-fusion scaled-masked-softmax-fusion "
             "scaled-upper-triang-masked-softmax-fusion bias-gelu-fusion bias-dropout-fusion "
             "synchronize-each-layer gradient-accumulation-fusion",
     IRRELEVANT("kernels of the stack")},
    /* --- irrelevant --- */
    {.keys = "init-method output-layer-init-method init-method-std rotary-pct rotary-emb-base "
             "rotary-interleaved rotary-save-freqs-buffer rms-norm-epsilon layernorm-epsilon "
             "scalenorm-epsilon use-bias-in-norms use-bias-in-mlp min-lr lr lr-decay-style warmup "
             "weight-decay gradient-clipping "
             "seed loss-scale label-smoothing mlp-multiple-of output-layer-parallelism "
             "apply-query-key-layer-scaling attention-softmax-in-fp32 sliding-window-width "
             "opt-pos-emb-offset char-level-ppl override-lr-scheduler use-checkpoint-lr-scheduler",
     NUMERICS},
    {.keys = "optimizer.* scheduler.* fp16.* bf16.* z-loss* zero-allow-* amp.* "
             "use-checkpoint-* fp16-lm-cross-entropy prescale-gradients sparse-gradients",
     NUMERICS},
    {.keys = "data-path data-impl *-data-* train-data-* valid-data-* test-data-* label-data-* "
             "split merge-file mmap-warmup weight-by-num-documents weighted-sampler-alpha "
             "pack-impl allow-chopped dataset-impl eod-mask-loss num-workers s3-* "
             "use-shared-fs data-* dataloader-* extra-save-iters tokenizer-*",
     DATA},
    {.keys = "save load finetune checkpoint checkpoint-factor checkpoint-scale checkpoint.* "
             "checkpoint-validation-* keep-last-n-checkpoints save-iters save-interval "
             "config-files no-save-* no-load-* save-base-shapes load-base-shapes base-shapes-*",
     SAVES},
    {.keys = "train-iters train-epochs lr-decay-* eval-interval eval-iters eval-tasks "
             "exit-interval do-train do-valid do-test autotuning* curriculum-learning*",
     ODDS},
    {.keys = "log-* steps-per-print wall-clock-breakdown tensorboard-dir tensorboard* wandb* "
             "use-wandb use-tensorboard git-hash flops-profiler* profile* memory-profiling* "
             "comet* dump-state comms-logger* timers*",
     LOGS},
    {.keys = "hostfile include exclude master-* distributed-backend deepspeed-* "
             "user-script no-ssh-check detect-nvlink-pairs force-multi dist* account comment "
             "local-rank rank lazy-mpu-init short-seq-prob use-cpu-initialization "
             "deepspeed slurm* jsrun* text-gen-type",
     WHERE},
};

static const OrrLaunchDialect *const own = &orr_dialect_gpt_neox;

static void set_global(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *other = &orr_dialect_megatron;
  const gint64 micro = orr_launch_config_count(draft, other, "micro-batch-size", 0);
  const gint64 steps = orr_launch_config_count(draft, own, "gradient-accumulation-steps", 1);
  const gint64 split = MAX(1, orr_launch_config_count(draft, own, "pipe-parallel-size", 1)) *
                       orr_launch_config_count(draft, other, "tensor-model-parallel-size", 1) *
                       orr_launch_config_count(draft, other, "context-parallel-size", 1);
  const gint64 gpus = orr_launch_config_gpus(draft);
  OrrLaunchSetting *source = orr_launch_draft_find(draft, other, "micro-batch-size");
  if (orr_launch_draft_find(draft, other, "global-batch-size") || !source) return;
  if (split < 1 || gpus < split) return; /* Megatron's finish asks */
  g_autofree char *text =
      g_strdup_printf("%" G_GINT64_FORMAT, micro * MAX(steps, 1) * (gpus / split));
  orr_launch_translate_add(draft, "global-batch-size", text, source);
}

static void set_model(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *vocab = orr_launch_draft_find(draft, own, "vocab-file");
  const OrrLaunchSetting *activation = orr_launch_draft_find(draft, own, "activation");
  const OrrLaunchSetting *ffn = orr_launch_draft_find(draft, own, "intermediate-size");
  const OrrLaunchSetting *kv =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "num-query-groups");
  const gboolean is_gated = activation && (strcmp(activation->value, "swiglu") == 0 ||
                                           strcmp(activation->value, "geglu") == 0);
  gint64 width = orr_launch_config_count(draft, own, "intermediate-size", 0);
  if (vocab && strstr(vocab->value, "20B_tokenizer"))
    orr_launch_translate_add(draft, "vocab-size", "50277", vocab);
  if (is_gated) orr_launch_translate_add(draft, activation->value, "true", activation);
  if (kv) orr_launch_translate_add(draft, "group-query-attention", "true", kv);
  if (is_gated && !width)
    width = 4 * orr_launch_config_count(draft, &orr_dialect_megatron, "hidden-size", 0);
  if (width > 0) {
    /* a gated layer is two thirds as wide, and in two halves */
    g_autofree char *text =
        g_strdup_printf("%" G_GINT64_FORMAT, is_gated ? width * 2 / 3 / 2 : width);
    orr_launch_translate_add(draft, "ffn-hidden-size", text, ffn ? ffn : activation);
  }
}

static void set_precision(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *precision = orr_launch_draft_find(draft, own, "precision");
  if (precision && strcmp(precision->value, "bfloat16") == 0)
    orr_launch_translate_add(draft, "bf16", "true", precision);
  if (precision && strcmp(precision->value, "fp16") == 0)
    orr_launch_translate_add(draft, "fp16", "true", precision);
}

static void set_zero(OrrLaunchDraft *draft) {
  const char *path = "workload.optimizer.sharding.overlap-comm";
  const char *overlap = "zero-optimization.overlap-comm";
  const char *bucket = "zero-optimization.reduce-bucket-size";
  const char *device = "zero-optimization.offload-optimizer.device";
  const gint64 size = orr_launch_config_count(draft, own, bucket, 0);
  const gint64 stage = orr_launch_config_count(draft, &orr_dialect_megatron, "zero-stage", 0);
  if (stage > 0 && orr_launch_draft_find(draft, own, overlap))
    orr_launch_config_put(draft, own, path,
                          orr_launch_draft_is_on(draft, own, overlap) ? "true" : "false", overlap);
  if (stage > 0 && size > 0)
    orr_launch_config_put_count(draft, own, "workload.optimizer.sharding.reduce-bucket", size,
                                bucket);
  if (orr_launch_draft_is_on(draft, own, device))
    orr_launch_config_put(draft, own, "workload.offload.optimizer", "1", device);
}

static void finish(OrrLaunchDraft *draft) {
  static const OrrLaunchWordPair positions[] = {
      {"rotary", "rope"}, {"alibi", "none"}, {"sinusoidal", "learned"}, {NULL, NULL}};
  const OrrLaunchSetting *stages = orr_launch_draft_find(draft, own, "pipe-parallel-size");
  const char *kind = orr_launch_config_text(draft, own, "optimizer.type");
  orr_launch_translate_value(draft, "position-embedding-type", positions);
  set_global(draft);
  if (stages && strcmp(stages->value, "0") != 0) {
    orr_launch_translate_add(draft, "pipeline-model-parallel-size", stages->value, stages);
    orr_launch_config_put(draft, own, "workload.parallel.pp", stages->value, "pipe-parallel-size");
  }
  set_model(draft);
  set_precision(draft);
  set_zero(draft);
  if (kind && !g_str_has_prefix(kind, "Adam"))
    orr_launch_config_skip(draft, own, "optimizer.type",
                           "an optimizer other than Adam, which is simulated instead");
  if (!draft->options->stack)
    orr_launch_draft_set(draft, "workload.stack", "gpt-neox-2022.11", NULL,
                         "the newest known of GPT-NeoX");
}

const OrrLaunchDialect orr_dialect_gpt_neox = {
    .name = "gpt-neox",
    .sentence = "GPT-NeoX's configs, several of which may be given.",
    .kind = "training",
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
    .finish = finish,
};

static void read(OrrLaunchDraft *draft, const OrrNode *tree) {
  const guint first = draft->settings->len;
  orr_launch_config_add(draft, own, tree, NULL);
  orr_launch_translate(draft, own, first);
}

const OrrLaunchConfig orr_config_gpt_neox = {
    .name = "gpt-neox",
    .signs = "pipe_parallel_size gpt_j_residual no_weight_tying output_layer_parallelism",
    .read = read,
};
