/*
 * sweep_plan.c - a document's sweep: section as axes, names, constraints and objectives, all
 * checked.
 */
#include <math.h>
#include <string.h>

#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_private.h"
#include "workloads/training/training.h"

/* --- Life --- */

static void rule_free(gpointer data) {
  OrrSweepRule *rule = data;
  orr_expression_free(rule->expression);
  g_free(rule->text);
  g_free(rule);
}

void orr_sweep_plan_free(OrrSweepPlan *plan) {
  if (!plan) return;
  orr_node_free(plan->tree);
  orr_scenario_free(plan->base);
  orr_field_clear(&orr_sweep_section_table, &plan->section);
  g_ptr_array_unref(plan->axes);
  g_array_unref(plan->names);
  g_ptr_array_unref(plan->wheres);
  g_ptr_array_unref(plan->objectives);
  g_free(plan->hash);
  g_free(plan->resolved);
  g_free(plan->file);
  g_free(plan);
}

static OrrSweepPlan *plan_new(OrrLibrary *library, const char *file) {
  OrrSweepPlan *plan = g_new0(OrrSweepPlan, 1);
  plan->file = g_strdup(file);
  plan->library = library;
  plan->axes = g_ptr_array_new_with_free_func((GDestroyNotify)orr_sweep_axis_free);
  plan->names = g_array_new(FALSE, TRUE, sizeof(OrrExpressionName));
  plan->wheres = g_ptr_array_new_with_free_func(rule_free);
  plan->objectives = g_ptr_array_new_with_free_func(rule_free);
  plan->schedule_axis = plan->chunks_axis = -1;
  return plan;
}

/* --- Combinations --- */

static const OrrSweepAxis *axis_at(const OrrSweepPlan *plan, guint i) {
  return plan->axes->pdata[i];
}

guint orr_sweep_value_index(const OrrSweepPlan *plan, guint64 combination, guint axis) {
  for (guint i = plan->n_axes - 1; i > axis; i--) combination /= axis_at(plan, i)->values->len;
  return (guint)(combination % axis_at(plan, axis)->values->len);
}

const OrrNode *orr_sweep_value(const OrrSweepPlan *plan, guint64 combination, guint axis) {
  return axis_at(plan, axis)->values->pdata[orr_sweep_value_index(plan, combination, axis)];
}

const OrrNode *orr_sweep_rung(const OrrSweepPlan *plan, guint rung) {
  const OrrSampler *sampler = (const OrrSampler *)plan->section.sampler.entry;
  return sampler->rung ? sampler->rung(plan->section.sampler.params, rung) : NULL;
}

/* --- Axes --- */

static gboolean is_split(const char *path) {
  return g_str_equal(path, "workload.parallel.tp") || g_str_equal(path, "workload.parallel.pp") ||
         g_str_equal(path, "workload.parallel.cp");
}

/* An open dp follows tp, pp and cp where these vary. Only a workload whose dp may be left open
 * has one to open: training does; serving has replicas instead, which do not follow. */
static gboolean open_dp(OrrSweepPlan *plan, const GPtrArray *names, OrrDiags *diags,
                        GError **error) {
  static const char dp[] = "workload.parallel.dp";
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, dp, &data);
  gboolean splits = FALSE;
  for (guint i = 0; i < names->len; i++) {
    const char *path = orr_sweep_path(names->pdata[i]);
    if (g_str_equal(path, dp)) return TRUE;
    splits = splits || is_split(path);
  }
  plan->dp_is_open = field && splits;
  if (!plan->dp_is_open) return TRUE;
  g_autoptr(OrrNode) open = orr_node_new_scalar(plan->tree->place, "0");
  return orr_field_assign(field, open, diags, data) &&
         orr_field_set(&orr_scenario_table, plan->tree, dp, open->text, error);
}

static gboolean is_plain(const OrrSweepPlan *plan, const char *path) {
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, path, &data);
  if (!field || !orr_field_is_plain(field) || g_str_has_prefix(path, "workload.pipeline."))
    return FALSE;
  return g_str_has_prefix(path, "workload.") || g_str_equal(path, "fidelity") ||
         g_str_equal(path, "engine");
}

