/*
 * idle.c - warns of keys that change nothing.
 */
#include "sim/base/idle.h"

#include "sim/base/node.h"

/* The node at @path below @node; NULL: the document does not have that key. */
static const OrrNode *given_at(const OrrNode *node, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  for (char **key = keys; *key && node; key++)
    node = node->kind == ORR_NODE_MAP ? orr_node_get(node, *key) : NULL;
  return node;
}

void orr_idle_warn(const OrrIdleKey *keys, guint n, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; i < n; i++) {
    const OrrNode *given = keys[i].is_idle ? given_at(place.node, keys[i].path) : NULL;
    if (!given) continue;
    const gboolean is_short = given->kind == ORR_NODE_SCALAR;
    orr_diags_warning(diags, orr_node_place(given), "%s%s%s%s has no effect: %s", keys[i].path,
                      is_short ? " (" : "", is_short ? given->text : "", is_short ? ")" : "",
                      keys[i].why);
  }
}

void orr_idle_warn_item(const OrrIdleKey *keys, guint n, OrrPlace place, const char *list,
                        guint index, OrrDiags *diags) {
  const OrrNode *all = given_at(place.node, list);
  if (all && all->kind == ORR_NODE_LIST && index < orr_node_length(all))
    orr_idle_warn(keys, n, orr_node_place(all->items->pdata[index]), diags);
}
