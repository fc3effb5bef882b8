/*
 * dialect_nemo.c - YAML of NeMo 1.x, of NeMo 2.x and of Megatron-Bridge.
 *
 * Source: examples/nlp/language_modeling/conf of NVIDIA/NeMo v1.0 to v1.23,
 * nemo/lightning/pytorch/strategies/megatron_strategy.py of v2, and
 * src/megatron/bridge/training/config.py of NVIDIA-NeMo/Megatron-Bridge. Most keys are Megatron's
 * by other names.
 */
#include <string.h>

#include "sim/import/launch/config_macros.h"
#include "sim/import/launch/dialects_training.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_translate.h"

/* A key of NeMo 1.x and Megatron-Bridge, and of NeMo 2.x's strategy. */
#define MODEL(key_) "model." key_ " trainer.strategy." key_ " model.config." key_

static const OrrLaunchRule rules[] = {
    {.keys = "model", LATER("model")},
    {.keys = "trainer.num-nodes", LATER("cluster.nodes")},
    {.keys = "trainer.devices trainer.gpus", LATER("cluster.gpus")},
    {.keys = "trainer.precision model.precision mixed-precision", LATER("workload.precision")},
    {.keys = MODEL("tensor-model-parallel-size"),
     MEGATRON("tensor-model-parallel-size", "workload.parallel.tp")},
    {.keys = MODEL("pipeline-model-parallel-size"),
     MEGATRON("pipeline-model-parallel-size", "workload.parallel.pp")},
    {.keys = MODEL("virtual-pipeline-model-parallel-size"),
     MEGATRON("num-virtual-stages-per-pipeline-rank", "workload.pipeline")},
    {.keys = MODEL("context-parallel-size"),
     MEGATRON("context-parallel-size", "workload.parallel.cp")},
    {.keys = MODEL("cp-comm-type"), MEGATRON("cp-comm-type", "workload.parallel.context")},
    {.keys = MODEL("expert-model-parallel-size"),
     MEGATRON("expert-model-parallel-size", "workload.parallel.ep")},
    {.keys = MODEL("expert-tensor-parallel-size"),
     MEGATRON("expert-tensor-parallel-size", "workload.parallel.etp")},
    {.keys = MODEL("sequence-parallel"),
     MEGATRON("sequence-parallel", "workload.parallel.sequence-parallel")},
    {.keys = "model.overlap-p2p-comm trainer.strategy.overlap-p2p-comm",
     MEGATRON("overlap-p2p-communication", "workload.pipeline-comm.overlap-p2p")},
    {.keys = "model.ub-tp-comm-overlap model.tp-comm-overlap comm-overlap.tp-comm-overlap",
     MEGATRON("tp-comm-overlap", "workload.parallel.tp-comm-overlap")},
    {.keys = "model.micro-batch-size data.micro-batch-size train.micro-batch-size",
     MEGATRON("micro-batch-size", "workload.batch.micro")},
    {.keys = "model.global-batch-size data.global-batch-size train.global-batch-size",
     MEGATRON("global-batch-size", "workload.batch.global")},
    {.keys = "model.encoder-seq-length model.data.seq-length data.seq-length model.seq-length "
             "dataset.sequence-length dataset.seq-length model.config.seq-length",
     MEGATRON("seq-length", "workload.sequence")},
    {.keys = "model.max-position-embeddings", MEGATRON("max-position-embeddings", "model.context")},
    {.keys = "model.num-layers model.config.num-layers", MEGATRON("num-layers", "model.layers")},
    {.keys = "model.hidden-size model.config.hidden-size", MEGATRON("hidden-size", "model.hidden")},
    {.keys = "model.ffn-hidden-size model.config.ffn-hidden-size",
     MEGATRON("ffn-hidden-size", "model.ffn")},
    {.keys = "model.num-attention-heads model.config.num-attention-heads",
     MEGATRON("num-attention-heads", "model.heads")},
    {.keys = "model.num-query-groups model.config.num-query-groups",
     MEGATRON("num-query-groups", "model.kv-heads")},
    {.keys = "model.kv-channels", MEGATRON("kv-channels", "model.head-dim")},
    {.keys = "model.vocab-size", MEGATRON("vocab-size", "model.vocab")},
    {.keys = "model.make-vocab-size-divisible-by",
     MEGATRON("make-vocab-size-divisible-by", "model.vocab")},
    {.keys = "model.tokenizer.type tokenizer.tokenizer-type",
     MEGATRON("tokenizer-type", "model.vocab")},
    {.keys = "model.normalization", LATER("model.norm")},
    {.keys = "model.activation", LATER("model.activation")},
    {.keys = "model.position-embedding-type",
     MEGATRON("position-embedding-type", "model.position")},
    {.keys = "model.bias model.add-bias-linear", MEGATRON("!disable-bias-linear", "model.bias")},
    {.keys = "model.qk-layernorm", MEGATRON("qk-layernorm", "model.qk-norm")},
    {.keys = "model.share-embeddings-and-output-weights",
     MEGATRON("!untie-embeddings-and-output-weights", "model.tied-embeddings")},
    {.keys = "model.num-moe-experts", MEGATRON("num-experts", "model.moe.experts")},
    {.keys = "model.moe-router-topk", MEGATRON("moe-router-topk", "model.moe.topk")},
    {.keys = "model.moe-ffn-hidden-size", MEGATRON("moe-ffn-hidden-size", "model.moe.ffn")},
    {.keys = "model.moe-shared-expert-intermediate-size",
     MEGATRON("moe-shared-expert-intermediate-size", "model.moe.shared-ffn")},
    {.keys = "model.moe-token-dispatcher-type",
     MEGATRON("moe-token-dispatcher-type", "workload.experts.dispatch")},
    {.keys = "model.moe-expert-capacity-factor",
     MEGATRON("moe-expert-capacity-factor", "workload.experts.capacity")},
    {.keys = "model.moe-pad-expert-input-to-capacity",
     MEGATRON("moe-pad-expert-input-to-capacity", "workload.experts.pad-to-capacity")},
    {.keys = "model.hidden-dropout", MEGATRON("hidden-dropout", "workload.dropout")},
    {.keys = "model.attention-dropout", MEGATRON("attention-dropout", "workload.dropout")},
    {.keys = "model.activations-checkpoint-granularity model.recompute-granularity",
     MEGATRON("recompute-granularity", "workload.recompute")},
    {.keys = "model.activations-checkpoint-method model.recompute-method",
     MEGATRON("recompute-method", "workload.recompute-method")},
    {.keys = "model.activations-checkpoint-num-layers model.recompute-num-layers",
     MEGATRON("recompute-num-layers", "workload.recompute-layers")},
    {.keys = "model.recompute-modules",
     MEGATRON("recompute-modules", "workload.recompute-modules")},
    {.keys = "model.fp8", LATER("workload.precision")},
    {.keys = "model.fp8-hybrid model.fp8-e4m3", LATER("workload.precision")},
    {.keys = "model.fp8-recipe mixed-precision.fp8-recipe",
     MEGATRON("fp8-recipe", "workload.precision")},
    {.keys = "model.fp8-params model.fp8-param-gather",
     MEGATRON("fp8-param-gather", "workload.optimizer.sharding.narrow-gather")},
    {.keys = "model.pipeline-model-parallel-layout",
     MEGATRON("pipeline-model-parallel-layout", "workload.pipeline-split")},
    {.keys = "model.account-for-loss-in-pipeline-split",
     MEGATRON("account-for-loss-in-pipeline-split", "workload.pipeline-split")},
    {.keys = "model.account-for-embedding-in-pipeline-split",
     MEGATRON("account-for-embedding-in-pipeline-split", "workload.pipeline-split")},
    {.keys = "ddp.use-megatron-fsdp", MEGATRON("use-megatron-fsdp", "workload.optimizer.sharding")},
    {.keys = "ddp.data-parallel-sharding-strategy",
     MEGATRON("data-parallel-sharding-strategy", "workload.optimizer.sharding")},
    {.keys = "model.cuda-graph-impl", MEGATRON("cuda-graph-impl", "workload.launches")},
    {.keys = "model.cuda-graph-scope", MEGATRON("cuda-graph-scope", "workload.launches")},
    {.keys = "model.moe-flex-dispatcher-backend",
     MEGATRON("moe-flex-dispatcher-backend", "workload.experts.dispatch")},
    {.keys = "model.moe-router-force-load-balancing",
     MEGATRON("moe-router-force-load-balancing", "workload.experts.load")},
    {.keys = "model.moe-shared-expert-overlap",
     MEGATRON("moe-shared-expert-overlap", "workload.experts.shared-expert-overlap")},
    {.keys = "comm-overlap.overlap-moe-expert-parallel-comm",
     MEGATRON("overlap-moe-expert-parallel-comm", "workload.experts")},
    {.keys = "model.cross-entropy-loss-fusion",
     MEGATRON("cross-entropy-loss-fusion", "workload.loss")},
    {.keys = "model.cross-entropy-fusion-impl",
     MEGATRON("cross-entropy-fusion-impl", "workload.loss")},
    {.keys = "optimizer.exp-avg-dtype", MEGATRON("exp-avg-dtype", "workload.optimizer")},
    {.keys = "optimizer.exp-avg-sq-dtype", MEGATRON("exp-avg-sq-dtype", "workload.optimizer")},
    {.keys = "optimizer.main-grads-dtype", MEGATRON("main-grads-dtype", "workload.optimizer")},
    {.keys = "model.mtp-num-layers", MEGATRON("mtp-num-layers", "model.mtp-layers")},
    {.keys = "model.optim.name optim.name", LATER("workload.optimizer.sharding")},
    {.keys = "ddp.use-distributed-optimizer optimizer.use-distributed-optimizer "
             "trainer.strategy.ddp.use-distributed-optimizer",
     MEGATRON("use-distributed-optimizer", "workload.optimizer.sharding")},
    {.keys = "model.optim.overlap-grad-sync ddp.overlap-grad-reduce "
             "trainer.strategy.ddp.overlap-grad-reduce",
     MEGATRON("overlap-grad-reduce", "workload.data-parallel.overlap")},
    {.keys = "model.optim.overlap-param-sync ddp.overlap-param-gather "
             "trainer.strategy.ddp.overlap-param-gather",
     MEGATRON("overlap-param-gather", "workload.optimizer.sharding.overlap-param-gather")},
    {.keys = "model.optim.grad-sync-dtype", LATER("workload.data-parallel.gradients")},
    {.keys = "ddp.grad-reduce-in-fp32 trainer.strategy.ddp.grad-reduce-in-fp32",
     MEGATRON("accumulate-allreduce-grads-in-fp32", "workload.data-parallel.gradients")},
    {.keys = "model.mcore-gpt model.megatron-amp-o2 model.transformer-engine model.name",
     IRRELEVANT("the stack's layers")},
    /* --- not simulated --- */
    {.keys = "model.rampup-batch-size train.rampup-batch-size",
     SKIPPED("batches that grow: the last size is simulated", "null")},
    {.keys = "model.fsdp", SKIPPED("FSDP of NeMo: add it to the scenario", "false")},
    {.keys = "model.fsdp-*", IRRELEVANT("takes effect with model.fsdp")},
    {.keys = "model.num-micro-batches-with-partial-activation-checkpoints "
             "model.activations-checkpoint-layers-per-pipeline",
     SKIPPED("recomputation that differs between micro-batches or stages", "null 0")},
    {.keys = "model.window-size model.*window*", SKIPPED("sliding windows", "null")},
    {.keys = "model.peft* peft*", SKIPPED("adapters: see workload.lora", "null none")},
    {.keys = "model.sharp", SKIPPED("reductions in the switches", "false null")},
    {.keys = "model.cpu-offloading* model.transformer-engine-offload*",
     SKIPPED("activations in the host's memory", "false null 0")},
    {.keys = "model.moe-permute-fusion model.moe-*",
     IRRELEVANT("how experts are chosen, and kernels of the stack")},
    {.keys = "model.ub-tp-comm-overlap-cfg* comm-overlap.* model.tp-comm-*",
     IRRELEVANT("how the overlap cuts its products")},
    {.keys = "model.nsys-profile.* model.apex-transformer-log-level profiling.* logger.*", LOGS},
    {.keys = "model.fine-grained-* model.offload-modules model.min-offloaded-*",
     SKIPPED("activations in the host's memory", "false null []")},
    {.keys = "model.freeze-*", SKIPPED("parts that are not trained: all are", "false null")},
    {.keys = "model.hybrid-* model.mamba-* model.is-hybrid-model model.mtp-hybrid-* "
             "model.temporal-* model.vit-* model.multimodal-* model.activation-func",
     SKIPPED("layers of this kind: write a model document and add --model", "false null")},
    /* --- irrelevant --- */
    {.keys = "validation.* model.cuda-graph-warmup-steps", ODDS},
    {.keys = "model.microbatch-group-size-per-vp-stage",
     SKIPPED("micro-batches in groups of another size than the stages", "null")},
    {.keys = "model.should-pad-vocab model.calculate-per-token-loss model.qk-clip model.yarn-* "
             "model.mtp-loss-* model.mtp-use-* model.attention-softmax-in-fp32 "
             "model.first-last-layers-bf16 optimizer scheduler comm-overlap",
     NUMERICS},
    {.keys = "model.transformer-impl model.attention-backend model.use-transformer-engine-* "
             "model.disable-parameter-transpose-cache model.high-priority-* model.fused-* "
             "model.tp-only-amax-red model.deallocate-* model.dsa-* model.use-fused-* "
             "model.cuda-graph-modules model.keep-mtp-*",
     IRRELEVANT("kernels and buffers of the stack")},
    {.keys = "model.pipeline-dtype model.params-dtype model.init-model-* model.hf-model-*",
     IRRELEVANT("how the model is made")},
    {.keys = "env-vars.* hydra.* run.* exp-manager.* name restore-* log.* log-dir resume.* "
             "base-results-dir "
             "data-dir cluster-type training-config stages",
     LOGS},
    {.keys = "trainer.* train.* trainer.strategy.*", ODDS},
    {.keys = "model.data.* data.* dataset.* model.tokenizer.* tokenizer.*", DATA},
    {.keys = "model.optim.* optim.* optimizer.* scheduler.* ddp.* rerun-* rng.* dist.* "
             "mixed-precision.*",
     NUMERICS},
    {.keys = "checkpoint.* model.resume-from-checkpoint model.restore-*", SAVES},
    {.keys = "model.rotary-* model.init-method-std model.use-scaled-init-method "
             "model.layernorm-* model.apply-query-key-layer-scaling model.fp8-* model.seed "
             "model.native-amp-* model.hysteresis model.fp32-residual-connection "
             "model.fp16-lm-cross-entropy model.ffn-dropout model.headscale model.openai-gelu "
             "model.seq-len-interpolation-factor model.do-layer-norm-weight-decay "
             "model.scale-positional-embedding model.reduce-amax model.attention-type "
             "model.normalize-attention-scores model.transformer-block-type "
             "model.apply-embedding-scaling model.layer-norm-eps model.rope-* model.softmax-*",
     NUMERICS},
    {.keys = "model.*fusion model.persist-layer-norm model.gradient-as-bucket-view "
             "model.get-attention-mask-from-fusion model.use-flash-attention "
             "model.masked-softmax-fusion model.grad-div-ar-fusion "
             "model.gradient-accumulation-fusion model.bias-activation-fusion "
             "model.bias-dropout-add-fusion model.bias-gelu-fusion model.apply-rope-fusion "
             "model.batch-p2p-comm model.sync-batch-comm model.use-emha "
             "model.grad-allreduce-chunk-size-mb model.deterministic-mode model.deteministic-mode "
             "model.cross-entropy-*  model.enable-cuda-graph model.use-te-rng-tracker "
             "model.defer-embedding-wgrad-compute model.wgrad-deferral-limit",
     IRRELEVANT("kernels and buffers of the stack")},
    {.keys = "model.pre-process model.post-process model.use-cpu-initialization model.onnx-safe "
             "model.gc-interval model.mcore-customization-config.* model.spec-name "
             "model.dist-ckpt-* model.target model.apply-* model.num-layers-in-* model.*-path",
     IRRELEVANT("how the model is made")},
};

