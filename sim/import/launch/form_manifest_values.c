/*
 * form_manifest_values.c - servers that a document describes by options of an engine, without a
 * command:
 *
 *   serveConfigV2, llm_configs[]          RayService and Ray Serve: engine_kwargs of vLLM
 *   backend.ENGINE_config.{prefill,...}   recipes of srt-slurm: options of an engine by role
 *   kind: NIMService, image nvcr.io/nim   NVIDIA NIM: the image names the model
 *   kind: AIMService                      AMD's AIM: the image names the model
 *   workload.framework, configFile        Google's GPU recipes: options in a file of their own
 *   server.bash_command                   Google's GPU recipes: a script
 *   any map with options of an engine     vLLM's --config file alone, values of other charts
 *
 * An engine's options become its command line, so that the engine's own table reads them.
 */
#include "sim/base/quantity.h"
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_private.h"

gint64 orr_form_manifest_number(const OrrNode *map, const char *key, gint64 fallback) {
  double number = 0;
  const char *text = orr_node_get_text(map, key);
  if (!text || !orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL)) return fallback;
  return number >= 0 && number < 1e6 ? (gint64)number : fallback;
}

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
  ORR_EACH_PAIR(named, value, map) {
    g_autofree char *key = plain_key(named->text);
    if (strcmp(key, plain) == 0) return value;
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
  ORR_EACH_PAIR(key, value, map) {
    g_autofree char *plain = plain_key(key->text);
    if (value->kind == ORR_NODE_SCALAR && !g_strv_contains((const char *const *)skipped, plain) &&
        (!known || orr_launch_rule_find(dialect, plain)))
      add_option(command, key->text, value, dialect);
  }
}

/* Keys that became options: those that @only has, NULL: all. The others are listed as not
 * simulated. */
static void use_scalars(OrrFormManifest *manifest, const OrrNode *map,
                        const OrrLaunchDialect *only) {
  ORR_EACH_PAIR(key, value, map) {
    g_autofree char *plain = plain_key(key->text);
    if (value->kind == ORR_NODE_SCALAR && (!only || orr_launch_rule_find(only, plain)))
      orr_form_manifest_use(manifest, value);
  }
}

/* Scalars at all depths, "a.b", as options. */
static void add_deep_options(OrrLaunchCommand *command, const OrrNode *map, const char *above,
                             const OrrLaunchDialect *dialect) {
  ORR_EACH_PAIR(named, value, map) {
    g_autofree char *key = g_strconcat(above, named->text, NULL);
    g_autofree char *below = g_strconcat(key, ".", NULL);
    if (value->kind == ORR_NODE_SCALAR)
      add_option(command, key, value, dialect);
    else if (strlen(below) < 200)
      add_deep_options(command, value, below, dialect);
  }
}

static OrrLaunchCommand *begin(const char *engine, const OrrNode *model) {
  OrrLaunchCommand *command = orr_form_manifest_command();
  command->image_place = model->place;
  if (strcmp(engine, "sglang") == 0) {
    add_word(command, "sglang.launch_server", model->place);
    add_word(command, "--model-path", model->place);
  } else if (strcmp(engine, "trtllm") == 0) {
    add_word(command, "trtllm-serve", model->place);
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
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, list)) {
    add_llm_config(manifest, item);
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

/* The largest of "128x256" or of a list, in place of all. 0: there is none. */
static gint64 most_clients(const OrrNode *list, guint *ret_n) {
  g_autoptr(GString) all = g_string_new(NULL);
  gint64 most = 0;
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, list)) {
    g_string_append_printf(all, "%s ", item->kind == ORR_NODE_SCALAR ? item->text : "");
  }
  if (list && list->kind == ORR_NODE_SCALAR) g_string_append(all, list->text);
  g_auto(GStrv) parts = g_strsplit_set(all->str, "x, []", -1);
  for (char **part = parts; *part; part++) {
    const gint64 value = g_ascii_strtoll(*part, NULL, 10);
    most = MAX(most, value);
    *ret_n += value > 0;
  }
  return most;
}

