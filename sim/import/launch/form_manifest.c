/*
 * form_manifest.c - servers in manifests of Kubernetes, Compose files, tasks of SkyPilot and
 * dstack, and values of the chart of vLLM's production stack.
 *
 * Any map with an `image` and a `command` or `args` is a container, wherever it stands: in a
 * Deployment, a StatefulSet, a LeaderWorkerSet, a graph of Dynamo, a service of Compose. The
 * nearest `replicas` above it counts. Several documents are separated by lines `---`. Anchors,
 * merge keys, Compose's templates (`x-...`) and `extends` within one file are followed.
 *
 *   command: [bash, -c]            a script, read as the shell's form reads one
 *   args: ["vllm serve $(MODEL)"]  $(NAME), ${NAME}, ${NAME:-x} and $NAME are replaced from the
 *                                  container's variables and --set
 */
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/dialects_serving.h"
#include "sim/import/launch/forms.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_server.h"
#include "sim/import/launch/shell.h"

typedef struct {
  OrrLaunchDraft *draft;
  GPtrArray *commands;   /* of OrrLaunchCommand *, borrowed: those that concern servers */
  GPtrArray *containers; /* of OrrLaunchCommand * */
  GPtrArray *shells;     /* of OrrShell * */
  GPtrArray *documents;  /* of OrrNode *, which commands refer to */
  gboolean is_compose;   /* `command` gives arguments to the image's own program */
} Manifest;

/* --- Words --- */

static void free_word(gpointer data) {
  OrrLaunchWord *word = data;
  g_free(word->text);
  g_free(word->unresolved);
  g_free(word);
}

static void free_command(gpointer data) {
  OrrLaunchCommand *command = data;
  g_ptr_array_unref(command->words);
  g_ptr_array_unref(command->environment);
  g_free(command);
}

static OrrLaunchCommand *new_command(void) {
  OrrLaunchCommand *command = g_new0(OrrLaunchCommand, 1);
  command->words = g_ptr_array_new_with_free_func(free_word);
  command->environment = g_ptr_array_new_with_free_func(free_word);
  return command;
}

static void add_word(GPtrArray *words, const char *text, OrrPlace place) {
  OrrLaunchWord *word = g_new0(OrrLaunchWord, 1);
  word->text = g_strdup(text);
  word->place = place;
  g_ptr_array_add(words, word);
}

/* The value of variable @name, or NULL. */
static const char *lookup(const Manifest *manifest, const GPtrArray *environment,
                          const char *name) {
  const gsize length = strlen(name);
  for (guint i = environment->len; i-- > 0;) {
    const OrrLaunchWord *variable = environment->pdata[i];
    if (strncmp(variable->text, name, length) == 0 && variable->text[length] == '=')
      return variable->text + length + 1;
  }
  return orr_launch_draft_variable(manifest->draft, name);
}

/* Reads the variable at @at, just after '$'. Returns what follows it; @ret_name and @ret_fallback
 * are newly allocated, the latter NULL where it has none. NULL: not a variable. */
static const char *read_variable(const char *at, char **ret_name, char **ret_fallback) {
  const char close = *at == '(' ? ')' : *at == '{' ? '}' : '\0';
  const char *name = at + (close != '\0'), *end = name;
  while (g_ascii_isalnum(*end) || *end == '_') end++;
  const char *after = close ? strchr(end, close) : end;
  if (end == name || !after) return NULL;
  *ret_name = g_strndup(name, (gsize)(end - name));
  const gboolean has_fallback = close == '}' && strncmp(end, ":-", 2) == 0;
  *ret_fallback = has_fallback ? g_strndup(end + 2, (gsize)(after - end - 2)) : NULL;
  return after + (close != '\0');
}

/* Replaces the variables of @word. */
static void resolve(const Manifest *manifest, const GPtrArray *environment, OrrLaunchWord *word) {
  g_autoptr(GString) text = g_string_new(NULL);
  for (const char *at = word->text; *at;) {
    g_autofree char *name = NULL, *fallback = NULL;
    const char *after = *at == '$' ? read_variable(at + 1, &name, &fallback) : NULL;
    if (!after) {
      g_string_append_c(text, *at++);
      continue;
    }
    const char *value = lookup(manifest, environment, name);
    if (!value) value = fallback;
    if (!value && !word->unresolved) word->unresolved = g_strdup(name);
    g_string_append(text, value ? value : name);
    at = after;
  }
  g_free(word->text);
  word->text = g_strdup(text->str);
}

