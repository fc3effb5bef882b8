/*
 * Replicas that are alike: routes that points of a sweep share tell them apart as routes of their
 * own do.
 */
#include "sim/run/world.h"
#include "tests/workloads/training/training_fixture.h"
#include "workloads/training/comm/training_fold.h"

/* Groups of 12 experts' ranks on nodes of 8 GPUs: some lie on two nodes, some on three. */
#define MIXTURE "cluster.nodes=6;model.moe={experts: 12, topk: 2};workload.batch.global=96;"

static const char *const layouts[] = {
    MIXTURE "workload.parallel={tp: 1, pp: 1, dp: 48, ep: 12}",
    MIXTURE "workload.parallel={tp: 1, pp: 2, dp: 24, ep: 12}",
    MIXTURE "workload.parallel={tp: 1, pp: 4, dp: 12, ep: 12}",
    MIXTURE "workload.parallel={tp: 1, pp: 4, dp: 12, ep: 6}",
    MIXTURE "workload.parallel={tp: 1, cp: 2, pp: 2, dp: 12, ep: 12}",
    MIXTURE "workload.parallel={tp: 2, cp: 2, pp: 1, dp: 12, ep: 12, etp: 1, "
            "sequence-parallel: true}",
    MIXTURE "workload.parallel={tp: 1, pp: 2, dp: 24, ep: 12}",
};

static void fold_of(const OrrScenario *scenario, const OrrWorld *world, OrrFold *fold) {
  OrrJob job = {0};
  g_autoptr(GError) error = NULL;
  orr_job_init(&job, scenario->workload.params, world, &error);
  g_assert_no_error(error);
  orr_fold_init(fold, &job, ORR_FIDELITY_FOLDED, NULL);
  orr_job_clear(&job);
}

/* One cache over all layouts, in both orders, against none. */
static void test_shared_routes(void) {
  const guint n = G_N_ELEMENTS(layouts);
  g_autoptr(OrrScenario) first = scenario_of(shared_library(), scenario_text, layouts[0]);
  g_autoptr(GError) error = NULL;
  guint most = 0;
  for (int back = 0; back < 2; back++) {
    g_autoptr(OrrRunWorld) machine = orr_run_world_new(shared_library(), first, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < n; i++) {
      const char *layout = layouts[back ? n - 1 - i : i];
      g_autoptr(OrrScenario) scenario = scenario_of(shared_library(), scenario_text, layout);
      OrrWorld world = orr_run_world_of(machine, scenario);
      OrrFold kept = {0}, own = {0};
      fold_of(scenario, &world, &kept);
      world.plans = NULL;
      fold_of(scenario, &world, &own);
      g_test_message("%s: %u classes, %u groups", layout, own.n, own.n_groups);
      const gint64 dp = orr_job_replicas(scenario->workload.params, scenario->cluster.gpus);
      g_assert_cmpmem(kept.class_of, dp * sizeof *kept.class_of, own.class_of,
                      dp * sizeof *own.class_of);
      g_assert_cmpuint(kept.n_groups, ==, own.n_groups);
      most = MAX(most, own.n);
      orr_fold_clear(&kept);
      orr_fold_clear(&own);
    }
  }
  g_assert_cmpuint(most, >, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-fold/shared-routes", test_shared_routes);
  return g_test_run();
}
