/*
 * form_huggingface.c - a config.json with a launch line: the model, written into the scenario.
 *
 * models/import_huggingface.h makes the document; its keys become keys below `model`.
 */
#include "models/import_huggingface.h"
#include "sim/base/yaml.h"
#include "sim/import/launch/launch_private.h"

static int recognise(const OrrLaunchSource *source) {
  const char *text = source->text + strspn(source->text, " \t\r\n");
  const gboolean has_type = strstr(text, "\"model_type\"") != NULL;
  return *text == '{' && has_type &&
                 (strstr(text, "\"architectures\"") || strstr(text, "\"vocab_size\""))
             ? 90
             : 0;
}

static void append_flow(GString *text, const OrrNode *node) {
  const gboolean is_map = node->kind == ORR_NODE_MAP;
  if (node->kind == ORR_NODE_SCALAR) {
    const gboolean is_plain = !node->quoted && !strpbrk(node->text, ":,[]{}#'\"");
    g_string_append_printf(text, is_plain ? "%s" : "\"%s\"", node->text);
    return;
  }
  g_string_append_c(text, is_map ? '{' : '[');
  for (guint i = 0; i < orr_node_length(node); i++) {
    const OrrNode *key = is_map ? node->keys->pdata[i] : NULL;
    g_string_append_printf(text, "%s%s%s", i ? ", " : "", key ? key->text : "", key ? ": " : "");
    append_flow(text, node->items->pdata[i]);
  }
  g_string_append_c(text, is_map ? '}' : ']');
}

char *orr_launch_form_flow_text(const OrrNode *node) {
  GString *text = g_string_new(NULL);
  append_flow(text, node);
  return g_string_free(text, FALSE);
}

static void set_model(OrrLaunchDraft *draft, const OrrNode *tree, const char *name) {
  for (guint i = 0; i < orr_node_length(tree); i++) {
    const OrrNode *key = tree->keys->pdata[i];
    if (strcmp(key->text, "schema") == 0 || strcmp(key->text, "aliases") == 0) continue;
    g_autofree char *path = g_strdup_printf("model.%s", key->text);
    g_autofree char *value = orr_launch_form_flow_text(tree->items->pdata[i]);
    orr_launch_draft_set(draft, path, value, NULL, i == 1 ? name : NULL);
  }
}

static void note_keys(OrrLaunchDraft *draft, const char *what, const char *keys) {
  g_auto(GStrv) lines = g_strsplit(keys ? keys : "", "\n", -1);
  for (char **line = lines; *line; line++)
    if (**line) orr_launch_draft_remark(draft, "the model's config.json, %s: %s", what, *line);
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(GError) error = NULL;
  g_autofree char *left_out = NULL, *warnings = NULL;
  const OrrPlace place = {.file = g_intern_string(source->name)};
  g_autofree char *text = orr_import_huggingface(source->name, NULL, &left_out, &warnings, &error);
  g_autoptr(OrrNode) tree =
      text ? orr_yaml_parse(text, strlen(text), place.file, draft->diags) : NULL;
  if (!text) return orr_diags_error(draft->diags, place, "%s", error->message);
  if (tree) set_model(draft, tree, source->name);
  note_keys(draft, "warning", warnings);
  note_keys(draft, "not mapped", left_out);
}

const OrrLaunchForm orr_launch_form_huggingface = {
    .name = "huggingface",
    .sentence = "A model's config.json with a launch line.",
    .recognise = recognise,
    .read = read,
};