/* --- Scripts in a container --- */

/* @text with those $(NAME) replaced that the container has: the others are the shell's. Newly
 * allocated. */
static char *replace_known(const Manifest *manifest, const GPtrArray *environment,
                           const char *text) {
  GString *replaced = g_string_new(NULL);
  for (const char *at = text; *at;) {
    g_autofree char *name = NULL, *fallback = NULL;
    const gboolean is_reference = at[0] == '$' && at[1] == '(';
    const char *after = is_reference ? read_variable(at + 1, &name, &fallback) : NULL;
    const char *value = after ? lookup(manifest, environment, name) : NULL;
    g_string_append_len(replaced, value ? value : at, value ? (gssize)strlen(value) : 1);
    at = value ? after : at + 1;
  }
  return g_string_free(replaced, FALSE);
}

static void set_variables(OrrShell *shell, const GPtrArray *environment) {
  for (guint i = 0; i < environment->len; i++) {
    const OrrLaunchWord *variable = environment->pdata[i];
    g_auto(GStrv) halves = g_strsplit(variable->text, "=", 2);
    if (halves[0] && halves[1]) orr_shell_set(shell, halves[0], halves[1]);
  }
}

/* The commands of a script that concern servers. The lines of a block of text are the file's: its
 * first line is the one after the key's. */
static void add_script(Manifest *manifest, const OrrLaunchCommand *like,
                       const OrrLaunchWord *script) {
  OrrShell *shell = orr_shell_new(manifest->draft);
  g_autofree char *text = replace_known(manifest, like->environment, script->text);
  g_autofree char *lines = g_strnfill((gsize)MAX(script->place.line, 1), '\n');
  if (!strchr(text, '\n')) lines[strlen(lines) - 1] = '\0';
  g_autofree char *padded = g_strconcat(lines, text, NULL);
  const OrrLaunchSource source = {
      .name = (char *)script->place.file, .text = padded, .length = strlen(padded)};
  g_ptr_array_add(manifest->shells, shell);
  set_variables(shell, like->environment);
  orr_shell_run(shell, &source);
  const GPtrArray *commands = orr_shell_commands(shell);
  for (guint i = 0; i < commands->len; i++) {
    OrrLaunchCommand *command = commands->pdata[i];
    if (!orr_launch_server_knows(command)) continue; /* in the script no image's program runs */
    command->image = like->image;
    command->image_place = like->image_place;
    command->replicas = like->replicas;
    g_ptr_array_add(manifest->commands, command);
  }
}

/* --- Containers --- */

/* The words of @text as a shell splits them; NULL: it cannot. */
static char **split_words(const char *text) {
  char **words = NULL;
  return g_shell_parse_argv(text, NULL, &words, NULL) ? words : NULL;
}

/* A list of texts, or one text that is split as a shell would. */
static void add_words(GPtrArray *words, const OrrNode *node) {
  if (!node) return;
  if (node->kind == ORR_NODE_SCALAR) {
    g_auto(GStrv) split = split_words(node->text);
    for (char **word = split; word && *word; word++) add_word(words, *word, node->place);
  }
  for (guint i = 0; node->kind == ORR_NODE_LIST && i < orr_node_length(node); i++) {
    const OrrNode *item = node->items->pdata[i];
    if (item->kind == ORR_NODE_SCALAR) add_word(words, item->text, item->place);
  }
}

/* Kubernetes: a list of {name, value}. Compose: a map, or a list of "NAME=value". */
static void add_environment(GPtrArray *variables, const OrrNode *node) {
  for (guint i = 0; node && i < orr_node_length(node); i++) {
    const OrrNode *item = node->items->pdata[i];
    const OrrNode *key = node->kind == ORR_NODE_MAP ? node->keys->pdata[i] : NULL;
    const char *name = key ? key->text : orr_node_get_text(item, "name");
    const char *value =
        item->kind == ORR_NODE_SCALAR ? item->text : orr_node_get_text(item, "value");
    if (!value) continue;
    g_autofree char *text = name ? g_strdup_printf("%s=%s", name, value) : g_strdup(value);
    add_word(variables, text, item->place);
  }
}

