/*
 * dialect_megatron_job.c - what several of Megatron's arguments decide together: batch, pipeline,
 * precision, recomputation, sharding, experts, launches.
 */
#include <string.h>

#include "sim/import/launch/dialect_megatron.h"

static const OrrLaunchDialect *const own = &orr_dialect_megatron;

static gint64 number(OrrLaunchDraft *draft, const char *key, gint64 fallback) {
  return orr_launch_draft_int(draft, own, key, fallback);
}

static gboolean is_on(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_is_on(draft, own, key);
}

static gboolean is_value(OrrLaunchDraft *draft, const char *key, const char *value) {
  const char *text = orr_launch_draft_value(draft, own, key);
  return text && g_ascii_strcasecmp(text, value) == 0;
}

/* Sets @path from the setting of @key; nothing where the input does not have it. */
static void set_from(OrrLaunchDraft *draft, const char *path, const char *value, const char *key) {
  const OrrLaunchSetting *source = orr_launch_draft_find(draft, own, key);
  if (source) orr_launch_draft_set(draft, path, value, source, NULL);
}

static void set_if_on(OrrLaunchDraft *draft, const char *path, const char *value, const char *key) {
  if (is_on(draft, key)) set_from(draft, path, value, key);
}

static void set_number(OrrLaunchDraft *draft, const char *path, gint64 value, const char *key) {
  g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
  set_from(draft, path, text, key);
}

/* A value that nothing here simulates: a warning instead of a line. */
static void skip(OrrLaunchDraft *draft, const char *key, const char *why) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, key);
  if (setting) orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s", why);
}

/* --- Batch --- */

static void set_batch(OrrLaunchDraft *draft) {
  const gint64 micro = number(draft, "micro-batch-size", 0);
  const gint64 global = number(draft, "global-batch-size", 0);
  const gint64 split = number(draft, "tensor-model-parallel-size", 1) *
                       number(draft, "pipeline-model-parallel-size", 1) *
                       number(draft, "context-parallel-size", 1);
  const gint64 gpus = orr_launch_draft_gpus(draft);
  if (global) {
    set_number(draft, "workload.batch.global", global, "global-batch-size");
  } else if (micro && gpus >= split && split > 0) {
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, micro * (gpus / split));
    orr_launch_draft_set(draft, "workload.batch.global", text, NULL,
                         "Megatron's default: a micro-batch on each replica");
  } else {
    orr_launch_draft_ask(draft, "how large is the global batch? The launch line has no "
                                "--global-batch-size");
  }
}

/* --- Pipeline --- */

static gint64 chunks_of(OrrLaunchDraft *draft) {
  const gint64 pp = number(draft, "pipeline-model-parallel-size", 1);
  const gint64 layers = number(draft, "num-layers-per-virtual-pipeline-stage", 0);
  const gint64 stages = number(draft, "num-virtual-stages-per-pipeline-rank", 0);
  if (stages) return stages;
  return layers && pp ? MAX(1, number(draft, "num-layers", 0) / pp / layers) : 1;
}

static void set_pipeline(OrrLaunchDraft *draft) {
  const gint64 chunks = chunks_of(draft);
  const char *key = orr_launch_draft_find(draft, own, "num-virtual-stages-per-pipeline-rank")
                        ? "num-virtual-stages-per-pipeline-rank"
                        : "num-layers-per-virtual-pipeline-stage";
  const char *layout = orr_launch_draft_value(draft, own, "pipeline-model-parallel-layout");
  if (chunks > 1) {
    set_from(draft, "workload.pipeline.kind", "interleaved-1f1b", key);
    set_number(draft, "workload.pipeline.chunks", chunks, key);
    const gint64 group = number(draft, "microbatch-group-size-per-virtual-pipeline-stage", 0);
    if (group)
      set_number(draft, "workload.pipeline.group", group,
                 "microbatch-group-size-per-virtual-pipeline-stage");
    set_if_on(draft, "workload.pipeline.pair", "true", "overlap-moe-expert-parallel-comm");
  } else {
    skip(draft, "overlap-moe-expert-parallel-comm",
         "overlap of experts' exchanges without virtual stages");
  }
  set_if_on(draft, "workload.pipeline-comm.overlap-p2p", "false", "no-overlap-p2p-communication");
  set_if_on(draft, "workload.pipeline-comm.scatter-gather", "false",
            "no-scatter-gather-tensors-in-pipeline");
  if (layout) {
    g_auto(GStrv) parts = g_strsplit(layout, ",", -1);
    g_autofree char *plain = g_strjoinv("", parts);
    g_autofree char *quoted = g_strdup_printf("\"%s\"", plain);
    set_from(draft, "workload.pipeline-split.layout", quoted, "pipeline-model-parallel-layout");
  }
}