/* The path must exist, and take each value that can be tried on its own. */
static gboolean check_axis(const OrrSweepPlan *plan, const OrrSweepAxis *axis, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) copy = orr_node_copy(plan->tree);
  const OrrNode *first = axis->values->pdata[0];
  if (strcmp(axis->name, "chunks") != 0 &&
      !orr_field_set(&orr_scenario_table, copy, axis->path, first->text, &error)) {
    orr_diags_error(diags, axis->place, "axis %s: %s", axis->name, error->message);
    return FALSE;
  }
  void *data = NULL;
  const OrrField *field =
      axis->is_plain ? orr_field_assign_member(&orr_scenario_table, plan->base, axis->path, &data)
                     : NULL;
  const guint before = orr_diags_n_errors(diags);
  char kept[sizeof(double)];
  const size_t size = field && (field->kind == ORR_FIELD_BOOL || field->kind == ORR_FIELD_WORD)
                          ? sizeof(int)
                          : sizeof kept;
  if (field) memcpy(kept, (char *)data + field->offset, size);
  for (guint i = 0; field && i < axis->values->len; i++)
    orr_field_assign(field, axis->values->pdata[i], diags, data);
  if (field) memcpy((char *)data + field->offset, kept, size);
  return orr_diags_n_errors(diags) == before;
}

static void add_axis(OrrSweepPlan *plan, const char *name, OrrPlace place, const OrrNode *spec,
                     OrrDiags *diags) {
  OrrValue facts[ORR_N_FACTS];
  orr_sweep_fill_facts(plan, plan->base, facts);
  const OrrSweepFacts known = {(const OrrExpressionName *)(void *)plan->names->data, facts,
                               ORR_N_FACTS, plan->base};
  OrrSweepAxis *axis = orr_sweep_axis_new(name, place, spec, &known, diags);
  if (!axis) return;
  for (guint i = 0; i < plan->axes->len; i++)
    if (g_str_equal(axis_at(plan, i)->path, axis->path)) {
      orr_diags_error(diags, place, "axis %s is there twice", axis->name);
      orr_sweep_axis_free(axis);
      return;
    }
  axis->is_plain = is_plain(plan, axis->path);
  if (g_str_equal(axis->name, "schedule")) plan->schedule_axis = (int)plan->axes->len;
  if (g_str_equal(axis->name, "chunks")) plan->chunks_axis = (int)plan->axes->len;
  g_ptr_array_add(plan->axes, axis);
  check_axis(plan, axis, diags);
}

static const char *const whole_space[] = {
    "tp", "pp", "cp", "ep", "schedule", "chunks", "micro-batch", "recompute", "sharding", NULL};

/* Experts are what ep shares out: without them there is nothing to try. */
static gboolean has_experts(const OrrSweepPlan *plan) {
  static const char *const paths[] = {"model.experts", "model.moe.experts", "model.n-experts",
                                      NULL};
  double n = 0;
  for (guint i = 0; paths[i]; i++) {
    void *data = NULL;
    const OrrField *field =
        orr_field_assign_member(&orr_scenario_table, plan->base, paths[i], &data);
    if (field && orr_field_number(field, data, &n) && n > 1) return TRUE;
  }
  return FALSE;
}

static gboolean is_axis(const OrrSweepPlan *plan, const char *name) {
  const OrrNode *axes = plan->section.axes;
  for (guint i = 0; axes && i < orr_node_length(axes); i++)
    if (g_str_equal(orr_sweep_path(((const OrrNode *)axes->keys->pdata[i])->text),
                    orr_sweep_path(name)))
      return TRUE;
  return FALSE;
}

static void add_space(OrrSweepPlan *plan, OrrDiags *diags) {
  const OrrNode *space = plan->section.space;
  if (!space) return;
  g_autoptr(OrrNode) all = orr_node_new_scalar(space->place, "all");
  if (space->kind == ORR_NODE_LIST) {
    for (guint i = 0; i < orr_node_length(space); i++) {
      const OrrNode *item = space->items->pdata[i];
      if (item->kind != ORR_NODE_SCALAR)
        orr_diags_error(diags, item->place, "space: a short name of an axis is wanted");
      else if (!is_axis(plan, item->text))
        add_axis(plan, item->text, item->place, all, diags);
    }
  } else if (space->kind == ORR_NODE_SCALAR && g_str_equal(space->text, "all")) {
    for (guint i = 0; whole_space[i]; i++)
      if (!is_axis(plan, whole_space[i]) &&
          (!g_str_equal(whole_space[i], "ep") || has_experts(plan)))
        add_axis(plan, whole_space[i], space->place, all, diags);
  } else {
    orr_diags_error(diags, space->place, "space is the word all, or a list of short names of axes");
  }
}

