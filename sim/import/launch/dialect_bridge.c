/*
 * dialect_bridge.c - Megatron-Bridge: the lines that start one of its recipes.
 *
 *   torchrun ... run_recipe.py --recipe llama3_8b_pretrain_config -tp 2 train.global_batch_size=64
 *   python setup_experiment.py --model_recipe_name llama3_70b --num_gpus 64 --gpu h100 -c bf16
 *
 * Source: scripts/training, scripts/performance and src/megatron/bridge/{recipes,perf_recipes} of
 * NVIDIA-NeMo/Megatron-Bridge, 0.1 to 0.6; NVIDIA/dgxc-benchmarking starts the second form.
 * Overrides have the keys of Megatron-Bridge's YAML (dialect_nemo.c). A recipe is a Python program,
 * which is not run: a layout or a batch that the line leaves out becomes a question.
 */
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_bridge;

#include "sim/import/launch/own_keys.inc"

static gint64 whole(OrrLaunchDraft *draft, const char *key) {
  const char *text = text_of(draft, key);
  return text ? g_ascii_strtoll(text, NULL, 10) : 0;
}

/* --- The model --- */

/* "llama31_405b_pretrain_64gpu_h100_bf16_config" -> "llama-3.1-405b". Newly allocated. */
static char *model_of(const char *recipe) {
  g_autoptr(GRegex) tail = g_regex_new("_(pretrain|sft|peft|finetune|config).*$", 0, 0, NULL);
  g_autoptr(GRegex) llama = g_regex_new("^llama([0-9])([0-9])?-", 0, 0, NULL);
  g_autofree char *head = g_regex_replace_literal(tail, recipe, -1, 0, "", 0, NULL);
  g_strdelimit(head, "_", '-');
  g_autoptr(GMatchInfo) found = NULL;
  if (!g_regex_match(llama, head, 0, &found)) return g_steal_pointer(&head);
  g_autofree char *major = g_match_info_fetch(found, 1), *minor = g_match_info_fetch(found, 2);
  const char *rest = strchr(head, '-');
  return g_strdup_printf("llama-%s%s%s%s", major, minor && *minor ? "." : "", minor ? minor : "",
                         rest);
}

/* The library's name for the model that the line or the recipe names. Newly allocated; NULL. */
static char *library_name(OrrLaunchDraft *draft, const char *name) {
  g_autofree char *lower = g_ascii_strdown(name, -1);
  g_autofree char *model = model_of(lower);
  g_autofree char *path = orr_library_path(draft->library, "model", model);
  const char *found = orr_library_alias(draft->library, "model", model, NULL);
  return path ? g_strdup(model) : g_strdup(found);
}

static void set_model(OrrLaunchDraft *draft) {
  const char *keys[] = {"recipe", "model-recipe-name", "model-name"};
  const char *size = text_of(draft, "model-size");
  if (draft->options->model || orr_launch_draft_get(draft, "model") ||
      orr_launch_draft_find(draft, &orr_dialect_nemo, "model"))
    return;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const char *written = text_of(draft, keys[i]);
    if (!written) continue;
    g_autofree char *whole =
        size && i == 2 ? g_strdup_printf("%s_%s_config", written, size) : g_strdup(written);
    g_autofree char *name = library_name(draft, whole);
    if (name)
      orr_launch_draft_set(draft, "model", name, find(draft, keys[i]), NULL);
    else
      orr_launch_draft_ask_model(draft, "which model is '%s'? Add --model NAME", written);
    return;
  }
}

/* --- Precision --- */

