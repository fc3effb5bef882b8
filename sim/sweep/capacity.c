/*
 * capacity.c - the search: runs of one rate in child processes, their confidence interval, doubling
 * or halving, and bisection on a logarithmic scale. Each run also says how many requests meet their
 * objectives with confidence (capacity_band.c); a second search, which begins with the rates of the
 * first, finds the highest rate for those.
 */
#include "sim/sweep/capacity.h"

#include "sim/base/children.h"
#include "sim/run/simulate.h"
#include "workloads/serving/serving.h"

enum { MOST_SEEDS = 10, MOST_DOUBLINGS = 20 };

/* Part of the misses too small to be an effect of the load. */
#define FLAT 0.02

/* Requests in the system per replica at which hardly one finds another there. */
#define IDLE 0.1

/* A run of tasks lasts as many time-outs: an overload by a twentieth shows. MLPerf's Server runs
 * last 30 of 20 s. */
#define TIME_OUTS 20

/* For workload.metrics.request-rows. */
#define EVERY_REQUEST "1000000000"

/* Student's t, two-sided 95 %, by degrees of freedom from 1 (any table; e.g. NIST/SEMATECH
 * 1.3.6.7.2). */
static const double student[MOST_SEEDS] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                           2.447,  2.365, 2.306, 2.262, 2.228};

/* The same with 18, which two runs of ten batches have; more runs have a smaller one. */
static const double student_18 = 2.101;

/* The run of one seed. */
typedef struct {
  double fraction, sure; /* of the requests: within their objectives, and with confidence */
  OrrCapacityBand band;
  OrrServingResult result;
} Answer;

/* In this process: what is read and built once for each seed. */
typedef struct {
  OrrScenario *scenario;
  OrrRunWorld *world;
} Ready;

typedef struct {
  OrrLibrary *library;
  OrrNode *tree;
  const OrrCapacityQuery *query;
  const OrrBands *bands;
  const char *rate_of; /* what that rate counts */
  gsize rate_offset;   /* of the rate in the load's parameters */
  gboolean is_steady;  /* the load has a steady state */
  double timeout_s;    /* of tasks: what counts is which are done within it; 0: no tasks */
  gint64 requests;     /* tasks of a run, at least */
  gboolean is_trace;
  OrrTraceFacts trace; /* where is_trace */
  Ready ready[MOST_SEEDS];
} Search;

/* --- one run --- */

/* The run goes on until there is a steady state, or surely none in which the objectives are met. */
static gboolean set_window(const Search *search, GError **error) {
  char fraction[G_ASCII_DTOSTR_BUF_SIZE];
  const char *const settings[][2] = {
      {"workload.metrics.window", "steady"},
      {"workload.metrics.warmup", "0 s"},
      {"workload.longest-queue", "0 s"},
      {"workload.least-good", g_ascii_dtostr(fraction, sizeof fraction, search->query->fraction)}};
  for (guint i = 0; search->is_steady && i < G_N_ELEMENTS(settings); i++)
    if (!orr_field_set(&orr_scenario_table, search->tree, settings[i][0], settings[i][1], error))
      return FALSE;
  return TRUE;
}

/* As many tasks as come in the time of a run. */
static gboolean set_tasks(const Search *search, double rate, GError **error) {
  const double tasks = fmax(ceil(TIME_OUTS * search->timeout_s * rate), (double)search->requests);
  g_autofree char *text = g_strdup_printf("%.0f", tasks);
  return search->timeout_s == 0 ||
         orr_field_set(&orr_scenario_table, search->tree, "workload.requests", text, error);
}

static OrrScenario *scenario_at(const Search *search, double rate, guint seed, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  char rate_text[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *seed_text = g_strdup_printf("%u", seed + 1);
  g_ascii_dtostr(rate_text, sizeof rate_text, rate);
  if (!orr_field_set(&orr_scenario_table, search->tree, "workload.load.rate", rate_text, error) ||
      !orr_field_set(&orr_scenario_table, search->tree, "seed", seed_text, error) ||
      !orr_field_set(&orr_scenario_table, search->tree, "workload.metrics.request-rows",
                     EVERY_REQUEST, error) ||
      !set_window(search, error) || !set_tasks(search, rate, error))
    return NULL;
  OrrScenario *scenario = orr_scenario_read(search->library, search->tree, diags);
  if (scenario) return scenario;
  g_autofree char *findings = orr_diags_text(diags);
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, g_strstrip(findings));
  return NULL;
}

