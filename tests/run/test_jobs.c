/*
 * test_jobs.c - training jobs together on one machine, compared with the same job alone on a
 * machine of its own.
 *
 * Jobs on separate nodes share no link, so each must report exactly what it reports alone: the
 * iteration, and the time by kind. Gradients and parameters overlap with compute here, so spans
 * name the communication that slowed them down, in numbers of the merged program. Each job must get
 * it back in its own numbers.
 *
 * Each simulation runs in a child process, because SimGrid allows one engine per process.
 */
#include <math.h>
#include <sys/mman.h>

#include "sim/run/run_private.h"
#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

#define WORKLOAD                                                                                   \
  "workload: {kind: training, stack: none, parallel: {tp: 2, pp: 2}, batch: {global: 16, micro: "  \
  "1}, steps: 2, "                                                                                 \
  "optimizer: {sharding: distributed-optimizer}, data-parallel: {overlap: true}}\n"
#define MODEL                                                                                      \
  "model: {name: small, layers: 4, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"
#define CLUSTER                                                                                    \
  "schema: scenario/1\nname: test\ncluster: {base: dgx-h100-superpod, nodes: %u, max-nodes: "      \
  "512}\n"

typedef struct {
  double step_s, times[ORR_N_TIMES];
} Answer;

static Answer *expected; /* in memory that the children share */
static double *alone_s;  /* likewise */

static Answer answer_of(const OrrOutcome *outcome) {
  Answer answer = {.step_s = outcome->result.training.iteration_time_s};
  memcpy(answer.times, outcome->time_by_kind, sizeof answer.times);
  return answer;
}

static void run_alone(gconstpointer data) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strdup_printf(CLUSTER MODEL WORKLOAD, 2);
  g_autoptr(OrrScenario) scenario = scenario_of(library, text, data);
  OrrOutcome *outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  *expected = answer_of(outcome);
  orr_outcome_free(outcome);
}

static char *jobs_text(guint n) {
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, CLUSTER "jobs:\n", 2 * n);
  for (guint i = 0; i < n; i++)
    g_string_append_printf(text, "  - name: j%u\n    gpus: 16\n    " MODEL "    " WORKLOAD, i);
  return g_string_free(text, FALSE);
}

static void check_job(const OrrJobOutcome *job) {
  const Answer answer = answer_of(job->outcome);
  const double rounding_s = 1e-9 * expected->step_s;
  double sum_s = 0;
  g_assert_cmpfloat_with_epsilon(job->row.slowdown, 1, 1e-9);
  g_assert_cmpfloat_with_epsilon(answer.step_s, expected->step_s, rounding_s);
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    g_assert_cmpfloat_with_epsilon(answer.times[kind], expected->times[kind], rounding_s);
    sum_s += answer.times[kind];
  }
  g_assert_cmpfloat_with_epsilon(sum_s, expected->step_s, rounding_s);
}

static void each_is_as_if_alone(gconstpointer data) {
  const guint n = GPOINTER_TO_UINT(data);
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_assert_cmpfloat(expected->times[ORR_TIME_DP_COMM], >, 0);
  g_autofree char *text = jobs_text(n);
  g_autoptr(OrrScenario) scenario = scenario_of(library, text, "");
  g_autoptr(GPtrArray) jobs = orr_simulate_jobs(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(jobs->len, ==, n);
  for (guint i = 0; i < n; i++) check_job(jobs->pdata[i]);
}

/* j1 loses a node in its second step, j2 in its first: j1's mean is of the step that ended, which
 * took as long as alone, and its kinds add up to it; nothing is known of j2's steps. */
static void lost(gconstpointer data) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autofree char *jobs_of_three = jobs_text(3);
  g_autofree char *text =
      g_strdup_printf("%sfaults:\n  - {at: %g s, fault: {kind: node-lost, node: 3}}\n"
                      "  - {at: %g s, fault: {kind: node-lost, node: 4}}\n",
                      jobs_of_three, 1.5 * expected->step_s, 0.5 * expected->step_s);
  g_autoptr(OrrScenario) scenario = scenario_of(library, text, "");
  g_autoptr(GPtrArray) jobs = orr_simulate_jobs(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  check_job(jobs->pdata[0]);
  const OrrJobOutcome *second = jobs->pdata[1], *first = jobs->pdata[2];
  const OrrTrainingResult *known = &second->outcome->result.training,
                          *unknown = &first->outcome->result.training;
  double sum_s = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum_s += second->outcome->time_by_kind[kind];
  g_assert_cmpfloat_with_epsilon(known->iteration_time_s / expected->step_s, 1, 0.02);
  g_assert_cmpfloat_with_epsilon(sum_s, known->iteration_time_s, 1e-9 * sum_s);
  g_assert_cmpuint(second->outcome->steps->len, ==, 1);
  g_assert_true(isnan(second->row.slowdown) && isnan(first->row.slowdown));
  g_assert_true(isnan(unknown->iteration_time_s) && isnan(unknown->tokens_per_s) &&
                isnan(unknown->mfu) && isnan(unknown->energy_j_per_step));
  const OrrFaultRow *row = &g_array_index(first->outcome->faults, OrrFaultRow, 0);
  g_assert_cmpfloat_with_epsilon(row->step_without_s / expected->step_s, 1, 1e-9);
}

static void test_lost(void) { forked(lost, ""); }

/* The first of two jobs that lie on leaves of a node each, whose uplinks hashed routes share. */
static void note_alone(gconstpointer data) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = jobs_text(2);
  static const char leaves[] = "cluster.routing=ecmp;cluster.max-nodes=0;"
                               "cluster.fabric={kind: fat-tree, levels: 2, radix: 64, "
                               "nodes-per-leaf: 1, oversubscription: 4}";
  g_autoptr(OrrScenario) scenario = scenario_of(library, text, leaves);
  scenario->engine = GPOINTER_TO_INT(data);
  g_autoptr(GPtrArray) jobs = orr_simulate_jobs(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  *alone_s = ((const OrrJobOutcome *)jobs->pdata[0])->row.alone_s;
}

static double alone_on(OrrReplayEngine engine) {
  forked(note_alone, GINT_TO_POINTER(engine));
  return *alone_s;
}

/* A job's time alone is replayed in this process, or by SimGrid in a child: it is the same, and
 * more than without contention. */
static void test_alone(void) {
  const double simgrid_s = alone_on(ORR_REPLAY_SIMGRID), auto_s = alone_on(ORR_REPLAY_AUTO);
  g_assert_cmpfloat_with_epsilon(auto_s / simgrid_s, 1, 1e-9);
  g_assert_cmpfloat(auto_s, >, 1.01 * alone_on(ORR_REPLAY_IDEAL));
}

static void run_forked(gconstpointer data) { forked(each_is_as_if_alone, data); }

int main(int argc, char **argv) {
  static const guint counts[] = {2, 3, 16, 256};
  g_test_init(&argc, &argv, NULL);
  expected = mmap(NULL, sizeof *expected + sizeof *alone_s, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_assert_true(expected != MAP_FAILED);
  alone_s = (double *)(expected + 1);
  forked(run_alone, "");
  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    g_autofree char *path = g_strdup_printf("/jobs/each-is-as-if-alone/%u", counts[i]);
    g_test_add_data_func(path, GUINT_TO_POINTER(counts[i]), run_forked);
  }
  g_test_add_func("/jobs/lost-jobs-know-whole-steps", test_lost);
  g_test_add_func("/jobs/alone-on-either-engine", test_alone);
  return g_test_run();
}