/* The script of `bash -c SCRIPT`; NULL: the words are the command. */
static const OrrLaunchWord *script_of(const OrrLaunchCommand *command) {
  static const char *const shells[] = {"bash", "sh", "zsh", "dash", NULL};
  for (guint i = 0; i + 2 < command->words->len; i++) {
    const OrrLaunchWord *shell = command->words->pdata[i], *option = command->words->pdata[i + 1];
    g_autofree char *base = g_path_get_basename(shell->text);
    if (i > 0 || !g_strv_contains(shells, base)) break;
    if (option->text[0] != '-' || !strchr(option->text, 'c')) break;
    return command->words->pdata[i + 2];
  }
  return NULL;
}

/* Whether @command starts a server. Where the container has a program of its own, that one must:
 * the image's does not run. */
static gboolean starts_server(const Manifest *manifest, const OrrNode *node,
                              OrrLaunchCommand *command) {
  const char *image = command->image;
  if (orr_node_get(node, manifest->is_compose ? "entrypoint" : "command")) command->image = NULL;
  const gboolean starts = orr_launch_server_knows(command);
  command->image = image;
  return starts;
}

/* KServe's `model: {modelFormat: ..., args: ...}` runs vLLM under names of its own. */
static void add_kserve_words(OrrLaunchCommand *command, const OrrNode *node) {
  static const char *const names[][2] = {{"--model_id", "--model"},
                                         {"--model-id", "--model"},
                                         {"--model_dir", "--model"},
                                         {"--model-dir", "--model"},
                                         {"--model_name", "--served-model-name"},
                                         {"--model-name", "--served-model-name"}};
  const OrrNode *uri = orr_node_get(node, "storageUri");
  add_word(command->words, "vllm.entrypoints.openai.api_server", node->place);
  if (uri && g_str_has_prefix(uri->text, "hf://")) {
    add_word(command->words, "--model", uri->place);
    add_word(command->words, uri->text + strlen("hf://"), uri->place);
  }
  add_words(command->words, orr_node_get(node, "args"));
  for (guint i = 0; i < command->words->len; i++) {
    OrrLaunchWord *word = command->words->pdata[i];
    for (guint k = 0; k < G_N_ELEMENTS(names); k++) {
      const gsize length = strlen(names[k][0]);
      if (strncmp(word->text, names[k][0], length) || !strchr("=", word->text[length])) continue;
      char *text = g_strconcat(names[k][1], word->text + length, NULL);
      g_free(word->text);
      word->text = text;
      break;
    }
  }
}

static void add_container(Manifest *manifest, const OrrNode *node, gint64 replicas) {
  OrrLaunchCommand *command = new_command();
  const OrrNode *image = orr_node_get(node, "image");
  const OrrNode *entrypoint = orr_node_get(node, "entrypoint"), *args = orr_node_get(node, "args");
  add_environment(command->environment, orr_node_get(node, "env"));
  add_environment(command->environment, orr_node_get(node, "environment"));
  if (orr_node_get(node, "modelFormat")) {
    add_kserve_words(command, node);
  } else {
    add_words(command->words, entrypoint);
    add_words(command->words, orr_node_get(node, "command"));
    add_words(command->words, args);
  }
  command->image = image && image->kind == ORR_NODE_SCALAR ? image->text : NULL;
  command->image_place = image ? image->place : node->place;
  command->replicas = replicas;
  g_ptr_array_add(manifest->containers, command);
  const OrrLaunchWord *script = script_of(command);
  if (script) {
    add_script(manifest, command, script);
    return;
  }
  for (guint i = 0; i < command->words->len; i++)
    resolve(manifest, command->environment, command->words->pdata[i]);
  if (starts_server(manifest, node, command)) g_ptr_array_add(manifest->commands, command);
}

/* --- Documents --- */

static gint64 number_at(const OrrNode *map, const char *key, gint64 fallback) {
  double number = 0;
  const char *text = orr_node_get_text(map, key);
  if (!text || !orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL)) return fallback;
  return number >= 0 && number < 1e6 ? (gint64)number : fallback;
}

