/*
 * form_manifest_values.c - servers that a document describes by options of an engine, without a
 * command:
 *
 *   serveConfigV2, llm_configs[]          RayService and Ray Serve: engine_kwargs of vLLM
 *   backend.sglang_config.{prefill,...}   recipes of srt-slurm: options of SGLang by role
 *   kind: NIMService, image nvcr.io/nim   NVIDIA NIM: the image names the model
 *   any map with options of an engine     vLLM's --config file alone, values of other charts
 *
 * An engine's options become its command line, so that the engine's own table reads them.
 */
#include <string.h>

#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_form.h"

/* "tensorParallelSize", "tensor_parallel_size": "tensor-parallel-size". Newly allocated. */
static char *plain_key(const char *key) {
  GString *plain = g_string_new(NULL);
  for (const char *c = key; *c; c++) {
    if (g_ascii_isupper(*c) && c > key && c[-1] != '_' && c[-1] != '-')
      g_string_append_c(plain, '-');
    g_string_append_c(plain, *c == '_' ? '-' : g_ascii_tolower(*c));
  }
  return g_string_free(plain, FALSE);
}

static const OrrNode *member(const OrrNode *map, const char *plain) {
  for (guint i = 0; map && map->kind == ORR_NODE_MAP && i < orr_node_length(map); i++) {
    g_autofree char *key = plain_key(((const OrrNode *)map->keys->pdata[i])->text);
    if (strcmp(key, plain) == 0) return map->items->pdata[i];
  }
  return NULL;
}

static void add_word(OrrLaunchCommand *command, const char *text, OrrPlace place) {
  orr_form_manifest_add_word(command->words, text, place);
}

/* A switch that is off is its negation: what it turns off may be on by default. */
static void add_option(OrrLaunchCommand *command, const char *key, const OrrNode *value,
                       const OrrLaunchDialect *dialect) {
  g_autofree char *plain = plain_key(key + strspn(key, "-"));
  const OrrLaunchRule *rule = orr_launch_rule_find(dialect, plain);
  const gboolean is_off = strcmp(value->text, "false") == 0;
  const gboolean is_switch = rule && rule->arity == ORR_LAUNCH_FLAG;
  g_autofree char *option = g_strconcat(is_off ? "--no-" : "--", plain, NULL);
  if (strcmp(value->text, "null") == 0 || !*value->text || (is_off && !is_switch)) return;
  add_word(command, option, value->place);
  if (!is_off && strcmp(value->text, "true") != 0) add_word(command, value->text, value->place);
}

/* The scalars of @map as options of @dialect, without the plain keys @without, separated by blanks;
 * @known: those that it has. */
static void add_options(OrrLaunchCommand *command, const OrrNode *map, const char *without,
                        const OrrLaunchDialect *dialect, gboolean known) {
  g_auto(GStrv) skipped = g_strsplit(without, " ", -1);
  for (guint i = 0; map && map->kind == ORR_NODE_MAP && i < orr_node_length(map); i++) {
    const char *key = ((const OrrNode *)map->keys->pdata[i])->text;
    const OrrNode *value = map->items->pdata[i];
    g_autofree char *plain = plain_key(key);
    if (value->kind == ORR_NODE_SCALAR && !g_strv_contains((const char *const *)skipped, plain) &&
        (!known || orr_launch_rule_find(dialect, plain)))
      add_option(command, key, value, dialect);
  }
}

/* Keys that became options: those that @only has, NULL: all. The others are listed as not
 * simulated. */
static void use_scalars(OrrFormManifest *manifest, const OrrNode *map,
                        const OrrLaunchDialect *only) {
  for (guint i = 0; map && map->kind == ORR_NODE_MAP && i < orr_node_length(map); i++) {
    g_autofree char *plain = plain_key(((const OrrNode *)map->keys->pdata[i])->text);
    const OrrNode *value = map->items->pdata[i];
    if (value->kind == ORR_NODE_SCALAR && (!only || orr_launch_rule_find(only, plain)))
      orr_form_manifest_use(manifest, value);
  }
}

static OrrLaunchCommand *begin(const char *engine, const OrrNode *model) {
  OrrLaunchCommand *command = orr_form_manifest_command();
  command->image_place = model->place;
  if (strcmp(engine, "sglang") == 0) {
    add_word(command, "sglang.launch_server", model->place);
    add_word(command, "--model-path", model->place);
  } else {
    add_word(command, "vllm", model->place);
    add_word(command, "serve", model->place);
  }
  add_word(command, model->text, model->place);
  return command;
}

