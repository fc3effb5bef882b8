/*
 * calibrate.c - plans and runs a measuring session, and keeps its rows and refusals in the
 * database.
 *
 * Invariant: whatever was measured before a failure is stored; the session's own row then holds the
 * reason of the failure.
 */
#include "sim/calibrate/calibrate.h"

#include "calibration/measure/measure_visit.h"
#include "results/store.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown"
#endif

enum { ROUND_ROWS = 64 };

typedef struct {
  const OrrCalibrateOrder *order;
  OrrStore *store;              /* NULL: rows are not stored */
  GArray *round;                /* of OrrMeasureRow: not stored yet */
  GArray *refusals;             /* of OrrMeasureRefusal: not stored yet */
  OrrMeasureOutcome kept;       /* rows and refusals so far; the outcome of a session that fails */
  const OrrMeasureVisit *visit; /* stored with the last round; NULL before */
  OrrBench *bench;
  OrrBenchState before; /* the board before the session */
  char *date;
  char *resolved, *hash;
  gint64 round_began_us;
} Keeper;

static void keeper_clear(Keeper *keeper) {
  orr_store_free(keeper->store);
  if (keeper->round) g_array_unref(keeper->round);
  if (keeper->refusals) g_array_unref(keeper->refusals);
  ORR_FREE(keeper->date, keeper->resolved, keeper->hash);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Keeper, keeper_clear)

/* --- Families --- */

