/*
 * capacity.c - the search: runs of one rate in child processes, their confidence interval, doubling
 * or halving, and bisection on a logarithmic scale.
 */
#include "sim/sweep/capacity.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/run/simulate.h"
#include "workloads/serving/serving.h"

enum { MOST_SEEDS = 10, MOST_DOUBLINGS = 20 };

/* Student's t, two-sided 95 %, by degrees of freedom from 1 (any table; e.g. NIST/SEMATECH
 * 1.3.6.7.2). */
static const double student[MOST_SEEDS] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                           2.447,  2.365, 2.306, 2.262, 2.228};

/* What a child sends: less than PIPE_BUF, so one write is one message. */
typedef struct {
  gboolean ok;
  int code; /* of the error */
  double fraction;
  char message[1024];
} Answer;

typedef struct {
  OrrLibrary *library;
  OrrNode *tree;
  const OrrCapacityQuery *query;
} Search;

/* --- one run --- */

static OrrOutcome *simulate(const Search *search, double rate, guint seed, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  char rate_text[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *seed_text = g_strdup_printf("%u", seed + 1);
  g_ascii_dtostr(rate_text, sizeof rate_text, rate);
  if (!orr_field_set(&orr_scenario_table, search->tree, "workload.load.rate", rate_text, error) ||
      !orr_field_set(&orr_scenario_table, search->tree, "seed", seed_text, error))
    return NULL;
  g_autoptr(OrrScenario) scenario = orr_scenario_read(search->library, search->tree, diags);
  if (scenario) {
    OrrOutcome *outcome = orr_simulate(search->library, scenario, FALSE, error);
    if (!outcome && error) orr_scenario_locate(search->tree, *error);
    return outcome;
  }
  g_autofree char *findings = orr_diags_text(diags);
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, g_strstrip(findings));
  return NULL;
}

static Answer answer_of(const Search *search, double rate, guint seed) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrOutcome) outcome = simulate(search, rate, seed, &error);
  Answer answer = {.ok = outcome != NULL};
  if (outcome) {
    const OrrServingResult *result = &outcome->result.serving;
    const double n = (double)(result->completed + result->rejected);
    answer.fraction = n > 0 ? result->goodput_rps * result->duration_s / n : 0;
  } else {
    answer.code = error->code;
    g_strlcpy(answer.message, error->message, sizeof answer.message);
  }
  return answer;
}