static double counted(const OrrServingResult *result) {
  return (double)(result->completed + result->rejected + result->failed);
}

double orr_capacity_fraction(const OrrServingResult *result) {
  const double n = counted(result), good = round(result->goodput_rps * result->duration_s);
  return n > 0 ? good / n : 0;
}

static void judge(const Search *search, const OrrScenario *scenario, const OrrOutcome *outcome,
                  Answer *answer) {
  const OrrServingResult *result = &outcome->result.serving;
  const double n = counted(result);
  answer->fraction = search->timeout_s > 0 ? result->tasks_within : orr_capacity_fraction(result);
  answer->result = *result;
  if (search->timeout_s > 0) answer->result.steady_good_error = NAN; /* of requests, not of tasks */
  const gboolean is_asked = search->query->confidence > 0 && search->timeout_s == 0;
  answer->band = (OrrCapacityBand){.factors = {NAN, NAN, NAN},
                                   .quality = is_asked ? ORR_BAND_GOOD : ORR_BAND_NONE};
  if (search->timeout_s > 0)
    g_strlcpy(answer->band.reason, "tasks have no band", sizeof answer->band.reason);
  if (!is_asked) return;
  answer->band = orr_capacity_band_of(search->bands, search->library, scenario, outcome,
                                      search->query->fraction, search->query->confidence);
  answer->sure = n > 0 ? answer->band.good / n : 0;
}

/* FALSE with @error, which gets its place in the scenario, where there is no outcome. */
static gboolean answer_from(const Search *search, const OrrScenario *scenario,
                            const OrrOutcome *outcome, Answer *ret_answer, GError **error) {
  if (outcome)
    judge(search, scenario, outcome, ret_answer);
  else if (scenario)
    orr_scenario_locate(search->tree, *error);
  return outcome != NULL;
}

typedef struct {
  const Search *search;
  double rate;
} Task;

static GBytes *work(guint seed, void *user, GError **error) {
  const Task *task = user;
  const Search *search = task->search;
  Answer answer = {0};
  g_autoptr(OrrScenario) scenario = scenario_at(search, task->rate, seed, error);
  g_autoptr(OrrOutcome) outcome =
      scenario ? orr_simulate(search->library, scenario, FALSE, error) : NULL;
  return answer_from(search, scenario, outcome, &answer, error)
             ? g_bytes_new(&answer, sizeof answer)
             : NULL;
}

static gboolean make_ready(const Search *search, Ready *ready, double rate, guint seed,
                           GError **error) {
  if (!ready->scenario) ready->scenario = scenario_at(search, rate, seed, error);
  if (!ready->scenario || ready->world) return ready->scenario != NULL;
  ready->world =
      search->query->world ? NULL : orr_run_world_new(search->library, ready->scenario, error);
  return ready->world || search->query->world;
}

/* The same in this process: only the rate differs from the run before. */
static gboolean answer_here(Search *search, double rate, guint seed, Answer *ret_answer,
                            GError **error) {
  const OrrSimulation options = {.brief = TRUE};
  Ready *ready = &search->ready[seed];
  g_autoptr(OrrOutcome) outcome = NULL;
  if (make_ready(search, ready, rate, seed, error)) {
    const OrrServing *params = ready->scenario->workload.params;
    *(double *)(void *)((char *)params->load.params + search->rate_offset) = rate;
    const OrrRunWorld *world = ready->world ? ready->world : search->query->world;
    outcome = orr_simulate_in(world, ready->scenario, &options, error);
  }
  return answer_from(search, ready->scenario, outcome, ret_answer, error);
}

static void warm(const Search *search, double rate) {
  g_autoptr(OrrScenario) scenario = scenario_at(search, rate, 0, NULL);
  orr_run_world_warm(search->library, scenario);
}

/* --- one rate --- */

