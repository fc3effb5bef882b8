/*
 * idle.c - warns of keys that change nothing.
 */
#include "sim/base/idle.h"

#include "sim/base/node.h"

/* The node at @path below @node, and the map that holds it; NULL: the document does not have that
 * key. */
static const OrrNode *given_at(const OrrNode *node, const char *path, const OrrNode **ret_map) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  for (char **key = keys; *key && node; key++) {
    *ret_map = node;
    node = node->kind == ORR_NODE_MAP ? orr_node_get(node, *key) : NULL;
  }
  return node;
}

gboolean orr_idle_is_set(OrrPlace place) { /* field_set.c names the place */
  return place.file && g_str_has_prefix(place.file, "set ");
}

static gboolean is_set(const OrrNode *node) { return orr_idle_is_set(orr_node_place(node)); }

/* Whether the file has @node, the idle @key of the section @map, and --set the key of that section
 * that makes it idle, which `why` names: `--set autoscaling.by=none` means the whole section. */
static gboolean is_switched_off(const OrrIdleKey *key, const OrrNode *node, const OrrNode *map) {
  const char *dot = strrchr(key->path, '.');
  for (guint i = 0; dot && !is_set(node) && i < orr_node_length(map); i++) {
    g_autofree char *name = g_strdup_printf("%.*s.%s", (int)(dot - key->path), key->path,
                                            ((const OrrNode *)map->keys->pdata[i])->text);
    if (is_set(map->items->pdata[i]) && strstr(key->why, name)) return TRUE;
  }
  return FALSE;
}

void orr_idle_warn(const OrrIdleKey *keys, guint n, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; i < n; i++) {
    const OrrNode *map = NULL,
                  *given = keys[i].is_idle ? given_at(place.node, keys[i].path, &map) : NULL;
    if (!given || is_switched_off(&keys[i], given, map)) continue;
    const gboolean is_short = given->kind == ORR_NODE_SCALAR;
    orr_diags_warning(diags, orr_node_place(given), "%s%s%s%s has no effect: %s", keys[i].path,
                      is_short ? " (" : "", is_short ? given->text : "", is_short ? ")" : "",
                      keys[i].why);
  }
}

void orr_idle_warn_item(const OrrIdleKey *keys, guint n, OrrPlace place, const char *list,
                        guint index, OrrDiags *diags) {
  const OrrNode *map = NULL, *all = given_at(place.node, list, &map);
  if (all && all->kind == ORR_NODE_LIST && index < orr_node_length(all))
    orr_idle_warn(keys, n, orr_node_place(all->items->pdata[index]), diags);
}
