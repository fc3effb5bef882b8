/*
 * form_manifest.c - servers in manifests of Kubernetes, Compose files, tasks of SkyPilot and
 * dstack; form_manifest_charts.c has the values of charts. Keys that no command takes become
 * settings of dialect_manifest.c, so that the account has every key.
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
#include "sim/base/quantity.h"
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_trainer.h"
#include "sim/import/launch/shell.h"

/* --- Keys --- */

/* The values below @node became words of a command. */
void orr_form_manifest_use(OrrFormManifest *manifest, const OrrNode *node) {
  if (!node) return;
  g_hash_table_add(manifest->used, (gpointer)node);
  for (guint i = 0; node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++)
    orr_form_manifest_use(manifest, node->items->pdata[i]);
}

void orr_form_manifest_use_keys(OrrFormManifest *manifest, const OrrNode *map, const char *keys) {
  g_auto(GStrv) all = g_strsplit(keys, " ", -1);
  for (char **key = all; *key; key++) orr_form_manifest_use(manifest, orr_node_get(map, *key));
}

/* Another program's command that routes requests has a key of its own. */
static gboolean routes(const char *path, const char *value) {
  return (g_str_has_suffix(path, "args") || g_str_has_suffix(path, "command") ||
          g_str_has_suffix(path, "value")) &&
         (strstr(value, "router") || strstr(value, "dynamo.frontend"));
}

/* "line:column" of a place. Newly allocated. */
static char *place_text(OrrPlace place) {
  return g_strdup_printf("%d:%d", place.line, place.column);
}

/* A variable that a server reads, or whose words its command has, is a setting already. */
static gboolean is_known(const OrrFormManifest *manifest, const OrrNode *node, const char *path) {
  const gboolean is_variable = g_str_has_prefix(path, "env") || strstr(path, ".env");
  g_autofree char *place = place_text(node->place);
  return g_hash_table_contains(manifest->used, node) ||
         (is_variable && g_hash_table_contains(manifest->variables, place));
}

static void note_variables(OrrFormManifest *manifest, const OrrLaunchDraft *draft) {
  for (guint i = 0; i < draft->settings->len; i++)
    g_hash_table_add(manifest->variables,
                     place_text(((const OrrLaunchSetting *)draft->settings->pdata[i])->place));
  for (guint i = 0; i < draft->parts->len; i++) note_variables(manifest, draft->parts->pdata[i]);
}

/* Keys that no command took, as settings. */
static void account_for(OrrFormManifest *manifest, const OrrNode *node, const char *path,
                        guint *n) {
  enum { MOST_KEYS = 4000 };
  if (is_known(manifest, node, path) || *n > MOST_KEYS) return;
  if (node->kind == ORR_NODE_SCALAR) {
    g_autofree char *key =
        routes(path, node->text) ? g_strconcat("x.router-command", NULL) : g_strdup(path);
    OrrLaunchSetting *setting =
        orr_launch_draft_add(manifest->draft, &orr_dialect_manifest, key, node->text, node->place);
    g_free(setting->written);
    setting->written = g_strdup_printf("%s: %s", path, node->text);
    if (++*n == MOST_KEYS)
      orr_diags_error(manifest->draft->diags, node->place, "more than %d keys in a manifest",
                      MOST_KEYS);
    return;
  }
  for (guint i = 0; i < orr_node_length(node); i++) {
    const OrrNode *key = node->kind == ORR_NODE_MAP ? node->keys->pdata[i] : NULL;
    g_autofree char *below =
        key ? g_strconcat(path, *path ? "." : "", key->text, NULL) : g_strdup(path);
    account_for(manifest, node->items->pdata[i], below, n);
  }
}