/* A fraction of a count of requests is met exactly at times, but for the last bits. */
static gboolean is_enough(double fraction, double least) { return fraction >= least - 1e-9; }

/* One seed after the other. Where a run has no steady state, or the mean stays below the fraction
 * though all requests of the seeds that are left meet their objectives, these need not run: the
 * rate fails, and the last run stands for theirs. */
static gboolean run_here(Search *search, double rate, Answer *ret_answers, GError **error) {
  const guint n = search->query->seeds;
  double most = n; /* the sum of the fractions, at most */
  for (guint i = 0; i < n; i++) {
    if (!answer_here(search, rate, i, &ret_answers[i], error)) return FALSE;
    most -= 1 - ret_answers[i].fraction;
    const gboolean is_valid = ret_answers[i].result.steady || !search->is_steady;
    if (is_valid && is_enough(most / n, search->query->fraction)) continue;
    for (guint other = i + 1; other < n; other++) ret_answers[other] = ret_answers[i];
    return TRUE;
  }
  return TRUE;
}

/* Simulates each seed. */
static gboolean run_seeds(Search *search, double rate, Answer *ret_answers, GError **error) {
  Task task = {search, rate};
  const OrrChildren children = {.n = search->query->seeds, .work = work, .user = &task};
  if (search->query->in_process) return run_here(search, rate, ret_answers, error);
  return orr_children_collect(&children, sizeof *ret_answers, ret_answers, NULL, error);
}

/* Student's interval of the mean over the seeds. */
static OrrCapacityInterval interval_of(const double *fractions, guint n, double least) {
  double sum = 0, squares = 0;
  for (guint i = 0; i < n; i++) sum += fractions[i];
  const double mean = sum / n;
  for (guint i = 0; i < n; i++) squares += (fractions[i] - mean) * (fractions[i] - mean);
  const double margin = student[n - 2] * sqrt(squares / (n - 1) / n);
  return (OrrCapacityInterval){mean, margin, is_enough(mean - margin, least)};
}

/* The interval over the batches of all runs; each run gives the error of its own fraction. It is
 * narrower than one over few seeds. The error of another fraction is scaled as a binomial's. Where
 * a run gives none, the seeds alone show the error: the batches of a trace are its parts, and a run
 * without a miss has no error to scale. */
static OrrCapacityInterval interval_of_batches(const double *fractions, const Answer *answers,
                                               guint n, double least) {
  OrrCapacityInterval interval = interval_of(fractions, n, least);
  double squares = 0;
  for (guint i = 0; i < n; i++) {
    const double own = answers[i].fraction, error = answers[i].result.steady_good_error;
    if (!answers[i].result.steady || isnan(error) || (error == 0 && fractions[i] != own))
      return interval;
    if (error > 0) squares += error * error * fractions[i] * (1 - fractions[i]) / (own * (1 - own));
  }
  interval.margin = student_18 * sqrt(squares) / n;
  interval.meets = is_enough(interval.mean - interval.margin, least);
  return interval;
}

/* The worst band of the seeds' runs, and their largest factors. */
static OrrCapacityBand worst_band(const Answer *answers, guint n) {
  OrrCapacityBand worst = answers[0].band;
  for (guint i = 1; i < n; i++) {
    const OrrCapacityBand *band = &answers[i].band;
    if (band->quality < worst.quality) {
      worst.quality = band->quality;
      memcpy(worst.reason, band->reason, sizeof worst.reason);
    }
    for (int k = 0; k < ORR_N_LIMITS; k++)
      worst.factors[k] = fmax(worst.factors[k], band->factors[k]);
  }
  return worst;
}

/* NULL: all seeds' runs have a steady state. */
static const Answer *first_unsteady(const Answer *answers, guint n) {
  for (guint i = 0; i < n; i++)
    if (!answers[i].result.steady) return &answers[i];
  return NULL;
}

static void note(OrrCapacityRange *range, double rate, gboolean meets) {
  if (meets)
    range->meets = fmax(range->meets, rate);
  else if (rate > range->meets)
    range->fails = range->fails > 0 ? fmin(range->fails, rate) : rate;
}

