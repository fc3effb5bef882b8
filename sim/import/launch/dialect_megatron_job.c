/*
 * dialect_megatron_job.c - what several of Megatron's arguments decide together: batch, pipeline,
 * precision, recomputation, sharding, experts, launches.
 */
#include "sim/import/launch/launch_trainer.h"
#include "workloads/training/job/training_job.h"

static const OrrLaunchDialect *const own = &orr_dialect_megatron;

#include "sim/import/launch/own_keys.inc"

static gboolean is_value(OrrLaunchDraft *draft, const char *key, const char *value) {
  const char *text = orr_launch_draft_value(draft, own, key);
  return text && g_ascii_strcasecmp(text, value) == 0;
}

/* Sets @path from the setting of @key; nothing where the input does not have it. */
static void set_from(OrrLaunchDraft *draft, const char *path, const char *value, const char *key) {
  const OrrLaunchSetting *source = find(draft, key);
  if (source) orr_launch_draft_set(draft, path, value, source, NULL);
}

static void set_number(OrrLaunchDraft *draft, const char *path, gint64 value, const char *key) {
  const OrrLaunchSetting *source = find(draft, key);
  if (source) orr_launch_draft_set_number(draft, path, value, source, NULL);
}

/* A value that nothing here simulates: a warning instead of a line. */
static void skip(OrrLaunchDraft *draft, const char *key, const char *why) {
  OrrLaunchSetting *setting = find(draft, key);
  if (setting) orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s", why);
}

/* --- Batch --- */

static void set_batch(OrrLaunchDraft *draft) {
  const gint64 micro = number(draft, "micro-batch-size", 0);
  const gint64 split = number(draft, "tensor-model-parallel-size", 1) *
                       number(draft, "pipeline-model-parallel-size", 1) *
                       number(draft, "context-parallel-size", 1);
  if (!micro && !orr_launch_draft_get(draft, "workload.batch.micro"))
    orr_launch_draft_assume(draft, "workload.batch.micro", "1", "since the input has none",
                            "how large is a micro-batch? The input has no --micro-batch-size");
  if (number(draft, "global-batch-size", 0))
    settle(draft, "global-batch-size");
  else
    orr_launch_config_put_global(draft, MAX(micro, 1), 1, split,
                                 "Megatron's default: a micro-batch on each replica");
}

/* --- Pipeline --- */

/* What stages share out: with the switches, embedding and loss count as a layer each. */
static gint64 counted_layers(OrrLaunchDraft *draft) {
  return number(draft, "num-layers", 0) + is_on(draft, "account-for-embedding-in-pipeline-split") +
         is_on(draft, "account-for-loss-in-pipeline-split");
}

/* A layout of more blocks than stages has as many chunks, too. */
static gint64 chunks_of(OrrLaunchDraft *draft) {
  const gint64 pp = number(draft, "pipeline-model-parallel-size", 1);
  const char *layout = orr_launch_draft_value(draft, own, "pipeline-model-parallel-layout");
  const gint64 blocks = layout ? orr_layout_n_blocks(layout) : 0;
  if (blocks > 0 && pp > 0 && blocks % pp == 0) return blocks / pp;
  const gint64 layers = number(draft, "num-layers-per-virtual-pipeline-stage", 0);
  const gint64 stages = number(draft, "num-virtual-stages-per-pipeline-rank", 0);
  if (stages) return stages;
  return layers && pp ? MAX(1, counted_layers(draft) / pp / layers) : 1;
}

/* Stages of equal depth, and chunks of equal depth, or Megatron stops (validate_args of
 * megatron/training/arguments.py; TransformerConfig). @key is what says how many chunks. */
