/*
 * dialect_torchtitan.c - torchtitan's TOML, and the same keys on its command line.
 *
 * Source: torchtitan/config_manager.py and torchtitan/config/job_config.py of pytorch/torchtitan,
 * from 2024-06 to 2026-02, when it dropped TOML. Keys moved: training.batch_size became
 * training.local_batch_size, the degrees went from [training] and [experimental] to [parallelism].
 */
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_torchtitan;

#include "sim/import/launch/own_keys.inc"

/* --- Model --- */

static void set_model(OrrLaunchDraft *draft) {
  static const OrrLaunchWordPair flavors[] = {{"llama3 8B", "llama-3.1-8b"},
                                              {"llama3 70B", "llama-3.1-70b"},
                                              {"llama3 405B", "llama-3.1-405b"},
                                              {"llama3_ft 8B", "llama-3.1-8b"},
                                              {"llama3 1B", "llama-3.2-1b"},
                                              {"llama3 3B", "llama-3.2-3b"},
                                              {"llama2 7B", "llama-2-7b"},
                                              {"llama2 13B", "llama-2-13b"},
                                              {"llama2 70B", "llama-2-70b"},
                                              {"deepseek_v3 16B", "deepseek-v2-lite"},
                                              {"deepseek_v3 236B", "deepseek-v2"},
                                              {"deepseek_v3 671B", "deepseek-v3"},
                                              {"llama4 17bx16e", "llama-4-scout"},
                                              {"llama4 17bx128e", "llama-4-maverick"},
                                              {"qwen3 0.6B", "qwen3-0.6b"},
                                              {"qwen3 1.7B", "qwen3-1.7b"},
                                              {"qwen3 4B", "qwen3-4b"},
                                              {"qwen3 8B", "qwen3-8b"},
                                              {"qwen3 14B", "qwen3-14b"},
                                              {"qwen3 32B", "qwen3-32b"},
                                              {"qwen3 30B-A3B", "qwen3-30b-a3b"},
                                              {"qwen3 235B-A22B", "qwen3-235b-a22b"},
                                              {"gpt_oss 20b", "gpt-oss-20b"},
                                              {"gpt_oss 120b", "gpt-oss-120b"},
                                              {NULL, NULL}};
  const char *name = text_of(draft, "model.name");
  const char *flavor = text_of(draft, "model.flavor");
  g_autofree char *both = g_strdup_printf("%s %s", name ? name : "llama3", flavor ? flavor : "");
  const char *ours = orr_launch_config_word(flavors, both);
  if (draft->options->model || orr_launch_draft_get(draft, "model")) return;
  if (ours)
    orr_launch_config_put(draft, own, "model", ours, "model.flavor");
  else
    orr_launch_draft_ask_model(draft, "which model is torchtitan's '%s'? Add --model NAME", both);
}

/* --- Parallelism, batch --- */

static gint64 split_of(OrrLaunchDraft *draft) {
  return count(draft, "parallelism.tensor-parallel-degree", 1) *
         count(draft, "parallelism.pipeline-parallel-degree", 1) *
         count(draft, "parallelism.context-parallel-degree", 1);
}

/* All degrees of a config multiply to its GPUs: torchtitan refuses any other number. */
static void set_world(OrrLaunchDraft *draft) {
  const gint64 shards = count(draft, "parallelism.data-parallel-shard-degree", -1);
  const gint64 all =
      shards * split_of(draft) * count(draft, "parallelism.data-parallel-replicate-degree", 1);
  if (shards > 0)
    orr_launch_config_take_world(draft, find(draft, "parallelism.data-parallel-shard-degree"), all,
                                 "torchtitan");
}

/* torchtitan cuts a rank's batch into micro-batches for a pipeline alone: until 2025-03 into as
 * many as there are stages, later into micro-batches of one sequence. */
