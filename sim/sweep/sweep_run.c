/*
 * sweep_run.c - runs a sweep from its document to its report: takes points in order, and stores
 * their answers.
 *
 * Rows are committed together, a few times per second. When the process dies, --resume simulates
 * the points that were not committed. A point is identified by its number in the sampler's order,
 * so every point is stored exactly once.
 */
#include "sim/sweep/sweep_known.h"
#include "sim/sweep/sweep_prune.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_private.h"
#include "sim/sweep/sweep_store.h"

#define BATCH_POINTS 1024
#define BATCH_US (G_USEC_PER_SEC / 4)

typedef struct {
  const OrrSweepOrder *order;
  const OrrSweepPlan *plan;
  OrrSweepStream *stream;
  guint64 next;    /* the number of its next point */
  OrrStore *store; /* NULL: nothing is stored */
  OrrSweepReport *report;
  GByteArray *done; /* one bit per point */
  guint in_batch;   /* points that are not committed yet */
  gint64 batch_us, begin_us;
  OrrSweepPrune *prune; /* NULL: every point is simulated */
  gboolean is_listed;   /* pruning: every point's bound was asked for */
  OrrSweepTask ahead;   /* pruning: the next one to ask for, if @has_ahead */
  gboolean has_ahead;
  guint64 n_open; /* pruning: bounds that are not answered yet */
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

/* Whether this process simulates the point: it is in its shard, or the order only looks. */
static gboolean is_mine(const Sweep *sweep, guint64 point) {
  const OrrSweepOrder *order = sweep->order;
  return order->look || order->n_shards == 0 || point % order->n_shards == order->shard;
}

static gboolean next_point(Sweep *sweep, OrrSweepTask *ret_task) {
  guint64 combination;
  while (orr_sweep_stream_next(sweep->stream, &combination)) {
    *ret_task = (OrrSweepTask){sweep->next++, combination, ORR_SWEEP_SIMULATE};
    orr_sweep_report_settings(sweep->report, sweep->plan, ret_task->point, combination);
    if (!is_done(sweep, ret_task->point) && is_mine(sweep, ret_task->point)) return TRUE;
  }
  return FALSE;
}

/* --- Pruning: first the bounds of all points, then those to simulate --- */

static gboolean next_bound(Sweep *sweep, OrrSweepTask *ret_task) {
  if (sweep->has_ahead)
    *ret_task = sweep->ahead;
  else if (sweep->is_listed || !next_point(sweep, ret_task))
    return FALSE;
  sweep->has_ahead = FALSE;
  sweep->n_open++;
  ret_task->work = ORR_SWEEP_BOUND;
  return TRUE;
}

static gboolean next_task(OrrSweepTask *ret_task, void *user) {
  Sweep *sweep = user;
  if (!sweep->prune) return next_point(sweep, ret_task);
  return next_bound(sweep, ret_task) || orr_sweep_prune_next(sweep->prune, ret_task);
}

/* --- Answers --- */

static gboolean end_batch(Sweep *sweep, GError **error) {
  sweep->in_batch = 0;
  return !sweep->store || orr_store_end_batch(sweep->store, error);
}

/* When the sweep's database stayed locked and the store went on to another one (results/store.h),
 * stores the sweep's row there too, under the same number, as in a shard. */
static gboolean begin_aside(Sweep *sweep, GError **error) {
  OrrSweepReport *report = sweep->report;
  if (report->aside || !orr_store_is_aside(sweep->store)) return TRUE;
  report->aside = g_strdup(orr_store_path(sweep->store));
  return orr_sweep_store_begin(sweep->store, sweep->plan, report->n_points, report->excluded,
                               &report->sweep, error);
}

static gboolean store_answer(Sweep *sweep, const OrrSweepAnswer *answer, gboolean is_shown,
                             GError **error) {
  if (!sweep->store) return TRUE;
  if (sweep->in_batch == 0) {
    if (!orr_store_begin_batch(sweep->store, error) || !begin_aside(sweep, error)) return FALSE;
    sweep->batch_us = g_get_monotonic_time();
  }
  sweep->in_batch++;
  return orr_sweep_store_point(sweep->store, sweep->plan, sweep->report->sweep, answer, is_shown,
                               error);
}

static gboolean keep_answer(Sweep *sweep, const OrrSweepAnswer *answer, GError **error) {
  const gboolean is_shown = orr_sweep_report_add(sweep->report, sweep->plan, answer);
  if (!store_answer(sweep, answer, is_shown, error)) return FALSE;
  set_done(sweep, answer->point);
  orr_sweep_report_settings(sweep->report, sweep->plan, answer->point, answer->combination);
  return sweep->in_batch < BATCH_POINTS || end_batch(sweep, error);
}

/* Chooses more points to simulate, once all bounds are there. */
static gboolean choose(Sweep *sweep, GError **error) {
  OrrSweepAnswer pruned;
  if (!sweep->is_listed) sweep->has_ahead = next_point(sweep, &sweep->ahead);
  sweep->is_listed = !sweep->has_ahead;
  while (sweep->is_listed && orr_sweep_prune_choose(sweep->prune, &pruned))
    if (!keep_answer(sweep, &pruned, error)) return FALSE;
  return TRUE;
}

/* An answer without a bound, where a bound was asked for, says that the point cannot run. */
static gboolean take_answer(const OrrSweepAnswer *answer, void *user, GError **error) {
  Sweep *sweep = user;
  if (!sweep->prune) return keep_answer(sweep, answer, error);
  if (sweep->n_open > 0) sweep->n_open--;
  if (answer->is_bound)
    orr_sweep_prune_add(sweep->prune, answer);
  else
    orr_sweep_prune_take(sweep->prune, answer);
  return (answer->is_bound || keep_answer(sweep, answer, error)) &&
         (sweep->n_open > 0 || choose(sweep, error));
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

/* --- Resuming --- */

static void recall_point(const OrrSweepAnswer *answer, void *user) {
  Sweep *sweep = user;
  set_done(sweep, answer->point);
  sweep->report->n_before++;
  if (sweep->prune) orr_sweep_prune_recall(sweep->prune, answer);
  orr_sweep_report_add(sweep->report, sweep->plan, answer);
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
  if (order->resume && report->sweep == 0 && !order->begin)
    return orr_fault_set(
        error, ORR_FAULT_USAGE,
        "--resume: %s has no sweep of this document; if the document was changed, run without "
        "--resume",
        order->db);
  if (report->sweep != 0)
    return orr_sweep_store_visit(sweep->store, report->sweep, n_points, recall_point, sweep, error);
  report->sweep = order->run;
  return orr_sweep_store_begin(sweep->store, sweep->plan, report->n_points, report->excluded,
                               &report->sweep, error);
}

static gboolean begin(Sweep *sweep, GError **error) {
  sweep->report->view = sweep->plan->kind->view;
  if (!begin_store(sweep, error)) return FALSE;
  if (sweep->store)
    orr_store_keep_aside(sweep->store); /* from here on a lock must not lose points */
  return (!sweep->order->known ||
          orr_sweep_known_visit(sweep->order->known, recall_known, sweep, error));
}

/* --- Counting --- */

static void count_points(const OrrSweepPlan *plan, OrrSweepVariants *variants,
                         OrrSweepReport *report) {
  g_autoptr(OrrSweepStream) stream = orr_sweep_stream_new(plan, variants);
  guint64 combination;
  while (orr_sweep_stream_next(stream, &combination)) report->n_points++;
  report->excluded = orr_sweep_stream_excluded(stream);
}

static const char *most_frequent(const GArray *excluded) {
  return excluded->len ? g_array_index(excluded, OrrSweepExclusion, 0).reason : "";
}

static gboolean check_count(const Sweep *sweep, GError **error) {
  const OrrSweepReport *report = sweep->report;
  const gint64 most = sweep->plan->section.most;
  if (report->n_points == 0) {
    g_autofree char *reasons = orr_sweep_reasons_text(report->excluded, 5);
    if (sweep->order->none) *sweep->order->none = g_strdup(most_frequent(report->excluded));
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "%s: none of the %" G_GUINT64_FORMAT " combinations can run:\n%s",
                         sweep->order->file, report->n_combinations, reasons);
  }
  if (report->n_points <= (guint64)most || sweep->order->yes) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_USAGE,
      "the sweep has %" G_GUINT64_FORMAT
      " points, more than %ld (sweep.most): pass --yes to run all, or set a sampler to run some",
      report->n_points, most);
}

