/*
 * cluster_answers.c - sums over a finished cluster of jobs, and its course over time.
 *
 * GPU-hours from the first submission to the last end:
 *
 *   all = useful + slowed + checkpoints + preempted + failed + timed-out + repair + fragments
 *         + idle
 *
 * Watts: GPUs of gangs as their steps were replayed, the others idle; the machine around them as
 * its document says (cluster_power.h). Where a place has no replayed step, nothing is known.
 */
#include "sim/run/answer/answer_private.h"

#include "sim/base/number.h"

#define US_PER_HOUR (ORR_GANG_US_PER_S * 3600)
#define JOULES_PER_KWH 3.6e6

static const OrrGangJob *job_at(const OrrClusterWork *work, guint i) {
  return &g_array_index(work->trace->jobs, OrrGangJob, i);
}

double orr_cluster_answers_slowdown(const OrrGangJob *job) {
  const gint64 given_us = job->run_us + job->overhead_us;
  return given_us > 0 ? (double)(given_us + job->slowed_us) / (double)given_us : NAN;
}

/* Work per time of @job if it had each kind for as many of its GPUs as the cluster has of it. */
static double mean_rate(const OrrClusterWork *work, const OrrGangJob *job) {
  double sum = 0;
  ORR_EACH_AT(k, const OrrGangKind, kind, work->kinds)
    sum += job->rates[k] * (double)kind->n_nodes * (double)kind->gpus_per_node;
  return work->kinds->len > 0 ? sum / (double)work->work.n_gpus : 1;
}

double orr_cluster_answers_asked_us(const OrrClusterWork *work, const OrrGangJob *job) {
  const gint64 limit_us = orr_gang_job_limit_us(job, work->rules.limit_us);
  const gint64 work_us = limit_us > 0 ? MIN(job->work_us, limit_us) : job->work_us;
  return (double)work_us / mean_rate(work, job);
}

static gboolean is_resized(const OrrClusterWork *work, const OrrGangJob *job) {
  return work->rules.elastic != ORR_ELASTIC_NONE || job->gpus != job->asked_gpus;
}

double orr_cluster_answers_own_us(const OrrClusterWork *work, const OrrGangJob *job) {
  return is_resized(work, job) ? orr_cluster_answers_asked_us(work, job) : (double)job->run_us;
}

double orr_cluster_answers_rho(const OrrClusterWork *work, const OrrGangJob *job) {
  const double life_us = (double)(job->end_us - job->submit_us);
  if (job->run_us <= 0 || !(life_us > 0)) return NAN;
  const double crowd = job->demand / life_us / (double)work->work.n_gpus;
  return life_us / (orr_cluster_answers_own_us(work, job) * fmax(1, crowd));
}

double orr_cluster_answers_kwh(const OrrClusterWork *work, const OrrGangJob *job) {
  return work->rules.speed ? job->energy_j / JOULES_PER_KWH : NAN;
}

/* --- Fairness and efficiency --- */

static void fill_rho(const OrrClusterWork *work, OrrClusterResult *r) {
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = work->first; i < work->end; i++) {
    const double rho = orr_cluster_answers_rho(work, job_at(work, i));
    if (!isnan(rho)) g_array_append_val(all, rho);
  }
  const OrrLatencies rho = orr_latencies_of(all);
  g_array_sort(all, orr_number_compare);
  r->rho_mean = all->len > 0 ? rho.mean : NAN;
  r->rho_p95 = all->len > 0 ? rho.p95 : NAN;
  r->rho_max = all->len > 0 ? g_array_index(all, double, all->len - 1) : NAN;
}

static double useful_of(const OrrGangTotals *totals) {
  return totals->used - totals->overhead - totals->slowed - totals->timed_out;
}