static void check_chunks(OrrLaunchDraft *draft, const char *key) {
  static const char *const uneven[] = {
      "pipeline-model-parallel-layout", "decoder-first-pipeline-num-layers",
      "decoder-last-pipeline-num-layers", "standalone-embedding-stage"};
  const gint64 per_chunk = number(draft, "num-layers-per-virtual-pipeline-stage", 0);
  const gint64 stages = number(draft, "num-virtual-stages-per-pipeline-rank", 0);
  const gint64 pp = number(draft, "pipeline-model-parallel-size", 1);
  const gint64 layers = counted_layers(draft);
  const OrrLaunchSetting *setting = find(draft, key);
  const gint64 into = stages ? stages : per_chunk;
  for (guint i = 0; i < G_N_ELEMENTS(uneven); i++)
    if (find(draft, uneven[i])) return;
  if (!setting || layers < 1 || pp < 1 || into < 1) return;
  if (layers % pp || layers / pp % into)
    orr_launch_draft_bad(
        draft, setting, "%ld layers on %ld stages do not divide into %s%ld%s: Megatron stops there",
        layers, pp, stages ? "" : "chunks of ", into,
        stages ? " chunks for each stage" : " layers");
}

static void set_pipeline(OrrLaunchDraft *draft) {
  const gint64 chunks = chunks_of(draft);
  const char *layout = orr_launch_draft_value(draft, own, "pipeline-model-parallel-layout");
  const char *key = layout ? "pipeline-model-parallel-layout"
                    : find(draft, "num-virtual-stages-per-pipeline-rank")
                        ? "num-virtual-stages-per-pipeline-rank"
                        : "num-layers-per-virtual-pipeline-stage";
  check_chunks(draft, key);
  if (chunks > 1) {
    set_from(draft, "workload.pipeline.kind", "interleaved-1f1b", key);
    set_number(draft, "workload.pipeline.chunks", chunks, key);
    settle(draft, "microbatch-group-size-per-virtual-pipeline-stage "
                  "overlap-moe-expert-parallel-comm");
  } else {
    skip(draft, "overlap-moe-expert-parallel-comm",
         "overlap of experts' exchanges without virtual stages");
  }
  settle(draft, "no-overlap-p2p-communication no-scatter-gather-tensors-in-pipeline");
  if (layout) {
    g_autofree char *quoted = g_strdup_printf("\"%s\"", layout);
    set_from(draft, "workload.pipeline-split.layout", quoted, "pipeline-model-parallel-layout");
  }
}

static void set_parallel(OrrLaunchDraft *draft) {
  const char *inner = "hierarchical-context-parallel-sizes";
  const char *sizes = orr_launch_draft_value(draft, own, inner);
  settle(draft, "tp-comm-overlap use-tp-pp-dp-mapping no-async-tensor-model-parallel-allreduce "
                "cp-comm-type");
  if (sizes) {
    g_autofree char *first = g_strndup(sizes, strcspn(sizes, " ,"));
    set_from(draft, "workload.parallel.context-inner", first, inner);
  }
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
  if (is_on(draft, "bf16") || is_on(draft, "fp16"))
    settle(draft, is_on(draft, "bf16") ? "bf16" : "fp16");
  else
    orr_launch_draft_set(draft, "workload.precision", "fp32", NULL,
                         "Megatron's default without --bf16 or --fp16");
  for (guint i = 0; i < G_N_ELEMENTS(eights); i++)
    if (is_on(draft, eights[i]))
      set_from(draft, "workload.precision", fp8_recipe(draft),
               find(draft, "fp8-recipe") ? "fp8-recipe" : eights[i]);
  settle(draft,
         "fp4-format grad-reduce-in-bf16 accumulate-allreduce-grads-in-fp32 main-grads-dtype");
}

/* Megatron's counts are 1 where the option stands alone, and nothing without it. */
static void set_wide_layers(OrrLaunchDraft *draft) {
  static const char flag[] = "first-last-layers-bf16";
  static const struct {
    const char *key, *path;
  } ends[] = {{"num-layers-at-start-in-bf16", "workload.wide-layers.first"},
              {"num-layers-at-end-in-bf16", "workload.wide-layers.last"}};
  const gboolean on = is_on(draft, flag);
  OrrLaunchSetting *setting = find(draft, flag);
  if (setting && !on)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "no layer is left out");
  for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
    setting = find(draft, ends[i].key);
    if (on)
      set_number(draft, ends[i].path, number(draft, ends[i].key, 1), setting ? ends[i].key : flag);
    else if (setting)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "no --%s", flag);
  }
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
  settle(draft, "recompute-activations checkpoint-activations recompute-granularity");
  if (method && !orr_launch_draft_get(draft, "workload.recompute"))
    set_from(draft, "workload.recompute", "full", "recompute-method");
  settle(draft, "moe-layer-recompute recompute-method recompute-num-layers");
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
  if (!whole && (!strategy || strcmp(strategy, "no_shard") == 0)) /* Megatron's default */
    return set_from(draft, "workload.optimizer.sharding.kind", "none", from);
  set_from(draft, "workload.optimizer.sharding.kind", whole ? "fsdp" : "distributed-optimizer",
           from);
  settle(draft, "torch-fsdp2-no-reshard-after-forward");
  if (strategy && strcmp(strategy, "optim_grads") == 0)
    skip(draft, "data-parallel-sharding-strategy",
         "gradients sharded without weights: simulated as a distributed optimizer");
}