static const OrrLaunchDialect *const own = &orr_dialect_nemo;

static gboolean is_on(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_is_on(draft, own, key);
}

static void set_precision(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, "trainer.precision");
  const char *const eight = "model.fp8-hybrid";
  const gboolean is_bf16 = setting && strstr(setting->value, "bf16");
  const gboolean is_fp16 = setting && !is_bf16 && strstr(setting->value, "16");
  if (setting && (strstr(setting->value, "fp8") || strstr(setting->value, "nvfp4")))
    orr_dialect_bridge_precision(draft, setting->value, NULL, setting);
  else if (is_bf16 || is_fp16)
    orr_launch_translate_add(draft, is_bf16 ? "bf16" : "fp16", "true", setting);
  if (!is_on(draft, "model.fp8")) return;
  setting = orr_launch_draft_find(draft, own, is_on(draft, eight) ? eight : "model.fp8");
  orr_launch_translate_add(draft, "fp8-format", "hybrid", setting);
}

static void set_model(OrrLaunchDraft *draft) {
  static const OrrLaunchWordPair gates[] = {{"fast-swiglu", "swiglu"},
                                            {"swiglu", "swiglu"},
                                            {"silu", "swiglu"},
                                            {"geglu", "geglu"},
                                            {"fast-geglu", "geglu"},
                                            {"squared-relu", "squared-relu"},
                                            {NULL, NULL}};
  const OrrLaunchSetting *activation = orr_launch_draft_find(draft, own, "model.activation");
  const OrrLaunchSetting *norm = orr_launch_draft_find(draft, own, "model.normalization");
  const OrrLaunchSetting *kv =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "num-query-groups");
  const char *gate = activation ? orr_launch_config_word(gates, activation->value) : NULL;
  if (gate) orr_launch_translate_add(draft, gate, "true", activation);
  if (norm && strstr(norm->value, "rms"))
    orr_launch_translate_add(draft, "normalization", "RMSNorm", norm);
  if (kv) orr_launch_translate_add(draft, "group-query-attention", "true", kv);
}