static gboolean try_rate(Search *search, double rate, OrrCapacity *capacity, GError **error) {
  const guint n = search->query->seeds;
  Answer answers[MOST_SEEDS] = {0};
  double fractions[MOST_SEEDS] = {0}, sure[MOST_SEEDS] = {0};
  if (!run_seeds(search, rate, answers, error)) return FALSE;
  for (guint i = 0; i < n; i++) {
    fractions[i] = answers[i].fraction;
    sure[i] = answers[i].sure;
  }
  const Answer *shown = first_unsteady(answers, n);
  const double least = search->query->fraction;
  OrrCapacityPoint point = {.rate = rate,
                            .alone = interval_of_batches(fractions, answers, n, least),
                            .sure = interval_of_batches(sure, answers, n, least),
                            .band = worst_band(answers, n),
                            .is_steady = !shown,
                            .result = (shown ? shown : answers)->result};
  const gboolean is_valid = point.is_steady || !search->is_steady;
  point.alone.meets = point.alone.meets && is_valid;
  point.sure.meets = point.sure.meets && is_valid && point.band.quality != ORR_BAND_NONE;
  g_array_append_val(capacity->points, point);
  note(&capacity->alone, rate, point.alone.meets);
  note(&capacity->sure, rate, point.sure.meets);
  return TRUE;
}

/* --- the search --- */

static gboolean is_open(const OrrCapacityRange *range) {
  return range->meets == 0 || range->fails == 0;
}

/* Whether the last rate tried has no band: at another rate there would hardly be one. */
static gboolean is_unknown(const OrrCapacity *capacity) {
  const GArray *points = capacity->points;
  return g_array_index(points, OrrCapacityPoint, points->len - 1).band.quality == ORR_BAND_NONE;
}

/* Whether the engines are all but idle, so that no request is in another's way. */
static gboolean is_idle(const OrrServingResult *result) {
  return result->in_system_mean > 0 && result->in_system_mean < IDLE * (double)result->replicas;
}

/* As many misses. The interval of a run that ended early may be too wide to tell. */
static gboolean is_as_missed(const OrrCapacityInterval *before, const OrrCapacityInterval *after) {
  return 1 - after->mean > (1 - before->mean) * (1 - FLAT) &&
         3 * before->margin < 1 - before->mean && 3 * after->margin < 1 - after->mean;
}

/* Whether two halvings of a rate left as many requests outside their objectives, for the search of
 * @range: then it is not the load that keeps them out. An overload keeps all of them out, but with
 * confidence the simulation meets that rate, and by the simulation alone engines are idle. A
 * trace's bursts stay bursts however idle the engines are in between. */
static gboolean is_flat(const Search *search, const OrrCapacity *capacity,
                        const OrrCapacityRange *range) {
  const guint n = capacity->points->len;
  if (n < 3 || search->is_trace) return FALSE;
  const OrrCapacityPoint *last = &g_array_index(capacity->points, OrrCapacityPoint, n - 1);
  if (!(last->rate < last[-1].rate && last[-1].rate < last[-2].rate)) return FALSE;
  return range == &capacity->sure
             ? last[-2].alone.meets && is_as_missed(&last[-2].sure, &last->sure)
             : is_idle(&last->result) && is_as_missed(&last[-2].alone, &last->alone);
}

/* Doubles or halves from @rate, or from what @range holds, until one rate meets and one fails. */
static gboolean bracket(Search *search, double rate, OrrCapacity *capacity,
                        const OrrCapacityRange *range, GError **error) {
  for (guint i = 0; i <= MOST_DOUBLINGS && is_open(range); i++) {
    const double step = search->query->step > 1 ? search->query->step : 2;
    const double down = range == &capacity->sure ? step : 2; /* near to the first search's */
    if (range->meets > 0 || range->fails > 0)
      rate = range->meets > 0 ? step * range->meets : range->fails / down;
    if (rate < search->query->least) break;
    if (!try_rate(search, rate, capacity, error)) return FALSE;
    if (range == &capacity->sure && is_unknown(capacity)) break;
    if (range->meets == 0 && is_flat(search, capacity, range)) break;
  }
  return TRUE;
}

