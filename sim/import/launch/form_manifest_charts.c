/*
 * form_manifest_charts.c - servers in the values of Helm's charts, and in KServe's
 * LLMInferenceService, whose containers have no command of their own:
 *
 *   servingEngineSpec.modelSpec[]   vLLM's production stack
 *   modelArtifacts, decode, prefill llm-d's model service
 *   kind: LLMInferenceService       KServe
 *   image.command, replicaCount     vLLM's own chart
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_form.h"

/* --- Values of vLLM's production stack --- */

/* "tensorParallelSize": "--tensor-parallel-size". Newly allocated. */
static char *option_of(const char *key, gboolean is_negated) {
  GString *option = g_string_new(is_negated ? "--no-" : "--");
  for (const char *c = key; *c; c++) {
    if (g_ascii_isupper(*c)) g_string_append_c(option, '-');
    g_string_append_c(option, g_ascii_tolower(*c));
  }
  return g_string_free(option, FALSE);
}

static void add_option(OrrLaunchCommand *command, const char *key, const OrrNode *value) {
  const gboolean is_true = strcmp(value->text, "true") == 0;
  const gboolean is_false = strcmp(value->text, "false") == 0;
  g_autofree char *option = option_of(key, is_false);
  if (strcmp(key, "v1") == 0 || strcmp(key, "v0") == 0) {
    const gboolean is_v1 = (key[1] == '1') == (is_true || strcmp(value->text, "1") == 0);
    g_autofree char *text = g_strdup_printf("VLLM_USE_V1=%d", is_v1);
    orr_form_manifest_add_word(command->environment, text, value->place);
    return;
  }
  orr_form_manifest_add_word(command->words, option, value->place);
  if (!is_true && !is_false) orr_form_manifest_add_word(command->words, value->text, value->place);
}

/* Whether LMCache makes of @spec an engine of that role ("kv_producer" prefills). */
static gboolean has_role(const OrrNode *spec, const char *role) {
  const OrrNode *cache = orr_node_get(spec, "lmcacheConfig");
  return g_strcmp0(orr_node_get_text(cache, "enabled"), "false") != 0 &&
         g_strcmp0(orr_node_get_text(cache, "kvRole"), role) == 0;
}

static gboolean has_any_role(const OrrNode *specs, const char *role) {
  ORR_EACH_ITEM(item, specs)
    if (has_role(item, role)) return TRUE;
  return FALSE;
}

/* One of servingEngineSpec.modelSpec: {modelURL, repository, tag, replicaCount, vllmConfig}.
 * @is_split: some of them prefill for others. */
static void add_model_spec(OrrFormManifest *manifest, const OrrNode *spec, gboolean is_split) {
  const OrrNode *model = orr_node_get(spec, "modelURL"), *config = orr_node_get(spec, "vllmConfig");
  const char *repository = orr_node_get_text(spec, "repository");
  const char *tag = orr_node_get_text(spec, "tag");
  if (!model || model->kind != ORR_NODE_SCALAR) return;
  OrrLaunchCommand *command = orr_form_manifest_command();
  g_autofree char *image =
      g_strdup_printf("%s:%s", repository ? repository : "vllm/vllm-openai", tag ? tag : "latest");
  command->image = g_intern_string(image);
  command->image_place = spec->place;
  command->replicas = orr_form_manifest_number(spec, "replicaCount", 1);
  orr_form_manifest_add_word(command->words, "vllm", model->place);
  orr_form_manifest_add_word(command->words, "serve", model->place);
  orr_form_manifest_add_word(command->words, model->text, model->place);
  for (guint i = 0; config && i < orr_node_length(config); i++) {
    const OrrNode *value = config->items->pdata[i];
    const OrrNode *key = config->kind == ORR_NODE_MAP ? config->keys->pdata[i] : NULL;
    if (key && value->kind == ORR_NODE_SCALAR) add_option(command, key->text, value);
  }
  orr_form_manifest_add_words(command->words, orr_node_get(config, "extraArgs"));
  if (is_split && has_role(spec, "kv_producer"))
    orr_form_manifest_add_word(command->words, "--is-prefill-worker", spec->place);
  if (is_split)
    orr_form_manifest_use_keys(
        manifest, orr_node_get(spec, "lmcacheConfig"),
        "kvRole enablePD enableNixl enableXpyd nixlRole nixlProxyHost nixlProxyPort "
        "nixlPeerHost nixlPeerPort nixlPeerInitPort nixlPeerAllocPort nixlBufferSize "
        "nixlBufferDevice nixlBackends rpcPort skipLastNTokens cudaVisibleDevices");
  orr_form_manifest_add_environment(command->environment, orr_node_get(spec, "env"));
  orr_form_manifest_use_keys(manifest, spec, "repository tag modelURL vllmConfig");
  g_ptr_array_add(manifest->containers, command);
  g_ptr_array_add(manifest->commands, command);
}

