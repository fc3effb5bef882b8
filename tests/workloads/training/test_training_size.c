/*
 * What a replay is estimated to take, against what it takes: the peak of a process that does
 * nothing else.
 */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "sim/base/settings.h"
#include "sim/run/simulate.h"
#include "tests/run/shared_library.h"

/* Of estimates and peaks of 20 jobs, most were within 0.9 and 1.6, and all within 0.9 and 2.2. */
#define LEAST 0.7
#define MOST 2.5

typedef struct {
  const char *scenario;
  const char *settings[6];
  gboolean keeps_spans;
} Job;

static const Job jobs[] = {
    {"gpt3-175b-1024-a100", {"fidelity=folded"}, FALSE},
    {"gpt3-175b-1024-a100", {"fidelity=full"}, FALSE},
    {"gpt3-175b-1024-a100", {"fidelity=full"}, TRUE},
    {"gpt3-175b-1024-a100", {"fidelity=full", "workload.steps=2"}, FALSE},
    {"gpt3-175b-1024-a100", {"workload.noise.rank=0.01"}, FALSE},
    {"gpt3-175b-1024-a100",
     {"workload.steps=10", "workload.loader.sample-time=1 us", "fidelity=folded"},
     FALSE},
    {"fsdp-llama-70b-1024-h100", {"fidelity=full"}, FALSE},
    {"deepseek-v3-2048-h100",
     {"fidelity=full", "cluster.nodes=128", "workload.parallel.dp=64",
      "workload.batch.global=2560"},
     FALSE},
};

static OrrScenario *scenario_of(OrrLibrary *library, const Job *job) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, job->scenario, diags);
  char *settings[G_N_ELEMENTS(job->settings) + 1];
  memcpy(settings, job->settings, sizeof job->settings);
  settings[G_N_ELEMENTS(job->settings)] = NULL;
  if (!tree || !orr_settings_apply(&orr_scenario_table, tree, settings, &error))
    g_error("%s: %s", job->scenario, error ? error->message : "not found");
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  return scenario;
}

static void G_GNUC_NORETURN run_job(const Job *job, double limit_bytes, int fd) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(library, job);
  orr_memory_set_limit(limit_bytes);
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, job->keeps_spans, &error);
  const char *message = error ? error->message : "";
  _exit(write(fd, message, strlen(message) + 1) > 0 ? 0 : 1);
}

/* The message of a run with that limit, "" where it was simulated, and the peak of its process. */
static char *message_of(const Job *job, double limit_bytes, double *ret_peak_bytes) {
  int ends[2], status = 0;
  char text[2048] = "";
  struct rusage usage;
  g_assert_cmpint(pipe(ends), ==, 0);
  const pid_t child = fork();
  if (child == 0) run_job(job, limit_bytes, ends[1]);
  close(ends[1]);
  g_assert_cmpint(read(ends[0], text, sizeof text - 1), >, 0);
  close(ends[0]);
  g_assert_cmpint(wait4(child, &status, 0, &usage), ==, child);
  g_assert_cmpint(status, ==, 0);
  *ret_peak_bytes = 1024.0 * usage.ru_maxrss;
  return g_strdup(text);
}

/* A sanitizer's own memory is several times the program's. */
#ifdef __SANITIZE_ADDRESS__
enum { SEES_MEMORY = FALSE };
#else
enum { SEES_MEMORY = TRUE };
#endif

static double estimate_in(const char *message) {
  static const char before[] = "the replay would take about ";
  const char *at = strstr(message, before);
  if (!at) g_error("not refused: %s", message);
  g_auto(GStrv) words = g_strsplit(at + strlen(before), " of memory", 2);
  double bytes = 0;
  g_assert_true(orr_quantity_parse(words[0], ORR_UNIT_BYTES, &bytes, NULL));
  return bytes;
}

static void test_estimates(void) {
  for (guint i = 0; i < G_N_ELEMENTS(jobs); i++) {
    double peak = 0, ignored = 0;
    g_autofree char *refused = message_of(&jobs[i], 1, &ignored);
    g_autofree char *simulated = message_of(&jobs[i], 1e12, &peak);
    const double estimate = estimate_in(refused);
    g_assert_cmpstr(simulated, ==, "");
    g_test_message("%s, %s%s: estimate %.0f MB, peak %.0f MB", jobs[i].scenario,
                   jobs[i].settings[0], jobs[i].keeps_spans ? ", spans" : "", estimate / 1e6,
                   peak / 1e6);
    g_assert_cmpfloat(estimate, >, LEAST * peak);
    g_assert_cmpfloat(estimate, <, MOST * peak);
  }
}

static void test_limit(void) {
  orr_memory_set_limit(5e9);
  g_assert_cmpfloat(orr_memory_limit(), ==, 5e9);
  orr_memory_set_limit(0);
  g_assert_cmpfloat(orr_memory_of_machine(), >, 1e8);
  g_assert_cmpfloat(orr_memory_limit(), ==, ORR_MEMORY_SHARE * orr_memory_of_machine());
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-size/limit", test_limit);
  if (SEES_MEMORY) g_test_add_func("/training-size/estimates", test_estimates);
  return g_test_run();
}