/* `benchmark: {isl: 1024, osl: 1024, concurrencies: "128x256"}`: the load, as the command of a
 * client. sa-bench draws lengths from 0.8 of isl and osl to all of them, and sends five prompts for
 * each client (src/srtctl/benchmarks/scripts/sa-bench/bench.sh). */
static void add_benchmark(OrrFormManifest *manifest, const OrrNode *benchmark) {
  static const char *const options[][2] = {{"isl", "--random-input-len"},
                                           {"osl", "--random-output-len"},
                                           {"req_rate", "--request-rate"}};
  const OrrNode *list = orr_node_get(benchmark, "concurrencies");
  guint n = 0;
  const gint64 most = most_clients(list, &n);
  if (most < 1 || most > 1000000) return;
  OrrLaunchCommand *command = orr_form_manifest_command();
  command->image_place = benchmark->place;
  add_word(command, "sglang.bench_serving", benchmark->place);
  add_word(command, "--dataset-name", benchmark->place);
  add_word(command, "random", benchmark->place);
  add_word(command, "--random-range-ratio", benchmark->place);
  add_word(command, "0.8", benchmark->place);
  for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
    const OrrNode *value = orr_node_get(benchmark, options[i][0]);
    if (!is_text(value)) continue;
    add_word(command, options[i][1], value->place);
    add_word(command, value->text, value->place);
  }
  g_autofree char *clients = g_strdup_printf("%ld", most);
  g_autofree char *prompts = g_strdup_printf("%ld", 5 * most);
  add_word(command, "--max-concurrency", list->place);
  add_word(command, clients, list->place);
  add_word(command, "--num-prompts", list->place);
  add_word(command, prompts, list->place);
  orr_form_manifest_use_keys(manifest, benchmark, "type isl osl req_rate concurrencies");
  orr_launch_draft_remark(manifest->draft, "assumed: lengths of 0.8 to 1 times isl and osl, and "
                                           "five prompts for each client, as sa-bench draws them");
  if (n > 1)
    orr_launch_draft_remark(
        manifest->draft, "assumed: %s clients, the most of the benchmark's concurrencies", clients);
  end(manifest, command);
}

/* The engines whose options recipes have. */
typedef struct {
  const char *key, *name;
  const OrrLaunchDialect *dialect;
  gboolean is_deep; /* its options are a tree */
} SrtEngine;

static const SrtEngine srt_engines[] = {{"sglang_config", "sglang", &orr_dialect_sglang, FALSE},
                                        {"vllm_config", "vllm", &orr_dialect_vllm, FALSE},
                                        {"trtllm_config", "trtllm", &orr_dialect_trtllm, TRUE}};

/* The engine of a recipe; NULL: none that is read. */
static const SrtEngine *srt_engine(const OrrNode *tree) {
  const OrrNode *backend = orr_node_get(tree, "backend");
  for (guint i = 0; i < G_N_ELEMENTS(srt_engines); i++)
    if (orr_node_get(backend, srt_engines[i].key)) return &srt_engines[i];
  return NULL;
}

/* A server of @role ("prefill", "decode"; NULL: both). */
static void add_srt_role(OrrLaunchCommand *command, const char *engine, const char *role,
                         OrrPlace place) {
  if (role && strcmp(engine, "sglang") == 0) {
    add_word(command, "--disaggregation-mode", place);
    add_word(command, role, place);
  } else if (role && strcmp(engine, "trtllm") == 0) {
    add_word(command, "--server_role", place);
    add_word(command, strcmp(role, "prefill") == 0 ? "CONTEXT" : "GENERATION", place);
  } else if (role && strcmp(role, "prefill") == 0) {
    add_word(command, "--is-prefill-worker", place);
  }
}