static void set_batch(OrrLaunchDraft *draft) {
  const char *key = "training.local-batch-size";
  draft->copies = count(draft, "parallelism.data-parallel-replicate-degree", 1);
  set_world(draft);
  const gint64 local = count(draft, key, 8),
               pp = count(draft, "parallelism.pipeline-parallel-degree", 1);
  const gint64 old = count(draft, "experimental.pipeline-parallel-microbatches", 0);
  const OrrLaunchSetting *setting = find(draft, key);
  const gboolean is_old = setting && strcmp(setting->key, "training.batch-size") == 0;
  gint64 micro = local;
  if (pp > 1 && (is_old || old)) micro = local / MAX(old ? old : pp, 1);
  if (pp > 1 && !is_old && !old)
    micro = count(draft, "parallelism.pipeline-parallel-microbatch-size", 1);
  if (setting)
    orr_launch_config_put_count(draft, own, "workload.batch.micro", MAX(micro, 1), key);
  else
    orr_launch_draft_set(draft, "workload.batch.micro", pp > 1 ? "1" : "8", NULL,
                         "torchtitan's default");
  if (count(draft, "training.global-batch-size", -1) > 0)
    settle(draft, "training.global-batch-size");
  else
    orr_launch_config_put_global(draft, local, 1, split_of(draft),
                                 "the local batch on each replica");
}

static void set_sharding(OrrLaunchDraft *draft) {
  const char *replicas = "parallelism.data-parallel-replicate-degree";
  const char *shards = "parallelism.data-parallel-shard-degree";
  const gint64 n = count(draft, replicas, 1), gpus = orr_launch_config_gpus(draft);
  gint64 group = count(draft, shards, -1);
  if (group < 1 && n > 1) group = gpus / MAX(n * split_of(draft), 1);
  if (n > 1 && group == 1)
    return orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind", "ddp", replicas);
  if (n > 1) {
    orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind", "hsdp", replicas);
    group *= count(draft, "parallelism.context-parallel-degree", 1); /* its mesh dp_shard_cp */
    orr_launch_config_put_count(draft, own, "workload.optimizer.sharding.group", MAX(group, 0),
                                replicas);
  } else {
    orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind", "fsdp", shards);
  }
  settle(draft, "parallelism.fsdp-reshard-after-forward");
}

static gint64 layers_of(OrrLaunchDraft *draft) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const char *own_layers = orr_launch_draft_get(draft, "model.layers");
  const char *name = orr_launch_draft_get(draft, "model");
  const OrrNode *model =
      name ? orr_library_borrow(draft->library, "model", name, (OrrPlace){0}, ignored) : NULL;
  const char *text = own_layers ? own_layers : model ? orr_node_get_text(model, "layers") : NULL;
  return text ? g_ascii_strtoll(text, NULL, 10) : 0;
}

/* Layers that do not divide are dealt out as torchtitan/distributed/pipeline_parallel.py does
 * (generate_llm_fqn_per_model_part): the embedding and the output count as a layer each, and the
 * first stages have one more. */
static void set_split(OrrLaunchDraft *draft, gint64 stages) {
  const gint64 layers = layers_of(draft), all = layers + 2;
  if (layers == 0 || layers % stages == 0 || all < 2 * stages) return;
  g_autoptr(GString) layout = g_string_new("E");
  for (gint64 i = 0; i < stages; i++)
    g_string_append_printf(layout, "%st*%ld", i ? "|" : "",
                           all / stages + (i < all % stages) - (i == 0) - (i == stages - 1));
  g_string_append_c(layout, 'L');
  orr_launch_draft_set(draft, "workload.pipeline-split.layout", layout->str, NULL,
                       "torchtitan's: embedding and output count as layers");
}

/* ScheduleInterleaved1F1B takes m / max(1, m / pp) micro-batches of a chunk before the next. */
static void set_group(OrrLaunchDraft *draft, gint64 pp) {
  const gint64 micro = orr_launch_draft_degree(draft, "workload.batch.micro");
  const gint64 m = count(draft, "training.local-batch-size", 8) / MAX(micro, 1);
  if (m > pp && m % pp != 0 && m % (m / pp) == 0)
    orr_launch_draft_set_number(draft, "workload.pipeline.group", m / (m / pp), NULL,
                                "PyTorch's rounds");
}