static void set_optimizer(OrrLaunchDraft *draft) {
  const char *key = "model.optim.name", *sync = "model.optim.grad-sync-dtype";
  const OrrLaunchSetting *name = orr_launch_draft_find(draft, own, key);
  const OrrLaunchSetting *dtype = orr_launch_draft_find(draft, own, sync);
  if (name && strstr(name->value, "distributed"))
    orr_launch_translate_add(draft, "use-distributed-optimizer", "true", name);
  if (dtype && strcmp(dtype->value, "bf16") == 0)
    orr_launch_translate_add(draft, "grad-reduce-in-bf16", "true", dtype);
}

/* A recipe of Megatron-Bridge names its model. */
static void set_name(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, "model");
  if (!setting || draft->options->model) return;
  g_autofree char *path = orr_library_path(draft->library, "model", setting->value);
  if (path)
    orr_launch_draft_set(draft, "model", setting->value, setting, NULL);
  else
    orr_launch_config_put_model(draft, own, "model");
}

/* Without sequence parallelism NeMo and Megatron-Bridge switch tensor parallelism's overlap off. */
static void set_overlap(OrrLaunchDraft *draft) {
  OrrLaunchSetting *overlap =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "tp-comm-overlap");
  if (!overlap || orr_launch_draft_is_on(draft, &orr_dialect_megatron, "sequence-parallel")) return;
  g_free(overlap->value);
  overlap->value = g_strdup("false");
}