static void add_axes(OrrSweepPlan *plan, OrrDiags *diags) {
  const OrrNode *axes = plan->section.axes;
  add_space(plan, diags);
  if (axes && axes->kind != ORR_NODE_MAP) {
    orr_diags_error(diags, axes->place, "axes is a map of paths and their values");
    return;
  }
  for (guint i = 0; axes && i < orr_node_length(axes); i++) {
    const OrrNode *key = axes->keys->pdata[i];
    add_axis(plan, key->text, key->place, axes->items->pdata[i], diags);
  }
  plan->n_axes = plan->axes->len;
}

/* --- Names --- */

static void add_name(OrrSweepPlan *plan, const char *name, OrrValueType type) {
  const OrrExpressionName entry = {name, type};
  g_array_append_val(plan->names, entry);
}

static void add_names(OrrSweepPlan *plan) {
  plan->first_axis = plan->names->len;
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < plan->n_axes; i++)
      add_name(plan, pass ? axis_at(plan, i)->path : axis_at(plan, i)->name,
               axis_at(plan, i)->is_number ? ORR_VALUE_NUMBER : ORR_VALUE_TEXT);
  plan->first_result = plan->names->len;
  const OrrFieldTable *result = plan->kind->result;
  for (size_t i = 0; i < result->n_fields; i++) {
    const OrrField *field = &result->fields[i];
    if (field->kind == ORR_FIELD_INT || field->kind == ORR_FIELD_REAL ||
        field->kind == ORR_FIELD_BOOL)
      add_name(plan, field->name,
               field->kind == ORR_FIELD_BOOL ? ORR_VALUE_TRUTH : ORR_VALUE_NUMBER);
  }
  plan->first_derived = plan->names->len;
  for (guint i = 0; i < ORR_N_DERIVED; i++)
    add_name(plan, orr_sweep_derived[i].name, orr_sweep_derived[i].type);
}

/* --- Rules --- */

static OrrExpression *parse(const OrrSweepPlan *plan, const char *text, OrrPlace place,
                            OrrDiags *diags) {
  return orr_expression_parse(text, place, (const OrrExpressionName *)(void *)plan->names->data,
                              plan->names->len, diags);
}

static void add_rule(OrrSweepPlan *plan, GPtrArray *rules, const char *written,
                     OrrExpression *expression, gboolean maximize) {
  OrrSweepRule *rule = g_new0(OrrSweepRule, 1);
  rule->expression = expression;
  rule->maximize = maximize;
  rule->text = g_strdup(written);
  for (guint slot = plan->first_result; slot < plan->names->len; slot++)
    rule->after = rule->after || orr_expression_uses(expression, slot);
  g_ptr_array_add(rules, rule);
}

static OrrPlace text_place(const OrrNode *node) {
  OrrPlace place = node->place;
  place.column += node->quoted;
  return place;
}

static void add_where(OrrSweepPlan *plan, const OrrNode *node, OrrDiags *diags) {
  if (node->kind != ORR_NODE_SCALAR) {
    orr_diags_error(diags, node->place, "where: an expression is wanted");
    return;
  }
  OrrExpression *expression = parse(plan, node->text, text_place(node), diags);
  if (!expression) return;
  orr_sweep_check_needs(plan, expression, node->place, diags);
  if (orr_expression_type(expression) == ORR_VALUE_TRUTH) {
    add_rule(plan, plan->wheres, node->text, expression, FALSE);
    return;
  }
  orr_diags_error(diags, node->place,
                  "where: '%s' is neither true nor false: compare it with something", node->text);
  orr_expression_free(expression);
}

