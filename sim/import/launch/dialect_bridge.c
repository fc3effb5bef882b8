/*
 * dialect_bridge.c - Megatron-Bridge: its recipes in Python, and the lines that start one.
 *
 *   torchrun ... run_recipe.py --recipe llama3_8b_pretrain_config -tp 2 train.global_batch_size=64
 *   python setup_experiment.py --model_recipe_name llama3_70b --num_gpus 64 --gpu h100 -c bf16
 *
 * Source: scripts/training, scripts/performance and src/megatron/bridge/{recipes,perf_recipes} of
 * NVIDIA-NeMo/Megatron-Bridge, 0.1 to 0.6; NVIDIA/dgxc-benchmarking starts the second form. What a
 * recipe sets has the keys of Megatron-Bridge's YAML (dialect_nemo.c). Where the recipe was not
 * given, what the line leaves out becomes a question: the layout is the recipe's.
 */
#include "sim/import/launch/launch_trainer.h"
#include "sim/import/launch/recipe.h"

static const OrrLaunchDialect *const own = &orr_dialect_bridge;

static const char *text_of(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_config_text(draft, own, key);
}

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

/* A name of the library for what the line or the recipe calls the model. Newly allocated; NULL. */
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
      orr_launch_draft_set(draft, "model", name, orr_launch_draft_find(draft, own, keys[i]), NULL);
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

static void ask_layout(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"tensor-model-parallel-size", "pipeline-model-parallel-size",
                                     "global-batch-size", "seq-length"};
  const char *recipe = text_of(draft, "recipe");
  gboolean is_left = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    is_left = is_left || !orr_launch_draft_find(draft, &orr_dialect_megatron, keys[i]);
  if (is_left)
    orr_launch_draft_ask(draft,
                         "what does the recipe %s set? The line leaves out a part of the layout "
                         "or the batch: give the recipe's Python file, too, or add -tp, -pp, -mb, "
                         "-gb and -sl to the line",
                         recipe ? recipe : "of Megatron-Bridge");
}

/* The size of a node is the cluster's; how many GPUs a job has is the launcher's word, and whole
 * nodes. */
static void judge_nodes(OrrLaunchDraft *draft) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, "gpus-per-node");
  OrrLaunchSetting *all = orr_launch_draft_find(draft, own, "num-gpus");
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
  const OrrLaunchSetting *source = orr_launch_draft_find(draft, own, "compute-dtype");
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

/* --- Recipes --- */

/* GPUs and device of "..._64gpu_h100_...". */
static void note_gpus(OrrLaunchDraft *draft, const char *name) {
  g_autoptr(GRegex) regex = g_regex_new("_([0-9]{1,6})gpu_", 0, 0, NULL);
  g_autoptr(GMatchInfo) found = NULL;
  if (!g_regex_match(regex, name, 0, &found)) return;
  g_autofree char *text = g_match_info_fetch(found, 1);
  orr_launch_draft_set_nodes(draft, 1, "the recipe's name");
  orr_launch_draft_set_gpus_per_node(draft, g_ascii_strtoll(text, NULL, 10), "the recipe's name");
}

/* What Megatron-Bridge's own base of all recipes sets, where its file was not given. */
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

static void add_settings(OrrLaunchDraft *draft, const GPtrArray *settings) {
  ORR_EACH_POINTER(const OrrRecipeSetting, from, settings) {
    OrrLaunchSetting *setting =
        orr_launch_draft_add(draft, &orr_dialect_nemo, from->key, from->value, from->place);
    g_free(setting->written);
    setting->written = g_strdup_printf("cfg.%s = %s", from->key, from->value);
  }
}

static gboolean has_model(const GPtrArray *settings) {
  for (guint i = 0; i < settings->len; i++)
    if (strcmp(((const OrrRecipeSetting *)settings->pdata[i])->key, "model") == 0) return TRUE;
  return FALSE;
}