static void set_context(OrrLaunchDraft *draft) {
  static const struct {
    const char *theirs, *ours;
  } kinds[] = {{"p2p", "p2p"},
               {"a2a", "all-to-all"},
               {"allgather", "all-gather"},
               {"all_gather", "all-gather"},
               {"a2a+p2p", "hierarchical"}};
  const char *kind = orr_launch_draft_value(draft, own, "cp-comm-type");
  const char *sizes = orr_launch_draft_value(draft, own, "hierarchical-context-parallel-sizes");
  for (guint i = 0; kind && i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kind, kinds[i].theirs) == 0)
      set_from(draft, "workload.parallel.context", kinds[i].ours, "cp-comm-type");
  if (kind && strchr(kind, ' '))
    skip(draft, "cp-comm-type", "layers with different kinds of context parallelism");
  if (sizes) {
    g_autofree char *inner = g_strndup(sizes, strcspn(sizes, " ,"));
    set_from(draft, "workload.parallel.context-inner", inner,
             "hierarchical-context-parallel-sizes");
  }
}

static void set_parallel(OrrLaunchDraft *draft) {
  set_if_on(draft, "workload.parallel.tp-comm-overlap", "userbuffers", "tp-comm-overlap");
  set_if_on(draft, "workload.parallel.order", "tp-cp-pp-dp", "use-tp-pp-dp-mapping");
  set_if_on(draft, "workload.parallel.async-tp-all-reduce", "false",
            "no-async-tensor-model-parallel-allreduce");
  set_context(draft);
}

/* --- Precision --- */

static const char *fp8_recipe(OrrLaunchDraft *draft) {
  static const struct {
    const char *theirs, *ours;
  } recipes[] = {{"delayed", "fp8-delayed"},
                 {"tensorwise", "fp8-current"},
                 {"mxfp8", "mxfp8"},
                 {"blockwise", "fp8-blockwise"}};
  const char *recipe = orr_launch_draft_value(draft, own, "fp8-recipe");
  for (guint i = 0; recipe && i < G_N_ELEMENTS(recipes); i++)
    if (strcmp(recipe, recipes[i].theirs) == 0) return recipes[i].ours;
  if (recipe) skip(draft, "fp8-recipe", "a recipe of its own");
  return "fp8-delayed";
}

static void set_precision(OrrLaunchDraft *draft) {
  static const char *const eights[] = {"fp8-format", "fp8-hybrid", "fp8-e4m3"};
  const char *format = is_on(draft, "bf16") ? "bf16" : is_on(draft, "fp16") ? "fp16" : NULL;
  if (format)
    set_from(draft, "workload.precision", format, format);
  else
    orr_launch_draft_set(draft, "workload.precision", "fp32", NULL,
                         "Megatron's default without --bf16 or --fp16");
  for (guint i = 0; i < G_N_ELEMENTS(eights); i++)
    if (is_on(draft, eights[i]))
      set_from(draft, "workload.precision", fp8_recipe(draft),
               orr_launch_draft_find(draft, own, "fp8-recipe") ? "fp8-recipe" : eights[i]);
  set_if_on(draft, "workload.precision", "nvfp4", "fp4-format");
  set_if_on(draft, "workload.data-parallel.gradients", "same", "grad-reduce-in-bf16");
  set_if_on(draft, "workload.data-parallel.gradients", "fp32",
            "accumulate-allreduce-grads-in-fp32");
  if (is_value(draft, "main-grads-dtype", "bf16"))
    set_from(draft, "workload.data-parallel.gradients", "same", "main-grads-dtype");
}

/* --- Recomputation --- */

static void set_modules(OrrLaunchDraft *draft) {
  const char *modules = orr_launch_draft_value(draft, own, "recompute-modules");
  if (!modules) return;
  g_auto(GStrv) words = g_strsplit_set(modules, " ,[]'\"", -1); /* also a list of YAML */
  g_autoptr(GString) text = g_string_new("[");
  for (char **word = words; *word; word++)
    if (**word)
      g_string_append_printf(text, "%s%s", text->len > 1 ? ", " : "",
                             g_strdelimit(*word, "_", '-'));
  g_string_append_c(text, ']');
  set_from(draft, "workload.recompute-modules", text->str, "recompute-modules");
}