/* Documents of these kinds start no server. */
static const char *prefix_of(const OrrNode *tree) {
  static const struct {
    const char *kinds, *prefix;
  } rows[] = {{"ConfigMap", "configmap"},
              {"HorizontalPodAutoscaler ScaledObject", "autoscaler"},
              {"Service PersistentVolumeClaim PersistentVolume Secret ServiceAccount Role "
               "RoleBinding ClusterRole ClusterRoleBinding Ingress HTTPRoute Gateway Namespace "
               "NetworkPolicy ServiceMonitor PodMonitor StorageClass PodDisruptionBudget",
               "other"}};
  const char *kind = orr_node_get_text(tree, "kind");
  for (guint i = 0; kind && i < G_N_ELEMENTS(rows); i++) {
    g_auto(GStrv) kinds = g_strsplit(rows[i].kinds, " ", -1);
    if (g_strv_contains((const char *const *)kinds, kind)) return rows[i].prefix;
  }
  return "";
}

/* --- Words --- */

static void free_word(gpointer data) {
  OrrLaunchWord *word = data;
  ORR_FREE(word->text, word->unresolved, word);
}

static void free_command(gpointer data) {
  OrrLaunchCommand *command = data;
  g_ptr_array_unref(command->words);
  g_ptr_array_unref(command->environment);
  g_free(command);
}

OrrLaunchCommand *orr_form_manifest_command(void) {
  OrrLaunchCommand *command = g_new0(OrrLaunchCommand, 1);
  command->words = g_ptr_array_new_with_free_func(free_word);
  command->environment = g_ptr_array_new_with_free_func(free_word);
  return command;
}

void orr_form_manifest_add_word(GPtrArray *words, const char *text, OrrPlace place) {
  OrrLaunchWord *word = g_new0(OrrLaunchWord, 1);
  word->text = g_strdup(text);
  word->place = place;
  g_ptr_array_add(words, word);
}

/* The value of variable @name, or NULL. */
static const char *lookup(const OrrFormManifest *manifest, const GPtrArray *environment,
                          const char *name) {
  const gsize length = strlen(name);
  for (guint i = environment->len; i-- > 0;) {
    const OrrLaunchWord *variable = environment->pdata[i];
    if (strncmp(variable->text, name, length) == 0 && variable->text[length] == '=')
      return variable->text + length + 1;
  }
  if (manifest->group_size && strcmp(name, "LWS_GROUP_SIZE") == 0) return manifest->group_size;
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
void orr_form_manifest_resolve(const OrrFormManifest *manifest, const GPtrArray *environment,
                               OrrLaunchWord *word) {
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
static char *replace_known(const OrrFormManifest *manifest, const GPtrArray *environment,
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
  ORR_EACH_POINTER(const OrrLaunchWord, variable, environment) {
    g_auto(GStrv) halves = g_strsplit(variable->text, "=", 2);
    if (halves[0] && halves[1]) orr_shell_set(shell, halves[0], halves[1]);
  }
}

/* A pod of a training job: each replica of it is a node. */
static void add_trainer(OrrFormManifest *manifest, OrrLaunchCommand *command, gint64 replicas) {
  g_ptr_array_add(manifest->trainers, command);
  manifest->n_trainers += MAX(replicas, 1);
}

/* The commands of a script that concern servers. The lines of a block of text are the file's: its
 * first line is the one after the key's. */
void orr_form_manifest_add_script(OrrFormManifest *manifest, const OrrLaunchCommand *like,
                                  const OrrLaunchWord *script) {
  OrrShell *shell = orr_shell_new(manifest->draft);
  g_autofree char *text = replace_known(manifest, like->environment, script->text);
  OrrPlace place = ORR_SHELL_BEGIN(script->place.file);
  place.line = MAX(script->place.line, 1) + (strchr(text, '\n') != NULL);
  g_ptr_array_add(manifest->shells, shell);
  set_variables(shell, like->environment);
  if (manifest->group_size) orr_shell_set(shell, "LWS_GROUP_SIZE", manifest->group_size);
  orr_shell_run(shell, text, place);
  const GPtrArray *commands = orr_shell_commands(shell);
  ORR_EACH_POINTER(OrrLaunchCommand, command, commands) {
    if (orr_launch_trainer_knows(command)) add_trainer(manifest, command, like->replicas);
    if (!orr_launch_server_knows(command)) continue; /* in the script no image's program runs */
    command->image = like->image;
    command->image_place = like->image_place;
    command->replicas = like->replicas;
    g_ptr_array_add(manifest->commands, command);
  }
}

/* --- Containers --- */

/* The words of @text as a shell splits them; NULL: it cannot. */
char **orr_form_manifest_split(const char *text) {
  char **words = NULL;
  return g_shell_parse_argv(text, NULL, &words, NULL) ? words : NULL;
}

/* A list of texts, or one text that is split as a shell would. */
void orr_form_manifest_add_words(GPtrArray *words, const OrrNode *node) {
  if (!node) return;
  if (node->kind == ORR_NODE_SCALAR) {
    g_auto(GStrv) split = orr_form_manifest_split(node->text);
    for (char **word = split; word && *word; word++)
      orr_form_manifest_add_word(words, *word, node->place);
  }
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, node)) {
    if (item->kind == ORR_NODE_SCALAR) orr_form_manifest_add_word(words, item->text, item->place);
  }
}

