/*
 * measure_session.c - spends the budget: one loop over the plan, for all ranks together or for
 * rank 0 alone.
 */
#include "calibration/measure/measure_session.h"

const OrrTimingRule orr_timing_default = {.warm_up_s = 0.02,
                                          .burst_s = 0.12,
                                          .min_repeats = 7,
                                          .max_repeats = 200,
                                          .settle_s = 1.5,
                                          .watch_s = 0.5};

enum {
  LONGEST_MS = 100
}; /* longest call by the roofline: a burst of seven calls then takes less than a second */

typedef struct {
  const OrrDeviceLayer *layer;
  OrrBench *bench;
  const OrrMeasureOrder *order;
  const OrrBenchFacts *facts;
  OrrMeasurePlan *plan;
  OrrMeasureOutcome outcome;
  GHashTable *reasons; /* reasons for skipping, each reported once */
} Session;

/* Only rank 0 reports and stores. */
static gboolean refuse(Session *session, const OrrShape *shape, const OrrJobWord *word,
                       GError **error) {
  const OrrMeasureOrder *order = session->order;
  gboolean fine = TRUE;
  session->outcome.n_passed_over++;
  if (session->facts->rank != 0) return TRUE;
  if (order->refusal) {
    OrrMeasureRefusal refusal;
    orr_measure_refusal_init(&refusal, shape, word, session->facts, order->date);
    fine = order->refusal(&refusal, order->user, error);
    orr_field_clear(&orr_measure_refusal_table, &refusal);
  }
  if (!word->ends_job && g_hash_table_add(session->reasons, g_strdup(word->reason)) && order->note)
    order->note(word->reason, order->user);
  return fine;
}

/* --- The plan --- */

/* Whether the ranks are separate processes, which must learn what comes next. */
static gboolean is_job(const Session *session) {
  return session->facts->n_ranks > session->facts->n_gpus;
}

/* Whether all ranks of a job measure the family together; rank 0 measures the others. A single
 * process measures everything itself. */
static gboolean is_for_all(const Session *session, const OrrMeasureFamily *family) {
  return is_job(session) && family->min_gpus > 1;
}

/* Whether any requested family is measured by all ranks; all know the same families, so they
 * need not exchange the answer. */
static gboolean has_common_part(const Session *session) {
  gboolean has = FALSE;
  for (guint i = 0; session->order->families[i]; i++)
    has = has || is_for_all(session, session->order->families[i]);
  return has;
}

static void add_families(Session *session, gboolean for_all) {
  const gint64 n_gpus = MAX(session->facts->n_gpus, session->facts->n_ranks);
  for (const OrrMeasureFamily *const *family = session->order->families; *family; family++)
    if (is_for_all(session, *family) == for_all && n_gpus >= (*family)->min_gpus)
      orr_measure_plan_add(session->plan, *family);
}

OrrMeasurePlan *orr_measure_session_plan(const OrrBenchFacts *facts,
                                         const OrrMeasureFamily *const *families) {
  const OrrMeasureOrder order = {.families = families};
  Session session = {
      .order = &order, .facts = facts, .plan = orr_measure_plan_new(facts, LONGEST_MS / 1e3)};
  add_families(&session, FALSE);
  return session.plan;
}

static void mark_known(Session *session) {
  ORR_EACH(const OrrMeasureRow, row, session->order->known) {
    const OrrMeasureFamily *family = orr_family_find(row->family);
    OrrShape shape;
    if (!family || !orr_measure_row_is_of(row, session->facts) || !orr_measure_row_counts(row) ||
        !orr_shape_parse(family, row->shape, &shape, NULL))
      continue;
    session->outcome.n_known += orr_measure_plan_mark(session->plan, &shape, row->median_us);
  }
}

/* --- One shape --- */

static gboolean hand_on(Session *session, const OrrShape *shape, const OrrTiming *timing,
                        const OrrVerdict *verdict, GError **error) {
  const OrrShapeWork work = shape->family->work(shape, session->facts);
  OrrMeasureRow row;
  orr_measure_row_init(&row, shape, &work, session->facts, timing, verdict, session->order->date);
  session->outcome.n_new++;
  session->outcome.n_wrong += row.verified == ORR_VERIFIED_NO;
  gboolean fine =
      session->facts->rank != 0 || session->order->row(&row, session->order->user, error);
  orr_field_clear(&orr_measure_row_table, &row);
  return fine;
}

/* Verifies before timing, because repeats may work in place. */
static gboolean run_kernel(Session *session, OrrKernel *kernel, OrrTiming *ret_timing,
                           OrrVerdict *ret_verdict, GError **error) {
  OrrTimingRule rule = session->order->rule;
  if (session->outcome.n_new % ORR_WATCHED_ONE_IN) rule.watch_s = 0;
  *ret_verdict = (OrrVerdict){0};
  return session->layer->verify(kernel, ret_verdict, error) &&
         session->layer->time(kernel, &rule, ret_timing, error);
}

/* Agrees on the job's word from each rank's @reason (NULL: none), if the ranks measure
 * @together. */