/* --- The sweep --- */

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

/* Counts the points that are left, by shard. */
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

/* --- Bands --- */

static gboolean store_bands(Sweep *sweep, gboolean is_shard, GError **error) {
  OrrSweepReport *report = sweep->report;
  if (!sweep->store) return TRUE;
  if (!orr_store_begin_batch(sweep->store, error) || !begin_aside(sweep, error)) return FALSE;
  return (report->aside || orr_sweep_bands_tidy(report, sweep->store, error)) &&
         (is_shard || (orr_sweep_bands_store(report, sweep->store, error) &&
                       orr_store_points_view(sweep->store, report->sweep, error))) &&
         orr_store_end_batch(sweep->store, error);
}

/* A shard has not seen the points of the others: the process that merges it asks for the bands. */
static gboolean add_bands(Sweep *sweep, OrrSweepVariants *variants, GError **error) {
  const OrrSweepOrder *order = sweep->order;
  const gboolean is_shard = order->n_shards > 0 && !order->look;
  if (order->look && !sweep->report->is_whole) return TRUE;
  if (!is_shard) orr_sweep_bands_caveats(sweep->report, sweep->plan, variants);
  return (is_shard || orr_sweep_bands_fill(sweep->report, sweep->plan, sweep->store, error)) &&
         store_bands(sweep, is_shard, error);
}

