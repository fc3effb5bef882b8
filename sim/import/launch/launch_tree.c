/*
 * launch_tree.c - a config's tree becomes settings with dotted keys.
 */
#include "sim/import/launch/launch_private.h"

static gboolean is_flat(const OrrNode *list) {
  ORR_EACH_ITEM(item, list) {
    if (item->kind != ORR_NODE_SCALAR) return FALSE;
  }
  return TRUE;
}

static char *flat_text(const OrrNode *list) {
  g_autoptr(GString) text = g_string_new("[");
  for (guint i = 0; i < orr_node_length(list); i++) {
    const OrrNode *item = list->items->pdata[i];
    g_string_append_printf(text, "%s%s", i ? ", " : "", item->text);
  }
  return g_strdup_printf("%s]", text->str);
}

void orr_launch_tree(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const OrrNode *tree,
                     const char *prefix) {
  g_autofree char *flat = tree->kind == ORR_NODE_LIST && is_flat(tree) ? flat_text(tree) : NULL;
  if (tree->kind == ORR_NODE_SCALAR || flat) {
    OrrLaunchSetting *setting = orr_launch_draft_add(draft, dialect, prefix ? prefix : "",
                                                     flat ? flat : tree->text, tree->place);
    g_free(setting->written);
    setting->written = g_strdup_printf("%s: %s", prefix ? prefix : "", setting->value);
    return;
  }
  for (guint i = 0; i < orr_node_length(tree); i++) {
    const OrrNode *key = tree->kind == ORR_NODE_MAP ? tree->keys->pdata[i] : NULL;
    g_autofree char *number = g_strdup_printf("%u", i);
    g_autofree char *path =
        g_strconcat(prefix ? prefix : "", prefix ? "." : "", key ? key->text : number, NULL);
    orr_launch_tree(draft, dialect, tree->items->pdata[i], path);
  }
}
