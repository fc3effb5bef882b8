/*
 * test_band_cluster.c - bands of waits of a cluster of jobs, against a queue worked out by hand.
 */
#include <math.h>

#include "sim/bands/band_private.h"
#include "tests/workloads/scenario_fixture.h"

/* --- Paces --- */

static void assert_pace(OrrGangPace pace, double factor, double alone, double half,
                        double quarter) {
  const OrrGangPace scaled = orr_band_cluster_scaled(&pace, factor);
  g_assert_cmpfloat_with_epsilon(scaled.slow[0], alone, 1e-12);
  g_assert_cmpfloat_with_epsilon(scaled.slow[1], half, 1e-12);
  g_assert_cmpfloat_with_epsilon(scaled.slow[2], quarter, 1e-12);
}

/* The place adds 0.2, half of the links would add 0.3 more: 0.3 is at stake. At 1.5 times that is
 * 0.15 more, and what neighbours add is 1.5 times as long. At a fifth it would be 0.24 less, but no
 * place is better than the reference. A gang there alone is not slowed, whatever the network. */
static void test_paces(void) {
  const OrrGangPace moved = {.slow = {1.2, 1.5, 2.1}}, at_home = {.slow = {1, 1.5, 2.5}};
  assert_pace(moved, 1, 1.2, 1.5, 2.1);
  assert_pace(moved, 1.5, 1.35, 1.35 + 1.5 * 0.3, 1.35 + 1.5 * 0.9);
  assert_pace(moved, 0.2, 1, 1 + 0.2 * 0.3, 1 + 0.2 * 0.9);
  assert_pace(at_home, 2, 1, 2, 4);
  assert_pace(at_home, 0.5, 1, 1.25, 1.75);
}

/* --- Queues --- */

typedef struct {
  OrrScenario *scenario;
  OrrOutcome *outcome;
} Ran;

static void ran_clear(Ran *ran) {
  orr_outcome_free(ran->outcome);
  orr_scenario_free(ran->scenario);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Ran, ran_clear)

/* @nodes nodes of 8 GPUs, four under a leaf, with the jobs @lines and the speed @speed. */
static void run(Ran *ret_ran, guint nodes, const char *lines, const char *speed) {
  g_autofree char *folder = g_dir_make_tmp("jobs-XXXXXX", NULL);
  g_autofree char *file = g_build_filename(folder, "jobs.csv", NULL);
  g_autofree char *trace = g_strconcat("job_id,submit_s,duration_s,gpus\n", lines, NULL);
  g_autofree char *text = g_strdup_printf(
      "schema: scenario/1\nname: t\n"
      "cluster: {base: dgx-h100-superpod, nodes: %u, max-nodes: %u,"
      " fabric: {kind: fat-tree, levels: 2, radix: 48, oversubscription: 2}}\n"
      "workload: {kind: cluster, jobs: %s, policy: {placement: first-fit}, speed: %s,"
      " window: {overloaded: true}}\n",
      nodes, nodes, file, speed);
  g_autoptr(GError) error = NULL;
  g_assert_true(g_file_set_contents(file, trace, -1, NULL));
  ret_ran->scenario = scenario_of(shared_library(), text, "");
  ret_ran->outcome = orr_simulate(shared_library(), ret_ran->scenario, FALSE, &error);
  g_assert_no_error(error);
}

/* The jobs stay in their file until all runs are over. */
#define THREE "1,0,1000,64\n2,1100,1000,64\n3,2200,1000,64\n"

static void assert_queue(const OrrClusterResult *result, double service_s) {
  const double late_s = service_s - 1100; /* each job later than the one before */
  g_assert_cmpfloat_with_epsilon(result->makespan_s, 3 * service_s, 1e-6);
  g_assert_cmpfloat_with_epsilon(result->wait.mean, late_s, 1e-6);
  g_assert_cmpfloat_with_epsilon(result->jct.mean, service_s + late_s, 1e-6);
}

/* Three gangs of the whole machine come every 1,100 s and hold it for 1,000 s of work at 1.25: D =
 * 1,250 s. The first does not wait, the second D - 1,100 s, the third twice that: D - 1,100 s in
 * the mean. Where the quarter that the place adds takes 0.6 and 2 times as long, D is 1,150 and
 * 1,500 s. A class that the run has answered is not asked again: with 1.5 in its row D is 1,500 s,
 * though the scenario still says 1.25. */
