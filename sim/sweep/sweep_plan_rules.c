/*
 * sweep_plan_rules.c - reads `where:` and `objective:` into expressions.
 *
 * A constraint on facts and axes decides which combinations become points; one that uses a result
 * decides, after the simulation, which points can be the best.
 */
#include "sim/sweep/sweep_private.h"

void orr_sweep_plan_rules_free(OrrSweepRule *rule) {
  if (!rule) return;
  orr_expression_free(rule->expression);
  ORR_FREE(rule->text, rule);
}

static OrrExpression *parse(const OrrSweepPlan *plan, const char *text, OrrPlace place,
                            OrrDiags *diags) {
  if (orr_sweep_needs_refuse_moved(text, place, diags)) return NULL;
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

/* The place of the text within its quotes. */
static OrrPlace text_place(const OrrNode *node) {
  OrrPlace place = node->place;
  place.column += node->quoted;
  return place;
}

static void add_where(OrrSweepPlan *plan, const OrrNode *node, OrrDiags *diags) {
  if (node->kind != ORR_NODE_SCALAR)
    return orr_diags_error(diags, node->place, "where takes expressions");
  OrrExpression *expression = parse(plan, node->text, text_place(node), diags);
  if (!expression) return;
  orr_sweep_needs_check(plan, expression, node->place, diags);
  if (orr_expression_type(expression) == ORR_VALUE_TRUTH)
    return add_rule(plan, plan->wheres, node->text, expression, FALSE);
  orr_diags_error(diags, node->place, "where: '%s' is not a condition: compare it with something",
                  node->text);
  orr_expression_free(expression);
}

static void add_objective(OrrSweepPlan *plan, const OrrNode *node, OrrDiags *diags) {
  const char *text = node->kind == ORR_NODE_SCALAR ? node->text : "";
  const gboolean maximize = g_str_has_prefix(text, "maximize ");
  if (!maximize && !g_str_has_prefix(text, "minimize "))
    return orr_diags_error(diags, node->place,
                           "objective takes minimize or maximize and an expression, found '%s'",
                           text);
  OrrPlace place = text_place(node);
  const gsize skipped = strlen("minimize ");
  place.column += (int)skipped;
  OrrExpression *expression = parse(plan, text + skipped, place, diags);
  if (!expression) return;
  orr_sweep_needs_check(plan, expression, place, diags);
  if (orr_expression_type(expression) != ORR_VALUE_TEXT)
    return add_rule(plan, plan->objectives, text, expression, maximize);
  orr_diags_error(diags, place, "objective: '%s' is text, and only numbers can be minimized",
                  text + skipped);
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

/* The most common objective for this kind of workload. */
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

void orr_sweep_plan_rules_add(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags) {
  each_of(plan, plan->section.where, diags, add_where);
  if (!plan->section.objective) {
    g_autoptr(OrrNode) node = orr_node_new_scalar(sweep->place, default_objective(plan));
    add_objective(plan, node, diags);
  }
  each_of(plan, plan->section.objective, diags, add_objective);
  if (plan->objectives->len > ORR_SWEEP_MOST_OBJECTIVES)
    orr_diags_error(diags, plan->section.objective->place, "%u objectives, at most %d are allowed",
                    plan->objectives->len, ORR_SWEEP_MOST_OBJECTIVES);
}
