/*
 * validate_set.c - reads a set's scenario and table, and checks its `validation:` section: every
 * column has a meaning, every path exists, every referenced column is in the table.
 */
#include "sim/validate/validate_private.h"

#include "sim/base/yaml.h"

static const char *const text_words[ORR_VALIDATE_N_TEXTS] = {"label", "source", "note"};
static const char measured_prefix[] = "measured.";

const char *orr_validate_set_reference(const char *text) {
  const char *open = strchr(text, '<');
  return open && strchr(open, '>') ? open : NULL;
}

const OrrField *orr_validate_set_metric(const OrrValidateSet *set, const char *name) {
  g_autofree char *kebab = g_strdelimit(g_strdup(name), "_", '-');
  for (size_t i = 0; i < set->result->n_fields; i++) {
    const OrrField *field = &set->result->fields[i];
    if (strcmp(field->name, kebab) == 0)
      return field->kind == ORR_FIELD_REAL || field->kind == ORR_FIELD_INT ? field : NULL;
  }
  return NULL;
}

static void clear_target(gpointer data) { g_free(((OrrValidateTarget *)data)->name); }

static void clear_column(gpointer data) { g_array_unref(((OrrValidateColumn *)data)->targets); }

void orr_validate_set_free(OrrValidateSet *set) {
  if (!set) return;
  ORR_FREE(set->name, set->path);
  orr_node_free(set->tree);
  orr_node_free(set->meaning);
  orr_csv_free(set->csv);
  if (set->columns) g_array_unref(set->columns);
  g_free(set);
}

/* --- Columns --- */

static void report_metric(const OrrValidateSet *set, const char *name, OrrPlace place,
                          OrrDiags *diags) {
  g_autofree const char **names = g_new0(const char *, set->result->n_fields + 1);
  for (size_t i = 0, n = 0; i < set->result->n_fields; i++)
    if (orr_validate_set_metric(set, set->result->fields[i].name))
      names[n++] = set->result->fields[i].name;
  g_autofree char *nearest = g_strdelimit(g_strdup(orr_diag_nearest_word(name, names)), "-", '_');
  orr_diags_error(diags, place, "there is no result '%s' to compare with%s%s%s", name,
                  nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Checks that the scenario has the path; each row checks its own value. */
static gboolean check_path(const OrrValidateSet *set, const char *path, const char *column,
                           OrrPlace place, OrrDiags *diags) {
  g_autoptr(OrrNode) copy = orr_node_copy(set->tree);
  g_autoptr(GError) error = NULL;
  if (orr_field_set(&orr_scenario_table, copy, path, "1", &error)) return TRUE;
  orr_diags_error(
      diags, place,
      "column '%s' has no meaning: %s; give it one in validation: columns:, or ignore it", column,
      error->message);
  return FALSE;
}

static void add_target(const OrrValidateSet *set, OrrValidateColumn *column, const char *meaning,
                       const char *name, OrrPlace place, OrrDiags *diags) {
  OrrValidateTarget target = {.kind = ORR_VALIDATE_PATH};
  if (strcmp(meaning, "ignore") == 0) return;
  for (int i = 0; i < ORR_VALIDATE_N_TEXTS; i++)
    if (strcmp(meaning, text_words[i]) == 0) target.kind = (OrrValidateTargetKind)i;
  if (strcmp(meaning, "gpus") == 0) target.kind = ORR_VALIDATE_GPUS;
  if (g_str_has_prefix(meaning, measured_prefix)) {
    target.kind = ORR_VALIDATE_MEASURED;
    if (!orr_validate_set_metric(set, meaning + strlen(measured_prefix)))
      return report_metric(set, meaning + strlen(measured_prefix), place, diags);
  }
  if (target.kind == ORR_VALIDATE_PATH && !check_path(set, meaning, name, place, diags)) return;
  target.name =
      g_strdup(target.kind == ORR_VALIDATE_MEASURED ? meaning + strlen(measured_prefix) : meaning);
  g_array_append_val(column->targets, target);
}

static void read_scale(const OrrValidateSet *set, const char *name, OrrValidateColumn *column,
                       OrrDiags *diags) {
  const OrrNode *scales = set->meaning ? orr_node_get(set->meaning, "scale") : NULL;
  const OrrNode *scale = scales ? orr_node_get(scales, name) : NULL;
  g_autoptr(GError) error = NULL;
  if (scale && scale->kind != ORR_NODE_SCALAR)
    orr_diags_error(diags, scale->place, "'scale' takes a number for column '%s'", name);
  else if (scale && !orr_quantity_parse(scale->text, ORR_UNIT_NONE, &column->scale, &error))
    orr_diags_error(diags, scale->place, "%s", error->message);
}

static void read_column(OrrValidateSet *set, const char *name, OrrPlace place, OrrDiags *diags) {
  OrrValidateColumn column = {g_array_new(FALSE, FALSE, sizeof(OrrValidateTarget)), NULL, 1};
  const OrrNode *columns = set->meaning ? orr_node_get(set->meaning, "columns") : NULL;
  const OrrNode *values = set->meaning ? orr_node_get(set->meaning, "values") : NULL;
  const OrrNode *meaning = columns ? orr_node_get(columns, name) : NULL;
  g_array_set_clear_func(column.targets, clear_target);
  column.values = values ? orr_node_get(values, name) : NULL;
  read_scale(set, name, &column, diags);
  if (!meaning)
    add_target(set, &column, name, name, place, diags);
  else if (meaning->kind == ORR_NODE_SCALAR)
    add_target(set, &column, meaning->text, name, meaning->place, diags);
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, meaning)) {
    if (item->kind == ORR_NODE_SCALAR)
      add_target(set, &column, item->text, name, item->place, diags);
  }
  if (meaning && meaning->kind == ORR_NODE_MAP)
    orr_diags_error(diags, meaning->place, "column '%s' takes a path, a list of paths, or ignore",
                    name);
  g_array_append_val(set->columns, column);
}

