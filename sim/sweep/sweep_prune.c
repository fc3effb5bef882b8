/*
 * sweep_prune.c - which objectives can be bounded, and which points a bound rules out.
 *
 * Order. A point that rules another out is as good as its bound in every objective, so its own
 * bound is, too. Candidates are cut into layers: the front of all bounds, the front of the rest,
 * and so on. Points of a layer cannot rule each other out, so they can be simulated at the same
 * time, and what rules a point out is in a layer before. The points with the best bounds by the
 * first objective come before all layers: most of the ten best are among them.
 *
 *   candidates   pruned . chosen . . pruned pruned chosen | to be judged ...
 *   chosen       0 1 2 3 ... merged | answered or not, at most ORR_PRUNE_WINDOW | next
 */
#include "sim/sweep/sweep_prune.h"

#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_report.h"

/* --- What can be bounded --- */

/* Results that follow from a step's time alone, as expressions name them. */
static const struct {
  const char *name;
  gboolean maximize; /* a shorter step makes it larger; FALSE: smaller */
} timed[] = {
    {"iteration-time-s", FALSE},
    {"tokens-per-s", TRUE},
    {"tokens-per-s-per-gpu", TRUE},
    {"model-tflops-per-gpu", TRUE},
    {"hardware-tflops-per-gpu", TRUE},
    {"mfu", TRUE},
    {"hfu", TRUE},
    /* bounded by the hardware's part of them */
    {"cost-per-step", FALSE},
    {"cost-per-million-tokens", FALSE},
    {"cost-per-run", FALSE},
};

/* Results that a step's time does not change. */
static const char *const timeless[] = {"n-gpus",
                                       "tp",
                                       "pp",
                                       "dp",
                                       "cp",
                                       "micro-batches",
                                       "peak-tflops-per-gpu",
                                       "padding-fraction",
                                       "memory-peak-bytes",
                                       "allocator-peak-bytes",
                                       "headroom-bytes",
                                       "host-memory-peak-bytes",
                                       "host-headroom-bytes",
                                       "fits",
                                       "memory_headroom_bytes",
                                       NULL};

/* Whether @text is the name and nothing else; '-' and '_' are equal in names. */
static gboolean is_name(const char *text, const char *name) {
  g_autofree char *a = g_strdelimit(g_strstrip(g_strdup(text)), "_", '-');
  g_autofree char *b = g_strdelimit(g_strdup(name), "_", '-');
  return g_str_equal(a, b);
}

static gboolean can_bound(const OrrSweepPlan *plan, const OrrSweepRule *rule) {
  gboolean depends = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(timed); i++)
    if (timed[i].maximize == rule->maximize &&
        is_name(orr_expression_text(rule->expression), timed[i].name))
      return TRUE;
  for (guint slot = plan->first_result; slot < plan->names->len; slot++)
    depends =
        depends ||
        (orr_expression_uses(rule->expression, slot) &&
         !g_strv_contains(timeless, g_array_index(plan->names, OrrExpressionName, slot).name));
  return !depends;
}

static char *all_timed(void) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(timed); i++)
    g_string_append_printf(text, "%s%s %s", i > 0 ? ", " : "",
                           timed[i].maximize ? "maximize" : "minimize", timed[i].name);
  return g_strdelimit(g_string_free(text, FALSE), "-", '_');
}

void orr_sweep_prune_check(const OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags) {
  const OrrNode *key = orr_node_get(sweep, "prune");
  if (plan->section.prune == ORR_PRUNE_NONE || !key) return;
  if (!plan->kind->outline)
    return orr_diags_error(diags, key->place,
                           "prune: no bound of a %s workload is known: remove it, or set none",
                           plan->kind->kind->entry.name);
  ORR_EACH_POINTER(const OrrSweepRule, rule, plan->objectives) {
    if (can_bound(plan, rule)) continue;
    g_autofree char *allowed = all_timed();
    orr_diags_error(diags, key->place,
                    "prune: no bound of '%s' is known; known are %s, and every expression of "
                    "facts, axes and memory",
                    rule->text, allowed);
  }
}

/* --- Candidates --- */

typedef struct {
  OrrSweepTask task;
  double least_s;
  double score[ORR_SWEEP_MOST_OBJECTIVES]; /* the bounds of the objectives */
  gint layer;
} Candidate;