static void set_sharding(OrrLaunchDraft *draft) {
  const char *fsdp = fsdp_key(draft);
  if (fsdp) {
    set_fsdp(draft, fsdp);
  } else if (is_on(draft, "use-distributed-optimizer")) {
    settle(draft, "use-distributed-optimizer overlap-param-gather fp8-param-gather "
                  "ddp-bucket-size");
  } else {
    skip(draft, "overlap-param-gather", "without --use-distributed-optimizer it does nothing");
    skip(draft, "ddp-bucket-size", "buckets in parameters without a distributed optimizer");
  }
  settle(draft, "zero-stage overlap-grad-reduce");
  const char *kind = orr_launch_draft_get(draft, "workload.optimizer.sharding.kind");
  const gboolean is_zero = kind && g_str_has_prefix(kind, "zero-");
  if (!is_on(draft, "overlap-grad-reduce") && !fsdp && !is_zero)
    orr_launch_draft_set(draft, "workload.data-parallel.overlap", "false", NULL,
                         "no --overlap-grad-reduce");
}

/* Whether the moments of @key are in @bits (16: bf16): Megatron's names, and torch's, which
 * Megatron-Bridge's configs have. */
static gboolean has_moments(OrrLaunchDraft *draft, const char *key, int bits) {
  static const char *const narrow[] = {"bf16", "bfloat16", "torch.bfloat16", NULL};
  static const char *const wide[] = {"fp32", "float32", "torch.float32", NULL};
  const char *value = orr_launch_draft_value(draft, own, key);
  return value && g_strv_contains(bits == 16 ? narrow : wide, value);
}

static void set_optimizer(OrrLaunchDraft *draft) {
  if (has_moments(draft, "exp-avg-dtype", 16) && has_moments(draft, "exp-avg-sq-dtype", 16))
    set_from(draft, "workload.optimizer.moments", "bf16", "exp-avg-dtype");
  else if (!has_moments(draft, "exp-avg-dtype", 32))
    skip(draft, "exp-avg-dtype", "moments other than both in fp32 or both in bf16");
  if (is_on(draft, "optimizer-cpu-offload")) {
    const char *fraction = orr_launch_draft_value(draft, own, "optimizer-offload-fraction");
    set_from(draft, "workload.offload.optimizer", fraction ? fraction : "1",
             fraction ? "optimizer-offload-fraction" : "optimizer-cpu-offload");
  }
}

/* --- Experts --- */

/* DeepEP sends a token to a node once. How many nodes its experts are on, the router limits by
 * groups of experts: a group is taken for a node. */
static void set_groups(OrrLaunchDraft *draft, gboolean deepep) {
  const char *groups = "moe-router-num-groups", *most = "moe-router-group-topk";
  const gint64 ep = number(draft, "expert-model-parallel-size", 1), n = number(draft, groups, 0);
  const gint64 per_node = orr_launch_config_gpus_of_node(draft);
  const char *both[] = {groups, most};
  if (deepep) settle(draft, most);
  for (guint i = 0; i < G_N_ELEMENTS(both); i++) {
    OrrLaunchSetting *setting = find(draft, both[i]);
    if (setting && !deepep)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                             "without DeepEP each copy of a token is sent on its own");
  }
  if (deepep && n > 0 && per_node * n != ep)
    skip(draft, groups, "groups of experts that are not nodes: each is taken for one");
}