static void fill_efficiency(const OrrClusterWork *work, OrrClusterResult *r) {
  const OrrGangTotals *totals = &work->totals;
  double trained = 0, lives = 0;
  for (guint i = 0; i < work->trace->jobs->len; i++) {
    const OrrGangJob *job = job_at(work, i);
    const gint64 life_us = job->end_us - job->first_start_us;
    const gboolean by_size = is_resized(work, job);
    if (!job->is_timed_out)
      trained += job->run_gpu_us +
                 (by_size ? job->paced_gpu_us : (double)job->gpus * (double)job->slowed_us);
    lives += by_size ? job->held_gpu_us + (double)job->asked_gpus * (double)(life_us - job->held_us)
                     : (double)job->gpus * (double)life_us;
  }
  const double given = totals->used - totals->slowed;
  const double span_us = (double)(totals->end_us - totals->begin_us);
  r->ettr = lives > 0 ? trained / lives : NAN;
  r->placement_slowdown = given > 0 ? totals->used / given : NAN;
  r->fragmentation = totals->free > 0 ? totals->stranded / totals->free : 0;
  r->largest_gang = span_us > 0 ? (totals->free - totals->stranded) / span_us : 0;
  r->failed_gpu_hours = totals->failed / US_PER_HOUR;
  r->failures = (gint64)totals->failures;
  r->strikes = (gint64)totals->strikes;
  r->useful = span_us > 0 ? useful_of(totals) / ((double)work->work.n_gpus * span_us) : 0;
}

static void add_hours(OrrOutcome *outcome, const char *what, double gpu_us, double all_us) {
  ORR_APPEND(outcome->cluster_hours, OrrClusterHoursRow,
             {.what = (char *)what,
              .gpu_hours = gpu_us / US_PER_HOUR,
              .fraction = all_us > 0 ? gpu_us / all_us : 0});
}

static void add_all_hours(const OrrClusterWork *work, OrrOutcome *outcome) {
  const OrrGangTotals *t = &work->totals;
  const double all = (double)work->work.n_gpus * (double)(t->end_us - t->begin_us);
  add_hours(outcome, "useful", useful_of(t), all);
  add_hours(outcome, "slowed", t->slowed, all);
  add_hours(outcome, "checkpoints", t->saved, all);
  add_hours(outcome, "preempted", t->overhead - t->failed - t->saved, all);
  add_hours(outcome, "failed", t->failed, all);
  add_hours(outcome, "timed-out", t->timed_out, all);
  add_hours(outcome, "repair", t->out, all);
  add_hours(outcome, "fragments", t->free_waiting, all);
  add_hours(outcome, "idle", all - t->used - t->out - t->free_waiting, all);
}

/* --- Over time --- */

static double seconds(gint64 us) { return (double)us / ORR_GANG_US_PER_S; }

static void add_times(const OrrClusterWork *work, OrrOutcome *outcome) {
  const OrrGangHistory *history = work->history;
  for (guint i = 0; i < history->n; i++) {
    const OrrGangMoment *moment = &history->moments[i];
    const gint64 begin_us = history->begin_us + i * history->each_us;
    const gint64 end_us = MIN(begin_us + history->each_us, work->totals.end_us);
    const double span_us = (double)(end_us - begin_us);
    if (!(span_us > 0)) continue;
    ORR_APPEND(outcome->cluster_times, OrrClusterTimeRow,
               {.begin_s = seconds(begin_us),
                .end_s = seconds(end_us),
                .held = moment->held / span_us,
                .asked = moment->waiting / span_us,
                .jobs_waiting = moment->jobs_waiting / span_us,
                .free = moment->free / span_us,
                .largest_gang = moment->largest / span_us,
                .out = moment->out / span_us});
  }
}

enum { N_PARTS = 100, MOST_NAMES = 15 };

typedef struct {
  const char *name;
  double all;
  double parts[N_PARTS]; /* GPU-microseconds by interval */
} Holder;

static void hold(Holder *holder, const OrrGangSpan *span, gint64 begin_us, double each_us) {
  for (int i = (int)((double)(span->begin_us - begin_us) / each_us); i < N_PARTS; i++) {
    const double from = fmax((double)(span->begin_us - begin_us), i * each_us);
    const double to = fmin((double)(span->end_us - begin_us), (i + 1) * each_us);
    if (to <= from) break;
    holder->parts[i] += (double)span->gpus * (to - from);
    holder->all += (double)span->gpus * (to - from);
  }
}

static const char *queue_of(const OrrGangJob *job) { return job->queue; }
static const char *user_of(const OrrGangJob *job) { return job->user; }