static gboolean add_family(GPtrArray *families, const char *name, GError **error) {
  const OrrMeasureFamily *family = orr_family_find(name);
  if (!family) {
    g_autofree const char **names = orr_registry_names(&orr_measure_registry);
    const char *nearest = orr_diag_nearest_word(name, names);
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    return orr_fault_set(
        error, ORR_FAULT_USAGE, "unknown family of microkernels '%s'%s%s%s (known: %s)", name,
        nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", all);
  }
  if (!g_ptr_array_find(families, family, NULL)) g_ptr_array_add(families, (gpointer)family);
  return TRUE;
}

static GPtrArray *find_families(char **requested, GError **error) {
  g_autoptr(GPtrArray) families = g_ptr_array_new();
  if (!requested || !*requested)
    for (const OrrEntry *const *entry = orr_measure_registry.entries; *entry; entry++)
      g_ptr_array_add(families, (gpointer)*entry);
  for (char **name = requested; name && *name; name++)
    if (!add_family(families, *name, error)) return NULL;
  return g_steal_pointer(&families);
}

/* --- Storing --- */

static gboolean store_rows(Keeper *keeper, GError **error) {
  gboolean fine = TRUE;
  for (guint i = 0; i < keeper->round->len && fine; i++)
    fine = orr_store_add_row(keeper->store, &orr_measure_row_table,
                             &g_array_index(keeper->round, OrrMeasureRow, i), error);
  for (guint i = 0; i < keeper->refusals->len && fine; i++)
    fine = orr_store_add_row(keeper->store, &orr_measure_refusal_table,
                             &g_array_index(keeper->refusals, OrrMeasureRefusal, i), error);
  if (fine && keeper->visit)
    fine = orr_store_add_row(keeper->store, &orr_measure_visit_table, keeper->visit, error);
  if (!fine) orr_store_abandon_run(keeper->store);
  return fine;
}

static gboolean store_round(Keeper *keeper, GError **error) {
  const double seconds = (g_get_monotonic_time() - keeper->round_began_us) / 1e6;
  const OrrRunFacts facts = {.scenario = "calibrate",
                             .kind = "calibration",
                             .file = "",
                             .hash = keeper->hash,
                             .resolved = keeper->resolved,
                             .tool_version = ORR_VERSION,
                             .engine = keeper->order->layer->name,
                             .fidelity = "measured",
                             .wall_time_s = seconds};
  if (!keeper->store || (keeper->round->len + keeper->refusals->len == 0 && !keeper->visit))
    return TRUE;
  if (!orr_store_begin_run(keeper->store, &facts, NULL, error) || !store_rows(keeper, error))
    return FALSE;
  keeper->round_began_us = g_get_monotonic_time();
  g_array_set_size(keeper->round, 0);
  g_array_set_size(keeper->refusals, 0);
  return orr_store_end_run(keeper->store, seconds, error);
}

static gboolean keep_row(const OrrMeasureRow *row, void *user, GError **error) {
  Keeper *keeper = user;
  OrrMeasureRow copy;
  orr_calibrate_rows_copy(row, &copy);
  keeper->kept.n_new++;
  keeper->kept.n_wrong += row->verified == ORR_VERIFIED_NO;
  g_array_append_val(keeper->round, copy);
  return keeper->round->len < ROUND_ROWS || store_round(keeper, error);
}

static void refusal_clear(gpointer refusal) {
  orr_field_clear(&orr_measure_refusal_table, refusal);
}

static gboolean keep_refusal(const OrrMeasureRefusal *refusal, void *user, GError **error) {
  Keeper *keeper = user;
  keeper->kept.n_passed_over++;
  ORR_APPEND(keeper->refusals, OrrMeasureRefusal,
             {.family = g_strdup(refusal->family),
              .shape = g_strdup(refusal->shape),
              .rank = refusal->rank,
              .ends_job = refusal->ends_job,
              .reason = g_strdup(refusal->reason),
              .device = g_strdup(refusal->device),
              .driver = g_strdup(refusal->driver),
              .date = g_strdup(refusal->date)});
  return TRUE;
}

static void pass_note(const char *text, void *user) {
  const OrrCalibrateOrder *order = ((Keeper *)user)->order;
  if (order->note) order->note(text, order->user);
}

static void pass_progress(double spent_s, double budget_s, void *user) {
  const OrrCalibrateOrder *order = ((Keeper *)user)->order;
  if (order->progress) order->progress(spent_s, budget_s, order->user);
}

/* --- A session --- */

/* Only rank 0 opens the database. */
static gboolean open_keeper(Keeper *keeper, const OrrBenchFacts *facts, GArray **ret_known,
                            GError **error) {
  keeper->round = orr_calibrate_rows_new();
  keeper->refusals = g_array_new(FALSE, TRUE, sizeof(OrrMeasureRefusal));
  g_array_set_clear_func(keeper->refusals, refusal_clear);
  keeper->round_began_us = g_get_monotonic_time();
  g_autofree char *families =
      keeper->order->families ? g_strjoinv(", ", keeper->order->families) : g_strdup("all");
  keeper->resolved = g_strdup_printf(
      "kind: calibration\ndevice: \"%s\"\nlayer: %s\nfamilies: \"%s\"\nbudget: %g s\n",
      facts->device, keeper->order->layer->name, families, keeper->order->budget_s);
  keeper->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, keeper->resolved, -1);
  if (!keeper->order->db || facts->rank != 0) return TRUE;
  if (g_file_test(keeper->order->db, G_FILE_TEST_EXISTS) &&
      !(*ret_known = orr_calibrate_rows_read(keeper->order->db, error)))
    return FALSE;
  return (keeper->store = orr_store_open(keeper->order->db, error)) != NULL;
}

/* Lists what the families cannot measure with one GPU. */
static void list_left_out(const OrrBenchFacts *facts, GPtrArray *families, GPtrArray *left_out) {
  const gint64 n_gpus = MAX(facts->n_gpus, facts->n_ranks);
  for (guint i = 0; i < families->len && n_gpus < 2; i++) {
    const OrrMeasureFamily *family = families->pdata[i];
    if (family->skipped_name) g_ptr_array_add(left_out, (gpointer)family->skipped_name);
  }
}

/* Stores the last round and the session's own row. When the session failed (@fine is FALSE), @error
 * already holds the reason, and a failure to store is ignored. */
static gboolean end(Keeper *keeper, const OrrMeasureOutcome *outcome, gboolean fine,
                    GError **error) {
  const OrrDeviceLayer *layer = keeper->order->layer;
  const OrrBenchState after = layer->state(keeper->bench);
  OrrMeasureVisit visit;
  keeper->kept.spent_s = layer->clock_s(keeper->bench);
  if (!fine) outcome = &keeper->kept;
  orr_measure_visit_init(&visit, keeper->date, layer->facts(keeper->bench), keeper->order->budget_s,
                         outcome, &keeper->before, &after,
                         !fine && error && *error ? (*error)->message : NULL);
  keeper->visit = &visit;
  const gboolean is_stored = store_round(keeper, fine ? error : NULL);
  keeper->visit = NULL;
  orr_field_clear(&orr_measure_visit_table, &visit);
  return is_stored && fine;
}