/* Labels that name the GPU or the instance. */
static void note_machine(Manifest *manifest, const OrrNode *map) {
  static const char *const labels[] = {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                                       NULL};
  for (const char *const *label = labels; *label; label++) {
    const OrrNode *value = orr_node_get(map, *label);
    if (value && value->kind == ORR_NODE_SCALAR)
      orr_launch_draft_add(manifest->draft, &orr_dialect_container, "gpu-product", value->text,
                           value->place);
  }
  const OrrNode *gpus = orr_node_get(map, "nvidia.com/gpu");
  if (gpus && gpus->kind == ORR_NODE_SCALAR)
    orr_launch_draft_add(manifest->draft, &orr_dialect_container, "gpus", gpus->text, gpus->place);
}

static void walk(Manifest *manifest, const OrrNode *node, gint64 replicas) {
  if (node->kind == ORR_NODE_MAP) {
    const OrrNode *deploy = orr_node_get(node, "deploy"); /* of Compose */
    replicas = number_at(node, "replicas", replicas);
    if (deploy) replicas = number_at(deploy, "replicas", replicas);
    note_machine(manifest, node);
    if (orr_node_get(node, "image") || orr_node_get(node, "modelFormat") ||
        (orr_node_get(node, "args") && orr_node_get(node, "command")))
      add_container(manifest, node, replicas);
  }
  for (guint i = 0; node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++)
    walk(manifest, node->items->pdata[i], replicas);
}

/* --- Tasks of SkyPilot and dstack --- */

/* "H100:8", "{H100: 8}": the GPU, and the number of them as variables of the script. */
static void note_accelerators(Manifest *manifest, const OrrNode *node, GPtrArray *variables) {
  static const char *const names[] = {"SKYPILOT_NUM_GPUS_PER_NODE", "DSTACK_GPUS_NUM",
                                      "DSTACK_GPUS_PER_NODE", NULL};
  const gboolean is_map = node && node->kind == ORR_NODE_MAP && node->keys->len > 0;
  const OrrNode *first = is_map ? node->keys->pdata[0] : node;
  if (!first || first->kind != ORR_NODE_SCALAR) return;
  const OrrNode *value = is_map ? node->items->pdata[0] : NULL;
  const char *colon = strrchr(first->text, ':');
  const char *count = value && value->kind == ORR_NODE_SCALAR ? value->text
                      : colon                                 ? colon + 1
                                                              : "1";
  orr_launch_draft_add(manifest->draft, &orr_dialect_container, "gpu-product", first->text,
                       first->place);
  for (const char *const *name = names; *name; name++) {
    g_autofree char *text = g_strdup_printf("%s=%s", *name, count);
    add_word(variables, text, first->place);
  }
}

/* A script under @key: one text, or a list of commands. */
static void add_commands(Manifest *manifest, const OrrLaunchCommand *like, const OrrNode *node) {
  if (!node) return;
  for (guint i = 0; node->kind == ORR_NODE_LIST && i < orr_node_length(node); i++)
    add_commands(manifest, like, node->items->pdata[i]);
  if (node->kind != ORR_NODE_SCALAR) return;
  const OrrLaunchWord script = {.text = node->text, .place = node->place};
  add_script(manifest, like, &script);
}

/* SkyPilot: setup, run, envs, resources.accelerators. dstack: commands, env, resources.gpu. */
static gboolean read_task(Manifest *manifest, const OrrNode *tree) {
  const OrrNode *run = orr_node_get(tree, "run"), *commands = orr_node_get(tree, "commands");
  const OrrNode *resources = orr_node_get(tree, "resources");
  const OrrNode *gpus = orr_node_get(resources, "accelerators");
  if (!run && !commands) return FALSE;
  OrrLaunchCommand *like = new_command();
  g_ptr_array_add(manifest->containers, like);
  note_accelerators(manifest, gpus ? gpus : orr_node_get(resources, "gpu"), like->environment);
  add_environment(like->environment, orr_node_get(tree, "envs"));
  add_environment(like->environment, orr_node_get(tree, "env"));
  like->image = orr_node_get_text(tree, "image");
  like->image_place = tree->place;
  like->replicas = number_at(orr_node_get(tree, "service"), "replicas", 0);
  like->replicas = number_at(tree, "replicas", like->replicas);
  add_commands(manifest, like, orr_node_get(tree, "setup"));
  add_commands(manifest, like, run);
  add_commands(manifest, like, commands);
  return TRUE;
}

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
  if (strcmp(key, "v1") == 0) {
    g_autofree char *text = g_strdup_printf("VLLM_USE_V1=%s", value->text);
    add_word(command->environment, text, value->place);
    return;
  }
  add_word(command->words, option, value->place);
  if (!is_true && !is_false) add_word(command->words, value->text, value->place);
}

