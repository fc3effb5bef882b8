/*
 * sweep_run.c - a sweep from its document to its report: points in order, rung after rung, answers
 * into the database.
 *
 * Rows are committed together a few times a second. What a process that dies had not committed is
 * simulated again by
 * --resume: a point is its number in the sampler's order, so nothing is lost and nothing is there twice.
 */
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_pool.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_store.h"

#define BATCH_POINTS 1024
#define BATCH_US (G_USEC_PER_SEC / 4)

typedef struct {
  const OrrSweepOrder *order;
  const OrrSweepPlan *plan;
  const OrrSampler *sampler;
  OrrSweepStream *stream;
  OrrStore *store; /* NULL: none */
  OrrSweepReport *report;
  GByteArray *done; /* a bit a point */
  guint rung, n_rungs;
  guint64 first, next; /* the rung's first point, and the next one's place in the rung */
  guint64 n_rung_answered;
  GArray *rung_combinations; /* of guint64; where there are several rungs */
  GArray *rung_scores;       /* of double: smaller is better, NAN: out; parallel */
  guint in_batch;
  gint64 batch_us, begin_us;
} Sweep;

/* --- Points in order --- */

static gboolean is_done(const Sweep *sweep, guint64 point) {
  return point / 8 < sweep->done->len && (sweep->done->data[point / 8] >> (point % 8) & 1);
}

static void set_done(Sweep *sweep, guint64 point) {
  const guint old = sweep->done->len;
  if (point / 8 >= old) {
    g_byte_array_set_size(sweep->done, (guint)(point / 8 + 1));
    memset(sweep->done->data + old, 0, sweep->done->len - old);
  }
  sweep->done->data[point / 8] |= (guint8)(1u << (point % 8));
}

static gboolean is_mine(const Sweep *sweep, guint64 point) {
  const OrrSweepOrder *order = sweep->order;
  return order->look || order->n_shards == 0 || point % order->n_shards == order->shard;
}

typedef struct {
  guint64 combination;
  double score;
} Candidate;

static gint better_first(gconstpointer a, gconstpointer b) {
  const Candidate *x = a, *y = b;
  const gboolean nx = isnan(x->score), ny = isnan(y->score);
  if (nx || ny || x->score == y->score)
    return nx != ny ? (nx ? 1 : -1)
                    : (x->combination > y->combination) - (x->combination < y->combination);
  return x->score < y->score ? -1 : 1;
}

static gint in_order(gconstpointer a, gconstpointer b) {
  const guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
  return (x > y) - (x < y);
}

/* The better part of the rung, in order of combination. */
static void climb(Sweep *sweep) {
  const guint n = sweep->rung_combinations->len;
  g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
  for (guint i = 0; i < n; i++) {
    const Candidate one = {g_array_index(sweep->rung_combinations, guint64, i),
                           g_array_index(sweep->rung_scores, double, i)};
    if (!isnan(one.score)) g_array_append_val(candidates, one);
  }
  g_array_sort(candidates, better_first);
  const guint64 keep =
      MIN(sweep->sampler->survivors(sweep->plan->section.sampler.params, n), candidates->len);
  g_array_set_size(sweep->rung_combinations, 0);
  for (guint i = 0; i < keep; i++)
    g_array_append_val(sweep->rung_combinations,
                       g_array_index(candidates, Candidate, i).combination);
  g_array_sort(sweep->rung_combinations, in_order);
  g_array_set_size(sweep->rung_scores, 0);
  for (guint i = 0; i < keep; i++) g_array_append_val(sweep->rung_scores, (double){NAN});
  sweep->rung++;
  sweep->first += n;
  sweep->next = sweep->n_rung_answered = 0;
}

/* The next combination of the rung: of the stream, or of what was kept of the rung before. */
static gboolean next_of_rung(Sweep *sweep, guint64 *ret_combination) {
  if (sweep->rung == 0) {
    if (!orr_sweep_stream_next(sweep->stream, ret_combination)) return FALSE;
    if (sweep->n_rungs > 1) {
      g_array_append_val(sweep->rung_combinations, *ret_combination);
      g_array_append_val(sweep->rung_scores, (double){NAN});
    }
    sweep->next++;
    return TRUE;
  }
  if (sweep->next >= sweep->rung_combinations->len) return FALSE;
  *ret_combination = g_array_index(sweep->rung_combinations, guint64, sweep->next++);
  return TRUE;
}

