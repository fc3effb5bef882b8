/*
 * test_text_workload.c - layers of ASTRA-sim 1 and SimAI against closed forms: compute takes the
 * time of the text, a collective the time of the same call in the workload collectives.
 */
#include <glib/gstdio.h>
#include <math.h>

#include "tests/workloads/scenario_fixture.h"
#include "workloads/trace/et.h"
#include "workloads/trace/text_workload.h"

#define HEAD                                                                                       \
  "schema: scenario/1\nname: t\nengine: fair\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
#define MIB ((gint64)1 << 20)

static char *path;

static double time_of(const char *text, const char *more) {
  g_autoptr(GError) error = NULL;
  g_file_set_contents(path, text, -1, &error);
  g_assert_no_error(error);
  g_autofree char *scenario =
      g_strdup_printf(HEAD "workload: {kind: trace, nccl: {}, file: %s%s}\n", path, more);
  char failed[1000] = "";
  OrrOutcome *outcome = outcome_of(scenario, failed, sizeof failed);
  g_assert_cmpstr(failed, ==, "");
  const double time_s = outcome->result.trace.time_s;
  orr_outcome_free(outcome);
  return time_s;
}

static double call_s(const char *op, double bytes, guint ranks) {
  g_autofree char *text = g_strdup_printf(
      HEAD "workload: {kind: collectives, stack: none, collective: %s, begin: %.0f B, end: %.0f B, "
           "ranks: %u}\n",
      op, bytes, bytes, ranks);
  char error[1000] = "";
  OrrOutcome *outcome = outcome_of(text, error, sizeof error);
  g_assert_cmpstr(error, ==, "");
  const double time_s = outcome->result.collectives.time_s;
  orr_outcome_free(outcome);
  return time_s;
}

static void near(double got, double wanted) {
  g_assert_cmpfloat_with_epsilon(got, wanted, 1e-9 * fabs(wanted));
}

/* Two layers on two model groups of 4. Forward: twice 1 ms and an all-reduce of the group.
 * Backward: twice 0.5 ms for the input and 0.2 ms for the weights, whose all-reduce over pairs
 * runs next to the first layer's work and ends before it; the first layer's own ends the step,
 * with its update of 0.1 ms. */
static void test_transformer(void) {
  const double time_s = time_of("HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n2\n"
                                "a -1 1000000 ALLREDUCE 67108864 500000 NONE 0 200000 ALLREDUCE "
                                "33554432 100000\n"
                                "b\t-1\t1000000\tALLREDUCE\t67108864\t500000\tNONE\t0\t200000\t"
                                "ALLREDUCE\t33554432\t100000\n",
                                ", ranks: 8");
  const double reduced_s = call_s("all-reduce", 32.0 * MIB, 2);
  g_assert_cmpfloat(reduced_s, <, 0.7e-3);
  near(time_s, 2 * (1e-3 + call_s("all-reduce", 64.0 * MIB, 4)) + 2 * 0.7e-3 + reduced_s + 0.1e-3);
}

/* What an all-gather counts: ASTRA-sim a rank's own 4 MiB, SimAI the 32 MiB of all 8. The groups of
 * experts have 2 of 8 ranks, and those that hold the same experts are 4. */
static void test_counts(void) {
  near(time_of("MICRO\n1\nx -1 0 ALLGATHER 4194304 0 NONE 0 0 NONE 0 0\n", ", ranks: 8"),
       call_s("all-gather", 32.0 * MIB, 8));
  near(time_of("MICRO all_gpus: 8\n1\nx -1 0 ALLGATHER 33554432 0 NONE 0 0 NONE 0 0\n", ""),
       call_s("all-gather", 32.0 * MIB, 8));
  near(time_of(
           "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 2 pp: 1 vpp: 1 ga: 1 "
           "all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0\n1\n"
           "x -1 1000 ALLTOALL_EP 8388608 1000 NONE 0 1000 ALLREDUCE_DP_EP 16777216 0\n",
           ""),
       3e-6 + call_s("all-to-all", 8.0 * MIB, 2) + call_s("all-reduce", 16.0 * MIB, 4));
}

/* Groups and their ranks, by hand: 8 ranks, model groups of 2, experts over 2 of 4 model groups.
 * Rank 5 is member 1 of model group 2: its data group has ranks 1, 3, 5, 7, its group of experts 5
 * and 7, and the same experts are on 1 and 5. */
static void test_groups(void) {
  static const char text[] = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2\n1\n"
                             "x -1 0 ALLTOALL_EP 1 0 ALLREDUCE 1 0 ALLREDUCE_DP_EP 1 0\n";
  static const guint32 wanted[][2] = {{5, 7}, {4, 5}, {1, 5}};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrWorkGraph) graph = orr_text_workload_read(text, strlen(text), "f", 8, &error);
  g_assert_no_error(error);
  g_assert_true(orr_work_graph_match(graph, &error));
  const OrrGraphRank *rank = orr_work_graph_rank(graph, 5);
  g_assert_cmpuint(rank->nodes->len, ==, 3);
  for (guint i = 0; i < 3; i++) {
    const OrrGraphGroup *group = graph->groups->pdata[orr_work_graph_node(rank, i)->group];
    g_assert_cmpuint(group->ranks->len, ==, 2);
    for (guint k = 0; k < 2; k++)
      g_assert_cmpuint(g_array_index(group->ranks, guint32, k), ==, wanted[i][k]);
  }
}