static int compare_holders(gconstpointer a, gconstpointer b) {
  const Holder *x = *(Holder *const *)a, *y = *(Holder *const *)b;
  if (x->all != y->all) return x->all > y->all ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* The holders of @work by name. */
typedef struct {
  const OrrClusterWork *work;
  double each_us;
  const char *(*name_of)(const OrrGangJob *);
  GHashTable *known;
  GPtrArray *all;
  Holder **of_job; /* by index; NULL: not yet looked up */
} Holders;

static Holder *find_holder(const Holders *holders, const char *name) {
  Holder *holder = g_hash_table_lookup(holders->known, name);
  if (holder) return holder;
  holder = g_new0(Holder, 1);
  holder->name = name;
  g_hash_table_insert(holders->known, (char *)name, holder);
  g_ptr_array_add(holders->all, holder);
  return holder;
}

static void add_span(const OrrGangSpan *span, void *user) {
  const Holders *holders = user;
  Holder **holder = &holders->of_job[span->job];
  if (!*holder) *holder = find_holder(holders, holders->name_of(job_at(holders->work, span->job)));
  hold(*holder, span, holders->work->totals.begin_us, holders->each_us);
}

/* By name, those that held most first. */
static GPtrArray *holders_of(const OrrClusterWork *work, const char *(*name_of)(const OrrGangJob *),
                             double each_us) {
  g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
  g_autofree Holder **of_job = g_new0(Holder *, work->trace->jobs->len);
  Holders holders = {work, each_us, name_of, known, g_ptr_array_new_with_free_func(g_free), of_job};
  orr_gang_spans_each(work->history->spans, add_span, &holders);
  g_ptr_array_sort(holders.all, compare_holders);
  return holders.all;
}

/* The last of the holders shown takes in all further ones. */
static void merge_others(GPtrArray *holders) {
  if (holders->len <= MOST_NAMES) return;
  Holder *others = holders->pdata[MOST_NAMES];
  others->name = "others";
  for (guint i = MOST_NAMES + 1; i < holders->len; i++)
    for (int part = 0; part < N_PARTS; part++)
      others->parts[part] += ((const Holder *)holders->pdata[i])->parts[part];
  g_ptr_array_set_size(holders, MOST_NAMES + 1);
}

static void add_shares(const OrrClusterWork *work, const char *grouping,
                       const char *(*name_of)(const OrrGangJob *), OrrOutcome *outcome) {
  const double begin_us = (double)work->totals.begin_us;
  const double each_us = ((double)work->totals.end_us - begin_us) / N_PARTS;
  if (!(each_us > 0)) return;
  g_autoptr(GPtrArray) holders = holders_of(work, name_of, each_us);
  merge_others(holders);
  ORR_EACH_POINTER(const Holder, holder, holders) {
    const char *name = *holder->name ? holder->name : "none";
    for (int part = 0; part < N_PARTS; part++)
      ORR_APPEND(outcome->cluster_shares, OrrClusterShareRow,
                 {.grouping = (char *)grouping,
                  .name = g_string_chunk_insert_const(outcome->names, name),
                  .begin_s = (begin_us + part * each_us) / ORR_GANG_US_PER_S,
                  .end_s = (begin_us + (part + 1) * each_us) / ORR_GANG_US_PER_S,
                  .gpus = holder->parts[part] / each_us});
  }
}

/* --- Places, watts and money --- */

static void add_places(const OrrClusterWork *work, OrrOutcome *outcome) {
  const OrrGangSpeed *speed = work->rules.speed;
  for (guint i = 0; speed && i < speed->in_order->len; i++) {
    const OrrGangAnswer *answer = speed->in_order->pdata[i];
    ORR_APPEND(outcome->cluster_places, OrrClusterPlaceRow,
               {.model = g_string_chunk_insert_const(outcome->names, answer->place.model),
                .gpus = answer->place.gpus,
                .level = (char *)orr_gang_level_words[answer->place.level],
                .leaves = answer->place.leaves,
                .most_in_leaf = answer->place.most_in_leaf,
                .starts = answer->n_starts,
                .slow = answer->pace.slow[0],
                .slow_half = answer->pace.slow[1],
                .slow_quarter = answer->pace.slow[2],
                .uplink = answer->pace.uplink,
                .watts = answer->pace.watts});
  }
}

static double gpu_watts(const OrrReplayed *replayed, const OrrClusterWork *work, double span_s) {
  const OrrDevicePower *power = &replayed->cluster->device.power;
  const double all_s = (double)work->work.n_gpus * span_s;
  const double held_s = work->totals.used / ORR_GANG_US_PER_S;
  double joules = 0;
  if (!work->rules.speed || !orr_device_power_is_known(power) || !(span_s > 0)) return NAN;
  for (guint i = 0; i < work->trace->jobs->len; i++) joules += job_at(work, i)->energy_j;
  return (joules + power->idle_w * (all_s - held_s)) / span_s;
}

/* Prices are by the cluster's own device, which the kinds of a document replace. */
static gboolean has_kinds(const OrrClusterWork *work) {
  return work->kinds->len > 0 && *g_array_index(work->kinds, OrrGangKind, 0).name;
}

static void fill_money(const OrrReplayed *replayed, double useful_hours, OrrOutcome *outcome) {
  OrrClusterResult *r = &outcome->result.cluster;
  const OrrPrices *prices = replayed->prices;
  r->cost_hardware = r->cost_energy = r->cost_per_useful_gpu_hour = r->carbon_kg = NAN;
  if (!prices || !orr_prices_given(prices)) return;
  if (has_kinds((const OrrClusterWork *)replayed->work))
    return g_ptr_array_add(
        outcome->warnings,
        g_strdup("prices are by device and kinds of GPUs have none: no costs stated"));
  const gboolean has_hardware = orr_prices_has_hardware(prices), has_energy = prices->kwh > 0;
  g_autoptr(OrrBill) bill = orr_bill_new(replayed->fabric);
  const double hours = (double)replayed->work->n_gpus * r->makespan_s / 3600;
  if (has_hardware)
    r->cost_hardware = orr_prices_gpu_hour(prices, bill, replayed->cluster->device.name) * hours;
  const double meter_kwh = r->energy_kwh * (prices->pue > 0 ? prices->pue : 1);
  if (has_energy) r->cost_energy = meter_kwh * prices->kwh;
  if (prices->carbon_grams_per_kwh > 0)
    r->carbon_kg = meter_kwh * prices->carbon_grams_per_kwh / 1000;
  if (has_hardware || has_energy)
    r->cost_per_useful_gpu_hour =
        ((has_hardware ? r->cost_hardware : 0) + (has_energy ? r->cost_energy : 0)) / useful_hours;
}

static void fill_power(const OrrReplayed *replayed, const OrrClusterWork *work,
                       OrrOutcome *outcome) {
  OrrClusterResult *r = &outcome->result.cluster;
  const OrrGangTotals *t = &work->totals;
  const double span_s = seconds(t->end_us - t->begin_us);
  r->gpu_power_mean_w = gpu_watts(replayed, work, span_s);
  const OrrMachineLoad load = {(double)work->work.n_gpus, r->gpu_power_mean_w, 0};
  r->machine = orr_cluster_power_machine(replayed->fabric, replayed->cluster, &load);
  orr_machine_rows_add(replayed->cluster, &r->machine, outcome);
  r->energy_kwh = r->machine.all_w * span_s / JOULES_PER_KWH;
  fill_money(replayed, useful_of(t) / US_PER_HOUR, outcome);
}

static void fill_asked(const OrrClusterWork *work, OrrClusterResult *r) {
  r->asked_start_s = r->asked_wait_s = NAN;
  for (guint i = 0; i < work->trace->jobs->len; i++) {
    const OrrGangJob *job = job_at(work, i);
    if (job->number != G_MAXINT64) continue;
    r->asked_start_s = seconds(job->first_start_us);
    r->asked_wait_s = seconds(job->first_start_us - job->submit_us);
  }
}

void orr_cluster_answers(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrClusterWork *work = (const OrrClusterWork *)replayed->work;
  OrrClusterResult *r = &outcome->result.cluster;
  fill_rho(work, r);
  fill_efficiency(work, r);
  fill_asked(work, r);
  fill_power(replayed, work, outcome);
  add_all_hours(work, outcome);
  add_times(work, outcome);
  if (!work->rules.placement->is_count && work->rules.rounds.length_us == 0) /* nodes are seen */
    outcome->job_spans = orr_cluster_spans_new(work, outcome->names);
  add_shares(work, "queue", queue_of, outcome);
  add_shares(work, "user", user_of, outcome);
  add_places(work, outcome);
}