/* Starts a child; returns the pipe end to read its answer from, or -1. */
static int start(const Search *search, double rate, guint seed, pid_t *ret_pid) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  *ret_pid = fork();
  if (*ret_pid == 0) {
    const Answer answer = answer_of(search, rate, seed);
    _exit(write(ends[1], &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
  }
  close(ends[1]);
  if (*ret_pid > 0) return ends[0];
  close(ends[0]);
  return -1;
}

static Answer collect(int end, pid_t pid) {
  Answer answer = {.code = ORR_FAULT_RESOURCE};
  g_strlcpy(answer.message, "a run of the search could not be started, or ended without a result",
            sizeof answer.message);
  if (end < 0) return answer;
  Answer read_one;
  ssize_t n;
  do n = read(end, &read_one, sizeof read_one);
  while (n < 0 && errno == EINTR);
  if (n == (ssize_t)sizeof read_one) answer = read_one;
  close(end);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  return answer;
}

/* --- one rate --- */

static gboolean is_divergence(const Answer *answer) {
  return answer->code == ORR_FAULT_STUCK && strstr(answer->message, "the queue diverges");
}

/* A run that stops because its queue diverges (longest-queue) counts as fraction 0. */
static gboolean try_rate(const Search *search, double rate, OrrCapacity *capacity,
                         gboolean *ret_meets, GError **error) {
  const guint n = search->query->seeds;
  pid_t pids[MOST_SEEDS];
  int ends[MOST_SEEDS];
  Answer answers[MOST_SEEDS];
  double sum = 0, squares = 0;
  for (guint i = 0; i < n; i++) ends[i] = start(search, rate, i, &pids[i]);
  for (guint i = 0; i < n; i++) answers[i] = collect(ends[i], pids[i]);
  for (guint i = 0; i < n; i++) {
    if (!answers[i].ok && !is_divergence(&answers[i])) {
      g_set_error_literal(error, ORR_FAULT, answers[i].code, answers[i].message);
      return FALSE;
    }
    sum += answers[i].fraction;
    squares += answers[i].fraction * answers[i].fraction;
  }
  const double mean = sum / n, variance = fmax(0, squares / n - mean * mean) * n / (n - 1);
  const double margin = student[n - 2] * sqrt(variance / n);
  const OrrCapacityPoint point = {rate, mean, margin, mean - margin >= search->query->fraction};
  g_array_append_val(capacity->points, point);
  *ret_meets = point.meets;
  return TRUE;
}

/* --- the search --- */

static gboolean note(OrrCapacity *capacity, double rate, gboolean meets) {
  if (meets)
    capacity->meets = fmax(capacity->meets, rate);
  else
    capacity->fails = capacity->fails > 0 ? fmin(capacity->fails, rate) : rate;
  return meets;
}

static gboolean bracket(const Search *search, double rate, OrrCapacity *capacity, GError **error) {
  gboolean meets;
  for (guint i = 0; i <= MOST_DOUBLINGS && (capacity->meets == 0 || capacity->fails == 0); i++) {
    if (!try_rate(search, rate, capacity, &meets, error)) return FALSE;
    rate *= note(capacity, rate, meets) ? 2 : 0.5;
  }
  return TRUE;
}

static gboolean bisect(const Search *search, OrrCapacity *capacity, GError **error) {
  gboolean meets;
  while (capacity->fails / capacity->meets > 1 + search->query->tolerance) {
    const double rate = sqrt(capacity->meets * capacity->fails);
    if (!try_rate(search, rate, capacity, &meets, error)) return FALSE;
    note(capacity, rate, meets);
  }
  return TRUE;
}

static gboolean has_objective(const OrrServing *params) {
  gboolean has = params->slo.ttft_s > 0 || params->slo.tpot_s > 0 || params->slo.e2e_s > 0;
  for (guint i = 0; params->classes && i < params->classes->len; i++) {
    const OrrSlo *slo = &((const OrrRequestClass *)params->classes->pdata[i])->slo;
    has |= slo->ttft_s > 0 || slo->tpot_s > 0 || slo->e2e_s > 0;
  }
  return has;
}

/* The scenario's own rate, where the search starts; 0 with @error when there is nothing to
 * search. */
static double first_rate(const Search *search, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read(search->library, search->tree, diags);
  if (!scenario) {
    g_autofree char *findings = orr_diags_text(diags);
    g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, g_strstrip(findings));
    return 0;
  }
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const OrrServing *params = scenario->workload.params;
  if (kind != &orr_serving_kind) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "capacity needs a workload of kind serving, found kind %s", kind->entry.name);
    return 0;
  }
  const OrrEntry *load = params->load.entry;
  for (gsize i = 0; load->params && i < load->params->n_fields; i++) {
    const OrrField *field = &load->params->fields[i];
    if (!g_str_equal(field->name, "rate")) continue;
    if (has_objective(params))
      return *(const double *)((const char *)params->load.params + field->offset);
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "capacity needs an objective: set workload.slo.ttft, tpot or e2e");
    return 0;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "capacity varies workload.load.rate, which load %s does not have: use e.g. poisson",
              load->name);
  return 0;
}

OrrCapacity *orr_capacity_find(OrrLibrary *library, OrrNode *tree, const OrrCapacityQuery *query,
                               GError **error) {
  const Search search = {library, tree, query};
  g_return_val_if_fail(query->seeds >= 2 && query->seeds <= MOST_SEEDS, NULL);
  const double rate = first_rate(&search, error);
  if (rate <= 0) return NULL;
  g_autoptr(OrrCapacity) capacity = g_new0(OrrCapacity, 1);
  capacity->points = g_array_new(FALSE, FALSE, sizeof(OrrCapacityPoint));
  if (!bracket(&search, rate, capacity, error)) return NULL;
  if (capacity->meets > 0 && capacity->fails > 0 && !bisect(&search, capacity, error)) return NULL;
  return g_steal_pointer(&capacity);
}

void orr_capacity_free(OrrCapacity *capacity) {
  if (!capacity) return;
  if (capacity->points) g_array_unref(capacity->points);
  g_free(capacity);
}