static void set_pipeline(OrrLaunchDraft *draft) {
  const char *key = "parallelism.pipeline-parallel-schedule";
  const gint64 pp = count(draft, "parallelism.pipeline-parallel-degree", 1);
  if (pp < 2) return;
  settle(draft, key);
  const char *kind = orr_launch_draft_get(draft, "workload.pipeline.kind");
  const gboolean is_interleaved = g_strcmp0(kind, "interleaved-1f1b") == 0;
  const gboolean has_chunks = is_interleaved || g_strcmp0(kind, "breadth-first") == 0;
  set_split(draft, has_chunks || g_strcmp0(kind, "zb-v") == 0 ? 2 * pp : pp);
  if (!kind) return;
  if (is_interleaved) set_group(draft, pp);
  if (has_chunks)
    orr_launch_draft_set(draft, "workload.pipeline.chunks", "2", NULL,
                         "torchtitan's default: two stages on a rank");
  orr_launch_config_skip(draft, own, "parallelism.pipeline-parallel-layers-per-stage",
                         "stages by their number of layers: two stages on a rank are simulated");
}

/* compile.components: what is compiled, of the layers ("model") and the loss; both by default. */
static gboolean compiles(OrrLaunchDraft *draft, const char *component) {
  const char *all = text_of(draft, "compile.components");
  return is_on(draft, "training.compile") && (!all || strstr(all, component));
}

static void set_axes(OrrLaunchDraft *draft) {
  const char *etp = "parallelism.expert-tensor-parallel-degree";
  const char *async = "parallelism.enable-async-tensor-parallel";
  if (is_on(draft, async) && !compiles(draft, "model"))
    orr_launch_draft_bad(draft, find(draft, async),
                         "async TP requires compile: torchtitan stops there");
  settle(draft, "parallelism.context-parallel-rotate-method");
  if (count(draft, "parallelism.tensor-parallel-degree", 1) > 1) settle(draft, async);
  if (count(draft, "parallelism.expert-parallel-degree", 1) > 1) {
    settle(draft, etp);
    if (!find(draft, etp))
      orr_launch_draft_set(draft, "workload.parallel.etp", "1", NULL, "torchtitan's default");
  }
  settle(draft, "parallelism.expert-parallel-comm-backend");
}

/* --- Recomputation, precision --- */

static void set_recompute(OrrLaunchDraft *draft) {
  const char *mode = "activation-checkpoint.mode";
  const char *option = text_of(draft, "activation-checkpoint.selective-ac-option");
  settle(draft, mode);
  if (option && g_ascii_isdigit(*option) && orr_launch_config_says(draft, own, mode, "selective")) {
    orr_launch_config_put(draft, own, "workload.recompute",
                          g_str_equal(option, "1") ? "full" : "operators",
                          "activation-checkpoint.selective-ac-option");
    if (!g_str_equal(option, "1"))
      orr_launch_config_skip(draft, own, "activation-checkpoint.selective-ac-option",
                             "every few layers recomputed whole: simulated as by operators");
  }
}

static void set_precision(OrrLaunchDraft *draft) {
  const char *converters = text_of(draft, "model.converters");
  const char *recipe = text_of(draft, "float8.recipe-name");
  const gboolean is_8 =
      is_on(draft, "float8.enable-float8-linear") || (converters && (strstr(converters, "float8")));
  const char *key = is_on(draft, "float8.enable-float8-linear") ? "float8.enable-float8-linear"
                                                                : "model.converters";
  orr_launch_draft_set(draft, "workload.precision", "bf16", NULL, "torchtitan's default");
  settle(draft, "training.mixed-precision-param");
  if (is_8)
    orr_launch_config_put(
        draft, own, "workload.precision",
        recipe && g_str_has_prefix(recipe, "rowwise") ? "fp8-rowwise" : "fp8-current", key);
  if (is_8) settle(draft, "float8.enable-fsdp-float8-all-gather");
  if (is_8 && !orr_launch_draft_get(draft, "workload.optimizer.sharding.narrow-gather"))
    orr_launch_draft_set(draft, "workload.optimizer.sharding.narrow-gather", "false", NULL,
                         "torchtitan's default");
  if (converters && strstr(converters, "mx") && !is_8)
    orr_launch_config_put(draft, own, "workload.precision", "mxfp8", "model.converters");
  /* with training.dtype the model, and so its gradients and Adam's moments, are in bf16 */
  settle(draft, "training.mixed-precision-reduce training.dtype");
}