static gboolean settle(Session *session, gboolean together, const GError *reason,
                       OrrJobWord *ret_word, GError **error) {
  const gboolean ends_job = reason && !g_error_matches(reason, ORR_FAULT, ORR_FAULT_USAGE);
  const char *mine = reason ? reason->message : NULL;
  if (together) return session->layer->settle(session->bench, mine, ends_job, ret_word, error);
  *ret_word = mine ? orr_job_word(session->facts->rank, mine, ends_job) : (OrrJobWord){.rank = -1};
  return TRUE;
}

/* TRUE if the session continues: the shape was measured, or all ranks skip it. */
static gboolean take_word(Session *session, const OrrShape *shape, const OrrJobWord *word,
                          GError **error) {
  g_autofree char *text = orr_shape_text(shape);
  if (word->rank < 0) return TRUE;
  if (!refuse(session, shape, word, error)) return FALSE;
  orr_measure_plan_drop(session->plan, shape);
  if (!word->ends_job) return TRUE;
  g_autofree char *who =
      word->rank != session->facts->rank ? g_strdup_printf("rank %ld: ", word->rank) : g_strdup("");
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s%s %s: %s", who, shape->family->entry.name,
                       text, word->reason);
}

static gboolean measure(Session *session, const OrrShape *shape, gboolean together,
                        GError **error) {
  g_autoptr(GError) reason = NULL;
  OrrJobWord word;
  OrrTiming timing;
  OrrVerdict verdict;
  OrrKernel *kernel = session->layer->prepare(session->bench, shape, &reason);
  gboolean fine = settle(session, together, reason, &word, error);
  const gboolean is_ready = fine && word.rank < 0;
  if (is_ready && !run_kernel(session, kernel, &timing, &verdict, &reason) && together &&
      !g_error_matches(reason, ORR_FAULT, ORR_FAULT_USAGE))
    word = orr_job_word(session->facts->rank, reason->message,
                        TRUE); /* the others cannot settle: see spend_and_tell */
  else if (is_ready)
    fine = settle(session, together, reason, &word, error);
  if (kernel) session->layer->release(kernel);
  if (!fine || !take_word(session, shape, &word, error)) return FALSE;
  if (word.rank >= 0) return TRUE;
  orr_measure_plan_mark(session->plan, shape, timing.median_us);
  return hand_on(session, shape, &timing, &verdict, error);
}

/* --- The budget --- */

static gint64 pick(Session *session) {
  session->outcome.spent_s = session->layer->clock_s(session->bench);
  if (session->order->progress)
    session->order->progress(session->outcome.spent_s, session->order->budget_s,
                             session->order->user);
  const gint64 next = orr_measure_plan_next(session->plan, NULL);
  session->outcome.is_complete = next < 0;
  return session->outcome.spent_s < session->order->budget_s ? next : -1;
}

/* With @together all ranks measure what rank 0 picks, and end when rank 0 ends. */
static gboolean spend(Session *session, gboolean together, GError **error) {
  for (;;) {
    gint64 next = pick(session);
    if (together && !session->layer->agree(session->bench, &next, error)) return FALSE;
    if (next < 0) return TRUE;
    const OrrShape shape = *orr_measure_plan_shape(session->plan, next);
    if (!measure(session, &shape, together, error)) return FALSE;
  }
}

/* A failure that ends one rank of a job ends all ranks, which would otherwise wait for it. */
static gboolean spend_and_tell(Session *session, gboolean together, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (spend(session, together, &reason)) return TRUE;
  if (together) session->layer->fail(session->bench, reason->message);
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

static gboolean run_part(Session *session, gboolean for_all, OrrPlanState *states, GError **error) {
  session->plan = orr_measure_plan_new(session->facts, LONGEST_MS / 1e3);
  add_families(session, for_all);
  mark_known(session);
  gboolean fine = spend_and_tell(session, for_all, error);
  for (guint i = 0; states && session->order->families[i]; i++)
    if (is_for_all(session, session->order->families[i]) == for_all)
      states[i] = orr_measure_plan_state(session->plan, session->order->families[i]);
  orr_measure_plan_free(g_steal_pointer(&session->plan));
  return fine;
}

gboolean orr_measure_session(const OrrDeviceLayer *layer, OrrBench *bench,
                             const OrrMeasureOrder *order, OrrMeasureOutcome *ret_outcome,
                             OrrPlanState *ret_states, GError **error) {
  g_autoptr(GHashTable) reasons = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  Session session = {.layer = layer,
                     .bench = bench,
                     .order = order,
                     .facts = layer->facts(bench),
                     .reasons = reasons};
  gboolean is_complete = TRUE;
  /* Joint measurements come first and may take half of the budget, so that the other ranks are
   * then done. */
  OrrMeasureOrder together = *order;
  together.budget_s = order->budget_s / 2;
  session.order = &together;
  if (has_common_part(&session)) {
    if (!run_part(&session, TRUE, ret_states, error)) return FALSE;
    is_complete = session.outcome.is_complete;
  }
  session.order = order;
  if (session.facts->rank == 0 && !run_part(&session, FALSE, ret_states, error)) return FALSE;
  session.outcome.is_complete = session.outcome.is_complete && is_complete;
  session.outcome.spent_s = layer->clock_s(bench);
  *ret_outcome = session.outcome;
  return TRUE;
}