static void set_recompute(OrrLaunchDraft *draft) {
  const char *method = orr_launch_draft_value(draft, own, "recompute-method");
  const gint64 layers = number(draft, "recompute-num-layers", 0);
  set_if_on(draft, "workload.recompute", "selective", "recompute-activations");
  set_if_on(draft, "workload.recompute", "full", "checkpoint-activations");
  if (is_value(draft, "recompute-granularity", "full"))
    set_from(draft, "workload.recompute", "full", "recompute-granularity");
  else if (is_value(draft, "recompute-granularity", "selective"))
    set_from(draft, "workload.recompute", "selective", "recompute-granularity");
  else if (method && !orr_launch_draft_get(draft, "workload.recompute"))
    set_from(draft, "workload.recompute", "full", "recompute-method");
  if (is_on(draft, "moe-layer-recompute")) {
    set_from(draft, "workload.recompute", "selective", "moe-layer-recompute");
    set_from(draft, "workload.recompute-modules", "[moe]", "moe-layer-recompute");
  }
  if (method) set_from(draft, "workload.recompute-method", method, "recompute-method");
  if (layers) set_number(draft, "workload.recompute-layers", layers, "recompute-num-layers");
  set_modules(draft);
}

/* --- Sharding --- */

static const char *const fsdp_keys[] = {"use-megatron-fsdp", "use-custom-fsdp", "use-torch-fsdp2"};

static const char *fsdp_key(OrrLaunchDraft *draft) {
  for (guint i = 0; i < G_N_ELEMENTS(fsdp_keys); i++)
    if (is_on(draft, fsdp_keys[i])) return fsdp_keys[i];
  return NULL;
}

static void set_fsdp(OrrLaunchDraft *draft, const char *key) {
  const char *strategy = orr_launch_draft_value(draft, own, "data-parallel-sharding-strategy");
  const gboolean is_torch = strcmp(key, "use-torch-fsdp2") == 0;
  const gboolean whole = is_torch || (strategy && strcmp(strategy, "optim_grads_params") == 0);
  const char *from = strategy && !is_torch ? "data-parallel-sharding-strategy" : key;
  if (!whole && (!strategy || strcmp(strategy, "no_shard") == 0)) return;
  set_from(draft, "workload.optimizer.sharding.kind", whole ? "fsdp" : "distributed-optimizer",
           from);
  set_if_on(draft, "workload.optimizer.sharding.reshard-after-forward", "false",
            "torch-fsdp2-no-reshard-after-forward");
  if (strategy && strcmp(strategy, "optim_grads") == 0)
    skip(draft, "data-parallel-sharding-strategy",
         "gradients sharded without weights: simulated as a distributed optimizer");
}

static void set_distributed(OrrLaunchDraft *draft) {
  set_from(draft, "workload.optimizer.sharding.kind", "distributed-optimizer",
           "use-distributed-optimizer");
  set_if_on(draft, "workload.optimizer.sharding.overlap-param-gather", "true",
            "overlap-param-gather");
  set_if_on(draft, "workload.optimizer.sharding.narrow-gather", "true", "fp8-param-gather");
  const gint64 bucket = number(draft, "ddp-bucket-size", 0);
  if (bucket) set_number(draft, "workload.optimizer.sharding.bucket", bucket, "ddp-bucket-size");
}

static void set_sharding(OrrLaunchDraft *draft) {
  const char *fsdp = fsdp_key(draft);
  const gint64 zero = number(draft, "zero-stage", 0);
  if (fsdp) {
    set_fsdp(draft, fsdp);
  } else if (is_on(draft, "use-distributed-optimizer")) {
    set_distributed(draft);
  } else {
    skip(draft, "overlap-param-gather", "without --use-distributed-optimizer it does nothing");
    skip(draft, "ddp-bucket-size", "buckets in parameters without a distributed optimizer");
  }
  if (zero >= 1 && zero <= 3) {
    g_autofree char *kind = g_strdup_printf("zero-%" G_GINT64_FORMAT, zero);
    set_from(draft, "workload.optimizer.sharding.kind", kind, "zero-stage");
  }
  if (is_on(draft, "overlap-grad-reduce"))
    set_from(draft, "workload.data-parallel.overlap", "true", "overlap-grad-reduce");
  else if (!fsdp && !zero)
    orr_launch_draft_set(draft, "workload.data-parallel.overlap", "false", NULL,
                         "no --overlap-grad-reduce");
}

static void set_optimizer(OrrLaunchDraft *draft) {
  const char *kind = orr_launch_draft_value(draft, own, "optimizer");
  const gboolean narrow =
      is_value(draft, "exp-avg-dtype", "bf16") && is_value(draft, "exp-avg-sq-dtype", "bf16");
  if (kind && strcmp(kind, "adam") != 0)
    skip(draft, "optimizer", "an optimizer other than Adam, which is simulated instead");
  if (narrow)
    set_from(draft, "workload.optimizer.moments", "bf16", "exp-avg-dtype");
  else if (!is_value(draft, "exp-avg-dtype", "fp32"))
    skip(draft, "exp-avg-dtype", "moments other than both in fp32 or both in bf16");
  if (is_on(draft, "optimizer-cpu-offload")) {
    const char *fraction = orr_launch_draft_value(draft, own, "optimizer-offload-fraction");
    set_from(draft, "workload.offload.optimizer", fraction ? fraction : "1",
             fraction ? "optimizer-offload-fraction" : "optimizer-cpu-offload");
  }
}