/* model.container of a recipe, an image whose registry enroot parts with '#'. */
static void set_srt_image(OrrLaunchCommand *command, const OrrNode *container) {
  if (!is_text(container)) return;
  g_autofree char *image = g_strdelimit(g_strdup(container->text), "#", '/');
  command->image = g_intern_string(image);
  command->image_place = container->place;
}

static gboolean read_srt_slurm(OrrFormManifest *manifest, const OrrNode *tree) {
  static const struct {
    const char *section, *workers, *environment, *mode;
  } roles[] = {{"prefill", "prefill_workers", "prefill_environment", "prefill"},
               {"decode", "decode_workers", "decode_environment", "decode"},
               {"aggregated", "agg_workers", "aggregated_environment", NULL}};
  const SrtEngine *engine = srt_engine(tree);
  const OrrNode *config = engine ? orr_node_get(orr_node_get(tree, "backend"), engine->key) : NULL;
  const OrrNode *resources = orr_node_get(tree, "resources");
  const OrrNode *weights = orr_node_get(tree, "model");
  gboolean is_read = FALSE;
  for (guint i = 0; config && i < G_N_ELEMENTS(roles); i++) {
    const OrrNode *section = orr_node_get(config, roles[i].section);
    const OrrNode *model = member(section, "served-model-name");
    if (!is_text(model)) model = member(section, "model-path");
    if (!is_text(model)) model = orr_node_get(weights, "path");
    if (!section || section->kind != ORR_NODE_MAP || !is_text(model)) continue;
    OrrLaunchCommand *command = begin(engine->name, model);
    command->replicas = orr_form_manifest_number(resources, roles[i].workers, 1);
    set_srt_image(command, orr_node_get(weights, "container"));
    orr_form_manifest_add_environment(
        command->environment, orr_node_get(orr_node_get(tree, "backend"), roles[i].environment));
    if (engine->is_deep)
      add_deep_options(command, section, "", engine->dialect);
    else
      add_options(command, section, "model-path served-model-name disaggregation-mode",
                  engine->dialect, FALSE);
    add_srt_role(command, engine->name, roles[i].mode, section->place);
    end(manifest, command);
    is_read = TRUE;
  }
  if (!is_read) return FALSE;
  add_benchmark(manifest, orr_node_get(tree, "benchmark"));
  orr_form_manifest_use_keys(manifest, tree, "name model resources backend");
  return TRUE;
}

/* --- NIM --- */

/* The GPUs that the container may use: NIM shards over all of them. */
static const OrrNode *gpus_of(const OrrNode *spec) {
  static const char *const sections[] = {"limits", "requests"};
  const OrrNode *resources = orr_node_get(spec, "resources");
  const OrrNode *found = NULL;
  for (guint i = 0; !found && i < G_N_ELEMENTS(sections); i++) {
    found = orr_node_get(orr_node_get(resources, sections[i]), "nvidia.com/gpu");
    if (!found) found = orr_node_get(orr_node_get(resources, sections[i]), "amd.com/gpu");
  }
  return found;
}

static void add_tensor_parallel(OrrLaunchCommand *command, const OrrNode *gpus) {
  if (!is_text(gpus)) return;
  add_word(command, "--tensor-parallel-size", gpus->place);
  add_word(command, gpus->text, gpus->place);
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
  add_tensor_parallel(command, gpus);
  orr_form_manifest_use_keys(manifest, spec, "image resources");
  orr_launch_draft_remark(manifest->draft,
                          "assumed: NIM serves by vLLM, over all GPUs of its container");
  end(manifest, command);
  return TRUE;
}

/* --- AIM --- */

/* The library's model in "qwen-qwen3-32b" or "meta-llama-llama-3-1-8b-instruct", which begin with
 * the organisation and have hyphens for dots; else all of the name. Newly allocated. */