static gboolean bisect(Search *search, OrrCapacity *capacity, const OrrCapacityRange *range,
                       GError **error) {
  while (!is_open(range) && range->fails / range->meets > 1 + search->query->tolerance)
    if (!try_rate(search, sqrt(range->meets * range->fails), capacity, error)) return FALSE;
  return TRUE;
}

/* The rate that holds with confidence: the rates of the first search narrow it down. */
static gboolean find_sure(Search *search, OrrCapacity *capacity, GError **error) {
  return is_unknown(capacity) || (bracket(search, 0, capacity, &capacity->sure, error) &&
                                  bisect(search, capacity, &capacity->sure, error));
}

static gboolean has_objective(const OrrServing *params) {
  gboolean has = params->tasks.timeout_s > 0 || params->slo.ttft_s > 0 || params->slo.tpot_s > 0 ||
                 params->slo.e2e_s > 0;
  for (guint i = 0; params->classes && i < params->classes->len; i++) {
    const OrrSlo *slo = &((const OrrRequestClass *)params->classes->pdata[i])->slo;
    has |= slo->ttft_s > 0 || slo->tpot_s > 0 || slo->e2e_s > 0;
  }
  return has;
}

static const OrrField *field_of(const OrrEntry *load, const char *name) {
  for (gsize i = 0; load->params && i < load->params->n_fields; i++)
    if (g_str_equal(load->params->fields[i].name, name)) return &load->params->fields[i];
  return NULL;
}

/* Of a trace: what it is, and that its own times and speed no longer count. */
static gboolean read_trace(Search *search, const OrrScenario *scenario, GError **error) {
  const OrrServing *params = scenario->workload.params;
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  if (!load->cycle) return TRUE;
  search->is_trace = orr_trace_facts(load, params->load.params, params->requests, scenario->folders,
                                     &search->trace, error);
  return search->is_trace &&
         orr_field_set(&orr_scenario_table, search->tree, "workload.load.speed", "1", error);
}

static double fail_document(GError **error, const char *text) {
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return 0;
}

/* Whether a fault comes or goes at a date. */
static gboolean strikes_once(const OrrScenario *scenario) {
  for (guint i = 0; scenario->faults && i < scenario->faults->len; i++) {
    const OrrFaultSpec *spec = scenario->faults->pdata[i];
    if (spec->mtbf_s <= 0 && (spec->at_s > 0 || spec->until_s > 0)) return TRUE;
  }
  return FALSE;
}

/* The scenario's own rate, where the search starts: a trace has one of its own. 0 with @error when
 * there is nothing to search. */
static double first_rate(Search *search, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read(search->library, search->tree, diags);
  if (!scenario) {
    g_autofree char *findings = orr_diags_text(diags);
    return fail_document(error, g_strstrip(findings));
  }
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const OrrServing *params = scenario->workload.params;
  if (kind != &orr_serving_kind) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "plan rate needs a workload of kind serving, found kind %s", kind->entry.name);
    return 0;
  }
  const OrrField *field = field_of(params->load.entry, "rate");
  if (!field) {
    g_set_error(
        error, ORR_FAULT, ORR_FAULT_DOCUMENT,
        "plan rate varies workload.load.rate, which load %s does not have: use e.g. poisson",
        params->load.entry->name);
    return 0;
  }
  const gboolean has_tasks = orr_tasks_are_on(&params->tasks);
  search->timeout_s = has_tasks ? params->tasks.timeout_s : 0;
  search->requests = params->requests;
  if (!has_objective(params) || (has_tasks && search->timeout_s <= 0))
    return fail_document(error, "plan rate needs an objective: set workload.slo.ttft, tpot or e2e, "
                                "or for tasks workload.tasks.timeout");
  search->rate_offset = field->offset;
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  search->is_steady = load->is_endless && !has_tasks;
  search->rate_of = has_tasks ? "tasks" : load->rate_of ? load->rate_of : "requests";
  if (search->is_steady && strikes_once(scenario))
    return fail_document(error,
                         "plan rate judges a steady state, as long as it takes, and a fault that "
                         "strikes once has no share of it: give faults a rate (mtbf), or begin "
                         "them at 0 s for good");
  if (!read_trace(search, scenario, error)) return 0;
  const double rate = *(const double *)((const char *)params->load.params + field->offset);
  return rate > 0 || !search->is_trace ? rate : search->trace.rate;
}