/* The option by which DeepEP carries tokens; NULL: none does. */
static const char *deepep_key(OrrLaunchDraft *draft) {
  const char *type = "moe-token-dispatcher-type", *backend = "moe-flex-dispatcher-backend";
  if (is_on(draft, "moe-enable-deepep")) return "moe-enable-deepep";
  if (is_value(draft, backend, "deepep") || is_value(draft, backend, "hybridep")) return backend;
  return is_value(draft, type, "flex") && !orr_launch_draft_value(draft, own, backend) ? type
                                                                                       : NULL;
}

static void set_experts(OrrLaunchDraft *draft) {
  const char *capacity = orr_launch_draft_value(draft, own, "moe-expert-capacity-factor");
  const char *deepep = deepep_key(draft);
  settle(draft, "moe-token-dispatcher-type");
  if (deepep) set_from(draft, "workload.experts.dispatch", "deepep", deepep);
  if (deepep && is_value(draft, "moe-flex-dispatcher-backend", "hybridep"))
    set_from(draft, "workload.experts.gather-map", "true", deepep);
  set_groups(draft, deepep != NULL);
  if (capacity && g_ascii_strtod(capacity, NULL) > 0)
    set_from(draft, "workload.experts.capacity", capacity, "moe-expert-capacity-factor");
  settle(draft, "moe-router-force-load-balancing");
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
    if (is_on(draft, old[i])) set_from(draft, "workload.launches", value, old[i]);
}

static void set_dropout(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"attention-dropout", "hidden-dropout"};
  gboolean any = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const char *text = orr_launch_draft_value(draft, own, keys[i]);
    any = any || !text || g_ascii_strtod(text, NULL) > 0;
  }
  orr_launch_draft_set(draft, "workload.dropout", any ? "true" : "false",
                       find(draft, "hidden-dropout"),
                       find(draft, "hidden-dropout") ? NULL : "Megatron's default: 0.1");
}

/* Transformer Engine's variables, which --attention-backend sets: 0 takes a kernel away. */
static void set_attention(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *environment = &orr_dialect_training_environment;
  OrrLaunchSetting *flash = orr_launch_draft_find(draft, environment, "nvte-flash-attn");
  OrrLaunchSetting *fused = orr_launch_draft_find(draft, environment, "nvte-fused-attn");
  const gboolean no_flash = flash && g_strcmp0(flash->value, "0") == 0;
  const gboolean no_fused = fused && g_strcmp0(fused->value, "0") == 0;
  settle(draft, "attention-backend");
  const char *kernel = no_flash && no_fused ? "unfused" : no_fused ? "flash-2" : NULL;
  if (flash) orr_launch_draft_judge(draft, flash, ORR_LAUNCH_MAPPED, "workload.attention");
  if (fused) orr_launch_draft_judge(draft, fused, ORR_LAUNCH_MAPPED, "workload.attention");
  if (kernel && !find(draft, "attention-backend"))
    orr_launch_draft_set(draft, "workload.attention", kernel, fused, NULL);
}

static void set_kernels(OrrLaunchDraft *draft) {
  if (is_on(draft, "cross-entropy-loss-fusion")) settle(draft, "cross-entropy-fusion-impl");
  settle(draft, "no-rope-fusion");
  set_attention(draft);
  set_launches(draft);
  set_dropout(draft);
}

/* Megatron-DeepSpeed is software of its own. */
static void set_stack(OrrLaunchDraft *draft) {
  if (is_on(draft, "deepspeed") && !orr_launch_draft_options(draft)->stack)
    set_from(draft, "workload.stack", "megatron-deepspeed-2021.10", "deepspeed");
}

/* --- Defaults --- */

static gboolean is_distributed(OrrLaunchDraft *draft) {
  const char *kind = orr_launch_draft_get(draft, "workload.optimizer.sharding.kind");
  return kind && strcmp(kind, "distributed-optimizer") == 0;
}

static gboolean is_split(OrrLaunchDraft *draft) {
  return number(draft, "tensor-model-parallel-size", 1) > 1;
}