/* --- The section --- */

static void check_keys(const OrrNode *meaning, OrrDiags *diags) {
  static const char *const known[] = {"columns", "group", "scale", "together", "values", NULL};
  if (meaning->kind != ORR_NODE_MAP)
    return orr_diags_error(diags, meaning->place,
                           "'validation' takes a map of columns, group, scale, together, values");
  ORR_EACH_PAIR(key, value, meaning) {
    const char *nearest = orr_diag_nearest_word(key->text, known);
    if (!g_strv_contains(known, key->text))
      orr_diags_error(diags, key->place,
                      "unknown key '%s'%s%s%s (allowed: columns, group, scale, together, values)",
                      key->text, nearest ? ": did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
    else if (strcmp(key->text, "group") == 0) {
      if (value->kind != ORR_NODE_SCALAR)
        orr_diags_error(diags, value->place, "'group' takes a name");
    } else if (value->kind != ORR_NODE_MAP)
      orr_diags_error(diags, value->place, "'%s' takes a map of columns", key->text);
  }
}

/* Checks that every <column> in @value, a text or a map of paths or conditions and texts, is in the
 * table. */
static void check_references(const OrrValidateSet *set, const OrrNode *value, OrrDiags *diags) {
  ORR_EACH_PAIR(key, below, value) {
    check_references(set, key, diags);
    if (below->kind == ORR_NODE_SCALAR) check_references(set, below, diags);
  }
  const char *open =
      value->kind == ORR_NODE_SCALAR ? orr_validate_set_reference(value->text) : NULL;
  for (; open; open = orr_validate_set_reference(strchr(open, '>'))) {
    g_autofree char *column = g_strndup(open + 1, (gsize)(strchr(open, '>') - open - 1));
    const char *nearest = orr_diag_nearest_word(column, (const char *const *)set->csv->header);
    if (orr_csv_column(set->csv, column) < 0)
      orr_diags_error(diags, value->place, "<%s> is not a column of the table%s%s%s", column,
                      nearest ? ": did you mean <" : "", nearest ? nearest : "",
                      nearest ? ">?" : "");
  }
}

static void check_values(const OrrValidateSet *set, OrrDiags *diags) {
  const OrrNode *values = set->meaning ? orr_node_get(set->meaning, "values") : NULL;
  ORR_EACH_PAIR(name, by_cell, values) {
    if (by_cell->kind != ORR_NODE_MAP)
      orr_diags_error(diags, by_cell->place, "'%s' takes a map from cells to their meanings",
                      name->text);
    ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_MAP, by_cell)) check_references(set, item, diags);
  }
}

/* Checks settings by several columns: every column must exist, and every value be a map of
 * settings. */
static void check_together(const OrrValidateSet *set, OrrDiags *diags) {
  const OrrNode *together = set->meaning ? orr_node_get(set->meaning, "together") : NULL;
  ORR_EACH_PAIR(names, by_cells, together) {
    g_auto(GStrv) columns = g_strsplit(names->text, " ", -1);
    for (char **name = columns; *name; name++)
      if (orr_csv_column(set->csv, *name) < 0)
        orr_diags_error(diags, names->place,
                        "'together' names column '%s', which the table does not have", *name);
    if (by_cells->kind != ORR_NODE_MAP)
      orr_diags_error(diags, by_cells->place,
                      "'%s' takes a map of cells, joined by blanks, and their settings",
                      names->text);
    ORR_EACH_ITEM(settings, orr_node_as(ORR_NODE_MAP, by_cells)) {
      if (settings->kind != ORR_NODE_MAP)
        orr_diags_error(diags, settings->place,
                        "takes a map of paths and values, or {refuse: why}");
      check_references(set, settings, diags);
    }
  }
}