static gboolean read_production_stack(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *specs = orr_node_get(orr_node_get(tree, "servingEngineSpec"), "modelSpec");
  if (!specs || specs->kind != ORR_NODE_LIST) return FALSE;
  const gboolean is_split =
      has_any_role(specs, "kv_producer") && has_any_role(specs, "kv_consumer");
  ORR_EACH_ITEM(item, specs) add_model_spec(manifest, item, is_split);
  return TRUE;
}

/* --- Values of llm-d's model service --- */

static void add_count(OrrLaunchCommand *command, const char *option, const OrrNode *map,
                      const char *key) {
  const OrrNode *value = orr_node_get(map, key);
  if (!value || value->kind != ORR_NODE_SCALAR || strcmp(value->text, "1") == 0) return;
  orr_form_manifest_add_word(command->words, option, value->place);
  orr_form_manifest_add_word(command->words, value->text, value->place);
}

/* KServe's variable with more arguments. */
static void add_additional(OrrLaunchCommand *command) {
  static const char name[] = "VLLM_ADDITIONAL_ARGS=";
  for (guint i = 0; i < command->environment->len; i++) {
    const OrrLaunchWord *variable = command->environment->pdata[i];
    if (!g_str_has_prefix(variable->text, name)) continue;
    g_auto(GStrv) words = orr_form_manifest_split(variable->text + strlen(name));
    for (char **word = words; word && *word; word++)
      orr_form_manifest_add_word(command->words, *word, variable->place);
    g_ptr_array_remove_index(command->environment, i);
    return;
  }
}

/* A container of `decode` or `prefill`: {modelCommand: vllmServe, args: [...]}. Its command. */
static OrrLaunchCommand *add_role(OrrFormManifest *manifest, const OrrNode *model,
                                  const OrrNode *role, const OrrNode *container,
                                  gboolean prefills) {
  const OrrNode *parallelism = orr_node_get(role, "parallelism");
  const OrrNode *image = orr_node_get(container, "image");
  OrrLaunchCommand *command = orr_form_manifest_command();
  command->image = image && image->kind == ORR_NODE_SCALAR ? image->text : NULL;
  command->image_place = image ? image->place : container->place;
  command->replicas = orr_form_manifest_number(role, "replicas", 1);
  orr_form_manifest_add_word(command->words, "vllm", container->place);
  orr_form_manifest_add_word(command->words, "serve", container->place);
  orr_form_manifest_add_word(command->words, model->text, model->place);
  add_count(command, "--tensor-parallel-size", parallelism, "tensor");
  add_count(command, "--data-parallel-size", parallelism, "data");
  add_count(command, "--pipeline-parallel-size", parallelism, "pipeline");
  if (g_strcmp0(orr_node_get_text(parallelism, "expert"), "true") == 0)
    orr_form_manifest_add_word(command->words, "--enable-expert-parallel", parallelism->place);
  orr_form_manifest_add_words(command->words, orr_node_get(container, "args"));
  if (prefills) orr_form_manifest_add_word(command->words, "--is-prefill-worker", role->place);
  orr_form_manifest_add_environment(command->environment, orr_node_get(container, "env"));
  add_additional(command);
  orr_form_manifest_use_keys(manifest, container, "image args modelCommand");
  orr_form_manifest_use_keys(manifest, role, "parallelism create");
  orr_form_manifest_use(manifest, model);
  for (guint i = 0; i < command->words->len; i++)
    orr_form_manifest_resolve(manifest, command->environment, command->words->pdata[i]);
  g_ptr_array_add(manifest->containers, command);
  g_ptr_array_add(manifest->commands, command);
  return command;
}