static gboolean has_experts(OrrLaunchDraft *draft) {
  return is_split(draft) && number(draft, "num-experts", 0) > 0;
}

static gboolean has_single_experts(OrrLaunchDraft *draft) {
  return number(draft, "num-experts", 0) > 0 && !is_on(draft, "moe-grouped-gemm");
}

static gboolean is_dense(OrrLaunchDraft *draft) { return is_split(draft) && !has_experts(draft); }

static gboolean is_bf16(OrrLaunchDraft *draft) {
  return is_on(draft, "bf16") && !is_on(draft, "deepspeed");
}

static gboolean has_plain_loss(OrrLaunchDraft *draft) {
  return !is_on(draft, "cross-entropy-loss-fusion");
}

static gboolean has_no_sharding(OrrLaunchDraft *draft) {
  return !fsdp_key(draft) && !is_on(draft, "deepspeed");
}

typedef struct {
  const char *path, *value, *why;
  gboolean (*holds)(OrrLaunchDraft *draft); /* NULL: always */
} Default;

static void put_defaults(OrrLaunchDraft *draft, const Default *defaults, guint n) {
  for (guint i = 0; i < n; i++)
    if (!orr_launch_draft_get(draft, defaults[i].path) &&
        (!defaults[i].holds || defaults[i].holds(draft)))
      orr_launch_draft_set(draft, defaults[i].path, defaults[i].value, NULL, defaults[i].why);
}

/* Stacks follow NVIDIA's recipes; a launch line of Megatron-LM without these options has Megatron's
 * own defaults (megatron/training/arguments.py). With experts and TP it wants sequence
 * parallelism. */
static void set_defaults(OrrLaunchDraft *draft) {
  static const Default defaults[] = {
      {"workload.optimizer.sharding.kind", "none", "no --use-distributed-optimizer",
       has_no_sharding},
      {"workload.optimizer.sharding.overlap-param-gather", "false", "no --overlap-param-gather",
       is_distributed},
      {"workload.data-parallel.gradients", "fp32", "no --grad-reduce-in-bf16", is_bf16},
      {"workload.parallel.sequence-parallel", "false", "no --sequence-parallel", is_dense},
      {"workload.parallel.tp-comm-overlap", "none", "no --tp-comm-overlap", is_split},
      {"workload.loss", "megatron", "no --cross-entropy-loss-fusion", has_plain_loss},
      {"workload.experts.mlp", "sequential", "no --moe-grouped-gemm", has_single_experts},
      {"workload.launches", "ahead", "no --cuda-graph-impl", NULL}};
  put_defaults(draft, defaults, G_N_ELEMENTS(defaults));
  if (has_experts(draft) && !orr_launch_draft_get(draft, "workload.parallel.etp"))
    set_number(draft, "workload.parallel.etp", number(draft, "tensor-model-parallel-size", 1),
               "tensor-model-parallel-size");
}

/* So has a config of NeMo 1.x (its conf/megatron_gpt_config.yaml, r1.23). */
static void set_nemo_defaults(OrrLaunchDraft *draft) {
  static const Default defaults[] = {
      {"workload.optimizer.sharding.overlap-param-gather", "false", "no optim.overlap_param_sync",
       is_distributed},
      {"workload.parallel.sequence-parallel", "false", "no sequence_parallel", is_dense},
      {"workload.parallel.tp-comm-overlap", "none", "no ub_tp_comm_overlap", is_split},
      {"workload.loss", "megatron", "no cross_entropy_loss_fusion", has_plain_loss}};
  put_defaults(draft, defaults, G_N_ELEMENTS(defaults));
}

/* Whether the options are of a launch line of Megatron-LM, not of a recipe's keys. */
static gboolean is_launch_line(OrrLaunchDraft *draft) {
  static const OrrLaunchDialect *const recipes[] = {&orr_dialect_nemo, &orr_dialect_bridge,
                                                    &orr_dialect_primus, &orr_dialect_gpt_neox};
  for (guint i = 0; i < G_N_ELEMENTS(recipes); i++)
    if (orr_launch_config_has(draft, recipes[i])) return FALSE;
  return TRUE;
}