static void read_columns(OrrValidateSet *set, OrrDiags *diags) {
  const OrrCsvLine *line = set->csv->lines->pdata[set->csv->header_line];
  for (char **name = set->csv->header; *name; name++) {
    if (orr_csv_column(set->csv, *name) < name - set->csv->header)
      orr_diags_error(diags, line->place, "duplicate column '%s'", *name);
    read_column(set, *name, line->place, diags);
  }
  check_values(set, diags);
  check_together(set, diags);
  ORR_EACH(const OrrValidateColumn, column, set->columns) {
    ORR_EACH(const OrrValidateTarget, target, column->targets)
      if (target->kind == ORR_VALIDATE_MEASURED) return;
  }
  orr_diags_error(diags, line->place,
                  "no column measured.METRIC, so there is nothing to compare with");
}

/* The result table of the campaign, or of the workload's kind. An invalid workload is reported when
 * a row runs; until then its metrics are training's. */
static const OrrFieldTable *result_of(const OrrNode *tree) {
  if (orr_node_get(tree, "campaign")) return &orr_campaign_result_table;
  const OrrNode *workload = orr_node_get(tree, "workload");
  const OrrNode *kind =
      workload && workload->kind == ORR_NODE_MAP ? orr_node_get(workload, "kind") : workload;
  const OrrRunKind *known =
      kind && kind->kind == ORR_NODE_SCALAR ? orr_kinds_named(kind->text) : NULL;
  return known ? known->result : &orr_training_result_table;
}

static gboolean read_tree(OrrValidateSet *set, OrrLibrary *library, OrrDiags *diags) {
  set->tree = orr_scenario_tree(library, set->path, diags);
  if (!set->tree) return FALSE;
  const OrrNode *meaning = orr_node_get(set->tree, "validation");
  if (meaning) {
    check_keys(meaning, diags);
    set->meaning = orr_node_copy(meaning);
    orr_node_remove(set->tree, "validation");
  }
  set->result = result_of(set->tree);
  return orr_diags_n_errors(diags) == 0;
}

static void set_unknown(OrrLibrary *library, const char *name, GError **error) {
  g_auto(GStrv) known = orr_validation_sets(library);
  const char *nearest = orr_diag_nearest_word(name, (const char *const *)known);
  g_autofree char *all = g_strjoinv(", ", known);
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "unknown validation set '%s'%s%s%s (known: %s)",
              name, nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
              *all ? all : "none");
}

char **orr_validation_group(OrrLibrary *library, const char *group) {
  g_autoptr(GPtrArray) members = g_ptr_array_new();
  g_auto(GStrv) sets = orr_validation_sets(library);
  for (char **set = sets; *set; set++) {
    g_autofree char *path = orr_validation_path(library, *set);
    g_autoptr(OrrDiags) diags =
        orr_diags_new(); /* ignored: a broken file is reported when it runs */
    g_autoptr(OrrNode) tree = path ? orr_yaml_read_file(path, diags) : NULL;
    const OrrNode *meaning =
        tree && tree->kind == ORR_NODE_MAP ? orr_node_get(tree, "validation") : NULL;
    const OrrNode *name =
        meaning && meaning->kind == ORR_NODE_MAP ? orr_node_get(meaning, "group") : NULL;
    if (name && name->kind == ORR_NODE_SCALAR && strcmp(name->text, group) == 0)
      g_ptr_array_add(members, g_strdup(*set));
  }
  g_ptr_array_add(members, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&members), FALSE);
}

static char *table_path(const char *scenario_path) {
  gsize stem = strlen(scenario_path) - strlen(".yaml");
  return g_strdup_printf("%.*s.csv", (int)stem, scenario_path);
}

OrrValidateSet *orr_validate_set_read(OrrLibrary *library, const char *name, const char *rows_csv,
                                      GError **error) {
  g_autoptr(OrrValidateSet) set = g_new0(OrrValidateSet, 1);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  set->columns = g_array_new(FALSE, FALSE, sizeof(OrrValidateColumn));
  g_array_set_clear_func(set->columns, clear_column);
  set->path = orr_validation_path(library, name);
  if (!set->path) {
    set_unknown(library, name, error);
    return NULL;
  }
  g_autofree char *base = g_path_get_basename(set->path);
  set->name = g_strndup(base, strlen(base) - strlen(".yaml"));
  if (read_tree(set, library, diags)) {
    g_autofree char *own = table_path(set->path);
    set->csv = orr_csv_read(rows_csv ? rows_csv : own, diags, error);
    if (!set->csv) return NULL;
    read_columns(set, diags);
  }
  return orr_diags_check(diags, error) ? g_steal_pointer(&set) : NULL;
}