/* The same two ranks in protobuf's JSON, by both spellings of its names: 2 ms, an all-reduce, and a
 * kernel that stands first in its file without metadata. */
static void test_json(void) {
  static const char *const ranks[] = {
      "{\"version\": \"0.0.4\"}\n{\"id\": \"1\", \"name\": \"a\", \"type\": \"COMP_NODE\", "
      "\"durationMicros\": \"2000\", \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": false}]}\n"
      "{\"id\": \"2\", \"type\": \"COMM_COLL_NODE\", \"dataDeps\": [\"1\"], \"inputs\": {}, "
      "\"attr\": "
      "[{\"name\": \"is_cpu_op\", \"boolVal\": false}, {\"name\": \"comm_type\", \"int64Val\": "
      "\"0\"}, {\"name\": \"comm_size\", \"int64Val\": \"67108864\"}]}",
      "{\"id\": 1, \"type\": \"COMP_NODE\", \"duration_micros\": 1000, \"attr\": [{\"name\": "
      "\"is_cpu_op\", \"bool_val\": false}]}{\"id\": 2, \"type\": \"COMM_COLL_NODE\", "
      "\"ctrl_deps\": [1], \"attr\": [{\"name\": \"is_cpu_op\", \"bool_val\": false}, {\"name\": "
      "\"comm_type\", \"int64_val\": 0}, {\"name\": \"comm_size\", \"int64_val\": 67108864}]}"};
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_path_get_dirname(path), *scenario = NULL;
  for (guint r = 0; r < 2; r++) {
    g_autofree char *name = g_strdup_printf("%s/step.%u.json", folder, r);
    g_file_set_contents(name, ranks[r], -1, &error);
    g_assert_no_error(error);
  }
  scenario =
      g_strdup_printf(HEAD "workload: {kind: trace, nccl: {}, file: %s/step.json}\n", folder);
  char failed[1000] = "";
  OrrOutcome *outcome = outcome_of(scenario, failed, sizeof failed);
  g_assert_cmpstr(failed, ==, "");
  near(outcome->result.trace.time_s, 2e-3 + call_s("all-reduce", 64.0 * MIB, 2));
  orr_outcome_free(outcome);
  for (guint r = 0; r < 2; r++) {
    g_autofree char *name = g_strdup_printf("%s/step.%u.json", folder, r);
    g_unlink(name);
  }
}

static void test_json_refusals(void) {
  static const char *const cases[][2] = {{"{\"type\": \"COMP\"}", "f:1:10"},
                                         {"{\"id\": 1e99}", "f:1:8"},
                                         {"[1]\n{", "f:1:2"},
                                         {"{\"attr\": 5}", "f:1:10"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_assert_null(orr_et_json_read(cases[i][0], strlen(cases[i][0]), "f", &error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, cases[i][1]));
  }
}

static void test_refusals(void) {
  static const struct {
    const char *text, *message;
    gint64 ranks;
  } cases[] = {
      {"", "f:1:1: expected a policy", 8},
      {"HYBRID_CUSTOMIZED\n1\n", "f:1:1: expected a policy", 8},
      {"DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n", "workload.ranks, or all_gpus", 0},
      {"HYBRID_TRANSFORMER\n1\n", "model_parallel_NPU_group is 0", 8},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n", "is 3: it divides the 8 ranks", 8},
      {"DATA pp: 2\n1\n", "f:1:10: expected pp: 1", 8},
      {"DATA\n2\nx -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n", "says 2 layers, and 1 follow", 8},
      {"DATA\n1\nx -1 0 GATHER 5 0 NONE 0 0 NONE 0 0\n", "f:3:8: expected NONE, ALLREDUCE", 8},
      {"DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 NONE 0\n", "found the end of the line", 8},
      {"DATA\n1\nx -1 -5 NONE 0 0 NONE 0 0 NONE 0 0\n", "f:3:6: expected a number from 0", 8},
      {"DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 NONE 0 0 7\n", "expected the end of the line", 8}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_assert_null(
        orr_text_workload_read(cases[i].text, strlen(cases[i].text), "f", cases[i].ranks, &error));
    g_assert_nonnull(error);
    if (!strstr(error->message, cases[i].message))
      g_test_message("%s lacks: %s", error->message, cases[i].message);
    g_assert_nonnull(strstr(error->message, cases[i].message));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_autofree char *folder = g_dir_make_tmp("orrery-text-XXXXXX", NULL);
  path = g_build_filename(folder, "layers.txt", NULL);
  g_test_add_func("/text-workload/transformer", test_transformer);
  g_test_add_func("/text-workload/counts", test_counts);
  g_test_add_func("/text-workload/groups", test_groups);
  g_test_add_func("/text-workload/refusals", test_refusals);
  g_test_add_func("/text-workload/json", test_json);
  g_test_add_func("/text-workload/json-refusals", test_json_refusals);
  const int status = g_test_run();
  g_unlink(path);
  g_rmdir(folder);
  g_free(path);
  return status;
}