/* Kubernetes: a list of {name, value}. Compose: a map, or a list of "NAME=value". */
void orr_form_manifest_add_environment(GPtrArray *variables, const OrrNode *node) {
  for (guint i = 0; node && i < orr_node_length(node); i++) {
    const OrrNode *item = node->items->pdata[i];
    const OrrNode *key = node->kind == ORR_NODE_MAP ? node->keys->pdata[i] : NULL;
    const char *name = key ? key->text : orr_node_get_text(item, "name");
    const char *value =
        item->kind == ORR_NODE_SCALAR ? item->text : orr_node_get_text(item, "value");
    if (!value) continue;
    g_autofree char *text = name ? g_strdup_printf("%s=%s", name, value) : g_strdup(value);
    orr_form_manifest_add_word(variables, text, item->place);
  }
}

/* The script of `bash -c SCRIPT`; NULL: the words are the command. */
const OrrLaunchWord *orr_form_manifest_script(const OrrLaunchCommand *command) {
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
static gboolean starts_server(const OrrFormManifest *manifest, const OrrNode *node,
                              OrrLaunchCommand *command) {
  const char *image = command->image;
  if (orr_node_get(node, manifest->is_compose ? "entrypoint" : "command")) command->image = NULL;
  const gboolean starts = orr_launch_server_knows(command);
  command->image = image;
  return starts;
}

/* @key of KServe's workerSpec: a server over several pods. */
static void add_split(OrrFormManifest *manifest, GPtrArray *words, const char *key,
                      const char *option) {
  const OrrNode *size = orr_node_get(manifest->worker_spec, key);
  if (!size || size->kind != ORR_NODE_SCALAR) return;
  orr_form_manifest_add_word(words, option, size->place);
  orr_form_manifest_add_word(words, size->text, size->place);
  orr_form_manifest_use(manifest, size);
}

/* KServe's `model: {modelFormat: ..., args: ...}` runs vLLM under names of its own. */
static void add_kserve_words(OrrFormManifest *manifest, OrrLaunchCommand *command,
                             const OrrNode *node) {
  static const char *const names[][2] = {{"--model_id", "--model"},
                                         {"--model-id", "--model"},
                                         {"--model_dir", "--model"},
                                         {"--model-dir", "--model"},
                                         {"--model_name", "--served-model-name"},
                                         {"--model-name", "--served-model-name"}};
  const OrrNode *uri = orr_node_get(node, "storageUri");
  orr_form_manifest_add_word(command->words, "vllm.entrypoints.openai.api_server", node->place);
  if (uri && g_str_has_prefix(uri->text, "hf://")) {
    orr_form_manifest_add_word(command->words, "--model", uri->place);
    orr_form_manifest_add_word(command->words, uri->text + strlen("hf://"), uri->place);
  }
  orr_form_manifest_add_words(command->words, orr_node_get(node, "args"));
  add_split(manifest, command->words, "tensorParallelSize", "--tensor-parallel-size");
  add_split(manifest, command->words, "pipelineParallelSize", "--pipeline-parallel-size");
  ORR_EACH_POINTER(OrrLaunchWord, word, command->words) {
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

static void add_container(OrrFormManifest *manifest, const OrrNode *node, gint64 replicas) {
  OrrLaunchCommand *command = orr_form_manifest_command();
  const OrrNode *image = orr_node_get(node, "image");
  const OrrNode *entrypoint = orr_node_get(node, "entrypoint"), *args = orr_node_get(node, "args");
  orr_form_manifest_add_environment(command->environment, orr_node_get(node, "env"));
  orr_form_manifest_add_environment(command->environment, orr_node_get(node, "environment"));
  if (orr_node_get(node, "modelFormat")) {
    add_kserve_words(manifest, command, node);
  } else {
    orr_form_manifest_add_words(command->words, entrypoint);
    orr_form_manifest_add_words(command->words, orr_node_get(node, "command"));
    orr_form_manifest_add_words(command->words, args);
  }
  command->image = image && image->kind == ORR_NODE_SCALAR ? image->text : NULL;
  command->image_place = image ? image->place : node->place;
  command->replicas = replicas;
  g_ptr_array_add(manifest->containers, command);
  const guint n_commands = manifest->commands->len;
  const OrrLaunchWord *script = orr_form_manifest_script(command);
  if (script) orr_form_manifest_add_script(manifest, command, script);
  for (guint i = 0; !script && i < command->words->len; i++)
    orr_form_manifest_resolve(manifest, command->environment, command->words->pdata[i]);
  if (!script) orr_form_manifest_name_weights(manifest, node, command);
  if (!script && starts_server(manifest, node, command))
    g_ptr_array_add(manifest->commands, command);
  else if (!script && orr_launch_trainer_knows(command))
    add_trainer(manifest, command, replicas);
  if (manifest->is_prefill) orr_form_manifest_mark_prefill(manifest, n_commands, node->place);
  if (manifest->commands->len > n_commands)
    orr_form_manifest_use_keys(manifest, node,
                               "image entrypoint command args modelFormat storageUri");
}

/* --- Documents --- */

/* Labels that name the GPU or the instance. */
static void note_machine(OrrFormManifest *manifest, const OrrNode *map) {
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
    manifest->gpus = MAX(manifest->gpus, orr_form_manifest_number(map, "nvidia.com/gpu", 0));
  if (gpus && gpus->kind == ORR_NODE_SCALAR)
    orr_launch_draft_add(manifest->draft, &orr_dialect_container, "gpus", gpus->text, gpus->place);
}

/* The launcher of an MPIJob starts its workers; a group of a LeaderWorkerSet has `size` pods. */
static void note_workers(OrrFormManifest *manifest, const OrrNode *node) {
  const OrrNode *group = orr_node_get(node, "leaderWorkerTemplate");
  if (group) manifest->group_size = orr_node_get_text(group, "size");
  const OrrNode *workers = orr_node_get(orr_node_get(node, "mpiReplicaSpecs"), "Worker");
  if (orr_node_get(node, "roles"))
    manifest->copies = CLAMP(orr_form_manifest_number(node, "slices", 1), 1, 1 << 20);
  if (workers) manifest->n_workers = orr_form_manifest_number(workers, "replicas", 1);
}

/* KServe's predictor: how its server splits, and how many replicas there are at least. */
static gint64 predictor(OrrFormManifest *manifest, const OrrNode *node, gint64 replicas) {
  const OrrNode *worker = orr_node_get(node, "workerSpec");
  const char *fewest = orr_node_get_text(node, "minReplicas");
  if (worker || orr_node_get(node, "predictor"))
    manifest->worker_spec = orr_node_as(ORR_NODE_MAP, worker);
  if (fewest && g_strcmp0(fewest, orr_node_get_text(node, "maxReplicas")) == 0)
    orr_form_manifest_use_keys(manifest, node, "minReplicas maxReplicas");
  return fewest ? MAX(orr_form_manifest_number(node, "minReplicas", 1), 1) : replicas;
}

/* A script under @key: one text, or a list of commands. */
static void add_commands(OrrFormManifest *manifest, const OrrLaunchCommand *like,
                         const OrrNode *node) {
  if (!node) return;
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, node)) add_commands(manifest, like, item);
  if (node->kind != ORR_NODE_SCALAR) return;
  const OrrLaunchWord script = {.text = node->text, .place = node->place};
  orr_form_manifest_add_script(manifest, like, &script);
}

/* A RayJob starts its script on the head of the cluster that it describes. */
static void add_ray_job(OrrFormManifest *manifest, const OrrNode *node) {
  if (!orr_node_get(node, "rayClusterSpec")) return;
  OrrLaunchCommand *like = orr_form_manifest_command();
  g_ptr_array_add(manifest->containers, like);
  add_commands(manifest, like, orr_node_get(node, "entrypoint"));
  orr_form_manifest_use_keys(manifest, node, "entrypoint");
}

static void walk(OrrFormManifest *manifest, const OrrNode *node, gint64 replicas) {
  if (node->kind == ORR_NODE_MAP) {
    const OrrNode *deploy = orr_node_get(node, "deploy"); /* of Compose */
    replicas = orr_form_manifest_number(node, "replicas", replicas);
    if (deploy) replicas = orr_form_manifest_number(deploy, "replicas", replicas);
    replicas = predictor(manifest, node, orr_form_manifest_pods(node, replicas));
    note_machine(manifest, node);
    note_workers(manifest, node);
    add_ray_job(manifest, node);
    if (orr_node_get(node, "containers")) manifest->volumes = orr_node_get(node, "volumes");
    if (orr_node_get(node, "image") || orr_node_get(node, "modelFormat") ||
        (orr_node_get(node, "args") && orr_node_get(node, "command")))
      add_container(manifest, node, replicas * MAX(manifest->copies, 1));
  }
  for (guint i = 0; node->kind != ORR_NODE_SCALAR && i < orr_node_length(node); i++) {
    const gboolean was = manifest->is_prefill;
    if (orr_form_manifest_is_prefill(node->items->pdata[i])) manifest->is_prefill = TRUE;
    walk(manifest, node->items->pdata[i], replicas);
    manifest->is_prefill = was;
  }
}

/* --- Tasks of SkyPilot and dstack --- */

/* SkyPilot: setup, run, envs, resources.accelerators. dstack: commands, env, resources.gpu. */
static gboolean read_task(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *run = orr_node_get(tree, "run"), *commands = orr_node_get(tree, "commands");
  const OrrNode *resources = orr_node_get(tree, "resources");
  const OrrNode *gpus = orr_node_get(resources, "accelerators");
  if (!run && !commands) return FALSE;
  OrrLaunchCommand *like = orr_form_manifest_command();
  g_ptr_array_add(manifest->containers, like);
  orr_form_manifest_accelerators(manifest, gpus ? gpus : orr_node_get(resources, "gpu"),
                                 like->environment);
  orr_form_manifest_nodes(manifest, tree, "num_nodes", like->environment); /* SkyPilot's */
  orr_form_manifest_nodes(manifest, tree, "nodes", like->environment);     /* dstack's */
  orr_form_manifest_add_environment(like->environment, orr_node_get(tree, "envs"));
  orr_form_manifest_add_environment(like->environment, orr_node_get(tree, "env"));
  like->image = orr_node_get_text(tree, "image");
  like->image_place = tree->place;
  like->replicas = orr_form_manifest_number(orr_node_get(tree, "service"), "replicas", 0);
  like->replicas = orr_form_manifest_number(tree, "replicas", like->replicas);
  add_commands(manifest, like, orr_node_get(tree, "setup"));
  add_commands(manifest, like, run);
  add_commands(manifest, like, commands);
  orr_form_manifest_use_keys(manifest, tree, "setup run commands image");
  orr_form_manifest_use(manifest, gpus);
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
static void read_services(OrrFormManifest *manifest, const OrrNode *services) {
  ORR_EACH_ITEM(item, services) {
    const OrrNode *service = item, *base = extended(services, service);
    OrrNode *merged = base ? orr_node_merge(base, service) : NULL;
    if (merged) g_ptr_array_add(manifest->documents, merged);
    walk(manifest, merged ? merged : service, 0);
  }
}

static void read_tree(OrrFormManifest *manifest, const OrrNode *tree) {
  const OrrNode *services = orr_node_get(tree, "services");
  if (read_task(manifest, tree) || orr_form_manifest_read_chart(manifest, tree) ||
      orr_form_manifest_read_values(manifest, tree))
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
  if (strstr(source->text, "bash_command\":") && begins_line(source->text, "\"server\":"))
    return 90;
  if (begins_line(source->text, "servingEngineSpec:")) return 80;
  if (begins_line(source->text, "modelArtifacts:")) return 80;
  if (begins_line(source->text, "image:") && strstr(source->text, "repository:") &&
      strstr(source->text, "command:"))
    return 80;
  const gboolean is_task =
      begins_line(source->text, "resources:") &&
      (begins_line(source->text, "run:") || begins_line(source->text, "commands:"));
  if (is_task) return 80;
  if (begins_line(source->text, "services:") && strstr(source->text, "image:")) return 80;
  if (strstr(source->text, "nvcr.io/nim/") && strstr(source->text, "repository:")) return 60;
  const char *const *ending = (const char *const[]){".yaml", ".yml", ".json", NULL};
  for (; *ending; ending++)
    if (g_str_has_suffix(source->name, *ending))
      return orr_form_manifest_values_is_likely(source->text) ? 20 : 0;
  return 0;
}

/* A training job: its pods are nodes, with the GPUs of a container's limits. */
static void read_trainers(OrrFormManifest *manifest) {
  OrrLaunchDraft *draft = manifest->draft;
  const gint64 pods = manifest->n_workers > 0 ? manifest->n_workers : manifest->n_trainers;
  orr_launch_draft_set_nodes(draft, pods, "the pods of the manifest");
  if (manifest->gpus > 0)
    orr_launch_draft_set_gpus_per_node(draft, manifest->gpus, "nvidia.com/gpu");
  orr_launch_trainer_read(draft, manifest->trainers);
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
  g_autoptr(GPtrArray) inner = g_ptr_array_new();
  g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL);
  g_autoptr(GHashTable) variables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GPtrArray) trainers = g_ptr_array_new();
  OrrFormManifest manifest = {.draft = draft,
                              .commands = commands,
                              .trainers = trainers,
                              .containers = containers,
                              .shells = shells,
                              .documents = documents,
                              .inner = inner,
                              .used = used,
                              .variables = variables};
  guint n_keys = 0;
  for (guint i = 0; trees && i < trees->len; i++)
    orr_form_manifest_files(&manifest, source, trees->pdata[i]);
  for (guint i = 0; trees && i < trees->len; i++) read_tree(&manifest, trees->pdata[i]);
  if (commands->len > 0 && !orr_launch_strangers_refuse(draft, containers, commands))
    orr_launch_server_group_read(draft, commands);
  note_variables(&manifest, draft);
  for (guint i = 0; commands->len > 0 && trees && i < trees->len; i++)
    account_for(&manifest, trees->pdata[i], prefix_of(trees->pdata[i]), &n_keys);
  for (guint i = 0; i < inner->len; i++) account_for(&manifest, inner->pdata[i], "", &n_keys);
  if (commands->len == 0 && trainers->len > 0) read_trainers(&manifest);
  if (commands->len + trainers->len > 0) return;
  if (strstr(source->text, "{{"))
    orr_diags_error(draft->diags, place, "a template of Helm: give the output of 'helm template'");
  else if (orr_diags_n_errors(draft->diags) == n_errors)
    orr_diags_error(draft->diags, place,
                    "no container of this manifest starts vLLM, SGLang or TensorRT-LLM, or trains");
}

const OrrLaunchForm orr_launch_form_manifest = {
    .name = "manifest",
    .sentence = "Manifests of Kubernetes, Compose files, tasks of SkyPilot and dstack.",
    .recognise = recognise,
    .read = read,
};