void orr_dialect_bridge_precision(OrrLaunchDraft *draft, const char *name, const char *recipe,
                                  const OrrLaunchSetting *source) {
  static const struct {
    const char *words; /* in their name: any */
    const char *recipe;
  } eights[] = {{"mxfp8 fp8_mx mx", "mxfp8"},
                {"current_scaling fp8_cs cs", "tensorwise"},
                {"subchannel fp8_sc sc blockwise", "blockwise"},
                {"delayed fp8_ds ds", "delayed"}};
  g_autofree char *all = g_strdup_printf("%s %s", name, recipe ? recipe : "");
  const gboolean is_8 = strstr(all, "fp8") != NULL;
  orr_launch_translate_add(draft, strstr(name, "fp16") ? "fp16" : "bf16", "true", source);
  if (strstr(all, "nvfp4")) orr_launch_translate_add(draft, "fp4-format", "e2m1", source);
  if (!is_8) return;
  orr_launch_translate_add(draft, "fp8-format", "hybrid", source);
  for (guint i = 0; i < G_N_ELEMENTS(eights); i++) {
    g_auto(GStrv) words = g_strsplit(eights[i].words, " ", -1);
    for (char **word = words; *word; word++) {
      const gboolean is_short = strlen(*word) == 2;
      if (is_short ? g_strcmp0(recipe, *word) != 0 : !strstr(all, *word)) continue;
      orr_launch_translate_add(draft, "fp8-recipe", eights[i].recipe, source);
      return;
    }
  }
}

/* --- What the line leaves out --- */

/* run_recipe.py takes a recipe and overrides, setup_experiment.py a model and options. */
static void ask_layout(OrrLaunchDraft *draft) {
  static const struct {
    const char *key, *option, *override;
  } rows[] = {{"tensor-model-parallel-size", "-tp N", "model.tensor_model_parallel_size=N"},
              {"pipeline-model-parallel-size", "-pp N", "model.pipeline_model_parallel_size=N"},
              {"global-batch-size", "-gb N", "train.global_batch_size=N"},
              {"seq-length", "-sl N", "model.seq_length=N"}};
  const char *recipe = text_of(draft, "recipe");
  g_autoptr(GString) left_out = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    if (!orr_launch_draft_find(draft, &orr_dialect_megatron, rows[i].key))
      g_string_append_printf(left_out, "%s%s", left_out->len ? " " : "",
                             recipe ? rows[i].override : rows[i].option);
  if (left_out->len > 0)
    orr_launch_draft_ask(draft, "what does the recipe %s set? Add to the line: %s",
                         recipe ? recipe : "of Megatron-Bridge", left_out->str);
}

/* The size of a node is the cluster's; how many GPUs a job has is the launcher's word, and whole
 * nodes. */
static void judge_nodes(OrrLaunchDraft *draft) {
  OrrLaunchSetting *setting = find(draft, "gpus-per-node");
  OrrLaunchSetting *all = find(draft, "num-gpus");
  const gint64 per_node = orr_launch_config_gpus_of_node(draft);
  const gint64 n = whole(draft, "num-gpus"), started = draft->nodes * draft->gpus_per_node;
  if (setting && per_node > 0 && whole(draft, "gpus-per-node") != per_node)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "nodes of another size than the cluster's, which have %ld GPUs",
                           per_node);
  if (all && n > 0 && started > 0 && n != started)
    orr_launch_draft_judge(draft, all, ORR_LAUNCH_NOT_SIMULATED,
                           "the job has %ld GPUs: %ld nodes (%s) of %ld (%s)", started,
                           draft->nodes, draft->nodes_from, draft->gpus_per_node, draft->gpus_from);
}

static void finish(OrrLaunchDraft *draft) {
  const char *dtype = text_of(draft, "compute-dtype");
  const OrrLaunchSetting *source = find(draft, "compute-dtype");
  set_model(draft);
  judge_nodes(draft);
  ask_layout(draft);
  if (dtype) orr_dialect_bridge_precision(draft, dtype, text_of(draft, "fp8-recipe"), source);
}

const OrrLaunchDialect orr_dialect_bridge = {
    .name = "megatron-bridge",
    .kind = "training",
    .stack = "megatron-core",
    .finish = finish,
};

/* --- The command line --- */

/* GPUs and device of "..._64gpu_h100_...". */
static void note_gpus(OrrLaunchDraft *draft, const char *name) {
  g_autoptr(GRegex) regex = g_regex_new("_([0-9]{1,6})gpu_", 0, 0, NULL);
  g_autoptr(GMatchInfo) found = NULL;
  if (!g_regex_match(regex, name, 0, &found)) return;
  g_autofree char *text = g_match_info_fetch(found, 1);
  orr_launch_draft_set_nodes(draft, 1, "the recipe's name");
  orr_launch_draft_set_gpus_per_node(draft, g_ascii_strtoll(text, NULL, 10), "the recipe's name");
}

