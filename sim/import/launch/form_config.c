/*
 * form_config.c - a trainer's config in YAML or JSON, with the files that its `defaults:` or
 * `extends:` name.
 */
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_private.h"

enum { MAX_FILES = 32 };

/* Options of a serving engine alone have keys that trainers have, too (model): form_manifest.c
 * reads those that no trainer's dialect knows. */
static gboolean is_of_engine(const OrrLaunchSource *source) {
  if (!orr_form_manifest_values_is_likely(source->text)) return FALSE;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(source->text, source->length, source->name, ignored);
  for (guint i = 0; trees && i < trees->len; i++) {
    g_autofree char *stranger = orr_launch_strangers_config(trees->pdata[i]);
    if (stranger || orr_launch_config_of(trees->pdata[i])) return FALSE;
  }
  return trees && trees->len > 0;
}

static int recognise(const OrrLaunchSource *source) {
  static const char *const endings[] = {".yaml", ".yml", ".json"};
  if (!orr_launch_config_is_likely(source->text) || is_of_engine(source)) return 0;
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
    if (g_str_has_suffix(source->name, endings[i])) return 75;
  return 70;
}

/* --- Other files --- */

/* The file that @name means: "base", "conf/base", "base.yaml". NULL: it was not given. */
static OrrLaunchSource *source_named(OrrLaunchDraft *draft, const char *name,
                                     const OrrLaunchSource *besides) {
  static const char *const endings[] = {"", ".yaml", ".yml"};
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
    g_autofree char *path = g_strconcat(name, endings[i], NULL);
    OrrLaunchSource *source = orr_launch_form_source(draft, path);
    if (source && source != besides) return source;
  }
  return NULL;
}

/* @tree below the keys of "a.b"; NULL and "_global_": the root. Takes @tree. */
static OrrNode *below(OrrNode *tree, const char *package) {
  if (!package || !*package || strcmp(package, "_global_") == 0 || strcmp(package, "_here_") == 0)
    return tree;
  g_auto(GStrv) keys = g_strsplit(package, ".", 32);
  for (guint i = g_strv_length(keys); i-- > 0;) {
    OrrNode *map = orr_node_new_map(tree->place);
    orr_node_set(map, keys[i], tree);
    tree = map;
  }
  return tree;
}

/* The tree of the file @name, below @package; NULL with a remark where it was not given. */
static OrrNode *read_named(OrrLaunchDraft *draft, OrrLaunchSource *from, const char *name,
                           const char *package) {
  OrrLaunchSource *source = source_named(draft, name, from);
  if (!source) {
    orr_launch_draft_remark(draft, "%s names '%s', which was not given: its keys are not seen",
                            from->name, name);
    return NULL;
  }
  source->is_used = TRUE;
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(source->text, source->length, source->name, draft->diags);
  if (!trees || trees->len == 0) return NULL;
  return below(orr_node_copy(trees->pdata[0]), package);
}

/* One entry of `defaults:`: "name", {group: name}, "optional group@package: name". */
static OrrNode *read_default(OrrLaunchDraft *draft, OrrLaunchSource *from, const OrrNode *entry) {
  const gboolean is_map = entry->kind == ORR_NODE_MAP && orr_node_length(entry) == 1;
  const OrrNode *value = is_map ? entry->items->pdata[0] : entry;
  if (value->kind != ORR_NODE_SCALAR || strcmp(value->text, "_self_") == 0) return NULL;
  if (!is_map) return read_named(draft, from, value->text, NULL);
  g_autofree char *group = g_strdup(((const OrrNode *)entry->keys->pdata[0])->text);
  for (const char *const *word = (const char *const[]){"optional ", "override ", NULL}; *word;
       word++)
    if (g_str_has_prefix(group, *word))
      memmove(group, group + strlen(*word), strlen(group + strlen(*word)) + 1);
  char *at = strchr(group, '@');
  if (at) *at = '\0';
  g_strdelimit(group, "/", at ? '/' : '.');
  return read_named(draft, from, value->text, at ? at + 1 : group);
}

/* @tree over the files that it names. Takes @tree. */
static OrrNode *with_defaults(OrrLaunchDraft *draft, OrrLaunchSource *from, OrrNode *tree) {
  const OrrNode *list = orr_node_get(tree, "defaults");
  const char *extends = orr_node_get_text(tree, "extends");
  g_autoptr(OrrNode) base = orr_node_new_map(tree->place);
  const guint n = list && list->kind == ORR_NODE_LIST ? orr_node_length(list) : 0;
  if (list && list->kind == ORR_NODE_SCALAR) extends = list->text; /* NeMo-RL's */
  for (guint i = 0; i < MIN(n + (extends != NULL), MAX_FILES); i++) {
    g_autoptr(OrrNode) more = i < n ? read_default(draft, from, list->items->pdata[i])
                                    : read_named(draft, from, extends, NULL);
    if (!more) continue;
    OrrNode *merged = orr_node_merge(base, more);
    orr_node_free(base);
    base = merged;
  }
  const gboolean has_base = orr_node_length(base) > 0;
  if (n > 0 || (has_base && list)) orr_node_remove(tree, "defaults");
  if (extends && orr_node_get(tree, "extends")) orr_node_remove(tree, "extends");
  OrrNode *whole = has_base ? orr_node_merge(base, tree) : orr_node_copy(tree);
  orr_node_free(tree);
  return whole;
}

/* --- Reading --- */

static void refuse(OrrLaunchDraft *draft, const OrrLaunchSource *source, OrrPlace place) {
  g_autofree char *looks = orr_launch_form_looks(source->text);
  orr_diags_error(draft->diags, place, "a config of a program that is not known: %s", looks);
}

static void read_tree(OrrLaunchDraft *draft, OrrLaunchSource *source, const OrrNode *document) {
  g_autoptr(OrrNode) tree = with_defaults(draft, source, orr_node_copy(document));
  orr_config_resolve(draft, tree);
  const OrrLaunchDialect *config = orr_launch_config_of(tree);
  g_autofree char *stranger = config ? NULL : orr_launch_strangers_config(tree);
  if (config)
    orr_launch_config_read(draft, config, tree);
  else if (stranger)
    orr_diags_error(draft->diags, document->place, "%s", stranger);
  else if (orr_node_get_text(document, "defaults"))
    orr_diags_error(draft->diags, document->place,
                    "these keys are laid over '%s', which was not given: give it as another FILE",
                    orr_node_get_text(document, "defaults"));
  else
    refuse(draft, source, document->place);
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(source->text, source->length, source->name, draft->diags);
  for (guint i = 0; trees && i < trees->len; i++) read_tree(draft, source, trees->pdata[i]);
}

const OrrLaunchForm orr_launch_form_config = {
    .name = "config",
    .sentence = "A trainer's config in YAML or JSON.",
    .recognise = recognise,
    .read = read,
};
