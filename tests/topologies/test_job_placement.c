/*
 * test_job_placement.c - every placement gives as many free GPUs as were asked for, each once; and
 * each its own idea.
 */
#include <string.h>

#include "sim/base/fault.h"
#include "topologies/job_placement.h"

enum { N_NODES = 4, PER_NODE = 8, N_GPUS = N_NODES * PER_NODE };

static OrrCluster cluster = {.nodes = N_NODES,
                             .node = {.gpus = PER_NODE, .scale_up_domain = PER_NODE}};

/* The GPUs as text, or the fault's message. */
static char *place(const char *name, const void *params, const gboolean *taken, gint64 n) {
  static const gboolean nobody[N_GPUS];
  g_autoptr(GError) error = NULL;
  gint64 gpus[N_GPUS + 1];
  const OrrChoice choice = {.entry = orr_registry_find(&orr_job_placement_registry, name),
                            .params = (void *)params};
  const OrrPlacementRequest request = {&cluster, taken ? taken : nobody, N_GPUS, 7, "a"};
  if (orr_job_placement_choose(&choice, &request, n, gpus, &error))
    return orr_job_placement_text(gpus, n);
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  return g_strdup(error->message);
}

static void assert_place(const char *name, const void *params, const gboolean *taken, gint64 n,
                         const char *wanted) {
  g_autofree char *found = place(name, params, taken, n);
  g_assert_cmpstr(found, ==, wanted);
}

static void test_packed(void) {
  gboolean taken[N_GPUS] = {[1] = TRUE, [2] = TRUE};
  assert_place("packed", NULL, NULL, 12, "0-11");
  assert_place("packed", NULL, taken, 8, "0, 3-9");
}

/* 2 of 4 free nodes: the first and the third; with the first node busy, 2 of 3: nodes 1 and 2. */
static void test_spread(void) {
  gboolean taken[N_GPUS] = {[0] = TRUE};
  assert_place("spread", NULL, NULL, 16, "0-7, 16-23");
  assert_place("spread", NULL, taken, 16, "8-23");
  assert_place("spread", NULL, NULL, 4, "0-3");
}

static void test_rail_aligned(void) {
  const gint64 two = 2;
  gboolean taken[N_GPUS] = {[0] = TRUE};
  assert_place("rail-aligned", &two, NULL, 8, "0-1, 8-9, 16-17, 24-25");
  assert_place("rail-aligned", &two, taken, 4,
               "1-2, 9-10"); /* place 0 is busy on one node: on none */
}

/* Whole nodes, fixed by the seed; another job's name is another stream. */
static void test_random(void) {
  g_autofree char *once = place("random", NULL, NULL, 24), *again = place("random", NULL, NULL, 24);
  g_assert_cmpstr(once, ==, again);
  g_assert_cmpuint(strlen(once), >, 0);
}

static void test_explicit(void) {
  char *good[] = {"3", "8-9", NULL}, *twice[] = {"3", "2-4", NULL}, *far[] = {"30-33", NULL},
       *odd[] = {"3-x", NULL};
  char *endless[] = {"0-9223372036854775807", NULL}, *beyond[] = {"0-99999999999999999999", NULL};
  char *negative[] = {"-3-7", NULL};
  char **lists[] = {good, twice, far, odd, endless, beyond, negative};
  gboolean taken[N_GPUS] = {[9] = TRUE};
  assert_place("explicit", &lists[0], NULL, 3, "3, 8-9");
  assert_place("explicit", &lists[0], taken, 3,
               "job a: GPU 9 belongs to an earlier job (the cluster has GPUs 0 to 31)");
  assert_place("explicit", &lists[0], NULL, 4, "job a needs 4 GPUs and its placement names 3");
  assert_place("explicit", &lists[1], NULL, 4,
               "job a: GPU 3 is named twice (the cluster has GPUs 0 to 31)");
  assert_place("explicit", &lists[2], NULL, 4,
               "job a: '30-33' names GPUs that do not exist (the cluster has GPUs 0 to 31)");
  assert_place("explicit", &lists[3], NULL, 4,
               "job a: '3-x' is neither a GPU nor a range of GPUs (3, or 0-7)");
  /* This one counted to 2^63. */
  assert_place("explicit", &lists[4], NULL, 4,
               "job a: '0-9223372036854775807' names GPUs that do not exist (the "
               "cluster has GPUs 0 to 31)");
  assert_place("explicit", &lists[5], NULL, 4,
               "job a: '0-99999999999999999999' names GPUs that do not exist (the "
               "cluster has GPUs 0 to "
               "31)");
  assert_place("explicit", &lists[6], NULL, 4,
               "job a: '-3-7' is neither a GPU nor a range of GPUs (3, or 0-7)");
}

static void test_too_many(void) {
  const gint64 eight = 8;
  gboolean all[N_GPUS];
  for (int i = 0; i < N_GPUS; i++) all[i] = TRUE;
  const struct {
    const char *name;
    const void *params;
  } cases[] = {{"packed", NULL}, {"spread", NULL}, {"random", NULL}, {"rail-aligned", &eight}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *found = place(cases[i].name, cases[i].params, all, 8);
    g_assert_true(g_str_has_prefix(found, "job a needs "));
    g_assert_nonnull(strstr(found, "cluster.nodes"));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/job-placement/packed", test_packed);
  g_test_add_func("/job-placement/spread", test_spread);
  g_test_add_func("/job-placement/rail-aligned", test_rail_aligned);
  g_test_add_func("/job-placement/random", test_random);
  g_test_add_func("/job-placement/explicit", test_explicit);
  g_test_add_func("/job-placement/too-many", test_too_many);
  return g_test_run();
}
