/*
 * verb_list.c - orrery list [KIND]: prints the names in a catalog with one sentence each, or the
 * catalogs.
 */
#include "sim/base/json_write.h"
#include "sim/cli/documents.h"

static const GOptionEntry options[] = {
    ORR_OPTION_JSON("an array of JSON objects"),
    {NULL},
};

static void print(char **names, GPtrArray *facts) {
  gsize width = 0;
  for (guint i = 0; i < facts->len; i++) width = MAX(width, strlen(names[i]));
  for (guint i = 0; i < facts->len; i++) orr_show_entry(names[i], width, facts->pdata[i]);
}

static void print_json(char **names, GPtrArray *facts) {
  g_autoptr(GString) out = g_string_new("[");
  for (guint i = 0; i < facts->len; i++) {
    orr_json_write_element(out, "\n ");
    orr_json_write_text(out, "name", names[i]);
    orr_json_write_text(out, "fact", facts->pdata[i]);
    g_string_append_c(out, '}');
  }
  printf("%s%s]\n", out->str, facts->len > 0 ? "\n" : "");
}

static void list_catalogs(GStrvBuilder *names, GPtrArray *facts) {
  for (const OrrCatalog *catalog = orr_catalogs; catalog->plural; catalog++) {
    g_strv_builder_add(names, catalog->plural);
    g_ptr_array_add(facts, g_strdup(catalog->sentence));
  }
}

static gboolean is_of_library(const OrrCatalog *catalog) {
  return catalog && (catalog->document || strcmp(catalog->plural, "validation-sets") == 0);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  g_autoptr(GPtrArray) facts = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
  if (!orr_cli_check_args(args, 0, 1, "list takes one kind, or none to list the kinds", error))
    return 2;
  const OrrCatalog *catalog = args[0] ? orr_catalog_find(args[0], error) : NULL;
  if (args[0] && !catalog) return 2;
  if (!catalog) list_catalogs(builder, facts);
  g_auto(GStrv) names = catalog ? orr_catalog_names(catalog, library) : g_strv_builder_end(builder);
  g_autofree char *missing = is_of_library(catalog) ? orr_library_missing(library) : NULL;
  if (missing && !*names) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", missing);
    return 1;
  }
  if (missing) orr_show_problem("%s", missing);
  for (char **name = names; catalog && *name; name++)
    g_ptr_array_add(facts, orr_catalog_fact(catalog, library, *name));
  if (orr_options.json)
    print_json(names, facts);
  else
    print(names, facts);
  return 0;
}

const OrrCommand orr_verb_list = {
    .verb = "list",
    .group = "Look",
    .sentence = "List the available devices, clusters, models, schedules, views ...",
    .usage = "[KIND] [--json]",
    .more = "Without KIND, lists the kinds.",
    .options = options,
    .run = run,
};