/* --- Experts --- */

static void set_experts(OrrLaunchDraft *draft) {
  const char *dispatcher = orr_launch_draft_value(draft, own, "moe-token-dispatcher-type");
  const char *capacity = orr_launch_draft_value(draft, own, "moe-expert-capacity-factor");
  const gboolean deepep = is_on(draft, "moe-enable-deepep") ||
                          is_value(draft, "moe-flex-dispatcher-backend", "deepep") ||
                          is_value(draft, "moe-flex-dispatcher-backend", "hybridep");
  if (dispatcher && strcmp(dispatcher, "allgather") == 0)
    skip(draft, "moe-token-dispatcher-type",
         "experts' tokens by all-gather: simulated as an all-to-all");
  else if (dispatcher && strcmp(dispatcher, "alltoall") == 0)
    set_from(draft, "workload.experts.dispatch", "flat", "moe-token-dispatcher-type");
  if (deepep) {
    set_from(draft, "workload.experts.dispatch", "deepep",
             is_on(draft, "moe-enable-deepep") ? "moe-enable-deepep"
                                               : "moe-flex-dispatcher-backend");
    const gint64 nodes = number(draft, "moe-router-group-topk", 0);
    if (nodes) set_number(draft, "workload.experts.nodes", nodes, "moe-router-group-topk");
  }
  if (capacity && g_ascii_strtod(capacity, NULL) > 0)
    set_from(draft, "workload.experts.capacity", capacity, "moe-expert-capacity-factor");
  set_if_on(draft, "workload.experts.load", "balanced", "moe-router-force-load-balancing");
}

/* --- Kernels --- */

static void set_launches(OrrLaunchDraft *draft) {
  static const char *const old[] = {"enable-cuda-graph", "external-cuda-graph"};
  const char *graphs = orr_launch_draft_value(draft, own, "cuda-graph-impl");
  const char *scope = orr_launch_draft_value(draft, own, "cuda-graph-scope");
  const gboolean is_part = scope && !strstr(scope, "full");
  const char *value = is_part ? "graphs-but-experts" : "graphs";
  if (graphs && strcmp(graphs, "none") != 0)
    set_from(draft, "workload.launches", value, "cuda-graph-impl");
  for (guint i = 0; i < G_N_ELEMENTS(old); i++)
    set_if_on(draft, "workload.launches", value, old[i]);
}

static void set_dropout(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"attention-dropout", "hidden-dropout"};
  gboolean any = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const char *text = orr_launch_draft_value(draft, own, keys[i]);
    any = any || !text || g_ascii_strtod(text, NULL) > 0;
  }
  orr_launch_draft_set(
      draft, "workload.dropout", any ? "true" : "false",
      orr_launch_draft_find(draft, own, "hidden-dropout"),
      orr_launch_draft_find(draft, own, "hidden-dropout") ? NULL : "Megatron's default: 0.1");
}

static void set_kernels(OrrLaunchDraft *draft) {
  const gboolean is_te = is_value(draft, "cross-entropy-fusion-impl", "te");
  if (is_on(draft, "cross-entropy-loss-fusion") && is_te)
    set_from(draft, "workload.loss", "fused", "cross-entropy-fusion-impl");
  set_if_on(draft, "workload.rope", "apart", "no-rope-fusion");
  if (is_value(draft, "attention-backend", "unfused") ||
      is_value(draft, "attention-backend", "local"))
    set_from(draft, "workload.attention", "unfused", "attention-backend");
  set_launches(draft);
  set_dropout(draft);
}

/* Megatron-DeepSpeed is software of its own. */
static void set_stack(OrrLaunchDraft *draft) {
  if (is_on(draft, "deepspeed") && !orr_launch_draft_options(draft)->stack)
    set_from(draft, "workload.stack", "megatron-deepspeed-2021.10", "deepspeed");
}

void orr_dialect_megatron_job(OrrLaunchDraft *draft) {
  set_stack(draft);
  set_batch(draft);
  set_parallel(draft);
  set_pipeline(draft);
  set_precision(draft);
  set_recompute(draft);
  set_optimizer(draft);
  set_sharding(draft);
  set_experts(draft);
  set_kernels(draft);
}