/* Where a point stands that a run before this one has simulated, its score counts as if it had
 * come now. */
static void note_score(Sweep *sweep, guint64 point, double score) {
  if (sweep->n_rungs < 2 || point < sweep->first) return;
  const guint64 at = point - sweep->first;
  if (at >= sweep->rung_scores->len) return;
  const gboolean maximize = ((const OrrSweepRule *)sweep->plan->objectives->pdata[0])->maximize;
  g_array_index(sweep->rung_scores, double, at) = maximize ? -score : score;
}

typedef struct {
  Sweep *sweep;
  guint64 from, to;
} Recall;

static void recall_score(const OrrSweepAnswer *answer, void *user) {
  const Recall *recall = user;
  if (answer->point >= recall->from && answer->point < recall->to &&
      answer->status == ORR_POINT_OK && answer->eligible)
    note_score(recall->sweep, answer->point, answer->score[0]);
}

static void recall_scores(Sweep *sweep) {
  Recall recall = {sweep, sweep->first, sweep->first + sweep->rung_combinations->len};
  g_autoptr(OrrStore) own =
      sweep->report->aside ? orr_store_open_read(sweep->order->db, NULL) : NULL;
  if (sweep->report->n_before > 0 && sweep->store)
    orr_sweep_store_visit(own ? own : sweep->store, sweep->report->sweep, recall.to, recall_score,
                          &recall, NULL);
  if (sweep->order->known) orr_sweep_known_visit(sweep->order->known, recall_score, &recall, NULL);
}

static gboolean next_task(OrrSweepTask *ret_task, void *user) {
  Sweep *sweep = user;
  guint64 combination;
  while (TRUE) {
    while (next_of_rung(sweep, &combination)) {
      const guint64 point = sweep->first + sweep->next - 1;
      orr_sweep_report_settings(sweep->report, sweep->plan, point, combination);
      if (is_done(sweep, point)) sweep->n_rung_answered++;
      if (is_done(sweep, point) || !is_mine(sweep, point)) continue;
      *ret_task = (OrrSweepTask){point, combination, sweep->rung};
      return TRUE;
    }
    if (sweep->rung + 1 >= sweep->n_rungs || sweep->n_rung_answered < sweep->rung_combinations->len)
      return FALSE;
    recall_scores(sweep);
    climb(sweep);
  }
}

/* --- Answers --- */

static gboolean end_batch(Sweep *sweep, GError **error) {
  sweep->in_batch = 0;
  return !sweep->store || orr_store_end_batch(sweep->store, error);
}

/* A database beside the sweep's own, which stayed locked: the sweep's row there, under its
 * number, as in a shard. */
static gboolean begin_aside(Sweep *sweep, GError **error) {
  OrrSweepReport *report = sweep->report;
  if (report->aside || !orr_store_is_aside(sweep->store)) return TRUE;
  report->aside = g_strdup(orr_store_path(sweep->store));
  return orr_sweep_store_begin(sweep->store, sweep->plan, report->n_points, report->excluded,
                               &report->sweep, error);
}

static gboolean store_answer(Sweep *sweep, const OrrSweepAnswer *answer, GError **error) {
  if (!sweep->store) return TRUE;
  if (sweep->in_batch == 0) {
    if (!orr_store_begin_batch(sweep->store, error) || !begin_aside(sweep, error)) return FALSE;
    sweep->batch_us = g_get_monotonic_time();
  }
  sweep->in_batch++;
  return orr_sweep_store_point(sweep->store, sweep->plan, sweep->report->sweep, answer, error);
}

static gboolean take_answer(const OrrSweepAnswer *answer, void *user, GError **error) {
  Sweep *sweep = user;
  const gboolean counts = answer->status == ORR_POINT_OK && answer->eligible;
  if (!store_answer(sweep, answer, error)) return FALSE;
  set_done(sweep, answer->point);
  sweep->n_rung_answered++;
  orr_sweep_report_add(sweep->report, sweep->plan, answer, sweep->rung + 1 == sweep->n_rungs);
  orr_sweep_report_settings(sweep->report, sweep->plan, answer->point, answer->combination);
  if (counts) note_score(sweep, answer->point, answer->score[0]);
  return sweep->in_batch < BATCH_POINTS || end_batch(sweep, error);
}