/* Userbuffers need sequence parallelism. */
static void drop_overlap(OrrLaunchDraft *draft) {
  static const char overlap[] = "workload.parallel.tp-comm-overlap";
  const char *sequence = orr_launch_draft_get(draft, "workload.parallel.sequence-parallel");
  if (g_strcmp0(sequence, "false") == 0 && !orr_launch_draft_get(draft, overlap))
    orr_launch_draft_set(draft, overlap, "none", NULL, "it needs sequence parallelism");
}

static void refuse_key(OrrLaunchDraft *draft, gboolean is_refused, const char *key,
                       const char *why) {
  const OrrLaunchSetting *setting = find(draft, key);
  if (is_refused && setting) orr_launch_draft_bad(draft, setting, "%s: Megatron stops there", why);
}

static void check_optimizer(OrrLaunchDraft *draft) {
  static const char *const moments[] = {"exp-avg-dtype", "exp-avg-sq-dtype"};
  static const char aware[] = "use-precision-aware-optimizer";
  for (guint i = 0; i < G_N_ELEMENTS(moments); i++)
    refuse_key(draft,
               find(draft, moments[i]) && !has_moments(draft, moments[i], 32) &&
                   !is_on(draft, aware),
               moments[i], "other than fp32 it needs --use-precision-aware-optimizer");
  refuse_key(draft, is_on(draft, "optimizer-cpu-offload") && !is_on(draft, aware),
             "optimizer-cpu-offload", "it needs --use-precision-aware-optimizer");
  refuse_key(draft, is_on(draft, "use-torch-fsdp2") && is_on(draft, "use-distributed-optimizer"),
             "use-torch-fsdp2", "with --use-distributed-optimizer");
}

/* Megatron-DeepSpeed has experts of its own. */
static void check_experts(OrrLaunchDraft *draft) {
  if (number(draft, "num-experts", 0) < 1 || orr_launch_config_has(draft, &orr_dialect_deepspeed))
    return;
  refuse_key(draft,
             is_split(draft) && !is_on(draft, "sequence-parallel") && !find(draft, "deepspeed"),
             "tensor-model-parallel-size", "with --num-experts it needs --sequence-parallel");
  refuse_key(draft,
             is_on(draft, "moe-enable-deepep") &&
                 !is_value(draft, "moe-token-dispatcher-type", "flex"),
             "moe-enable-deepep", "it needs --moe-token-dispatcher-type flex");
}

/* Pairs of options that validate_args (megatron/training/arguments.py), TransformerConfig or
 * OptimizerConfig refuses. Other trainers give Megatron options of their own in addition. */
static void check_pairs(OrrLaunchDraft *draft) {
  const gboolean has_method = find(draft, "recompute-method") != NULL;
  static const char granularity[] = "recompute-granularity";
  if (!is_launch_line(draft) || orr_launch_config_has(draft, &orr_dialect_megatron_swift)) return;
  refuse_key(draft, is_value(draft, granularity, "full") && !has_method, granularity,
             "full recomputation needs --recompute-method");
  refuse_key(draft, is_value(draft, granularity, "selective"), "recompute-method",
             "selective recomputation does not take a method");
  refuse_key(draft,
             is_on(draft, "use-distributed-optimizer") && is_on(draft, "overlap-param-gather") &&
                 !is_on(draft, "overlap-grad-reduce") && !fsdp_key(draft),
             "overlap-param-gather", "it needs --overlap-grad-reduce");
  refuse_key(draft, is_on(draft, "bf16") && is_on(draft, "fp16"), "fp16", "with --bf16");
  check_optimizer(draft);
  check_experts(draft);
}

void orr_dialect_megatron_job(OrrLaunchDraft *draft) {
  check_pairs(draft);
  set_stack(draft);
  set_batch(draft);
  set_parallel(draft);
  set_pipeline(draft);
  set_precision(draft);
  set_wide_layers(draft);
  set_recompute(draft);
  set_optimizer(draft);
  set_sharding(draft);
  set_experts(draft);
  set_kernels(draft);
  if (is_launch_line(draft)) set_defaults(draft);
  if (orr_dialect_nemo_is_first(draft)) set_nemo_defaults(draft);
  drop_overlap(draft);
}