static void test_ends(void) {
  g_auto(Ran) ran = {0};
  OrrClusterResult ends[2];
  g_autoptr(GError) error = NULL;
  run(&ran, 8, THREE, "{kind: table, pod: 1.25}");
  assert_queue(&ran.outcome->result.cluster, 1250);
  orr_band_cluster_ends(shared_library(), ran.scenario, ran.outcome, 0.6, 2, ends, &error);
  g_assert_no_error(error);
  assert_queue(&ends[0], 1150);
  assert_queue(&ends[1], 1500);
  g_assert_cmpuint(ran.outcome->cluster_places->len, ==, 1);
  OrrClusterPlaceRow *place = &g_array_index(ran.outcome->cluster_places, OrrClusterPlaceRow, 0);
  place->slow = place->slow_half = place->slow_quarter = 1.5;
  orr_band_cluster_ends(shared_library(), ran.scenario, ran.outcome, 1, 1, ends, &error);
  g_assert_no_error(error);
  assert_queue(&ends[0], 1500);
}

/* --- Rows --- */

static void assert_none(const char *speed, const char *why) {
  g_auto(Ran) ran = {0};
  run(&ran, 8, THREE, speed);
  orr_bands_add(shared_library(), ran.scenario, ran.outcome, 0.8);
  const OrrBandRow *row = orr_bands_row(ran.outcome, "wait_mean_s");
  g_assert_nonnull(row);
  g_assert_cmpstr(row->quality, ==, "none");
  g_assert_cmpstr(row->reason, ==, why);
  g_assert_true(isnan(row->low) && isnan(row->high));
}

static void test_none(void) {
  assert_none("given", "run times are the trace's, no simulated speed is in them");
  assert_none("{kind: table, pod: 1.25}", "speeds by place are the scenario's, not simulated");
}

/* A job holds the first node for 10,000 s, so that three gangs of four nodes, one after another,
 * sit under two leaves, where their traced times are for one: each takes D = 1,000 s times slow.
 * They come at 0, 500 and 1,000 s and wait for 0, D - 500 and 2 (D - 500) s: with the first job
 * the mean wait of four jobs is 3 (D - 500) / 4. Its ends follow from the network's band. */
static void test_steps(void) {
  g_auto(Ran) ran = {0};
  run(&ran, 5, "1,0,10000,8\n2,0,1000,32\n3,500,1000,32\n4,1000,1000,32\n",
      "{kind: steps, jobs: [{model: gpt3-1.3b, training: {batch: {global: 1, micro: 1}}},"
      " {from-gpus: 16, model: qwen3-30b-a3b, training: {parallel: {ep: 16}, sequence: 4096,"
      " batch: {global: 1, micro: 1}, recompute: full, precision: bf16,"
      " optimizer: {kind: adam, sharding: zero-1}}}]}");
  orr_bands_add(shared_library(), ran.scenario, ran.outcome, 0.8);
  const OrrBandRow *row = orr_bands_row(ran.outcome, "wait_mean_s");
  OrrGangPace pace = {.slow = {0, 0, 0}};
  ORR_EACH(const OrrClusterPlaceRow, place, ran.outcome->cluster_places)
    if (place->gpus == 32)
      pace = (OrrGangPace){.slow = {place->slow, place->slow_half, place->slow_quarter}};
  g_assert_cmpfloat(pace.slow[0], >, 1.001);
  const OrrLikenessRow likeness =
      orr_likeness_of_all_reduce(ran.scenario, ran.outcome, 32, 256.0 * 1024 * 1024);
  const OrrBandQuestion question = {.likeness = &likeness, .metric = "time_s", .level = 0.8};
  g_autoptr(OrrBands) bands = orr_bands_new(shared_library(), "collectives", NULL);
  const OrrBand band = orr_bands_ask(bands, &question, NULL);
  const double low = 1000 * orr_band_cluster_scaled(&pace, band.low).slow[0],
               high = 1000 * orr_band_cluster_scaled(&pace, band.high).slow[0];
  g_assert_cmpfloat(high, >, 1000 * pace.slow[0]);
  g_assert_cmpfloat_with_epsilon(row->value, 0.75 * (1000 * pace.slow[0] - 500), 1e-3);
  g_assert_cmpfloat_with_epsilon(row->low, 0.75 * (low - 500), 1e-3);
  g_assert_cmpfloat_with_epsilon(row->high, 0.75 * (high - 500), 1e-3);
  g_assert_cmpstr(row->quality, ==, "weak");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/band-cluster/paces", test_paces);
  g_test_add_func("/band-cluster/ends", test_ends);
  g_test_add_func("/band-cluster/none", test_none);
  g_test_add_func("/band-cluster/steps", test_steps);
  return g_test_run();
}