/* Both searches. */
static gboolean find(Search *search, double rate, OrrCapacity *capacity, GError **error) {
  const double least = search->query->least;
  const OrrCapacityRange *known = &search->query->known;
  if (known->meets > 0) {
    capacity->alone = *known;
    return try_rate(search, known->meets, capacity, error) && find_sure(search, capacity, error);
  }
  /* a rate that meets far above the least one speaks for that, too */
  if (least > 0 && rate > 2 * least && !try_rate(search, rate, capacity, error)) return FALSE;
  const gboolean asks_least = least > 0 && capacity->alone.meets == 0;
  if (asks_least && !try_rate(search, least, capacity, error)) return FALSE;
  if (asks_least && capacity->alone.meets == 0) return TRUE;
  if (!bracket(search, rate, capacity, &capacity->alone, error) ||
      !bisect(search, capacity, &capacity->alone, error))
    return FALSE;
  return search->query->confidence == 0 || capacity->alone.meets == 0 ||
         find_sure(search, capacity, error);
}

static void clear(Search *search) {
  orr_trace_facts_clear(&search->trace);
  for (guint i = 0; i < MOST_SEEDS; i++) {
    orr_run_world_free(search->ready[i].world);
    orr_scenario_free(search->ready[i].scenario);
  }
}

/* The bands of serving. A file of residuals that is wrong costs the bands, not the answer. */
static OrrBands *open_bands(OrrLibrary *library, const OrrResiduals *none, char **ret_note) {
  g_autoptr(GError) reason = NULL;
  OrrBands *bands = orr_bands_new(library, "serving", &reason);
  *ret_note = g_strdup(bands ? orr_bands_stale(bands) : reason->message);
  return bands ? bands : orr_bands_of(none);
}

OrrCapacity *orr_capacity_find(OrrLibrary *library, OrrNode *tree, const OrrCapacityQuery *query,
                               GError **error) {
  g_return_val_if_fail(query->seeds >= 2 && query->seeds <= MOST_SEEDS, NULL);
  g_return_val_if_fail(query->confidence == 0 || query->confidence > 0.5, NULL);
  g_return_val_if_fail(query->confidence < 1, NULL);
  Search search = {.library = library, .tree = tree, .query = query};
  const double rate = first_rate(&search, error);
  if (rate <= 0) {
    clear(&search);
    return NULL;
  }
  g_autoptr(OrrCapacity) capacity = g_new0(OrrCapacity, 1);
  capacity->rate_of = search.rate_of;
  capacity->trace_requests = search.trace.requests;
  capacity->trace_rate = search.trace.rate;
  capacity->left_out = g_strdup(search.trace.left_out);
  capacity->points = g_array_new(FALSE, FALSE, sizeof(OrrCapacityPoint));
  g_autoptr(OrrResiduals) none = orr_residuals_new();
  g_autoptr(OrrBands) bands = open_bands(library, none, &capacity->band_note);
  search.bands = bands;
  if (!search.is_steady)
    capacity->load_note = g_strdup_printf(
        "%s are judged from the first to the last, not in a steady state",
        search.timeout_s > 0 ? "tasks"
                             : "the load ends by itself or changes its rate: its requests");
  if (!query->in_process) warm(&search, rate);
  const gboolean is_found = find(&search, rate, capacity, error);
  clear(&search);
  return is_found ? g_steal_pointer(&capacity) : NULL;
}

const OrrCapacityPoint *orr_capacity_best(const OrrCapacity *capacity) {
  const OrrCapacityPoint *best = NULL;
  ORR_EACH(const OrrCapacityPoint, point, capacity->points)
    if (point->alone.meets && (!best || point->rate > best->rate)) best = point;
  return best;
}

void orr_capacity_free(OrrCapacity *capacity) {
  if (!capacity) return;
  if (capacity->points) g_array_unref(capacity->points);
  ORR_FREE(capacity->band_note, capacity->load_note, capacity->left_out, capacity);
}
