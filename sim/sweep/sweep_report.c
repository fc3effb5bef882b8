/*
 * sweep_report.c - ranks points as their answers arrive; at most ORR_SWEEP_MOST_BEST best points
 * are kept, and the Pareto front.
 */
#include "sim/sweep/sweep_report.h"

#include "sim/sweep/sweep_combination.h"

static void clear_best(gpointer data) {
  OrrSweepBest *best = data;
  g_strfreev(best->settings);
  g_strfreev(best->again);
  ORR_FREE(best->likeness, best->bands);
}

/* The constraints on results; NULL: there is none. */
static char *wheres_of(const OrrSweepPlan *plan) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new();
  ORR_EACH_POINTER(const OrrSweepRule, rule, plan->wheres)
    if (rule->after) g_ptr_array_add(texts, rule->text);
  if (texts->len == 0) return NULL;
  g_ptr_array_add(texts, NULL);
  return g_strjoinv(", ", (char **)texts->pdata);
}

OrrSweepReport *orr_sweep_report_new(const OrrSweepPlan *plan) {
  OrrSweepReport *report = g_new0(OrrSweepReport, 1);
  report->n_combinations = plan->n_combinations;
  report->hash = g_strdup(plan->hash);
  report->n_objectives = plan->objectives->len;
  for (guint i = 0; i < plan->objectives->len; i++)
    report->objectives[i] = g_strdup(((const OrrSweepRule *)plan->objectives->pdata[i])->text);
  report->wheres = wheres_of(plan);
  report->best = g_array_new(FALSE, TRUE, sizeof(OrrSweepBest));
  report->front = g_array_new(FALSE, TRUE, sizeof(OrrSweepBest));
  report->refused = orr_sweep_reasons_new();
  report->caveats = g_ptr_array_new_with_free_func(g_free);
  g_array_set_clear_func(report->best, clear_best);
  g_array_set_clear_func(report->front, clear_best);
  return report;
}

void orr_sweep_report_free(OrrSweepReport *report) {
  if (!report) return;
  if (report->excluded) g_array_unref(report->excluded);
  g_array_unref(report->refused);
  g_ptr_array_unref(report->caveats);
  g_array_unref(report->best);
  g_array_unref(report->front);
  for (guint i = 0; i < report->n_objectives; i++) g_free(report->objectives[i]);
  ORR_FREE(report->hash, report->wheres, report->aside, report->left, report->band_note, report);
}

/* --- Ranking --- */

double orr_sweep_report_cost(const OrrSweepPlan *plan, const double *score, guint i) {
  return ((const OrrSweepRule *)plan->objectives->pdata[i])->maximize ? -score[i] : score[i];
}

static OrrSweepBest shown(const OrrSweepAnswer *answer) {
  OrrSweepBest one = {.point = answer->point,
                      .likeness = orr_sweep_likeness_unpack(&answer->likeness)};
  memcpy(one.score, answer->score, sizeof one.score);
  return one;
}

/* By the first objective; of equal points the first. */
static gboolean is_better(const OrrSweepPlan *plan, const OrrSweepBest *a, const OrrSweepBest *b) {
  const double mine = orr_sweep_report_cost(plan, a->score, 0),
               theirs = orr_sweep_report_cost(plan, b->score, 0);
  return mine < theirs || (mine == theirs && a->point < b->point);
}

/* FALSE: it is not among the best. */
static gboolean add_best(OrrSweepReport *report, const OrrSweepPlan *plan,
                         const OrrSweepAnswer *answer) {
  GArray *best = report->best;
  const OrrSweepBest mine = {.point = answer->point, .score = {answer->score[0]}};
  guint at = best->len;
  while (at > 0 && !is_better(plan, &g_array_index(best, OrrSweepBest, at - 1), &mine)) at--;
  if (at >= ORR_SWEEP_MOST_BEST) return FALSE;
  const OrrSweepBest one = shown(answer);
  g_array_insert_val(best, at, one);
  if (best->len > ORR_SWEEP_MOST_BEST) g_array_set_size(best, ORR_SWEEP_MOST_BEST);
  return TRUE;
}

/* Whether @a is at least as good as @b in every objective, and better in one; among equal points
 * the first dominates. */
static gboolean dominates(const OrrSweepPlan *plan, const double *a, guint64 point_a,
                          const double *b, guint64 point_b) {
  gboolean better = FALSE;
  for (guint i = 0; i < plan->objectives->len; i++) {
    if (orr_sweep_report_cost(plan, a, i) > orr_sweep_report_cost(plan, b, i)) return FALSE;
    better = better || orr_sweep_report_cost(plan, a, i) < orr_sweep_report_cost(plan, b, i);
  }
  return better || point_a < point_b;
}

/* FALSE: another point dominates it. */
static gboolean add_front(OrrSweepReport *report, const OrrSweepPlan *plan,
                          const OrrSweepAnswer *answer) {
  for (guint i = report->front->len; i-- > 0;) {
    const OrrSweepBest *other = &g_array_index(report->front, OrrSweepBest, i);
    if (dominates(plan, other->score, other->point, answer->score, answer->point)) return FALSE;
    if (dominates(plan, answer->score, answer->point, other->score, other->point))
      g_array_remove_index(report->front, i);
  }
  const OrrSweepBest one = shown(answer);
  guint at = 0;
  while (at < report->front->len &&
         is_better(plan, &g_array_index(report->front, OrrSweepBest, at), &one))
    at++;
  g_array_insert_val(report->front, at, one);
  return TRUE;
}

static void count_refused(OrrSweepReport *report, const OrrSweepAnswer *answer) {
  const char *word = orr_point_words[answer->status];
  g_autofree char *reason =
      *answer->reason ? g_strdup_printf("%s: %s", word, answer->reason) : g_strdup(word);
  orr_sweep_reasons_add(report->refused, reason, 1);
}

gboolean orr_sweep_report_add(OrrSweepReport *report, const OrrSweepPlan *plan,
                              const OrrSweepAnswer *answer) {
  report->n_done++;
  report->by_status[answer->status]++;
  for (guint i = 0; i < ORR_N_LEAP_LOOKS; i++) report->looks[i] += answer->looks[i];
  if (answer->status != ORR_POINT_OK)
    count_refused(report, answer);
  else if (!answer->eligible)
    report->n_failing++;
  if (answer->status != ORR_POINT_OK || !answer->eligible) return FALSE;
  for (guint i = 0; i < plan->objectives->len; i++)
    if (isnan(answer->score[i])) {
      report->n_valueless++;
      return FALSE;
    }
  const gboolean is_best = add_best(report, plan, answer);
  const gboolean is_front = plan->objectives->len > 1 && plan->section.prune != ORR_PRUNE_BEST &&
                            add_front(report, plan, answer);
  return is_best || is_front;
}

void orr_sweep_report_settings(OrrSweepReport *report, const OrrSweepPlan *plan, guint64 point,
                               guint64 combination) {
  GArray *const lists[] = {report->best, report->front};
  for (guint k = 0; k < G_N_ELEMENTS(lists); k++)
    ORR_EACH(OrrSweepBest, one, lists[k]) {
      if (one->point != point || one->settings) continue;
      one->combination = combination;
      one->settings = orr_sweep_combination_settings(plan, combination);
      one->again = orr_sweep_combination_again(plan, combination);
    }
}
