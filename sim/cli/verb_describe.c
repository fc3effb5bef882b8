/*
 * verb_describe.c - orrery describe KIND NAME: one thing in full.
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
#include "sim/cli/shelf.h"
#include "sim/cli/show.h"
#include "sim/run/machine.h"

static char *plot;
static OrrClusterAsk ask = {.seed = 1};

static const GOptionEntry options[] = {
    {"plot", 0, 0, G_OPTION_ARG_FILENAME, &plot,
     "Of a profile: draw modelled against measured, on shapes left out, with gnuplot (.svg, .png, "
     ".pdf)",
     "FILE"},
    {"collective", 0, 0, G_OPTION_ARG_FILENAME, &ask.collective,
     "Of a cluster: flows on each kind of link, and the hottest links, under a collective over all "
     "of its GPUs",
     "OP"},
    {"algorithm", 0, 0, G_OPTION_ARG_FILENAME, &ask.algorithm,
     "By that algorithm; else the fastest", "NAME"},
    {"size", 0, 0, G_OPTION_ARG_FILENAME, &ask.size, "Its buffer (default 1 GiB)", "SIZE"},
    {"seed", 0, 0, G_OPTION_ARG_INT, &ask.seed, "Of the hash under routing ecmp (default 1)", "N"},
    {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &ask.settings,
     "Change the cluster, e.g. routing=ecmp or fabric.oversubscription=4; may be repeated",
     "PATH=VALUE"},
    {NULL},
};

static int describe_entry(const OrrShelf *shelf, const OrrEntry *entry) {
  g_autofree char *params = entry->params ? orr_field_markdown(entry->params) : NULL;
  printf("%s (%s): %s\n", entry->name, shelf->singular, entry->sentence);
  if (params)
    printf("\n%s", params);
  else
    printf("It has no parameters.\n");
  return 0;
}

/* A profile's tables are tens of thousands of numbers: of each list of rows only the length is
 * shown. */
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
  g_autoptr(OrrNode) tree = orr_field_dump(code->table, data);
  shorten(tree);
  g_autofree char *text = orr_yaml_text(tree);
  printf("%s%s\nschema: %s/1\n%s", head, g_str_has_suffix(head, "\n") ? "" : "\n", code->kind,
         text);
  return 0;
}

static int describe_load(const OrrCluster *cluster, GError **error) {
  g_autofree char *text = orr_cluster_ask_answer(&ask, cluster, error);
  if (!text) return 2;
  printf("%s", text);
  return 0;
}

/* What is asked of clusters alone. */
static gboolean check_ask(const char *kind, GError **error) {
  if (!orr_cluster_ask_is_made(&ask)) return TRUE;
  if (strcmp(kind, "cluster") == 0 && (ask.collective || (!ask.algorithm && !ask.size)))
    return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
              "--collective, --algorithm, --size and --set are for a cluster, --algorithm and "
              "--size beside --collective");
  return FALSE;
}

static int describe_document(const char *kind, OrrLibrary *library, const char *name,
                             GError **error) {
  const OrrDocumentCode *code = orr_documents_find(kind);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_library_load(library, kind, name, (OrrPlace){NULL, 0, 0}, diags);
  if (tree && !orr_cluster_ask_apply(&ask, tree, error)) return 2;
  gpointer data = tree ? orr_documents_read(code, library, tree, diags) : NULL;
  orr_show_diags(diags);
  if (!data) return 2;
  int status = ask.collective ? describe_load(data, error) : describe_data(code, data, error);
  orr_documents_free(code, data);
  return status;
}

/* The comments at the top of the scenario's file say what the set is and where it is from. */
static int describe_set(OrrLibrary *library, const char *name, GError **error) {
  const OrrShelf *shelf = orr_shelf_find("validation-sets", error);
  g_auto(GStrv) names = orr_shelf_names(shelf, library);
  g_autofree char *path = orr_library_path(library, "validation", name);
  if (!path) return orr_cli_unknown(shelf->singular, name, (const char *const *)names, error);
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
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--plot: %s has no profile to draw", name);
    return 2;
  }
  g_autoptr(GPtrArray) tables = orr_crossval_run(machine.profile, machine.device, NULL, error);
  g_autofree char *script = g_build_filename(orr_library_shipped(library), "calibration", "plots",
                                             "measured-modelled.gp", NULL);
  g_autofree char *title = g_strdup_printf("%s, on shapes left out", name);
  g_autofree char *data = g_strconcat(plot, ".dat", NULL);
  const OrrPath paths[] = {{"--plot", plot, ORR_PATH_WRITTEN, FALSE},
                           {"the picture's data", data, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  if (!tables || !orr_crossval_plot(tables, title, script, plot, error))
    return orr_fault_exit_status(error ? *error : NULL);
  fprintf(stderr, "%s: written, from %s.dat\n", plot, plot);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 2, 2, "describe wants a kind and a name, e.g. cluster dgx-h100-superpod", error))
    return 2;
  const OrrShelf *shelf = orr_shelf_find(args[0], error);
  if (!shelf) return 2;
  if (!check_ask(shelf->singular, error)) return 2;
  const OrrEntry *entry = shelf->registry ? orr_registry_find(shelf->registry, args[1]) : NULL;
  const OrrView *view = strcmp(shelf->singular, "view") == 0 ? orr_view_find(args[1]) : NULL;
  if (entry) return describe_entry(shelf, entry);
  if (strcmp(shelf->singular, "sweep-name") == 0) {
    g_autofree char *sentence = orr_shelf_fact(shelf, library, args[1]);
    g_auto(GStrv) known = orr_shelf_names(shelf, library);
    if (!sentence)
      return orr_cli_unknown(shelf->singular, args[1], (const char *const *)known, error);
    printf("%s: %s\n", args[1], sentence);
    return 0;
  }
  if (view) {
    printf("%s", view->sql);
    return 0;
  }
  if (strcmp(shelf->singular, "validation-set") == 0) return describe_set(library, args[1], error);
  g_auto(GStrv) names = orr_shelf_names(shelf, library);
  if (!g_strv_contains((const char *const *)names, args[1]))
    return orr_cli_unknown(shelf->singular, args[1], (const char *const *)names, error);
  if (plot && strcmp(shelf->singular, "profile") == 0) return plot_profile(library, args[1], error);
  return describe_document(shelf->document, library, args[1], error);
}

const OrrCommand orr_verb_describe = {
    .verb = "describe",
    .sentence = "Show one device, cluster, model, schedule, view ... in full.",
    .usage = "KIND NAME [--plot FILE] [--collective OP [--algorithm NAME] [--size SIZE]] [--set "
             "PATH=VALUE ...]",
    .more = "A cluster shows counts, bisection bandwidth, hops and the oversubscription of each "
            "level, or with --collective\n"
            "the flows on its links; a document ends\n"
            "with its YAML, every default filled in. A profile says how far it is from rows that "
            "were left out.",
    .options = options,
    .run = run,
};
