/*
 * sweep_rungs.c - keeps the combinations of the current rung and their scores, when the sampler has
 * several rungs; with one rung, memory does not grow with the number of points.
 */
#include "sim/sweep/sweep_private.h"

struct OrrSweepRungs {
  const OrrSweepPlan *plan;
  const OrrSampler *sampler;
  OrrSweepStream *stream;
  guint rung, n_rungs;
  guint64 first, next; /* the rung's first point; the place in the rung of the next one */
  guint64 n_answered;
  GArray *combinations; /* of guint64: the rung's, when there are several rungs */
  GArray *scores;       /* of double, parallel: smaller is better, NAN: none */
};

static guint n_rungs_of(const OrrSweepPlan *plan) {
  const OrrSampler *sampler = (const OrrSampler *)plan->section.sampler.entry;
  return sampler->n_rungs ? sampler->n_rungs(plan->section.sampler.params) : 1;
}

OrrSweepRungs *orr_sweep_rungs_new(const OrrSweepPlan *plan, OrrSweepVariants *variants) {
  OrrSweepRungs *rungs = g_new0(OrrSweepRungs, 1);
  rungs->plan = plan;
  rungs->sampler = (const OrrSampler *)plan->section.sampler.entry;
  rungs->n_rungs = n_rungs_of(plan);
  rungs->stream = orr_sweep_stream_new(plan, variants);
  rungs->combinations = g_array_new(FALSE, FALSE, sizeof(guint64));
  rungs->scores = g_array_new(FALSE, FALSE, sizeof(double));
  return rungs;
}

void orr_sweep_rungs_free(OrrSweepRungs *rungs) {
  if (!rungs) return;
  orr_sweep_stream_free(rungs->stream);
  g_array_unref(rungs->combinations);
  g_array_unref(rungs->scores);
  g_free(rungs);
}

/* --- Points in order --- */

/* The next combination: from the stream, or from the survivors of the rung before. */
static gboolean next_combination(OrrSweepRungs *rungs, guint64 *ret_combination) {
  if (rungs->rung > 0) {
    if (rungs->next >= rungs->combinations->len) return FALSE;
    *ret_combination = g_array_index(rungs->combinations, guint64, rungs->next);
    return TRUE;
  }
  if (!orr_sweep_stream_next(rungs->stream, ret_combination)) return FALSE;
  if (rungs->n_rungs > 1) {
    g_array_append_val(rungs->combinations, *ret_combination);
    g_array_append_val(rungs->scores, (double){NAN});
  }
  return TRUE;
}

gboolean orr_sweep_rungs_next(OrrSweepRungs *rungs, OrrSweepTask *ret_task) {
  guint64 combination;
  if (!next_combination(rungs, &combination)) return FALSE;
  *ret_task =
      (OrrSweepTask){rungs->first + rungs->next, combination, rungs->rung, ORR_SWEEP_SIMULATE};
  rungs->next++;
  return TRUE;
}

void orr_sweep_rungs_answered(OrrSweepRungs *rungs) { rungs->n_answered++; }

void orr_sweep_rungs_score(OrrSweepRungs *rungs, guint64 point, double score) {
  if (rungs->n_rungs < 2 || point < rungs->first) return;
  const guint64 at = point - rungs->first;
  if (at >= rungs->scores->len) return;
  const gboolean maximize = ((const OrrSweepRule *)rungs->plan->objectives->pdata[0])->maximize;
  g_array_index(rungs->scores, double, at) = maximize ? -score : score;
}

void orr_sweep_rungs_range(const OrrSweepRungs *rungs, guint64 *ret_from, guint64 *ret_to) {
  *ret_from = rungs->first;
  *ret_to = rungs->first + rungs->combinations->len;
}

gboolean orr_sweep_rungs_is_last(const OrrSweepRungs *rungs, guint rung) {
  return rung + 1 == rungs->n_rungs;
}

/* --- The next rung --- */

typedef struct {
  guint64 combination;
  double score;
} Candidate;

static gint better_first(gconstpointer a, gconstpointer b) {
  const Candidate *x = a, *y = b;
  if (x->score == y->score)
    return (x->combination > y->combination) - (x->combination < y->combination);
  return x->score < y->score ? -1 : 1;
}

static gint in_order(gconstpointer a, gconstpointer b) {
  const guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
  return (x > y) - (x < y);
}

/* The points of the rung that have a score, best first. */
static GArray *rank(const OrrSweepRungs *rungs) {
  GArray *candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
  for (guint i = 0; i < rungs->combinations->len; i++) {
    const Candidate one = {g_array_index(rungs->combinations, guint64, i),
                           g_array_index(rungs->scores, double, i)};
    if (!isnan(one.score)) g_array_append_val(candidates, one);
  }
  g_array_sort(candidates, better_first);
  return candidates;
}

gboolean orr_sweep_rungs_can_climb(const OrrSweepRungs *rungs) {
  return rungs->rung + 1 < rungs->n_rungs && rungs->n_answered >= rungs->combinations->len;
}

void orr_sweep_rungs_climb(OrrSweepRungs *rungs) {
  const guint n = rungs->combinations->len;
  g_autoptr(GArray) candidates = rank(rungs);
  const guint64 n_kept =
      MIN(rungs->sampler->survivors(rungs->plan->section.sampler.params, n), candidates->len);
  g_array_set_size(rungs->combinations, 0);
  g_array_set_size(rungs->scores, 0);
  for (guint i = 0; i < n_kept; i++) {
    g_array_append_val(rungs->combinations, g_array_index(candidates, Candidate, i).combination);
    g_array_append_val(rungs->scores, (double){NAN});
  }
  g_array_sort(rungs->combinations, in_order);
  rungs->rung++;
  rungs->first += n;
  rungs->next = rungs->n_answered = 0;
}

guint64 orr_sweep_rungs_count(const OrrSweepPlan *plan, guint64 n_first) {
  const OrrSampler *sampler = (const OrrSampler *)plan->section.sampler.entry;
  guint64 sum = n_first;
  for (guint r = 1; r < n_rungs_of(plan); r++) {
    n_first = sampler->survivors(plan->section.sampler.params, n_first);
    sum += n_first;
  }
  return sum;
}