/* Adds recipe @name. FALSE: there is none. */
static gboolean add_recipe(OrrLaunchDraft *draft, OrrRecipes *recipes, const char *name,
                           const char *file) {
  const OrrPlace place = {.file = g_intern_string(file), .line = 1, .column = 1};
  const guint first = draft->settings->len;
  GPtrArray *missing = NULL;
  g_autoptr(GPtrArray) settings = orr_recipes_settings(recipes, name, &missing);
  if (!settings) return FALSE;
  add_defaults(draft, place);
  add_settings(draft, settings);
  g_autofree char *model = has_model(settings) ? NULL : library_name(draft, name);
  if (model) {
    OrrLaunchSetting *setting =
        orr_launch_draft_add(draft, &orr_dialect_nemo, "model", model, place);
    g_free(setting->written);
    setting->written = g_strdup(name);
  }
  for (guint i = 0; i < missing->len; i++)
    orr_launch_draft_remark(draft, "not seen: %s. What it sets is missing: add its file",
                            (char *)missing->pdata[i]);
  g_ptr_array_unref(missing);
  orr_launch_translate(draft, &orr_dialect_nemo, first);
  note_gpus(draft, name);
  return TRUE;
}

/* All files of recipes among the sources; NULL: there are none. They count as read. */
static OrrRecipes *read_recipes(OrrLaunchDraft *draft) {
  OrrRecipes *recipes = NULL;
  ORR_EACH_POINTER(OrrLaunchSource, source, draft->sources) {
    const gboolean is_python = g_str_has_suffix(source->name, ".py");
    if (!is_python && !orr_recipes_is_likely(source->text)) continue;
    if (!recipes) recipes = orr_recipes_new();
    orr_recipes_add(recipes, source->text, source->name);
    source->is_used = TRUE;
  }
  return recipes;
}

/* Number options.choice, the one of --set recipe=NAME, or the only one; NULL with an error. */
static const char *choose(OrrLaunchDraft *draft, const OrrRecipes *recipes, const char *file) {
  const OrrPlace place = {.file = g_intern_string(file)};
  const char *named = orr_launch_draft_variable(draft, "recipe");
  const gint64 choice = draft->options->choice;
  g_autoptr(GPtrArray) names = orr_recipes_names(recipes);
  if (named) return named;
  if (names->len == 1) return names->pdata[0];
  if (choice >= 1 && choice <= names->len) return names->pdata[choice - 1];
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < names->len && i < 40; i++)
    g_string_append_printf(text, "%s%u: %s", i ? ", " : "", i + 1, (char *)names->pdata[i]);
  orr_diags_error(draft->diags, place,
                  names->len ? "several recipes: add --choose N or --set recipe=NAME (%s)"
                             : "no function here is a recipe, whose name ends in _config%s",
                  text->str);
  return NULL;
}

static int recognise(const OrrLaunchSource *source) {
  return orr_recipes_is_likely(source->text) ? 94 : 0;
}

static void read_form(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(OrrRecipes) recipes = read_recipes(draft);
  const char *name = recipes ? choose(draft, recipes, source->name) : NULL;
  if (name && !add_recipe(draft, recipes, name, source->name))
    orr_diags_error(draft->diags, (OrrPlace){.file = g_intern_string(source->name)},
                    "no recipe is called '%s'", name);
}

const OrrLaunchForm orr_launch_form_recipe = {
    .name = "recipe",
    .sentence = "Recipes of Megatron-Bridge in Python.",
    .recognise = recognise,
    .read = read_form,
};

/* --- The command line --- */

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
  g_autoptr(OrrRecipes) recipes = read_recipes(draft);
  const guint first = draft->settings->len;
  orr_launch_argv(draft, own, command->words, script + 1, rest);
  const char *name = text_of(draft, "recipe");
  const OrrLaunchWord *word = command->words->pdata[script];
  if (recipes && name && !add_recipe(draft, recipes, name, word->place.file))
    orr_launch_draft_remark(draft, "no given file has the recipe '%s'", name);
  if (name && !recipes) note_gpus(draft, name);
  const guint behind = draft->settings->len;
  if (!recipes) add_defaults(draft, word->place);
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
