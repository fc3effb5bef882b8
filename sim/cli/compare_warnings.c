/*
 * compare_warnings.c - reads the warnings of runs, and joins warnings of the same text.
 */
#include "sim/cli/verb_compare.h"

#include "sim/bands/caveats.h"
#include "sim/base/yaml.h"

/* A warning, and the runs that have it. */
typedef struct {
  char *text;
  GString *runs; /* "3, 4" */
  guint n;
} Shared;

static void clear_shared(gpointer data) {
  Shared *shared = data;
  g_free(shared->text);
  g_string_free(shared->runs, TRUE);
}

static void add(GArray *all, gint64 run, const char *text) {
  guint i = 0;
  while (i < all->len && strcmp(g_array_index(all, Shared, i).text, text) != 0) i++;
  if (i == all->len) ORR_APPEND(all, Shared, {g_strdup(text), g_string_new(NULL), 0});
  Shared *shared = &g_array_index(all, Shared, i);
  g_string_append_printf(shared->runs, "%s%ld", shared->n++ ? ", " : "", run);
}

static const char *cell(const OrrAnswer *answer, guint row, guint column) {
  return ((char **)answer->rows->pdata[row])[column];
}

/* --- Points of a sweep --- */

/* The document of the sweep that has the point @run, without its section sweep; *@ret_tree NULL: no
 * sweep has it. */
static gboolean read_sweep(OrrStore *store, gint64 run, OrrNode **ret_tree, GError **error) {
  *ret_tree = NULL;
  g_autoptr(OrrAnswer) tables = orr_store_ask(
      store, "SELECT 1 FROM sqlite_schema WHERE name = 'sweep_point'", 0, NULL, 0, error);
  if (!tables || tables->rows->len == 0) return tables != NULL;
  g_autoptr(OrrAnswer) found = orr_store_ask(store,
                                             "SELECT run.resolved FROM sweep_point JOIN run"
                                             " ON run.id = sweep_point.sweep"
                                             " WHERE sweep_point.run_id = :run",
                                             run, NULL, 0, error);
  if (!found || found->rows->len == 0) return found != NULL;
  const char *text = cell(found, 0, 0);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrNode *tree = orr_yaml_parse(text, strlen(text), "the stored sweep", diags);
  if (!tree) return orr_diags_check(diags, error);
  orr_node_remove(tree, "sweep");
  *ret_tree = tree;
  return TRUE;
}

/* Skips settings that are not a path of a scenario: an axis that stands for several. */
static gboolean set_point(OrrStore *store, gint64 run, OrrNode *tree, GError **error) {
  g_autoptr(OrrAnswer) params = orr_store_ask(
      store, "SELECT path, value FROM param WHERE run_id = :run", run, NULL, 0, error);
  for (guint i = 0; params && i < params->rows->len; i++)
    orr_field_set(&orr_scenario_table, tree, cell(params, i, 0), cell(params, i, 1), NULL);
  return params != NULL;
}

static gboolean add_point(OrrLibrary *library, OrrStore *store, gint64 run, GArray *all,
                          GError **error) {
  g_autoptr(OrrNode) tree = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  if (!read_sweep(store, run, &tree, error)) return FALSE;
  if (!tree) return TRUE;
  if (!set_point(store, run, tree, error)) return FALSE;
  g_autoptr(OrrScenario) scenario = orr_scenario_read_fields(library, tree, diags);
  if (!scenario) {
    add(all, run, "its scenario can no longer be read, so the basis of its answer is unknown");
    return TRUE;
  }
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(library);
  orr_caveats_add(caveats, scenario);
  const GPtrArray *texts = orr_caveats_texts(caveats);
  for (guint i = 0; i < texts->len; i++) add(all, run, texts->pdata[i]);
  return TRUE;
}

/* --- All --- */

static gboolean add_run(OrrLibrary *library, OrrStore *store, gint64 run, GArray *all,
                        GError **error) {
  g_autoptr(OrrAnswer) stored = orr_store_ask(store, "warnings", run, NULL, 0, error);
  for (guint i = 0; stored && i < stored->rows->len; i++) add(all, run, cell(stored, i, 0));
  return stored && add_point(library, store, run, all, error);
}

GPtrArray *orr_compare_warnings(OrrLibrary *library, OrrStore *store, const gint64 *runs, guint n,
                                GError **error) {
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Shared));
  g_array_set_clear_func(all, clear_shared);
  for (guint i = 0; i < n; i++)
    if (!add_run(library, store, runs[i], all, error)) return NULL;
  GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
  ORR_EACH(const Shared, shared, all)
    g_ptr_array_add(texts, g_strdup_printf("run%s %s: %s", shared->n > 1 ? "s" : "",
                                           shared->runs->str, shared->text));
  return texts;
}