/* modelArtifacts.name, decode and prefill. Those who prefill read it by their section alone. */
static gboolean read_model_service(OrrFormManifest *manifest, const OrrNode *tree) {
  static const char *const roles[] = {"prefill", "decode"};
  const OrrNode *artifacts = orr_node_get(tree, "modelArtifacts");
  const OrrNode *model = orr_node_get(artifacts, "name"), *uri = orr_node_get(artifacts, "uri");
  if (!model && uri && uri->kind == ORR_NODE_SCALAR && g_str_has_prefix(uri->text, "hf://")) {
    OrrNode *name = orr_node_new_scalar(uri->place, uri->text + strlen("hf://"));
    g_ptr_array_add(manifest->documents, name);
    orr_form_manifest_use(manifest, uri);
    model = name;
  }
  if (!model || model->kind != ORR_NODE_SCALAR) return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(roles); i++) {
    const OrrNode *role = orr_node_get(tree, roles[i]);
    const OrrNode *containers = orr_node_get(role, "containers");
    const char *create = orr_node_get_text(role, "create");
    if (!containers || (create && strcmp(create, "false") == 0)) continue;
    ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, containers))
      if (orr_node_get_text(item, "modelCommand")) add_role(manifest, model, role, item, i == 0);
  }
  return TRUE;
}

/* --- KServe's LLMInferenceService --- */

/* The words behind "://" of @uri; where a volume or a bucket holds the weights, its path says less
 * than the name. Owned by @manifest. */
static OrrNode *service_model(OrrFormManifest *manifest, const OrrNode *uri, const char *name) {
  const char *path = strstr(uri->text, "://");
  const gboolean is_named = path && name && !g_str_has_prefix(uri->text, "hf://");
  OrrNode *model = orr_node_new_scalar(uri->place, is_named ? name : path ? path + 3 : uri->text);
  g_ptr_array_add(manifest->documents, model);
  return model;
}

/* spec.speculator: {model: {uri: ...}, config: {method: ..., num_speculative_tokens: ...}}. */
static void add_speculator(OrrFormManifest *manifest, OrrLaunchCommand *command,
                           const OrrNode *speculator) {
  const OrrNode *config = orr_node_get(speculator, "config");
  const OrrNode *uri = orr_node_get(orr_node_get(speculator, "model"), "uri");
  if (uri && uri->kind == ORR_NODE_SCALAR) {
    orr_form_manifest_add_word(command->words, "--speculative-config.model", uri->place);
    orr_form_manifest_add_word(command->words, service_model(manifest, uri, NULL)->text,
                               uri->place);
  }
  ORR_EACH_PAIR(key, value, config) {
    if (value->kind != ORR_NODE_SCALAR) continue;
    g_autofree char *option = g_strconcat("--speculative-config.", key->text, NULL);
    orr_form_manifest_add_word(command->words, option, value->place);
    orr_form_manifest_add_word(command->words, value->text, value->place);
  }
  if (speculator) orr_form_manifest_use(manifest, speculator);
}

/* spec.speculativeDecoding: {method, numSpeculativeTokens, speculator: {model: {uri}}}. */
static void add_drafts(OrrFormManifest *manifest, OrrLaunchCommand *command,
                       const OrrNode *decoding) {
  static const char *const keys[][2] = {
      {"method", "--speculative-config.method"},
      {"numSpeculativeTokens", "--speculative-config.num_speculative_tokens"}};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const OrrNode *value = orr_node_get(decoding, keys[i][0]);
    if (!value || value->kind != ORR_NODE_SCALAR) continue;
    orr_form_manifest_add_word(command->words, keys[i][1], value->place);
    orr_form_manifest_add_word(command->words, value->text, value->place);
  }
  add_speculator(manifest, command, orr_node_get(decoding, "speculator"));
  if (decoding) orr_form_manifest_use(manifest, decoding);
}