static void end(OrrFormManifest *manifest, OrrLaunchCommand *command) {
  g_ptr_array_add(manifest->containers, command);
  g_ptr_array_add(manifest->commands, command);
}

static gboolean is_text(const OrrNode *node) {
  return node && node->kind == ORR_NODE_SCALAR && *node->text;
}

/* --- Ray Serve --- */

/* {model_loading_config: {model_id, model_source}, deployment_config, engine_kwargs}. */
static void add_llm_config(OrrFormManifest *manifest, const OrrNode *config) {
  const OrrNode *loading = orr_node_get(config, "model_loading_config");
  const OrrNode *source = orr_node_get(loading, "model_source");
  const OrrNode *model = is_text(source) ? source : orr_node_get(loading, "model_id");
  const OrrNode *scale =
      orr_node_get(orr_node_get(config, "deployment_config"), "autoscaling_config");
  if (!is_text(model)) return;
  OrrLaunchCommand *command = begin("vllm", model);
  command->replicas = orr_form_manifest_number(scale, "min_replicas", 1);
  command->replicas = orr_form_manifest_number(orr_node_get(config, "deployment_config"),
                                               "num_replicas", MAX(command->replicas, 1));
  add_options(command, orr_node_get(config, "engine_kwargs"), "", &orr_dialect_vllm, FALSE);
  orr_form_manifest_use(manifest, model);
  use_scalars(manifest, orr_node_get(config, "engine_kwargs"), NULL);
  orr_form_manifest_use_keys(manifest, orr_node_get(config, "deployment_config"), "num_replicas");
  end(manifest, command);
}

/* Every list `llm_configs` below @node. */
static gboolean read_llm_configs(OrrFormManifest *manifest, const OrrNode *node) {
  const OrrNode *list = orr_node_get(node, "llm_configs");
  gboolean is_read = FALSE;
  for (guint i = 0; list && list->kind == ORR_NODE_LIST && i < orr_node_length(list); i++) {
    add_llm_config(manifest, list->items->pdata[i]);
    is_read = TRUE;
  }
  for (guint i = 0; !list && node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++)
    is_read = read_llm_configs(manifest, node->items->pdata[i]) || is_read;
  return is_read;
}

/* RayService keeps the config of its applications as a text. */
static gboolean read_ray_service(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *text = orr_node_get(orr_node_get(tree, "spec"), "serveConfigV2");
  if (!is_text(text)) return read_llm_configs(manifest, tree);
  GPtrArray *trees = orr_yaml_foreign_parse(text->text, strlen(text->text), text->place.file,
                                            manifest->draft->diags);
  gboolean is_read = FALSE;
  for (guint i = 0; trees && i < trees->len; i++)
    is_read = read_llm_configs(manifest, trees->pdata[i]) || is_read;
  while (trees && trees->len > 0) { /* commands and the account refer to their texts */
    g_ptr_array_add(manifest->inner, trees->pdata[trees->len - 1]);
    g_ptr_array_add(manifest->documents, g_ptr_array_steal_index(trees, trees->len - 1));
  }
  if (trees) g_ptr_array_unref(trees);
  if (is_read) orr_form_manifest_use(manifest, text);
  return is_read;
}

/* --- srt-slurm --- */

/* `benchmark: {isl: 1024, osl: 1024, concurrencies: "128x256"}`: the load, as the command of a
 * client. Of several concurrencies the largest counts. */