/* The settings of Megatron-Bridge's own base of all recipes. */
static void add_defaults(OrrLaunchDraft *draft, OrrPlace place) {
  static const char *const defaults[][2] = {
      {"mixed-precision", "bf16_mixed"},   {"ddp.use-distributed-optimizer", "true"},
      {"ddp.overlap-grad-reduce", "true"}, {"ddp.overlap-param-gather", "true"},
      {"model.hidden-dropout", "0"},       {"model.attention-dropout", "0"}};
  for (guint i = 0; i < G_N_ELEMENTS(defaults); i++) {
    OrrLaunchSetting *setting =
        orr_launch_draft_add(draft, &orr_dialect_nemo, defaults[i][0], defaults[i][1], place);
    g_free(setting->written);
    setting->written = g_strdup_printf("%s: %s, of all recipes", defaults[i][0], defaults[i][1]);
  }
}

/* "train.global_batch_size=64" */
static void add_override(OrrLaunchDraft *draft, const OrrLaunchWord *word) {
  const char *equals = strchr(word->text, '=');
  if (!equals)
    return orr_diags_error(draft->diags, word->place,
                           "megatron-bridge does not take the argument '%s'", word->text);
  g_autofree char *key = g_strndup(word->text + strspn(word->text, "+~"),
                                   (gsize)(equals - word->text) - strspn(word->text, "+~"));
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, &orr_dialect_nemo, key, equals + 1, word->place);
  setting->is_unresolved = word->unresolved != NULL;
  setting->unresolved = g_strdup(word->unresolved);
}

/* A number of torchrun's, "8" or "1:8"; 0: it does not say one. */
static gint64 launched(OrrLaunchDraft *draft, const char *key) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_torchrun, key);
  const char *text = setting && setting->value ? setting->value : "";
  const char *colon = strrchr(text, ':');
  return g_ascii_strtoll(colon ? colon + 1 : text, NULL, 10);
}

/* As many nodes as the GPUs need, each with as many as torchrun starts there, else as the line
 * says; fewer GPUs are one node. */
static void note_machine(OrrLaunchDraft *draft) {
  const gint64 n = whole(draft, "num-gpus"), started = launched(draft, "nproc-per-node");
  const gint64 per_node = started > 0 ? started : whole(draft, "gpus-per-node");
  const char *from = started > 0 ? "--nproc_per_node" : "--gpus_per_node";
  g_autofree char *both = g_strdup_printf("--num_gpus / %s", from);
  if (n > 0 && per_node > 0) {
    orr_launch_draft_set_nodes(draft, MAX((n - 1) / per_node + 1, 1), both);
    orr_launch_draft_set_gpus_per_node(draft, MIN(n, per_node), from);
  } else if (n > 0) {
    orr_launch_draft_set_nodes(draft, 1, "--num_gpus");
    orr_launch_draft_set_gpus_per_node(draft, n, "--num_gpus");
  } else if (per_node > 0) {
    orr_launch_draft_set_gpus_per_node(draft, per_node, from);
  }
}

static void read(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  const guint first = draft->settings->len;
  orr_launch_argv(draft, own, command->words, script + 1, rest);
  const char *name = text_of(draft, "recipe");
  const OrrLaunchWord *word = command->words->pdata[script];
  if (name) note_gpus(draft, name);
  const guint behind = draft->settings->len;
  add_defaults(draft, word->place);
  for (guint i = 0; i < rest->len; i++) add_override(draft, rest->pdata[i]);
  orr_launch_translate(draft, &orr_dialect_nemo, behind);
  orr_launch_translate(draft, own, first);
  note_machine(draft);
}

const OrrLaunchTrainer orr_trainer_bridge = {
    .name = "megatron-bridge",
    .scripts = "run_recipe.py setup_experiment.py",
    .claims = "recipe",
    .read = read,
};