static gboolean spend(const OrrCalibrateOrder *order, OrrBench *bench, GPtrArray *families,
                      OrrCalibrateAnswer *answer, GError **error) {
  g_autoptr(GArray) known = NULL;
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_auto(Keeper) keeper = {
      .order = order, .bench = bench, .date = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ")};
  if (!open_keeper(&keeper, order->layer->facts(bench), &known, error)) return FALSE;
  keeper.before = order->layer->state(bench);
  const OrrMeasureOrder session = {.budget_s = order->budget_s,
                                   .families = (const OrrMeasureFamily *const *)families->pdata,
                                   .known = known,
                                   .date = keeper.date,
                                   .rule = orr_timing_default,
                                   .row = keep_row,
                                   .refusal = keep_refusal,
                                   .note = pass_note,
                                   .progress = pass_progress,
                                   .user = &keeper};
  gboolean fine =
      orr_measure_session(order->layer, bench, &session, &answer->outcome, answer->states, error);
  return end(&keeper, &answer->outcome, fine, error);
}

static OrrCalibrateAnswer answer_of(const OrrBenchFacts *facts, GPtrArray *families) {
  OrrCalibrateAnswer answer = {.device = g_strdup(facts->device),
                               .driver = g_strdup(facts->driver),
                               .rank = facts->rank,
                               .left_out = g_ptr_array_new(),
                               .states = g_new0(OrrPlanState, families->len)};
  list_left_out(facts, families, answer.left_out);
  g_ptr_array_add(families, NULL);
  answer.families = g_memdup2(families->pdata, families->len * sizeof(gpointer));
  return answer;
}

gboolean orr_calibrate_plan(const OrrCalibrateOrder *order, gint64 n_gpus,
                            OrrCalibrateAnswer *ret_answer, GError **error) {
  g_autoptr(GPtrArray) families = find_families(order->families, error);
  OrrBench *bench = families ? order->layer->open(order->device, error) : NULL;
  if (!bench) return FALSE;
  OrrBenchFacts facts = *order->layer->facts(bench); /* the bench owns its texts */
  if (n_gpus > 0) facts.n_gpus = facts.n_ranks = n_gpus;
  *ret_answer = answer_of(&facts, families);
  g_autoptr(OrrMeasurePlan) plan = orr_measure_session_plan(&facts, ret_answer->families);
  for (guint i = 0; ret_answer->families[i]; i++)
    ret_answer->states[i] = orr_measure_plan_state(plan, ret_answer->families[i]);
  order->layer->close(bench);
  return TRUE;
}

double orr_calibrate_row_time_s(void) {
  const OrrTimingRule *rule = &orr_timing_default;
  return rule->warm_up_s + rule->burst_s + (rule->settle_s + rule->watch_s) / ORR_WATCHED_ONE_IN;
}

gboolean orr_calibrate(const OrrCalibrateOrder *order, OrrCalibrateAnswer *ret_answer,
                       GError **error) {
  g_autoptr(GPtrArray) families = find_families(order->families, error);
  if (!families) return FALSE;
  OrrBench *bench = order->layer->open(order->device, error);
  if (!bench) return FALSE;
  g_auto(OrrCalibrateAnswer) answer = answer_of(order->layer->facts(bench), families);
  gboolean fine = spend(order, bench, families, &answer, error);
  order->layer->close(bench);
  if (!fine) return FALSE;
  *ret_answer = answer;
  answer = (OrrCalibrateAnswer){0};
  return TRUE;
}

void orr_calibrate_answer_clear(OrrCalibrateAnswer *answer) {
  ORR_FREE(answer->device, answer->driver);
  if (answer->left_out) g_ptr_array_unref(answer->left_out);
  ORR_FREE(answer->families, answer->states);
}