static char *aim_model(OrrLaunchDraft *draft, const char *name) {
  g_autoptr(GRegex) digits = g_regex_new("(?<=[0-9])-(?=[0-9](-|$))", 0, 0, NULL);
  for (const char *at = name; at; at = strchr(at, '-') ? strchr(at, '-') + 1 : NULL) {
    g_autofree char *dotted = g_regex_replace_literal(digits, at, -1, 0, ".", 0, NULL);
    const char *const spellings[] = {dotted, at};
    for (guint i = 0; i < G_N_ELEMENTS(spellings); i++) {
      g_autofree char *path =
          spellings[i] ? orr_library_path(draft->library, "model", spellings[i]) : NULL;
      if (path || (spellings[i] && orr_library_alias(draft->library, "model", spellings[i], NULL)))
        return g_strdup(spellings[i]);
    }
  }
  return g_strdup(name);
}

/* spec: {model: {image: REGISTRY/aim-ORGANISATION-MODEL:TAG}, replicas, resources}. */
static gboolean read_aim(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *spec = orr_node_get(tree, "spec");
  const OrrNode *image = orr_node_get(orr_node_get(spec, "model"), "image");
  const OrrNode *count =
      orr_node_get(orr_node_get(orr_node_get(spec, "overrides"), "gpuSelector"), "count");
  const OrrNode *gpus = is_text(count) ? count : gpus_of(spec);
  if (g_strcmp0(orr_node_get_text(tree, "kind"), "AIMService") != 0 || !is_text(image))
    return FALSE;
  g_autofree char *base = g_path_get_basename(image->text);
  base[strcspn(base, ":@")] = '\0';
  g_autofree char *name =
      aim_model(manifest->draft, g_str_has_prefix(base, "aim-") ? base + strlen("aim-") : base);
  OrrNode *model = orr_node_new_scalar(image->place, name);
  g_ptr_array_add(manifest->documents, model);
  OrrLaunchCommand *command = begin("vllm", model);
  command->replicas = orr_form_manifest_number(spec, "replicas", 1);
  add_tensor_parallel(command, gpus);
  orr_form_manifest_add_environment(command->environment, orr_node_get(spec, "env"));
  orr_form_manifest_use(manifest, image);
  orr_form_manifest_use(manifest, gpus);
  orr_launch_draft_remark(manifest->draft,
                          "assumed: AIM serves by vLLM, %s: the profile in its image says more",
                          gpus ? "over all GPUs of its container" : "on one GPU");
  end(manifest, command);
  return TRUE;
}

/* --- Google's GPU recipes --- */

/* `workload: {model: {name}, framework: vllm, configFile: serving-args.yaml}`, or the model's name
 * alone; the file has the options. */
static gboolean read_recipe(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *workload = orr_node_get(tree, "workload");
  const OrrNode *file = orr_node_get(workload, "configFile");
  const OrrNode *named = orr_node_get(workload, "model");
  const OrrNode *model = is_text(named) ? named : orr_node_get(named, "name");
  const char *framework = orr_node_get_text(workload, "framework");
  const char *engine = framework && strstr(framework, "sglang")     ? "sglang"
                       : framework && strstr(framework, "trt")      ? "trtllm"
                       : framework && strstr(framework, "tensorrt") ? "trtllm"
                                                                    : "vllm";
  if (!is_text(file) || !is_text(model) || !framework || !*framework) return FALSE;
  OrrLaunchCommand *command = begin(engine, model);
  command->replicas = 1;
  OrrLaunchSource *source = orr_launch_form_source(manifest->draft, file->text);
  GPtrArray *trees = source ? orr_yaml_foreign_parse(source->text, source->length, source->name,
                                                     manifest->draft->diags)
                            : NULL;
  for (guint i = 0; trees && i < trees->len; i++)
    add_deep_options(command, trees->pdata[i], "",
                     engine[0] == 's'   ? &orr_dialect_sglang
                     : engine[0] == 't' ? &orr_dialect_trtllm
                                        : &orr_dialect_vllm);
  while (trees && trees->len > 0)
    g_ptr_array_add(manifest->documents, g_ptr_array_steal_index(trees, trees->len - 1));
  if (trees) g_ptr_array_unref(trees);
  if (source) source->is_used = TRUE;
  if (!source && manifest->draft->options->strict)
    orr_launch_draft_ask(manifest->draft, "what does %s contain? Give it as a file, too",
                         file->text);
  if (!source)
    orr_launch_draft_remark(manifest->draft,
                            "assumed: the engine's defaults, since %s was not given", file->text);
  orr_form_manifest_add_environment(command->environment, orr_node_get(workload, "envs"));
  orr_form_manifest_use_keys(manifest, workload, "model framework configFile configPath envs");
  end(manifest, command);
  return TRUE;
}