static gboolean answer(Sweep *sweep, OrrSweepVariants *variants, GError **error) {
  if (!simulate(sweep, variants, error)) return FALSE;
  sweep->report->is_whole = !(sweep->order->interrupted && *sweep->order->interrupted);
  return add_bands(sweep, variants, error);
}

static gboolean run(Sweep *sweep, OrrSweepVariants *variants, GError **error) {
  GError **stopped = sweep->order->stopped && sweep->store ? sweep->order->stopped : error;
  if (!begin(sweep, error)) return FALSE;
  if (sweep->order->look) {
    look(sweep);
    return add_bands(sweep, variants, error);
  }
  if (answer(sweep, variants, stopped)) return TRUE;
  if (sweep->store) {
    orr_store_abandon_batch(sweep->store);
    g_prefix_error(stopped, "the sweep stops; stored points stay, and --resume continues: ");
  }
  return stopped != error;
}

static void clear(Sweep *sweep) {
  orr_sweep_stream_free(sweep->stream);
  orr_sweep_prune_free(sweep->prune);
  g_clear_pointer(&sweep->store, orr_store_free);
  g_byte_array_unref(sweep->done);
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
  if (order->hash && strcmp(order->hash, plan->hash) != 0)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: changed since its sweep was started",
                          order->file);
  plan->whole_steps = order->whole_steps;
  g_autoptr(OrrSweepVariants) variants = orr_sweep_variants_new(plan);
  g_autoptr(OrrSweepReport) report = orr_sweep_report_new(plan);
  Sweep sweep = {.order = order, .plan = plan, .report = report};
  sweep.done = g_byte_array_new();
  gboolean fine = open_store(&sweep, error);
  if (fine) count_points(plan, variants, report);
  if (fine && (fine = check_count(&sweep, error))) {
    sweep.stream = orr_sweep_stream_new(plan, variants);
    if (!order->look) sweep.prune = orr_sweep_prune_new(plan);
    fine = run(&sweep, variants, error);
  }
  clear(&sweep);
  return fine ? g_steal_pointer(&report) : NULL;
}