/* compile is about layers of torch, which torchtitan's stacks set, and others' need not. */
static void set_layers(OrrLaunchDraft *draft) {
  const char *stack = draft->options->stack;
  if (stack && !g_str_has_prefix(stack, "torchtitan"))
    orr_launch_draft_set(draft, "workload.layers", "torch", NULL,
                         "torchtitan's layers are PyTorch's, whatever --stack says");
}

static void set_rest(OrrLaunchDraft *draft) {
  const char *old[] = {"training.batch-size", "training.data-parallel-shard-degree"};
  settle(draft, "training.enable-cpu-offload");
  settle(draft, "training.compile");
  const gboolean is_compiled = is_on(draft, "training.compile");
  if (!compiles(draft, "model")) {
    orr_launch_draft_set(draft, "workload.compile", "false",
                         find(draft, is_compiled ? "compile.components" : "training.compile"),
                         is_compiled ? "the layers are not compiled"
                                     : "compile is off, as by default");
    set_layers(draft);
  }
  if (!compiles(draft, "loss")) /* components/loss.py: build_cross_entropy_loss */
    orr_launch_draft_set(draft, "workload.loss", "torch", NULL,
                         is_compiled
                             ? "not compiled: the loss copies fp32 logits"
                             : "compile is off, as by default: the loss copies fp32 logits");
  for (guint i = 0; i < G_N_ELEMENTS(old); i++) {
    const OrrLaunchSetting *setting = find(draft, old[i]);
    if (setting && strcmp(setting->key, old[i]) == 0 && !draft->options->stack)
      orr_launch_draft_set(draft, "workload.stack", "torchtitan-2024.12", setting, "a key of 2024");
  }
}

static gboolean has_file(const OrrLaunchDraft *draft) {
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings)
    if (setting->dialect == own && g_str_has_suffix(setting->place.file, ".toml")) return TRUE;
  return FALSE;
}

/* Without its config a launch line would be one of torchtitan's defaults. */
static void ask_config(OrrLaunchDraft *draft) {
  const char *path = text_of(draft, "job.config-file");
  if (path && !has_file(draft) && !orr_launch_form_source(draft, path))
    orr_launch_draft_ask(draft, "what does %s contain? Give it as a file, too", path);
}

static void finish(OrrLaunchDraft *draft) {
  ask_config(draft);
  set_model(draft);
  set_batch(draft);
  set_axes(draft);
  set_pipeline(draft);
  set_recompute(draft);
  set_precision(draft);
  set_sharding(draft);
  set_rest(draft);
}

const OrrLaunchDialect orr_dialect_torchtitan = {
    .name = "torchtitan",
    .kind = "training",
    .stack = "torchtitan",
    .finish = finish,
};

/* --- The command line --- */

static void read(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, &orr_dialect_torchtitan, command->words, script + 1, rest);
}

static gboolean knows(const OrrLaunchCommand *command, guint script) {
  static const char *const signs[] = {"--job.config", "--training.", "--parallelism.",
                                      "--model.flavor"};
  for (guint i = script + 1; i < command->words->len; i++)
    for (guint k = 0; k < G_N_ELEMENTS(signs); k++) {
      const OrrLaunchWord *word = command->words->pdata[i];
      if (g_str_has_prefix(word->text, signs[k])) return TRUE;
    }
  return FALSE;
}

const OrrLaunchTrainer orr_trainer_torchtitan = {
    .name = "torchtitan",
    .scripts = "torchtitan.train run_train.sh run_llama_train.sh",
    .knows = knows,
    .read = read,
};
