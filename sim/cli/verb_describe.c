/*
 * verb_describe.c - orrery describe KIND NAME: prints one document, registry entry or view in full.
 */
#include "calibration/crossval/crossval.h"
#include "results/plot.h"
#include "sim/base/file.h"
#include "sim/base/paths.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/cli/documents.h"
#include "sim/import/topology/topology_text.h"
#include "sim/run/machine.h"
#include "topologies/fabric.h"
#include "topologies/prices.h"
#include "workloads/stack.h"

static char *plot, *as;
static OrrClusterQuery query = {.seed = 1};

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("plot", plot, "FILE",
                    "profile: plot modelled against measured times of shapes that were left out, "
                    "with gnuplot (.svg, .png, .pdf)"),
    ORR_OPTION_TEXT("as", as, "FORMAT",
                    "cluster: print it as astra-sim, ibnetdiscover, nccl-xml, slurm or slurm-yaml "
                    "would have it"),
    ORR_OPTION_TEXT("collective", query.collective, "OP",
                    "cluster: print the flows on each kind of link, and the hottest links, under a "
                    "collective over all GPUs"),
    ORR_OPTION_TEXT("algorithm", query.algorithm, "NAME",
                    "--collective: its algorithm (default: the fastest)"),
    ORR_OPTION_TEXT("size", query.size, "SIZE", "--collective: its buffer (default: 1 GiB)"),
    ORR_OPTION_INT("seed", query.seed,
                   "--collective: seed of the hash of routing ecmp (default: 1)"),
    ORR_OPTION_TEXTS(
        "set", query.settings, "PATH=VALUE",
        "cluster: change it, e.g. routing=ecmp or fabric.oversubscription=4; may be repeated"),
    ORR_OPTION_TEXT("prices", query.prices, "NAME",
                    "cluster: print its cost by these prices (a name or a file): each item of its "
                    "bill, a GPU-hour"),
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

/* The prices of --prices, checked against @cluster; NULL with the reason on stderr. */
static OrrPrices *read_prices(OrrLibrary *library, const OrrCluster *cluster) {
  const OrrDocumentCode *code = orr_documents_find("prices");
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {"--prices", 0, 0};
  g_autoptr(OrrNode) tree = orr_library_load(library, "prices", query.prices, place, diags);
  OrrPrices *prices = tree ? orr_documents_read(code, library, tree, diags) : NULL;
  if (prices) orr_prices_check_cluster(prices, cluster, tree->place, diags);
  orr_show_diags(diags);
  if (orr_diags_n_errors(diags) == 0) return prices;
  orr_documents_free(code, prices);
  return NULL;
}

static int describe_prices(OrrLibrary *library, const OrrCluster *cluster, GError **error) {
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 1, error);
  OrrPrices *prices = fabric ? read_prices(library, cluster) : NULL;
  if (!prices) return 2;
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  g_autofree char *text = orr_prices_text(prices, bill, cluster);
  printf("%s", text);
  orr_documents_free(orr_documents_find("prices"), prices);
  return 0;
}

static int describe_as(const OrrCluster *cluster, GError **error) {
  g_autofree char *text = orr_topology_text(as, cluster, error);
  if (!text) return 2;
  printf("%s", text);
  const gint64 nodes = orr_cluster_n_nodes(cluster), built = orr_cluster_n_built_nodes(cluster);
  if (built != nodes && orr_topology_text_is_as_built(as))
    orr_show_problem("--as %s writes the fabric as it is built, %ld nodes: --set max-nodes=%ld "
                     "writes the %ld of this cluster",
                     as, built, nodes, nodes);
  return 0;
}

/* Refuses the options of clusters for other kinds. */
static gboolean check_query(const char *kind, GError **error) {
  if (as && (strcmp(kind, "cluster") != 0 || query.collective || query.prices))
    return orr_fault_set(
        error, ORR_FAULT_USAGE,
        "--as is for clusters, and alone: it prints the cluster in another tool's form");
  if (!orr_cluster_query_is_set(&query)) return TRUE;
  if (query.prices && query.collective)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--prices and --collective print different things: give one");
  if (strcmp(kind, "cluster") == 0 && (query.collective || (!query.algorithm && !query.size)))
    return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_USAGE,
      "--collective, --algorithm, --size, --prices and --set are for clusters; --algorithm and "
      "--size need --collective");
}