static void finish(OrrLaunchDraft *draft) {
  set_overlap(draft);
  set_name(draft);
  set_precision(draft);
  set_model(draft);
  set_optimizer(draft);
}

const OrrLaunchDialect orr_dialect_nemo = {
    .name = "nemo",
    .sentence = "YAML of NeMo 1.x and 2.x and of Megatron-Bridge.",
    .kind = "training",
    .stack = "megatron-core",
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
    .finish = finish,
};

static void set_machine(OrrLaunchDraft *draft, const OrrNode *tree) {
  const OrrNode *trainer = orr_node_get(tree, "trainer");
  const char *nodes = trainer ? orr_node_get_text(trainer, "num_nodes") : NULL;
  const char *gpus = trainer ? orr_node_get_text(trainer, "devices") : NULL;
  const gint64 n = nodes ? g_ascii_strtoll(nodes, NULL, 10) : 0;
  const gint64 per_node = gpus ? g_ascii_strtoll(gpus, NULL, 10) : 0;
  if (n > 0 && n < 1000000) orr_launch_draft_set_nodes(draft, n, "trainer.num_nodes");
  if (per_node > 0 && per_node < 1000000)
    orr_launch_draft_set_gpus_per_node(draft, per_node, "trainer.devices");
}

static void read(OrrLaunchDraft *draft, const OrrNode *tree) {
  const guint first = draft->settings->len;
  const OrrNode *training = orr_node_get(tree, "training");
  if (training && training->kind == ORR_NODE_MAP) tree = training;
  set_machine(draft, tree);
  orr_launch_config_add(draft, own, tree, NULL);
  orr_launch_translate(draft, own, first);
}

const OrrLaunchConfig orr_config_nemo = {
    .name = "nemo",
    .signs = "model.tensor_model_parallel_size trainer.strategy.tensor_model_parallel_size "
             "training.model.tensor_model_parallel_size model.config.tensor_model_parallel_size "
             "model.encoder_seq_length",
    .read = read,
};