/* One of servingEngineSpec.modelSpec: {modelURL, repository, tag, replicaCount, vllmConfig}. */
static void add_model_spec(Manifest *manifest, const OrrNode *spec) {
  const OrrNode *model = orr_node_get(spec, "modelURL"), *config = orr_node_get(spec, "vllmConfig");
  const char *repository = orr_node_get_text(spec, "repository");
  const char *tag = orr_node_get_text(spec, "tag");
  if (!model || model->kind != ORR_NODE_SCALAR) return;
  OrrLaunchCommand *command = new_command();
  g_autofree char *image =
      g_strdup_printf("%s:%s", repository ? repository : "vllm/vllm-openai", tag ? tag : "latest");
  command->image = g_intern_string(image);
  command->image_place = spec->place;
  command->replicas = number_at(spec, "replicaCount", 1);
  add_word(command->words, "vllm", model->place);
  add_word(command->words, "serve", model->place);
  add_word(command->words, model->text, model->place);
  for (guint i = 0; config && i < orr_node_length(config); i++) {
    const OrrNode *value = config->items->pdata[i];
    const OrrNode *key = config->kind == ORR_NODE_MAP ? config->keys->pdata[i] : NULL;
    if (key && value->kind == ORR_NODE_SCALAR) add_option(command, key->text, value);
  }
  add_words(command->words, orr_node_get(config, "extraArgs"));
  add_environment(command->environment, orr_node_get(spec, "env"));
  g_ptr_array_add(manifest->containers, command);
  g_ptr_array_add(manifest->commands, command);
}

static gboolean read_chart(Manifest *manifest, const OrrNode *tree) {
  const OrrNode *specs = orr_node_get(orr_node_get(tree, "servingEngineSpec"), "modelSpec");
  if (!specs || specs->kind != ORR_NODE_LIST) return FALSE;
  for (guint i = 0; i < orr_node_length(specs); i++)
    add_model_spec(manifest, specs->items->pdata[i]);
  return TRUE;
}

/* --- Values of llm-d's model service --- */

static void add_count(OrrLaunchCommand *command, const char *option, const OrrNode *map,
                      const char *key) {
  const OrrNode *value = orr_node_get(map, key);
  if (!value || value->kind != ORR_NODE_SCALAR || strcmp(value->text, "1") == 0) return;
  add_word(command->words, option, value->place);
  add_word(command->words, value->text, value->place);
}

/* A container of `decode` or `prefill`: {modelCommand: vllmServe, args: [...]}. */
static void add_role(Manifest *manifest, const OrrNode *model, const OrrNode *role,
                     const OrrNode *container, gboolean prefills) {
  const OrrNode *parallelism = orr_node_get(role, "parallelism");
  const OrrNode *image = orr_node_get(container, "image");
  OrrLaunchCommand *command = new_command();
  command->image = image && image->kind == ORR_NODE_SCALAR ? image->text : NULL;
  command->image_place = image ? image->place : container->place;
  command->replicas = number_at(role, "replicas", 1);
  add_word(command->words, "vllm", container->place);
  add_word(command->words, "serve", container->place);
  add_word(command->words, model->text, model->place);
  add_count(command, "--tensor-parallel-size", parallelism, "tensor");
  add_count(command, "--data-parallel-size", parallelism, "data");
  add_words(command->words, orr_node_get(container, "args"));
  if (prefills) add_word(command->words, "--is-prefill-worker", role->place);
  add_environment(command->environment, orr_node_get(container, "env"));
  for (guint i = 0; i < command->words->len; i++)
    resolve(manifest, command->environment, command->words->pdata[i]);
  g_ptr_array_add(manifest->containers, command);
  g_ptr_array_add(manifest->commands, command);
}