/* --- Rows for a scenario --- */

static const char concurrency_column[] = "concurrency", rate_column[] = "rate_per_s";

/* Columns of `import bench` whose name is neither a setting nor a result, and what they mean. */
static const struct {
  const char *column, *meaning;
} bench_columns[] = {{concurrency_column, "workload.load.concurrency"},
                     {rate_column, "workload.load.rate"},
                     {"requests", "workload.requests"},
                     {"input_tokens", "workload.input.tokens"},
                     {"output_tokens", "workload.output.tokens"},
                     {"global_batch", "workload.batch.global"},
                     {"in_flight", "measured.running_mean"},
                     {"tflops_per_gpu", "measured.model_tflops_per_gpu"},
                     {"tokens_per_gpu_s", "measured.tokens_per_s_per_gpu"},
                     {"update_time_s", "measured.update_s"},
                     {"generation_time_s", "ignore"},
                     {"samples_per_s", "ignore"},
                     {"memory_bytes", "ignore"}, /* tools print allocated or reserved bytes */
                     {"kv_cache_tokens", "ignore"},
                     {"kv_cache_bytes", "ignore"},
                     {"tool", "ignore"},
                     {"failed", "ignore"},
                     {"duration_s", "ignore"},
                     {"iterations", "ignore"},
                     {"warm_up_iterations", "ignore"}};

static gboolean is_result(const OrrValidateSet *set, const char *meaning) {
  return g_str_has_prefix(meaning, measured_prefix) &&
         orr_validate_set_metric(set, meaning + strlen(measured_prefix));
}

/* What the column @name means, newly allocated; NULL: what its name says. */
static char *meaning_of(const OrrValidateSet *set, const char *name) {
  g_autofree char *result = g_strconcat(measured_prefix, name, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(bench_columns); i++) {
    const char *meaning = bench_columns[i].meaning;
    if (strcmp(bench_columns[i].column, name) != 0) continue;
    if (!g_str_has_prefix(meaning, measured_prefix) || is_result(set, meaning))
      return g_strdup(meaning);
    return g_strdup(is_result(set, result) ? result : "ignore");
  }
  return is_result(set, result) ? g_steal_pointer(&result) : NULL;
}

/* A benchmark that sends all requests at once has this rate; its concurrency says what it does. */
static const char no_rate[] = "inf";

static gboolean has_rates(const OrrCsv *csv) {
  const int column = orr_csv_column(csv, rate_column);
  for (guint i = 0; column >= 0 && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (line->cells && *line->cells[column] && strcmp(line->cells[column], no_rate) != 0)
      return TRUE;
  }
  return FALSE;
}

/* The section `validation:` that a set would have. Next to a rate, the concurrency is the most
 * requests that clients keep in flight. */
static OrrNode *own_meaning(const OrrValidateSet *set, OrrDiags *diags) {
  g_autoptr(GString) text = g_string_new("columns:\n");
  const gsize empty = text->len;
  for (char **name = set->csv->header; *name; name++) {
    g_autofree char *meaning = meaning_of(set, *name);
    if (strcmp(*name, concurrency_column) == 0 && has_rates(set->csv))
      g_string_append_printf(text, "  %s: workload.max-concurrency\n", *name);
    else if (meaning && strcmp(*name, rate_column) == 0 && !has_rates(set->csv))
      g_string_append_printf(text, "  %s: ignore\n", *name);
    else if (meaning)
      g_string_append_printf(text, "  %s: %s\n", *name, meaning);
  }
  if (has_rates(set->csv))
    g_string_append_printf(text, "values:\n  %s: {%s: \"\"}\n", rate_column, no_rate);
  return text->len > empty ? orr_yaml_parse(text->str, text->len, set->path, diags) : NULL;
}

OrrValidateSet *orr_validate_set_of_tree(const OrrNode *tree, const char *path,
                                         const char *rows_csv, GError **error) {
  g_autoptr(OrrValidateSet) set = g_new0(OrrValidateSet, 1);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  set->columns = g_array_new(FALSE, FALSE, sizeof(OrrValidateColumn));
  g_array_set_clear_func(set->columns, clear_column);
  set->path = g_strdup(path);
  set->name = g_strdup("own rows");
  set->tree = orr_node_copy(tree);
  orr_node_remove(set->tree, "validation");
  set->result = result_of(set->tree);
  set->csv = orr_csv_read(rows_csv, diags, error);
  if (!set->csv) return NULL;
  set->meaning = own_meaning(set, diags);
  read_columns(set, diags);
  return orr_diags_check(diags, error) ? g_steal_pointer(&set) : NULL;
}