/* `server: {bash_command: SCRIPT, image: ...}`, and `client` with the load. */
static gboolean read_bash_commands(OrrFormManifest *manifest, const OrrNode *tree) {
  static const char *const parts[] = {"server", "client"};
  gboolean is_read = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
    const OrrNode *part = orr_node_get(tree, parts[i]);
    const OrrNode *script = orr_node_get(part, "bash_command");
    if (!is_text(script)) continue;
    OrrLaunchCommand *command = orr_form_manifest_command();
    const char *image = orr_node_get_text(part, "image");
    command->image = image ? g_intern_string(image) : NULL;
    command->image_place = part->place;
    command->replicas = 1;
    add_word(command, "bash", script->place);
    add_word(command, "-c", script->place);
    add_word(command, script->text, script->place);
    g_ptr_array_add(manifest->containers, command);
    orr_form_manifest_add_script(manifest, command, command->words->pdata[2]);
    orr_form_manifest_use_keys(manifest, part, "bash_command image");
    is_read = TRUE;
  }
  return is_read;
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

/* Whether @node has a key of training: its tensor_parallel_size is a trainer's, too. */
static gboolean is_training(const OrrNode *node, guint depth) {
  static const char *const keys[] = {"optimizer", "learning-rate", "lr", "optim", NULL};
  gboolean found = FALSE;
  for (guint i = 0;
       !found && depth < 12 && node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++) {
    g_autofree char *key = node->kind == ORR_NODE_MAP
                               ? plain_key(((const OrrNode *)node->keys->pdata[i])->text)
                               : g_strdup("");
    found = g_strv_contains(keys, key) || g_str_has_prefix(key, "train-") ||
            is_training(node->items->pdata[i], depth + 1);
  }
  return found;
}

static gboolean read_options(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *sglang = options_below(tree, sglang_options, 0);
  const OrrNode *options = sglang ? sglang : options_below(tree, vllm_options, 0);
  const char *engine = sglang ? "sglang" : "vllm";
  if (!options || orr_node_get(tree, "apiVersion") || is_training(tree, 0)) return FALSE;
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
  static const char words[] = "^[ "
                              "\\t-]*[\"']?(tensor[-_]?parallel[-_]?size|max[-_]?model[-_]?len|max["
                              "-_]num[-_]batched[-_]tokens|"
                              "gpu[-_]?memory[-_]?utilization|mem[-_]fraction[-_]static|"
                              "llm_configs|(sglang|vllm|trtllm)_config|configFile|bash_command)"
                              "[\"']?:";
  return g_regex_match_simple(words, text, G_REGEX_MULTILINE | G_REGEX_CASELESS, 0);
}

gboolean orr_form_manifest_read_values(OrrFormManifest *manifest, const OrrNode *tree) {
  if (tree->kind != ORR_NODE_MAP) return FALSE;
  return read_ray_service(manifest, tree) || read_srt_slurm(manifest, tree) ||
         read_nim(manifest, tree) || read_aim(manifest, tree) || read_recipe(manifest, tree) ||
         read_bash_commands(manifest, tree) || read_options(manifest, tree);
}