/* A point that was chosen. */
typedef struct {
  OrrSweepTask task;
  OrrSweepAnswer *answer; /* owned; NULL: not answered yet, or merged */
} Chosen;

struct OrrSweepPrune {
  const OrrSweepPlan *plan;
  GArray *candidates;   /* of Candidate; best bound first once the first is judged */
  guint at;             /* the next one to judge */
  GArray *chosen;       /* of Chosen */
  guint n_taken;        /* chosen points that orr_sweep_prune_next returned, */
  guint n_merged;       /* and those whose answers are in @seen */
  OrrSweepReport *seen; /* what decides: the answers of earlier runs, and the merged ones */
};

static void clear_chosen(gpointer data) { g_free(((Chosen *)data)->answer); }

OrrSweepPrune *orr_sweep_prune_new(const OrrSweepPlan *plan) {
  if (plan->section.prune == ORR_PRUNE_NONE) return NULL;
  OrrSweepPrune *prune = g_new0(OrrSweepPrune, 1);
  prune->plan = plan;
  prune->candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
  prune->chosen = g_array_new(FALSE, FALSE, sizeof(Chosen));
  g_array_set_clear_func(prune->chosen, clear_chosen);
  prune->seen = orr_sweep_report_new(plan);
  return prune;
}

void orr_sweep_prune_free(OrrSweepPrune *prune) {
  if (!prune) return;
  g_array_unref(prune->candidates);
  g_array_unref(prune->chosen);
  orr_sweep_report_free(prune->seen);
  g_free(prune);
}

void orr_sweep_prune_recall(OrrSweepPrune *prune, const OrrSweepAnswer *answer) {
  orr_sweep_report_add(prune->seen, prune->plan, answer);
}

void orr_sweep_prune_add(OrrSweepPrune *prune, const OrrSweepAnswer *bound) {
  Candidate one = {{bound->point, bound->combination, ORR_SWEEP_SIMULATE}, bound->least_s, {0}};
  memcpy(one.score, bound->score, sizeof one.score);
  g_array_append_val(prune->candidates, one);
}

static gint compare_costs(double a, double b) {
  return isnan(a) || isnan(b) ? isnan(b) - isnan(a) : (a > b) - (a < b); /* what has none first */
}

/* The objective that makes layers with the first one. They decide on nothing but the order, so two
 * are enough. */
static guint second_of(const OrrSweepPlan *plan) {
  return plan->section.prune == ORR_PRUNE_FRONT ? plan->objectives->len - 1 : 0;
}

/* By layer, then by the bounds of the two objectives. */
static gint compare(gconstpointer a, gconstpointer b, gpointer user) {
  const Candidate *x = a, *y = b;
  const OrrSweepPlan *plan = user;
  const guint both[] = {0, second_of(plan)};
  if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
  for (guint k = 0; k < G_N_ELEMENTS(both); k++) {
    const gint order = compare_costs(orr_sweep_report_cost(plan, x->score, both[k]),
                                     orr_sweep_report_cost(plan, y->score, both[k]));
    if (order != 0) return order;
  }
  return (x->task.point > y->task.point) - (x->task.point < y->task.point);
}

/* The first layer none of whose points is at least as good in the second objective. @least: the
 * best cost of each layer, which rises with the layer. */