static void add_benchmark(OrrFormManifest *manifest, const OrrNode *benchmark) {
  static const char *const options[][2] = {{"isl", "--random-input-len"},
                                           {"osl", "--random-output-len"}};
  const OrrNode *list = orr_node_get(benchmark, "concurrencies");
  const char *text = list && list->kind == ORR_NODE_SCALAR ? list->text : NULL;
  gint64 most = 0, n = 0;
  g_auto(GStrv) parts = g_strsplit_set(text ? text : "", "x, []", -1);
  for (char **part = parts; *part; part++) {
    const gint64 value = g_ascii_strtoll(*part, NULL, 10);
    most = MAX(most, value);
    n += value > 0;
  }
  if (most < 1) return;
  OrrLaunchCommand *command = orr_form_manifest_command();
  command->image_place = benchmark->place;
  add_word(command, "sglang.bench_serving", benchmark->place);
  add_word(command, "--dataset-name", benchmark->place);
  add_word(command, "random", benchmark->place);
  add_word(command, "--random-range-ratio", benchmark->place); /* sa-bench, InferenceX: 0.8 */
  add_word(command, "0.8", benchmark->place);
  for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
    const OrrNode *value = orr_node_get(benchmark, options[i][0]);
    if (!is_text(value)) continue;
    add_word(command, options[i][1], value->place);
    add_word(command, value->text, value->place);
  }
  g_autofree char *clients = g_strdup_printf("%" G_GINT64_FORMAT, most);
  add_word(command, "--max-concurrency", list->place);
  add_word(command, clients, list->place);
  if (n > 1)
    orr_launch_draft_remark(manifest->draft,
                            "assumed: %s clients, the most of the benchmark's concurrencies %s",
                            clients, text);
  end(manifest, command);
}

static gboolean read_srt_slurm(OrrFormManifest *manifest, const OrrNode *tree) {
  static const struct {
    const char *section, *workers, *mode;
  } roles[] = {{"prefill", "prefill_workers", "prefill"},
               {"decode", "decode_workers", "decode"},
               {"aggregated", "agg_workers", NULL}};
  const OrrNode *config = orr_node_get(orr_node_get(tree, "backend"), "sglang_config");
  const OrrNode *resources = orr_node_get(tree, "resources");
  gboolean is_read = FALSE;
  for (guint i = 0; config && i < G_N_ELEMENTS(roles); i++) {
    const OrrNode *section = orr_node_get(config, roles[i].section);
    const OrrNode *model = member(section, "served-model-name");
    if (!is_text(model)) model = member(section, "model-path");
    if (!is_text(model)) model = orr_node_get(orr_node_get(tree, "model"), "path");
    if (!section || section->kind != ORR_NODE_MAP || !is_text(model)) continue;
    OrrLaunchCommand *command = begin("sglang", model);
    command->replicas = orr_form_manifest_number(resources, roles[i].workers, 1);
    add_options(command, section, "model-path served-model-name disaggregation-mode",
                &orr_dialect_sglang, FALSE);
    if (roles[i].mode) {
      add_word(command, "--disaggregation-mode", section->place);
      add_word(command, roles[i].mode, section->place);
    }
    end(manifest, command);
    is_read = TRUE;
  }
  if (is_read) add_benchmark(manifest, orr_node_get(tree, "benchmark"));
  if (is_read) orr_form_manifest_use(manifest, tree);
  return is_read;
}

/* --- NIM --- */

/* The GPUs that the container may use: NIM shards over all of them. */
static const OrrNode *gpus_of(const OrrNode *spec) {
  static const char *const sections[] = {"limits", "requests"};
  const OrrNode *resources = orr_node_get(spec, "resources");
  const OrrNode *found = NULL;
  for (guint i = 0; !found && i < G_N_ELEMENTS(sections); i++)
    found = orr_node_get(orr_node_get(resources, sections[i]), "nvidia.com/gpu");
  return found;
}

static gboolean read_nim(OrrFormManifest *manifest, const OrrNode *tree) {
  static const char registry[] = "nvcr.io/nim/";
  const gboolean is_service = g_strcmp0(orr_node_get_text(tree, "kind"), "NIMService") == 0;
  const OrrNode *spec = is_service ? orr_node_get(tree, "spec") : tree;
  const OrrNode *repository = orr_node_get(orr_node_get(spec, "image"), "repository");
  const OrrNode *gpus = gpus_of(spec);
  if (!is_text(repository) || !g_str_has_prefix(repository->text, registry)) return FALSE;
  OrrNode *model = orr_node_new_scalar(repository->place, repository->text + strlen(registry));
  g_ptr_array_add(manifest->documents, model);
  OrrLaunchCommand *command = begin("vllm", model);
  command->replicas = orr_form_manifest_number(spec, is_service ? "replicas" : "replicaCount", 1);
  if (is_text(gpus)) {
    add_word(command, "--tensor-parallel-size", gpus->place);
    add_word(command, gpus->text, gpus->place);
  }
  orr_form_manifest_use_keys(manifest, spec, "image resources");
  orr_launch_draft_remark(manifest->draft,
                          "assumed: NIM serves by vLLM, over all GPUs of its container");
  end(manifest, command);
  return TRUE;
}

/* --- Options alone --- */

