/*
 * exchange_format.c - the formats, and what they share.
 */
#include "sim/import/exchange/exchange_format.h"

#include <stdarg.h>

#include "sim/base/file.h"
#include "sim/base/yaml_foreign.h"

extern const OrrExchangeFormat orr_exchange_aiconfigurator, orr_exchange_astra_sim,
    orr_exchange_calculon;

static const OrrExchangeFormat *const formats[] = {
    &orr_exchange_aiconfigurator, &orr_exchange_astra_sim, &orr_exchange_calculon, NULL};

static const OrrExchangeFormat *format_of_tree(const OrrNode *tree) {
  for (guint i = 0; formats[i]; i++)
    if (formats[i]->recognise(tree)) return formats[i];
  return NULL;
}

/* The first document of @text; NULL: it is not YAML, or none. */
static OrrNode *tree_of(const char *text, gsize length, const char *file, OrrDiags *diags) {
  g_autoptr(GPtrArray) trees = orr_yaml_foreign_parse(text, length, file, diags);
  if (!trees || trees->len == 0) return NULL;
  return orr_node_copy(trees->pdata[0]);
}

const OrrExchangeFormat *orr_exchange_format_of(const char *text, gsize length) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  if (length > ORR_YAML_FOREIGN_MAX_BYTES) return NULL;
  g_autoptr(OrrNode) tree = tree_of(text, length, "text", ignored);
  return tree ? format_of_tree(tree) : NULL;
}

/* --- For formats --- */

void orr_exchange_note(OrrExchange *exchange, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(exchange->notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

const OrrNode *orr_exchange_tree_with(const OrrExchange *exchange, const char *key) {
  for (guint i = 0; i < exchange->trees->len; i++)
    if (orr_node_get(exchange->trees->pdata[i], key)) return exchange->trees->pdata[i];
  return NULL;
}

double orr_exchange_number(OrrExchange *exchange, const OrrNode *map, const char *key, double least,
                           double most, double fallback) {
  const OrrNode *node = orr_node_get(map, key);
  if (!node && !isnan(fallback)) return fallback;
  char *end = NULL;
  const double value =
      node && node->kind == ORR_NODE_SCALAR ? g_ascii_strtod(node->text, &end) : NAN;
  if (end && end != node->text && !*end && value >= least && value <= most) return value;
  if (node)
    orr_diags_error(exchange->diags, node->place, "%s takes a number from %g to %g", key, least,
                    most);
  else
    orr_diags_error(exchange->diags, map->place, "the key %s is absent", key);
  return isnan(fallback) ? least : fallback;
}

gboolean orr_exchange_flag(const OrrNode *map, const char *key) {
  const char *text = orr_node_get_text(map, key);
  return text && (g_ascii_strcasecmp(text, "true") == 0 || g_ascii_strcasecmp(text, "yes") == 0 ||
                  g_str_equal(text, "1"));
}

void orr_exchange_note_unknown(OrrExchange *exchange, const OrrNode *map, const char *const *known,
                               const char *what) {
  g_autoptr(GString) names = g_string_new(NULL);
  for (guint i = 0; map->kind == ORR_NODE_MAP && i < map->keys->len; i++) {
    const char *key = ((const OrrNode *)map->keys->pdata[i])->text;
    if (g_strv_contains(known, key)) continue;
    g_autofree char *safe = orr_exchange_name(key);
    g_string_append_printf(names, "%s%s", names->len ? ", " : "", safe);
  }
  if (names->len) orr_exchange_note(exchange, "%s: %s", what, names->str);
}

char *orr_exchange_name(const char *name) {
  char *copy = g_strndup(name, 64);
  for (char *at = copy; *at; at++)
    if (!g_ascii_isalnum(*at) && *at != '-' && *at != '_' && *at != '.') *at = '-';
  return copy;
}

/* --- The whole --- */

static gboolean read_files(OrrExchange *exchange, char *const *files,
                           const OrrExchangeFormat **ret_format, GError **error) {
  for (char *const *file = files; *file; file++) {
    gsize length = 0;
    g_autofree char *text = orr_file_read(*file, ORR_YAML_FOREIGN_MAX_BYTES, &length, error);
    if (!text) {
      g_prefix_error(error, "%s: ", *file);
      return FALSE;
    }
    const char *name = g_intern_string(*file);
    OrrNode *tree = tree_of(text, length, name, exchange->diags);
    if (!orr_diags_check(exchange->diags, error)) {
      orr_node_free(tree);
      return FALSE;
    }
    const OrrExchangeFormat *format = tree ? format_of_tree(tree) : NULL;
    if (tree) g_ptr_array_add(exchange->trees, tree);
    if (!format || (*ret_format && *ret_format != format))
      return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s: %s%s%s", *file,
                           format ? "another format than the files before: " : "",
                           format ? format->name : "of none of the formats: ",
                           format ? "" : "aiconfigurator, astra-sim, calculon");
    *ret_format = format;
  }
  return TRUE;
}

char *orr_exchange_read(OrrLibrary *library, char *const *files, const OrrExchangeAnswers *answers,
                        GPtrArray **ret_notes, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GPtrArray) trees = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GString) text = g_string_new(NULL);
  OrrExchange exchange = {library, answers, trees, text, notes, diags};
  const OrrExchangeFormat *format = NULL;
  if (!read_files(&exchange, files, &format, error)) return NULL;
  format->read(&exchange);
  if (!orr_diags_check(diags, error)) return NULL;
  *ret_notes = g_steal_pointer(&notes);
  return g_strdup(text->str);
}