static gboolean tick(void *user, GError **error) {
  Sweep *sweep = user;
  const gint64 now_us = g_get_monotonic_time();
  sweep->report->seconds = (double)(now_us - sweep->begin_us) / G_USEC_PER_SEC;
  if (sweep->order->progress) sweep->order->progress(sweep->report, sweep->order->user);
  return sweep->in_batch == 0 || now_us - sweep->batch_us < BATCH_US || end_batch(sweep, error);
}

static void before(const OrrSweepTask *task, void *user) {
  const Sweep *sweep = user;
  sweep->order->before(task->point, sweep->order->user);
}

/* --- Going on --- */

static void recall_point(const OrrSweepAnswer *answer, void *user) {
  Sweep *sweep = user;
  set_done(sweep, answer->point);
  sweep->report->n_before++;
  orr_sweep_report_add(sweep->report, sweep->plan, answer, answer->rung + 1 == sweep->n_rungs);
}

static void recall_known(const OrrSweepAnswer *answer, void *user) {
  set_done(user, answer->point);
}

static gboolean begin_store(Sweep *sweep, GError **error) {
  OrrSweepReport *report = sweep->report;
  const OrrSweepOrder *order = sweep->order;
  if (!sweep->store) return TRUE;
  guint64 n_points = 0;
  if ((order->resume || order->run) && !orr_sweep_store_find(sweep->store, sweep->plan, order->run,
                                                             &report->sweep, &n_points, error))
    return FALSE;
  if (order->resume && report->sweep == 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--resume: %s has no sweep of this document; one that was changed since begins "
                "anew without --resume",
                order->db);
    return FALSE;
  }
  if (report->sweep != 0)
    return orr_sweep_store_visit(sweep->store, report->sweep, n_points, recall_point, sweep, error);
  report->sweep = order->run;
  return orr_sweep_store_begin(sweep->store, sweep->plan, report->n_points, report->excluded,
                               &report->sweep, error);
}

static gboolean begin(Sweep *sweep, GError **error) {
  if (!begin_store(sweep, error)) return FALSE;
  if (sweep->store) orr_store_keep_aside(sweep->store); /* from here on there are points to lose */
  return (!sweep->order->known ||
          orr_sweep_known_visit(sweep->order->known, recall_known, sweep, error));
}

/* --- How many --- */

/* Upper bounds of later rungs: points that are not ok go on nowhere. */
static guint64 count_rungs(const OrrSweepPlan *plan, guint64 first) {
  const OrrSampler *sampler = (const OrrSampler *)plan->section.sampler.entry;
  const guint n_rungs = sampler->n_rungs ? sampler->n_rungs(plan->section.sampler.params) : 1;
  guint64 sum = first;
  for (guint r = 1; r < n_rungs; r++) {
    first = sampler->survivors(plan->section.sampler.params, first);
    sum += first;
  }
  return sum;
}

static void count_points(const OrrSweepPlan *plan, OrrSweepVariants *variants,
                         OrrSweepReport *report) {
  g_autoptr(OrrSweepStream) stream = orr_sweep_stream_new(plan, variants);
  guint64 n = 0, combination;
  while (orr_sweep_stream_next(stream, &combination)) n++;
  report->n_points = count_rungs(plan, n);
  report->excluded = orr_sweep_stream_excluded(stream);
}

static gboolean check_count(const Sweep *sweep, GError **error) {
  const OrrSweepReport *report = sweep->report;
  const gint64 most = sweep->plan->section.most;
  if (report->n_points == 0) {
    g_autofree char *reasons = orr_sweep_report_reasons(report->excluded, 5);
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s: none of the %" G_GUINT64_FORMAT " combinations can run:\n%s",
                sweep->order->file, report->n_combinations, reasons);
    return FALSE;
  }
  if (report->n_points <= (guint64)most || sweep->order->yes) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
              "the sweep has %" G_GUINT64_FORMAT " points, more than %" G_GINT64_FORMAT
              " (sweep.most): --yes runs them all, a sampler some",
              report->n_points, most);
  return FALSE;
}

