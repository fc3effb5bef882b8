/*
 * verb_describe_schema.c - orrery describe --schema KIND: prints the fields of a kind of document
 * or of a table of results, from the same field tables that read and write them.
 */
#include "sim/cli/documents.h"
#include "sim/plan/plan_serving.h"
#include "results/rows/rows.h"
#include "sim/sweep/sweep.h"
#include "sim/validate/validate_costs.h"
#include "workloads/workload.h"

static const GOptionEntry options[] = {
    ORR_OPTION_MARKDOWN("Markdown instead of JSON Schema"),
    {NULL},
};

/* Documents and tables of `orrery validate`, `orrery sweep` and `orrery plan`. */
static const OrrFieldTable *const others[] = {
    &orr_cost_validation_table, &orr_cost_error_table,    &orr_sweep_section_table,
    &orr_sweep_point_table,     &orr_sweep_band_table,    &orr_sweep_excluded_table,
    &orr_sweep_command_table,   &orr_plan_layout_table,   &orr_plan_rate_table,
    &orr_plan_sure_table,       &orr_validation_row_table};

/* The table of a kind that is not a document of the library. NULL: not found, and @names has the
 * names of all such tables. */
static const OrrFieldTable *find_table(const char *name, GPtrArray *names) {
  for (const OrrFieldTable *const *table = orr_row_tables; *table; table++) {
    if (strcmp(name, (*table)->name) == 0) return *table;
    g_ptr_array_add(names, (char *)(*table)->name);
  }
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    if (strcmp(name, others[i]->name) == 0) return others[i];
    g_ptr_array_add(names, (char *)others[i]->name);
  }
  return NULL;
}

static const OrrDocumentCode *find_document(const char *name, GPtrArray *names) {
  for (const OrrDocumentKind *kind = orr_document_kinds; kind->kind; kind++) {
    const OrrDocumentCode *code = orr_documents_find(kind->kind);
    if (code && strcmp(name, kind->kind) == 0) return code;
    if (code) g_ptr_array_add(names, (char *)kind->kind);
  }
  return NULL;
}

/* A workload document is a choice: `kind`, and next to it the parameters of that kind. */
static char *describe(const char *document, const OrrFieldTable *table) {
  if (document && strcmp(document, "workload") == 0)
    return orr_options.markdown ? orr_field_registry_markdown(&orr_workload_registry)
                                : orr_field_registry_json_schema(&orr_workload_registry, document);
  return orr_options.markdown ? orr_field_markdown(table) : orr_field_json_schema(table, document);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(
          args, 1, 1, "describe --schema takes one kind of document or table of results", error))
    return 2;
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  const OrrDocumentCode *code = find_document(args[0], names);
  const OrrFieldTable *table = code ? code->table : find_table(args[0], names);
  g_ptr_array_add(names, NULL);
  if (!table) return orr_cli_unknown("kind", args[0], (const char *const *)names->pdata, error);
  /* A set of measured kernels is a document too, although the library does not list it. */
  const char *document = code                                  ? code->kind
                         : table == &orr_cost_validation_table ? "cost-validation"
                                                               : NULL;
  g_autofree char *text = describe(document, table);
  printf("%s%s", text, g_str_has_suffix(text, "\n") ? "" : "\n");
  return 0;
}

const OrrCommand orr_verb_describe_schema = {
    .verb = "--schema",
    .sentence =
        "Print the fields of a document or of a table of results, as JSON Schema or Markdown.",
    .usage = "KIND [--markdown]",
    .more = "Kinds: device, cluster, model, profile, workload, scenario, sweep (its section), "
            "cost-validation; and the tables of results (training_result ...).",
    .options = options,
    .run = run,
};