/* spec.kvCacheOffloading of mode cpu: {cpu: {size: 10Gi}}. Other modes are warned of. */
static void add_offloading(OrrFormManifest *manifest, OrrLaunchCommand *command,
                           const OrrNode *offloading) {
  const OrrNode *size = orr_node_get(orr_node_get(offloading, "cpu"), "size");
  const char *mode = orr_node_get_text(offloading, "mode");
  double bytes = 0;
  if (g_strcmp0(mode, "cpu") != 0 || !size || size->kind != ORR_NODE_SCALAR) return;
  g_autofree char *unit = g_strdup_printf("%sB", size->text); /* Kubernetes writes Gi */
  if (!orr_quantity_parse(unit, ORR_UNIT_BYTES, &bytes, NULL)) return;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  orr_form_manifest_add_word(command->words, "--kv-offloading-size", size->place);
  orr_form_manifest_add_word(command->words, g_ascii_dtostr(text, sizeof text, bytes / (1 << 30)),
                             size->place);
  orr_form_manifest_use(manifest, offloading);
}

/* @spec, or its `prefill`: vLLM in the container `main`, whose command is implied. */
static OrrLaunchCommand *add_service_role(OrrFormManifest *manifest, const OrrNode *model,
                                          const OrrNode *role, gboolean prefills) {
  const OrrNode *containers = orr_node_get(orr_node_get(role, "template"), "containers");
  const OrrNode *main_one = NULL;
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, containers))
    if (!main_one || g_strcmp0(orr_node_get_text(item, "name"), "main") == 0) main_one = item;
  return add_role(manifest, model, role, main_one ? main_one : role, prefills);
}

static gboolean read_llm_service(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *spec = orr_node_get(tree, "spec");
  const OrrNode *uri = orr_node_get(orr_node_get(spec, "model"), "uri");
  const char *kind = orr_node_get_text(tree, "kind");
  if (g_strcmp0(kind, "LLMInferenceService") != 0 || !uri || uri->kind != ORR_NODE_SCALAR)
    return FALSE;
  const OrrNode *model =
      service_model(manifest, uri, orr_node_get_text(orr_node_get(spec, "model"), "name"));
  orr_form_manifest_use(manifest, orr_node_get(spec, "model"));
  OrrLaunchCommand *command = add_service_role(manifest, model, spec, FALSE);
  add_speculator(manifest, command, orr_node_get(spec, "speculator"));
  add_drafts(manifest, command, orr_node_get(spec, "speculativeDecoding"));
  add_offloading(manifest, command, orr_node_get(spec, "kvCacheOffloading"));
  if (orr_node_get(spec, "prefill"))
    add_service_role(manifest, model, orr_node_get(spec, "prefill"), TRUE);
  return TRUE;
}

/* --- Values of vLLM's own chart --- */

/* image: {repository, tag, command: [vllm, serve, ...], env: [...]}, replicaCount. */
static gboolean read_vllm_chart(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *image = orr_node_get(tree, "image");
  const char *repository = orr_node_get_text(image, "repository");
  const char *tag = orr_node_get_text(image, "tag");
  if (!repository || !orr_node_get(image, "command")) return FALSE;
  OrrLaunchCommand *command = orr_form_manifest_command();
  g_autofree char *text = g_strdup_printf("%s:%s", repository, tag ? tag : "latest");
  command->image = g_intern_string(text);
  command->image_place = image->place;
  command->replicas = orr_form_manifest_number(tree, "replicaCount", 1);
  orr_form_manifest_add_environment(command->environment, orr_node_get(image, "env"));
  orr_form_manifest_add_words(command->words, orr_node_get(image, "command"));
  orr_form_manifest_add_words(command->words, orr_node_get(image, "args"));
  orr_form_manifest_use_keys(manifest, image, "repository tag command args");
  for (guint i = 0; i < command->words->len; i++)
    orr_form_manifest_resolve(manifest, command->environment, command->words->pdata[i]);
  g_ptr_array_add(manifest->containers, command);
  const OrrLaunchWord *script = orr_form_manifest_script(command);
  if (script)
    orr_form_manifest_add_script(manifest, command, script);
  else if (orr_launch_server_knows(command))
    g_ptr_array_add(manifest->commands, command);
  return TRUE;
}

gboolean orr_form_manifest_read_chart(OrrFormManifest *manifest, const OrrNode *tree) {
  return read_production_stack(manifest, tree) || read_model_service(manifest, tree) ||
         read_llm_service(manifest, tree) || read_vllm_chart(manifest, tree);
}
