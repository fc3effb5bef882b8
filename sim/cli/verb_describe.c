/*
 * verb_describe.c - orrery describe KIND NAME: prints one document, registry entry or view in full.
 */
#include <stdio.h>
#include <string.h>

#include "calibration/crossval/crossval_plot.h"
#include "results/store.h"
#include "sim/base/fault.h"
#include "sim/base/file.h"
#include "sim/base/paths.h"
#include "sim/base/yaml.h"
#include "sim/cli/cli.h"
#include "sim/cli/cluster_load.h"
#include "sim/cli/documents.h"
#include "sim/cli/catalog.h"
#include "sim/cli/show.h"
#include "sim/run/machine.h"
#include "workloads/stack.h"

static char *plot;
static OrrClusterQuery query = {.seed = 1};

static const GOptionEntry options[] = {
    {"plot", 0, 0, G_OPTION_ARG_FILENAME, &plot,
     "profile: plot modelled against measured times of shapes that were left out, with gnuplot "
     "(.svg, .png, .pdf)",
     "FILE"},
    {"collective", 0, 0, G_OPTION_ARG_FILENAME, &query.collective,
     "cluster: print the flows on each kind of link, and the hottest links, under a collective "
     "over all GPUs",
     "OP"},
    {"algorithm", 0, 0, G_OPTION_ARG_FILENAME, &query.algorithm,
     "--collective: its algorithm (default: the fastest)", "NAME"},
    {"size", 0, 0, G_OPTION_ARG_FILENAME, &query.size, "--collective: its buffer (default: 1 GiB)",
     "SIZE"},
    {"seed", 0, 0, G_OPTION_ARG_INT, &query.seed,
     "--collective: seed of the hash of routing ecmp (default: 1)", "N"},
    {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &query.settings,
     "cluster: change it, e.g. routing=ecmp or fabric.oversubscription=4; may be repeated",
     "PATH=VALUE"},
    {NULL},
};

static int describe_entry(const OrrCatalog *catalog, const OrrEntry *entry) {
  g_autofree char *params = entry->params ? orr_field_markdown(entry->params) : NULL;
  printf("%s (%s): %s\n", entry->name, catalog->singular, entry->sentence);
  if (params)
    printf("\n%s", params);
  else
    printf("It has no parameters.\n");
  return 0;
}

/* Replaces each list of rows by its length: a profile holds tens of thousands of numbers. */
static void shorten(OrrNode *node) {
  for (guint i = 0; i < orr_node_length(node); i++) {
    OrrNode *item = node->items->pdata[i];
    const char *key = node->kind == ORR_NODE_MAP ? ((OrrNode *)node->keys->pdata[i])->text : "";
    if (strcmp(key, "rows") == 0 && item->kind == ORR_NODE_LIST) {
      g_autofree char *text = g_strdup_printf("%u rows", orr_node_length(item));
      orr_node_set(node, "rows", orr_node_new_scalar(item->place, text));
    } else {
      shorten(item);
    }
  }
}

static int describe_data(const OrrDocumentCode *code, gconstpointer data, GError **error) {
  g_autofree char *head = code->describe ? code->describe(data, error) : code->fact(data);
  if (!head) return 2;
  if (code->table == &orr_stack_table) { /* the head holds every setting, with its source */
    printf("%s", head);
    return 0;
  }
  g_autoptr(OrrNode) tree = orr_field_dump(code->table, data);
  shorten(tree);
  g_autofree char *text = orr_yaml_text(tree);
  printf("%s%s\nschema: %s/1\n%s", head, g_str_has_suffix(head, "\n") ? "" : "\n", code->kind,
         text);
  return 0;
}

static int describe_load(const OrrCluster *cluster, GError **error) {
  g_autofree char *text = orr_cluster_query_answer(&query, cluster, error);
  if (!text) return 2;
  printf("%s", text);
  return 0;
}

/* Refuses the options of clusters for other kinds. */
static gboolean check_query(const char *kind, GError **error) {
  if (!orr_cluster_query_is_set(&query)) return TRUE;
  if (strcmp(kind, "cluster") == 0 && (query.collective || (!query.algorithm && !query.size)))
    return TRUE;
  g_set_error(
      error, ORR_FAULT, ORR_FAULT_USAGE,
      "--collective, --algorithm, --size and --set are for clusters; --algorithm and --size "
      "need --collective");
  return FALSE;
}