static guint layer_of(const GArray *least, double cost) {
  guint from = 0, to = least->len;
  while (from < to) {
    const guint middle = (from + to) / 2;
    if (g_array_index(least, double, middle) <= cost)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* With one objective, a layer is a point. */
static void sort(OrrSweepPrune *prune) {
  const OrrSweepPlan *plan = prune->plan;
  GArray *all = prune->candidates;
  g_autoptr(GArray) least = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_sort_with_data(all, compare, (gpointer)plan);
  ORR_EACH_AT(i, Candidate, one, all) {
    const double cost = orr_sweep_report_cost(plan, one->score, second_of(plan));
    const guint layer = isnan(cost) ? 0 : layer_of(least, cost);
    one->layer = i < ORR_SWEEP_MOST_BEST ? -1 : (gint)layer;
    if (isnan(cost)) continue;
    if (layer == least->len) g_array_append_val(least, cost);
    g_array_index(least, double, layer) = cost;
  }
  g_array_sort_with_data(all, compare, (gpointer)plan);
}

/* --- Judging --- */

/* Whether ten points are better than the candidate can be. */
static gboolean is_not_best(const OrrSweepPlan *plan, const OrrSweepReport *report,
                            const Candidate *one) {
  if (report->best->len < ORR_SWEEP_MOST_BEST) return FALSE;
  const OrrSweepBest *last = &g_array_index(report->best, OrrSweepBest, ORR_SWEEP_MOST_BEST - 1);
  return orr_sweep_report_cost(plan, last->score, 0) < orr_sweep_report_cost(plan, one->score, 0);
}

/* Whether @other is at least as good as the candidate can be, and better in one objective. */
static gboolean beats(const OrrSweepPlan *plan, const OrrSweepBest *other, const Candidate *one) {
  gboolean better = FALSE;
  for (guint i = 0; i < plan->objectives->len; i++) {
    const double theirs = orr_sweep_report_cost(plan, other->score, i),
                 mine = orr_sweep_report_cost(plan, one->score, i);
    if (!(theirs <= mine)) return FALSE;
    better = better || theirs < mine;
  }
  return better;
}

static gboolean is_not_front(const OrrSweepPlan *plan, const OrrSweepReport *report,
                             const Candidate *one) {
  for (guint i = 0; i < report->front->len; i++)
    if (beats(plan, &g_array_index(report->front, OrrSweepBest, i), one)) return TRUE;
  return FALSE;
}

static const char *reason_to_prune(const OrrSweepPlan *plan, const OrrSweepReport *report,
                                   const Candidate *one) {
  const gboolean front = plan->section.prune == ORR_PRUNE_FRONT && plan->objectives->len > 1;
  if (!is_not_best(plan, report, one)) return NULL;
  if (!front) return "its bound is worse than ten points";
  return is_not_front(plan, report, one) ? "its bound is worse than ten points and than the front"
                                         : NULL;
}

/* --- Choosing --- */

void orr_sweep_prune_take(OrrSweepPrune *prune, const OrrSweepAnswer *answer) {
  for (guint i = prune->n_merged; i < prune->chosen->len; i++) {
    Chosen *one = &g_array_index(prune->chosen, Chosen, i);
    if (one->task.point != answer->point) continue;
    one->answer = g_memdup2(answer, sizeof *answer);
    return;
  }
}

/* Merges the answers that decide on the next point; FALSE: one of them is not there yet. */
static gboolean merge(OrrSweepPrune *prune) {
  while (prune->n_merged + ORR_PRUNE_WINDOW <= prune->chosen->len) {
    Chosen *one = &g_array_index(prune->chosen, Chosen, prune->n_merged);
    if (!one->answer) return FALSE;
    orr_sweep_report_add(prune->seen, prune->plan, one->answer);
    g_clear_pointer(&one->answer, g_free);
    prune->n_merged++;
  }
  return TRUE;
}

gboolean orr_sweep_prune_choose(OrrSweepPrune *prune, OrrSweepAnswer *ret_answer) {
  if (prune->at == 0) sort(prune);
  while (prune->at < prune->candidates->len && merge(prune)) {
    const Candidate *one = &g_array_index(prune->candidates, Candidate, prune->at++);
    const char *reason = reason_to_prune(prune->plan, prune->seen, one);
    if (!reason) {
      g_array_append_vals(prune->chosen, &(Chosen){.task = one->task}, 1);
      continue;
    }
    *ret_answer = (OrrSweepAnswer){.point = one->task.point,
                                   .combination = one->task.combination,
                                   .status = ORR_POINT_PRUNED,
                                   .least_s = one->least_s};
    g_strlcpy(ret_answer->reason, reason, sizeof ret_answer->reason);
    return TRUE;
  }
  return FALSE;
}

gboolean orr_sweep_prune_next(OrrSweepPrune *prune, OrrSweepTask *ret_task) {
  if (prune->n_taken >= prune->chosen->len) return FALSE;
  *ret_task = g_array_index(prune->chosen, Chosen, prune->n_taken++).task;
  return TRUE;
}