/* --- The whole --- */

static gboolean simulate(Sweep *sweep, OrrSweepVariants *variants, GError **error) {
  const OrrSweepCrew crew = {
      .jobs = sweep->order->jobs ? sweep->order->jobs : g_get_num_processors(),
      .timeout_s =
          sweep->order->timeout_s > 0 ? sweep->order->timeout_s : sweep->plan->section.timeout_s,
      .next = next_task,
      .answer = take_answer,
      .tick = tick,
      .interrupted = sweep->order->interrupted,
      .before = sweep->order->before ? before : NULL,
      .user = sweep,
  };
  sweep->begin_us = g_get_monotonic_time();
  const gboolean fine = orr_sweep_pool_run(sweep->plan, variants, &crew, error);
  return fine ? end_batch(sweep, error) && tick(sweep, error) : FALSE;
}

static void look(Sweep *sweep) {
  const guint n_shards = MAX(sweep->order->n_shards, 1);
  OrrSweepTask task;
  sweep->report->left = g_new0(guint64, n_shards);
  while (next_task(&task, sweep)) {
    sweep->report->left[task.point % n_shards]++;
    sweep->report->n_left++;
  }
  sweep->report->is_whole = sweep->report->n_left == 0;
}

static gboolean run(Sweep *sweep, OrrSweepVariants *variants, GError **error) {
  if (!begin(sweep, error)) return FALSE;
  if (sweep->order->look) {
    look(sweep);
    return TRUE;
  }
  if (!simulate(sweep, variants, error)) {
    if (sweep->store) {
      orr_store_abandon_batch(sweep->store);
      g_prefix_error(error, "the sweep stops, what was stored stays, --resume goes on: ");
    }
    return FALSE;
  }
  sweep->report->is_whole = !(sweep->order->interrupted && *sweep->order->interrupted);
  return TRUE;
}

static void clear(Sweep *sweep) {
  orr_sweep_stream_free(sweep->stream);
  g_clear_pointer(&sweep->store, orr_store_free);
  g_byte_array_unref(sweep->done);
  g_array_unref(sweep->rung_combinations);
  g_array_unref(sweep->rung_scores);
}

static gboolean open_store(Sweep *sweep, GError **error) {
  if (!sweep->order->db) return TRUE;
  sweep->store = orr_store_open(sweep->order->db, error);
  return sweep->store != NULL;
}

OrrSweepReport *orr_sweep(OrrLibrary *library, const OrrSweepOrder *order, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrSweepPlan) plan =
      orr_sweep_plan_new(library, order->file, order->settings, diags, error);
  if (!plan) {
    if (error && !*error) orr_diags_check(diags, error);
    return NULL;
  }
  if (order->hash && strcmp(order->hash, plan->hash) != 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: was changed since its sweep was begun",
                order->file);
    return NULL;
  }
  plan->whole_steps = order->whole_steps;
  g_autoptr(OrrSweepVariants) variants = orr_sweep_variants_new(plan);
  g_autoptr(OrrSweepReport) report = orr_sweep_report_new(plan);
  Sweep sweep = {.order = order, .plan = plan, .report = report};
  sweep.sampler = (const OrrSampler *)plan->section.sampler.entry;
  sweep.n_rungs = sweep.sampler->n_rungs ? sweep.sampler->n_rungs(plan->section.sampler.params) : 1;
  sweep.done = g_byte_array_new();
  sweep.rung_combinations = g_array_new(FALSE, FALSE, sizeof(guint64));
  sweep.rung_scores = g_array_new(FALSE, FALSE, sizeof(double));
  gboolean fine = open_store(&sweep, error);
  if (fine) count_points(plan, variants, report);
  if (fine && (fine = check_count(&sweep, error))) {
    sweep.stream = orr_sweep_stream_new(plan, variants);
    fine = run(&sweep, variants, error);
  }
  clear(&sweep);
  return fine ? g_steal_pointer(&report) : NULL;
}