static void add_objective(OrrSweepPlan *plan, const OrrNode *node, OrrDiags *diags) {
  const char *text = node->kind == ORR_NODE_SCALAR ? node->text : "";
  const gboolean maximize = g_str_has_prefix(text, "maximize ");
  if (!maximize && !g_str_has_prefix(text, "minimize ")) {
    orr_diags_error(diags, node->place,
                    "objective wants minimize or maximize and an expression, found '%s'", text);
    return;
  }
  OrrPlace place = text_place(node);
  const gsize skipped = strlen("minimize ");
  place.column += (int)skipped;
  OrrExpression *expression = parse(plan, text + skipped, place, diags);
  if (!expression) return;
  orr_sweep_check_needs(plan, expression, place, diags);
  if (orr_expression_type(expression) != ORR_VALUE_TEXT) {
    add_rule(plan, plan->objectives, text, expression, maximize);
    return;
  }
  orr_diags_error(diags, place, "objective: '%s' is text, and has no smallest", text + skipped);
  orr_expression_free(expression);
}

static void each_of(OrrSweepPlan *plan, const OrrNode *node, OrrDiags *diags,
                    void (*add)(OrrSweepPlan *, const OrrNode *, OrrDiags *)) {
  if (!node) return;
  if (node->kind != ORR_NODE_LIST) {
    add(plan, node, diags);
    return;
  }
  for (guint i = 0; i < orr_node_length(node); i++) add(plan, node->items->pdata[i], diags);
}

/* What a user of this kind of workload would look at first. */
static const char *default_objective(const OrrSweepPlan *plan) {
  static const char *const known[] = {"iteration-time-s",
                                      "minimize iteration_time_s",
                                      "output-tokens-per-s",
                                      "maximize output_tokens_per_s",
                                      "time-s",
                                      "minimize time_s"};
  for (guint k = 0; k < G_N_ELEMENTS(known); k += 2)
    for (size_t i = 0; i < plan->kind->result->n_fields; i++)
      if (g_str_equal(plan->kind->result->fields[i].name, known[k])) return known[k + 1];
  return "";
}

static void add_rules(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags) {
  each_of(plan, plan->section.where, diags, add_where);
  if (!plan->section.objective) {
    g_autoptr(OrrNode) node = orr_node_new_scalar(sweep->place, default_objective(plan));
    add_objective(plan, node, diags);
  }
  each_of(plan, plan->section.objective, diags, add_objective);
  if (plan->objectives->len > ORR_SWEEP_MOST_OBJECTIVES)
    orr_diags_error(diags, plan->section.objective->place, "%u objectives, and the most is %d",
                    plan->objectives->len, ORR_SWEEP_MOST_OBJECTIVES);
}

/* --- The whole --- */

static void count_combinations(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags) {
  plan->n_combinations = 1;
  for (guint i = 0; i < plan->n_axes; i++)
    if (!g_uint64_checked_mul(&plan->n_combinations, plan->n_combinations,
                              axis_at(plan, i)->values->len) ||
        plan->n_combinations > (G_GUINT64_CONSTANT(1) << 40)) {
      orr_diags_error(diags, sweep->place, "the axes have more than 2^40 combinations");
      plan->n_combinations = 1;
      return;
    }
}

static void check_rungs(const OrrSweepPlan *plan, OrrDiags *diags) {
  const OrrSampler *sampler = (const OrrSampler *)plan->section.sampler.entry;
  const guint n = sampler->n_rungs ? sampler->n_rungs(plan->section.sampler.params) : 0;
  for (guint r = 0; r < n; r++) {
    const OrrNode *rung = orr_sweep_rung(plan, r);
    g_autoptr(OrrNode) copy = orr_node_copy(plan->tree);
    for (guint i = 0; rung && i < orr_node_length(rung); i++) {
      const OrrNode *key = rung->keys ? rung->keys->pdata[i] : NULL, *value = rung->items->pdata[i];
      g_autoptr(GError) error = NULL;
      if (!key || value->kind != ORR_NODE_SCALAR)
        orr_diags_error(diags, rung->place, "rungs: a map of paths and single values is wanted");
      else if (!orr_field_set(&orr_scenario_table, copy, key->text, value->text, &error))
        orr_diags_error(diags, key->place, "rungs: %s", error->message);
    }
  }
}

