/*
 * relative.c - finds the scalars of a text that are paths, and replaces them where they stand.
 */
#include "sim/base/paths.h"

#include "sim/base/yaml.h"

/* --- One path --- */

/* How many names @a and @b have in common from the root on; "" is the first. */
static guint count_common(char **a, char **b) {
  guint n = 0;
  while (a[n] && b[n] && strcmp(a[n], b[n]) == 0) n++;
  return n;
}

/* "../" for each name of @from beyond @n, then the names of @to beyond @n. */
static char *walk(char **from, char **to, guint n) {
  GString *path = g_string_new(NULL);
  for (guint i = n; from[i]; i++) g_string_append(path, "../");
  if (path->len == 0) g_string_append(path, "./");
  g_autofree char *rest = g_strjoinv("/", to + n);
  g_string_append(path, rest);
  return g_string_free(path, FALSE);
}

/* @path, which counts from the working directory, as a document at @document says it: unchanged
 * where both mean the same folder, else with "../", or absolute where only the root is above both.
 * Newly allocated. */
static char *relative_path(const char *path, const char *document) {
  g_autofree char *here = g_get_current_dir(), *folder = g_path_get_dirname(document);
  g_autofree char *from = g_canonicalize_filename(folder, NULL),
                  *to = g_canonicalize_filename(path, NULL), *real = realpath(from, NULL);
  if (g_path_is_absolute(path) || strcmp(from, here) == 0) return g_strdup(path);
  g_auto(GStrv) above = g_strsplit(from, "/", -1);
  g_auto(GStrv) names = g_strsplit(to, "/", -1);
  const guint n = count_common(above, names);
  /* "../" of a folder that is a link leads to either of two places. */
  return n < 2 || g_strcmp0(real, from) != 0 ? g_strdup(to) : walk(above, names, n);
}

/* --- Texts --- */

static gboolean is_document(const char *text) {
  return g_str_has_suffix(text, ".yaml") &&
         (strchr(text, '/') || g_file_test(text, G_FILE_TEST_IS_REGULAR));
}

static gboolean is_data(const char *text) {
  static const char *const endings[] = {".csv", ".json", ".jsonl", ".txt", ".log", ".gz"};
  gboolean is_named = strchr(text, '/') != NULL;
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
    is_named = is_named || g_str_has_suffix(text, endings[i]);
  return is_named && !is_document(text) && g_file_test(text, G_FILE_TEST_IS_REGULAR);
}

typedef struct {
  const char *document;
  gboolean with_documents;
  GPtrArray *found; /* of OrrNode *, borrowed */
} Search;

static void find(const OrrNode *node, const Search *search) {
  for (guint i = 0; i < orr_node_length(node); i++) find(node->items->pdata[i], search);
  if (node->kind == ORR_NODE_SCALAR && !g_path_is_absolute(node->text) &&
      ((search->with_documents && is_document(node->text)) || is_data(node->text)))
    g_ptr_array_add(search->found, (gpointer)node);
}

static int compare_places(gconstpointer a, gconstpointer b) {
  const OrrNode *x = *(const OrrNode *const *)a, *y = *(const OrrNode *const *)b;
  return x->place.line != y->place.line
             ? (x->place.line < y->place.line ? -1 : 1)
             : (x->place.column > y->place.column) - (x->place.column < y->place.column);
}

/* Where @node's text stands in @text; NULL where it is written in another way (escapes). */
static char *find_text(char *text, const OrrNode *node) {
  for (int line = 1; text && line < node->place.line; line++) {
    text = strchr(text, '\n');
    if (text) text++;
  }
  if (!text || g_utf8_strlen(text, -1) < node->place.column) return NULL;
  char *at = g_utf8_offset_to_pointer(text, node->place.column - 1); /* columns are characters */
  if (*at == '\'' || *at == '"') at++;
  return g_str_has_prefix(at, node->text) ? at : NULL;
}

static char *rewrite(const char *text, const Search *search) {
  GString *out = g_string_new(text);
  g_ptr_array_sort(search->found, compare_places);
  for (guint i = search->found->len; i-- > 0;) { /* from the end: places before it stay */
    const OrrNode *node = search->found->pdata[i];
    g_autofree char *path = relative_path(node->text, search->document);
    const char *at = find_text(out->str, node);
    const gssize offset = at ? at - out->str : -1;
    if (offset < 0) continue;
    g_string_erase(out, offset, (gssize)strlen(node->text));
    g_string_insert(out, offset, path);
  }
  return g_string_free(out, FALSE);
}

static char *rewrite_all(const char *text, const char *document, gboolean with_documents) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = document ? orr_yaml_parse(text, strlen(text), "text", diags) : NULL;
  g_autoptr(GPtrArray) found = g_ptr_array_new();
  const Search search = {document, with_documents, found};
  if (!tree) return g_strdup(text);
  find(tree, &search);
  return rewrite(text, &search);
}

char *orr_relative_text(const char *text, const char *document) {
  return rewrite_all(text, document, TRUE);
}

char *orr_relative_value(const char *text, const char *document) {
  return rewrite_all(text, document, FALSE);
}
