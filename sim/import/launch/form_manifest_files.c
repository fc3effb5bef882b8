/*
 * form_manifest_files.c - the files of a ConfigMap that its containers name, and the
 * weights of the host that they mount, and roles by name; what SkyPilot's and dstack's tasks have.
 */
#include "sim/import/launch/launch_private.h"

void orr_form_manifest_files(OrrFormManifest *manifest, const OrrLaunchSource *whole,
                             const OrrNode *map) {
  const OrrNode *data = orr_node_get(map, "data");
  if (g_strcmp0(orr_node_get_text(map, "kind"), "ConfigMap") != 0) return;
  ORR_EACH_PAIR(key, text, data) {
    g_autofree char *path = g_strconcat("/", key->text, NULL);
    if (text->kind != ORR_NODE_SCALAR || !strstr(whole->text, path)) continue;
    const OrrLaunchSource *other = orr_launch_form_source(manifest->draft, key->text);
    if (other && strcmp(other->text, text->text) != 0)
      orr_diags_warning(manifest->draft->diags, key->place,
                        "another file is named %s, too: the first is read", key->text);
    if (!other)
      orr_launch_form_add_text(manifest->draft, key->text, text->text, strlen(text->text))
          ->is_used = TRUE; /* only what names it reads it */
    orr_form_manifest_use(manifest, text);
  }
}

/* The path on the host of the volume @name, of the pod's `volumes`; NULL: it is not of the host. */
static const char *host_path(const OrrFormManifest *manifest, const char *name) {
  const OrrNode *volumes = manifest->volumes;
  const guint n = volumes && volumes->kind == ORR_NODE_LIST ? orr_node_length(volumes) : 0;
  for (guint i = 0; name && i < n; i++) {
    const OrrNode *volume = volumes->items->pdata[i];
    if (volume->kind == ORR_NODE_MAP && g_strcmp0(orr_node_get_text(volume, "name"), name) == 0)
      return orr_node_get_text(orr_node_get(volume, "hostPath"), "path");
  }
  return NULL;
}

void orr_form_manifest_name_weights(const OrrFormManifest *manifest, const OrrNode *node,
                                    OrrLaunchCommand *command) {
  const OrrNode *mounts = orr_node_get(node, "volumeMounts");
  ORR_EACH_ITEM(mount, orr_node_as(ORR_NODE_LIST, mounts)) {
    if (mount->kind != ORR_NODE_MAP) continue;
    const char *path = orr_node_get_text(mount, "mountPath");
    const char *host = host_path(manifest, orr_node_get_text(mount, "name"));
    ORR_EACH_POINTER(OrrLaunchWord, word, command->words) {
      if (!path || !host || strcmp(word->text, path) != 0) continue;
      g_free(word->text);
      word->text = g_strdup(host);
    }
  }
}

gint64 orr_form_manifest_pods(const OrrNode *node, gint64 replicas) {
  const OrrNode *parallelism = orr_node_get(node, "parallelism");
  replicas = orr_form_manifest_number(node, "numNodes", replicas);
  if (!parallelism || parallelism->kind != ORR_NODE_SCALAR) return replicas;
  return MAX(replicas, 1) * orr_form_manifest_number(node, "parallelism", 1);
}

gboolean orr_form_manifest_is_prefill(const OrrNode *node) {
  return node->kind == ORR_NODE_MAP && orr_node_get(node, "template") &&
         g_strcmp0(orr_node_get_text(node, "name"), "prefill") == 0;
}

void orr_form_manifest_mark_prefill(OrrFormManifest *manifest, guint first, OrrPlace place) {
  for (guint i = first; i < manifest->commands->len; i++) {
    OrrLaunchCommand *command = manifest->commands->pdata[i];
    gboolean is_vllm = FALSE, is_marked = FALSE;
    ORR_EACH_POINTER(OrrLaunchWord, word, command->words) {
      is_vllm |= strstr(word->text, "vllm") != NULL;
      is_marked |= strcmp(word->text, "--is-prefill-worker") == 0;
    }
    if (is_vllm && !is_marked)
      orr_form_manifest_add_word(command->words, "--is-prefill-worker", place);
  }
}

/* --- Tasks of SkyPilot and dstack --- */

/* "H100:8", "{H100: 8}": the GPU, and the number of them as variables of the script. */
void orr_form_manifest_accelerators(OrrFormManifest *manifest, const OrrNode *node,
                                    GPtrArray *variables) {
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
    orr_form_manifest_add_word(variables, text, first->place);
  }
}

/* The nodes of a task, for its job and as variables of its script. */
void orr_form_manifest_nodes(OrrFormManifest *manifest, const OrrNode *tree, const char *key,
                             GPtrArray *variables) {
  static const char *const names[] = {"SKYPILOT_NUM_NODES", "DSTACK_NODES_NUM", NULL};
  const OrrNode *node = orr_node_get(tree, key);
  const gint64 nodes = orr_form_manifest_number(tree, key, 0);
  if (!node || nodes < 1) return;
  manifest->n_workers = nodes;
  orr_form_manifest_use(manifest, node);
  for (const char *const *name = names; *name; name++) {
    g_autofree char *text = g_strdup_printf("%s=%ld", *name, nodes);
    orr_form_manifest_add_word(variables, text, node->place);
  }
}