static const char *const vllm_options[] = {"tensor-parallel-size",   "max-model-len",
                                           "gpu-memory-utilization", "max-num-seqs",
                                           "max-num-batched-tokens", NULL};
static const char *const sglang_options[] = {"mem-fraction-static", "tp-size",
                                             "chunked-prefill-size", "max-running-requests", NULL};

static gboolean has_any(const OrrNode *map, const char *const *keys) {
  for (; *keys; keys++) {
    const OrrNode *value = member(map, *keys);
    if (value && value->kind == ORR_NODE_SCALAR) return TRUE;
  }
  return FALSE;
}

/* The first map below @node, itself included, that has an engine's options; NULL: none. */
static const OrrNode *options_below(const OrrNode *node, const char *const *keys, guint depth) {
  if (node->kind == ORR_NODE_MAP && has_any(node, keys)) return node;
  const OrrNode *found = NULL;
  for (guint i = 0;
       !found && depth < 12 && node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++)
    found = options_below(node->items->pdata[i], keys, depth + 1);
  return found;
}

/* A model's name below @node: a text under a key that says so; an id of an organisation wins. */
static const OrrNode *model_below(const OrrNode *node, guint depth) {
  static const char *const keys[] = {"model",       "model-id",  "model-name", "model-path",
                                     "hf-model-id", "model-url", "modelurl",   "served-model-name",
                                     "name",        "id"};
  const OrrNode *second = NULL;
  for (guint k = 0; k < G_N_ELEMENTS(keys); k++) {
    const OrrNode *value = member(node, keys[k]);
    if (!is_text(value)) continue;
    if (strchr(value->text, '/') && value->text[0] != '/') return value;
    if (!second && k < 8) second = value;
  }
  for (guint i = 0; depth < 12 && node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++) {
    const OrrNode *found = model_below(node->items->pdata[i], depth + 1);
    if (found && (!second || strchr(found->text, '/'))) return found;
  }
  return second;
}

static gboolean read_options(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *sglang = options_below(tree, sglang_options, 0);
  const OrrNode *options = sglang ? sglang : options_below(tree, vllm_options, 0);
  const char *engine = sglang ? "sglang" : "vllm";
  if (!options || orr_node_get(tree, "apiVersion")) return FALSE;
  const OrrNode *model = model_below(options, 12);
  if (!model) model = model_below(tree, 0);
  if (!model) {
    OrrNode *assumed = orr_node_new_scalar(options->place, "meta-llama/Llama-3.1-8B-Instruct");
    g_ptr_array_add(manifest->documents, assumed);
    if (manifest->draft->options->strict) return FALSE;
    orr_launch_draft_remark(manifest->draft, "assumed: model llama-3.1-8b, since the values name "
                                             "none; --model NAME says another");
    model = assumed;
  }
  OrrLaunchCommand *command = begin(engine, model);
  command->replicas = orr_form_manifest_number(tree, "replicaCount", 1);
  command->replicas = orr_form_manifest_number(tree, "replicas", command->replicas);
  add_options(command, options,
              "model model-id model-name model-path hf-model-id model-url modelurl name id "
              "served-model-name host port replicas image",
              sglang ? &orr_dialect_sglang : &orr_dialect_vllm, TRUE);
  use_scalars(manifest, options, sglang ? &orr_dialect_sglang : &orr_dialect_vllm);
  orr_form_manifest_use(manifest, model);
  orr_launch_draft_remark(manifest->draft, "assumed: the engine is %s, by the names of its options",
                          engine);
  end(manifest, command);
  return TRUE;
}

gboolean orr_form_manifest_values_is_likely(const char *text) {
  static const char words[] = "^[ \\t-]*[\"']?(tensor[-_]?parallel[-_]?size|max[-_]?model[-_]?len|"
                              "gpu[-_]?memory[-_]?utilization|mem[-_]fraction[-_]static|"
                              "llm_configs|sglang_config)[\"']?:";
  return g_regex_match_simple(words, text, G_REGEX_MULTILINE | G_REGEX_CASELESS, 0);
}

gboolean orr_form_manifest_read_values(OrrFormManifest *manifest, const OrrNode *tree) {
  if (tree->kind != ORR_NODE_MAP) return FALSE;
  return read_ray_service(manifest, tree) || read_srt_slurm(manifest, tree) ||
         read_nim(manifest, tree) || read_options(manifest, tree);
}