static int describe_document(const char *kind, OrrLibrary *library, const char *name,
                             GError **error) {
  const OrrDocumentCode *code = orr_documents_find(kind);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_library_load(library, kind, name, (OrrPlace){NULL, 0, 0}, diags);
  if (tree && !orr_cluster_query_apply(&query, tree, error)) return 2;
  gpointer data = tree ? orr_documents_read(code, library, tree, diags) : NULL;
  orr_show_diags(diags);
  if (!data) return 2;
  int status = query.collective ? describe_load(data, error) : describe_data(code, data, error);
  orr_documents_free(code, data);
  return status;
}

/* Prints the whole file: the comments at its top describe the set and its source. */
static int describe_set(OrrLibrary *library, const char *name, GError **error) {
  const OrrCatalog *catalog = orr_catalog_find("validation-sets", error);
  g_auto(GStrv) names = orr_catalog_names(catalog, library);
  g_autofree char *path = orr_library_path(library, "validation", name);
  if (!path) return orr_cli_unknown(catalog->singular, name, (const char *const *)names, error);
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, NULL, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return 1;
  }
  printf("%s\n", text);
  return 0;
}

static int plot_profile(OrrLibrary *library, const char *name, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL, NULL};
  gboolean is_loaded = orr_machine_load(library, name, &machine, diags);
  orr_show_diags(diags);
  if (!is_loaded) return 2;
  if (!machine.profile) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--plot: %s has no profile to plot", name);
    return 2;
  }
  g_autoptr(GPtrArray) tables = orr_crossval_run(machine.profile, machine.device, NULL, error);
  g_autofree char *script = g_build_filename(orr_library_shipped(library), "calibration", "plots",
                                             "measured-modelled.gp", NULL);
  g_autofree char *title = g_strdup_printf("%s, on shapes left out", name);
  g_autofree char *data = g_strconcat(plot, ".dat", NULL);
  const OrrPath paths[] = {{"--plot", plot, ORR_PATH_WRITTEN, FALSE},
                           {"the plot's data", data, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  if (!tables || !orr_crossval_plot(tables, title, script, plot, error))
    return orr_fault_exit_status(error ? *error : NULL);
  fprintf(stderr, "%s: written; its data is in %s.dat\n", plot, plot);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 2, 2, "describe takes a kind and a name, e.g. cluster dgx-h100-superpod", error))
    return 2;
  const OrrCatalog *catalog = orr_catalog_find(args[0], error);
  if (!catalog) return 2;
  if (!check_query(catalog->singular, error)) return 2;
  const OrrEntry *entry = catalog->registry ? orr_registry_find(catalog->registry, args[1]) : NULL;
  const OrrView *view = strcmp(catalog->singular, "view") == 0 ? orr_view_find(args[1]) : NULL;
  if (entry) return describe_entry(catalog, entry);
  if (strcmp(catalog->singular, "sweep-name") == 0) {
    g_autofree char *sentence = orr_catalog_fact(catalog, library, args[1]);
    g_auto(GStrv) known = orr_catalog_names(catalog, library);
    if (!sentence)
      return orr_cli_unknown(catalog->singular, args[1], (const char *const *)known, error);
    printf("%s: %s\n", args[1], sentence);
    return 0;
  }
  if (view) {
    printf("%s", view->sql);
    return 0;
  }
  if (strcmp(catalog->singular, "validation-set") == 0)
    return describe_set(library, args[1], error);
  g_auto(GStrv) names = orr_catalog_names(catalog, library);
  const gboolean is_stack = strcmp(catalog->singular, "stack") == 0;
  g_autofree char *by_release = is_stack ? orr_stack_resolve(library, args[1]) : NULL;
  if (by_release) return describe_document("stack", library, by_release, error);
  if (!g_strv_contains((const char *const *)names, args[1]) &&
      !orr_library_alias(library, catalog->singular, args[1], NULL))
    return orr_cli_unknown(catalog->singular, args[1], (const char *const *)names, error);
  if (plot && strcmp(catalog->singular, "profile") == 0)
    return plot_profile(library, args[1], error);
  return describe_document(catalog->document, library, args[1], error);
}

const OrrCommand orr_verb_describe = {
    .verb = "describe",
    .sentence = "Print one device, cluster, model, schedule, view ... in full.",
    .usage = "KIND NAME [--plot FILE] [--collective OP [--algorithm NAME] [--size SIZE]] [--set "
             "PATH=VALUE ...]",
    .more =
        "A cluster prints counts, bisection bandwidth, hops and the oversubscription of each "
        "level, or with --collective the flows on its links. A document ends with its YAML, with "
        "every default filled in. A profile prints its errors against rows that were left out.",
    .options = options,
    .run = run,
};