static int describe_document(const char *kind, OrrLibrary *library, const char *name,
                             GError **error) {
  const OrrDocumentCode *code = orr_documents_find(kind);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_library_load(library, kind, name, (OrrPlace){NULL, 0, 0}, diags);
  if (tree && !orr_settings_apply(&orr_cluster_table, tree, query.settings, error)) return 2;
  gpointer data = tree ? orr_documents_read(code, library, tree, diags) : NULL;
  orr_show_diags(diags);
  if (!data) return 2;
  int status = as                 ? describe_as(data, error)
               : query.collective ? describe_load(data, error)
               : query.prices     ? describe_prices(library, data, error)
                                  : describe_data(code, data, error);
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

static int unknown_stack(OrrLibrary *library, const char *name, GError **error) {
  g_autofree char *nearest = orr_stack_nearest(library, name);
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "unknown stack '%s'%s%s%s ('orrery list stacks')",
              name, nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  return 2;
}

/* The plot's question, and the comments of its view: the question, its parameters and columns. */
static int describe_plot(const OrrPlot *one) {
  printf("%s (plot): %s\n\n'orrery plot DB %s' draws the view %s:\n", one->name, one->sentence,
         one->name, one->name);
  for (const char *line = orr_view_find(one->name)->sql; g_str_has_prefix(line, "-- ");) {
    const gsize length = strcspn(line, "\n");
    printf("  %.*s\n", (int)length - 3, line + 3);
    line += length + (line[length] != '\0');
  }
  return 0;
}

/* A file, as wherever a document is named. */
static gboolean is_file(const OrrCatalog *catalog, const char *name) {
  return catalog->document && g_str_has_suffix(name, ".yaml");
}

static int describe_launch_format(const OrrCatalog *catalog, OrrLibrary *library, const char *name,
                                  GError **error) {
  const OrrLaunchDialect *dialect = orr_launch_dialect(name);
  g_auto(GStrv) known = orr_catalog_names(catalog, library);
  if (!dialect) return orr_cli_unknown(catalog->singular, name, (const char *const *)known, error);
  g_autofree char *table = orr_launch_dialect_table(dialect);
  printf("%s: %s\n\n%s", dialect->name, orr_launch_dialect_sentence(dialect), table);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 2, 2, "describe takes a kind and a name, e.g. cluster dgx-h100-superpod", error))
    return 2;
  const OrrCatalog *catalog = orr_catalog_find(args[0], error);
  if (!catalog) return 2;
  if (!check_query(catalog->singular, error)) return 2;
  const char *name = args[1];
  const OrrEntry *entry = catalog->registry ? orr_registry_find(catalog->registry, name) : NULL;
  const OrrView *view = strcmp(catalog->singular, "view") == 0 ? orr_view_find(name) : NULL;
  const OrrPlot *picture = strcmp(catalog->singular, "plot") == 0 ? orr_plot_find(name) : NULL;
  if (entry) return describe_entry(catalog, entry);
  if (picture) return describe_plot(picture);
  if (strcmp(catalog->singular, "sweep-name") == 0) {
    g_autofree char *sentence = orr_catalog_fact(catalog, library, name);
    g_auto(GStrv) known = orr_catalog_names(catalog, library);
    if (!sentence)
      return orr_cli_unknown(catalog->singular, name, (const char *const *)known, error);
    printf("%s: %s\n", name, sentence);
    return 0;
  }
  if (view) {
    printf("%s", view->sql);
    return 0;
  }
  if (strcmp(catalog->singular, "launch-format") == 0)
    return describe_launch_format(catalog, library, name, error);
  if (strcmp(catalog->singular, "validation-set") == 0) return describe_set(library, name, error);
  g_auto(GStrv) names = orr_catalog_names(catalog, library);
  const gboolean is_stack = strcmp(catalog->singular, "stack") == 0;
  g_autofree char *by_release = is_stack ? orr_stack_resolve(library, name) : NULL;
  if (by_release) return describe_document("stack", library, by_release, error);
  if (is_stack && !is_file(catalog, name)) return unknown_stack(library, name, error);
  g_autofree char *path =
      catalog->document ? orr_library_path(library, catalog->document, name) : NULL;
  if (!path && !is_file(catalog, name) &&
      !orr_library_alias(library, catalog->singular, name, NULL))
    return orr_cli_unknown(catalog->singular, name, (const char *const *)names, error);
  if (plot && strcmp(catalog->singular, "profile") == 0) return plot_profile(library, name, error);
  return describe_document(catalog->document, library, name, error);
}

static const OrrCommand *const parts[] = {&orr_verb_describe_schema, NULL};

const OrrCommand orr_verb_describe = {
    .verb = "describe",
    .group = "Look",
    .sentence = "Print one device, cluster, model, schedule, view ... in full.",
    .usage = "KIND NAME [--plot FILE] [--as FORMAT] [--collective OP [--algorithm NAME] [--size "
             "SIZE]] [--prices NAME] [--set PATH=VALUE ...]",
    .more = "A cluster prints counts, bisection bandwidth, hops and the oversubscription of each "
            "level, with a bill of its parts; with --prices what they cost, with --collective the "
            "flows on its links, with --as what another tool would print for it. A NAME can be a "
            "file (mine.yaml). A document ends with its YAML, with every default filled in. A "
            "profile prints its errors against rows that were left out.",
    .options = options,
    .run = run,
    .part = "option",
    .parts = parts,
};