static void hash_plan(OrrSweepPlan *plan, const OrrNode *sweep) {
  g_autofree char *base = orr_scenario_resolved(plan->base), *own = orr_yaml_text(sweep);
  g_auto(GStrv) lines = g_strsplit(own, "\n", -1);
  g_autofree char *indented = g_strjoinv("\n  ", lines);
  plan->resolved = g_strconcat(base, "sweep:\n  ", indented, NULL);
  g_strchomp(plan->resolved);
  plan->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, plan->resolved, -1);
}

/* Names of all axes as the section says them, before any is read. */
static GPtrArray *asked_names(const OrrNode *sweep) {
  GPtrArray *names = g_ptr_array_new();
  const OrrNode *axes = orr_node_get(sweep, "axes"), *space = orr_node_get(sweep, "space");
  for (guint i = 0; axes && axes->keys && i < axes->keys->len; i++)
    g_ptr_array_add(names, ((const OrrNode *)axes->keys->pdata[i])->text);
  for (guint i = 0; space && space->kind == ORR_NODE_LIST && i < orr_node_length(space); i++)
    if (((const OrrNode *)space->items->pdata[i])->text)
      g_ptr_array_add(names, ((const OrrNode *)space->items->pdata[i])->text);
  if (space && space->kind == ORR_NODE_SCALAR) g_ptr_array_add(names, (char *)"tp");
  return names;
}

static gboolean read_plan(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags,
                          GError **error) {
  g_autoptr(GPtrArray) names = asked_names(sweep);
  const gboolean is_read =
      orr_field_read(&orr_sweep_section_table, sweep, plan->library, diags, &plan->section);
  plan->base = orr_scenario_read_fields(plan->library, plan->tree, diags);
  if (!is_read || !plan->base) return FALSE;
  if (orr_scenario_has_jobs(plan->base)) {
    orr_diags_error(diags, sweep->place,
                    "a sweep varies one workload, and the scenario has several jobs");
    return FALSE;
  }
  if (!open_dp(plan, names, diags, error)) return FALSE;
  plan->kind = orr_run_kind((const OrrWorkloadKind *)plan->base->workload.entry);
  for (guint i = 0; i < ORR_N_FACTS; i++)
    add_name(plan, orr_sweep_facts[i].name, orr_sweep_facts[i].type);
  add_axes(plan, diags);
  if (orr_diags_n_errors(diags) == 0 && plan->n_axes == 0)
    orr_diags_error(diags, sweep->place, "a sweep wants axes, or a space");
  add_names(plan);
  add_rules(plan, sweep, diags);
  check_rungs(plan, diags);
  count_combinations(plan, sweep, diags);
  hash_plan(plan, sweep);
  return orr_diags_n_errors(diags) == 0;
}

OrrSweepPlan *orr_sweep_plan_new(OrrLibrary *library, const char *file, char **settings,
                                 OrrDiags *diags, GError **error) {
  g_autoptr(OrrSweepPlan) plan = plan_new(library, file);
  GError *failure = NULL;
  plan->tree = orr_scenario_tree(library, file, diags);
  if (!plan->tree || !orr_settings_apply(&orr_scenario_table, plan->tree, settings, error))
    return NULL;
  const OrrNode *found = orr_node_get(plan->tree, "sweep");
  if (!found || found->kind != ORR_NODE_MAP) {
    orr_diags_error(diags, found ? found->place : plan->tree->place,
                    "the scenario has no sweep: section with axes");
    return NULL;
  }
  g_autoptr(OrrNode) sweep = orr_node_copy(found);
  orr_node_remove(plan->tree, "sweep");
  const gboolean is_read = read_plan(plan, sweep, diags, &failure);
  if (failure) g_propagate_error(error, failure);
  return is_read && !failure ? g_steal_pointer(&plan) : NULL;
}

void orr_sweep_check_document(OrrLibrary *library, const char *file, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrSweepPlan) plan = orr_sweep_plan_new(library, file, NULL, diags, &error);
  if (!plan && error)
    orr_diags_error(diags, (OrrPlace){g_intern_string(file), 0, 0, NULL}, "sweep: %s",
                    error->message);
}
