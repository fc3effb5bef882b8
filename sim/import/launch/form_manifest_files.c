/*
 * form_manifest_files.c - the files of a ConfigMap that its containers name.
 */
#include "sim/import/launch/launch_private.h"

void orr_form_manifest_files(OrrFormManifest *manifest, const OrrLaunchSource *whole,
                             const OrrNode *map) {
  const OrrNode *data = orr_node_get(map, "data");
  if (g_strcmp0(orr_node_get_text(map, "kind"), "ConfigMap") != 0) return;
  for (guint i = 0; data && data->kind == ORR_NODE_MAP && i < orr_node_length(data); i++) {
    const OrrNode *key = data->keys->pdata[i], *text = data->items->pdata[i];
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