/* modelArtifacts.name, decode and prefill. Those who prefill read it by their section alone. */
static gboolean read_model_service(Manifest *manifest, const OrrNode *tree) {
  static const char *const roles[] = {"prefill", "decode"};
  const OrrNode *model = orr_node_get(orr_node_get(tree, "modelArtifacts"), "name");
  if (!model || model->kind != ORR_NODE_SCALAR) return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(roles); i++) {
    const OrrNode *role = orr_node_get(tree, roles[i]);
    const OrrNode *containers = orr_node_get(role, "containers");
    const char *create = orr_node_get_text(role, "create");
    if (!containers || (create && strcmp(create, "false") == 0)) continue;
    for (guint k = 0; containers->kind == ORR_NODE_LIST && k < orr_node_length(containers); k++)
      if (orr_node_get_text(containers->items->pdata[k], "modelCommand"))
        add_role(manifest, model, role, containers->items->pdata[k], i == 0);
  }
  return TRUE;
}

/* --- Compose --- */

/* The service that @service extends, in the same file; NULL: none. */
static const OrrNode *extended(const OrrNode *services, const OrrNode *service) {
  const OrrNode *extends = orr_node_get(service, "extends");
  const gboolean is_here = extends && extends->kind == ORR_NODE_MAP;
  const char *name = is_here   ? orr_node_get_text(extends, "service")
                     : extends ? extends->text
                               : NULL;
  if (!name || (is_here && orr_node_get(extends, "file"))) return NULL;
  const OrrNode *base = orr_node_get(services, name);
  return base != service ? base : NULL;
}

/* Only what stands under `services`, not templates (`x-...`); what a service extends is laid under
 * it. */
static void read_services(Manifest *manifest, const OrrNode *services) {
  for (guint i = 0; i < orr_node_length(services); i++) {
    const OrrNode *service = services->items->pdata[i], *base = extended(services, service);
    OrrNode *merged = base ? orr_node_merge(base, service) : NULL;
    if (merged) g_ptr_array_add(manifest->documents, merged);
    walk(manifest, merged ? merged : service, 0);
  }
}

static void read_tree(Manifest *manifest, const OrrNode *tree) {
  const OrrNode *services = orr_node_get(tree, "services");
  if (read_task(manifest, tree) || read_chart(manifest, tree) || read_model_service(manifest, tree))
    return;
  manifest->is_compose = services && !orr_node_get(tree, "apiVersion");
  if (services && services->kind == ORR_NODE_MAP && manifest->is_compose)
    read_services(manifest, services);
  else
    walk(manifest, tree, 0);
}

/* --- The form --- */

static gboolean begins_line(const char *text, const char *key) {
  for (const char *at = text; (at = strstr(at, key)); at++)
    if (at == text || at[-1] == '\n') return TRUE;
  return FALSE;
}

static int recognise(const OrrLaunchSource *source) {
  if (begins_line(source->text, "apiVersion:") && begins_line(source->text, "kind:")) return 90;
  if (begins_line(source->text, "servingEngineSpec:")) return 80;
  if (begins_line(source->text, "modelArtifacts:")) return 80;
  const gboolean is_task =
      begins_line(source->text, "resources:") &&
      (begins_line(source->text, "run:") || begins_line(source->text, "commands:"));
  if (is_task) return 80;
  return begins_line(source->text, "services:") && strstr(source->text, "image:") ? 80 : 0;
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  const OrrPlace place = {.file = g_intern_string(source->name)};
  g_autoptr(GPtrArray) commands = g_ptr_array_new();
  g_autoptr(GPtrArray) containers = g_ptr_array_new_with_free_func(free_command);
  g_autoptr(GPtrArray) shells = g_ptr_array_new_with_free_func((GDestroyNotify)orr_shell_free);
  const guint n_errors = orr_diags_n_errors(draft->diags);
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(source->text, source->length, source->name, draft->diags);
  g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  Manifest manifest = {draft, commands, containers, shells, documents, FALSE};
  for (guint i = 0; trees && i < trees->len; i++) read_tree(&manifest, trees->pdata[i]);
  if (commands->len > 0)
    orr_launch_server_read(draft, commands);
  else if (strstr(source->text, "{{"))
    orr_diags_error(draft->diags, place, "a template of Helm: give what 'helm template' prints");
  else if (orr_diags_n_errors(draft->diags) == n_errors)
    orr_diags_error(draft->diags, place,
                    "no container of this manifest starts vLLM, SGLang or TensorRT-LLM");
}

const OrrLaunchForm orr_launch_form_manifest = {
    .name = "manifest",
    .sentence = "Manifests of Kubernetes, Compose files, tasks of SkyPilot and dstack.",
    .recognise = recognise,
    .read = read,
};
