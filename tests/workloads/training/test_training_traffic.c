/*
 * Communications of several groups at once: what a cache joined for an earlier job is what would be
 * joined anew, link by link.
 */
#include "sim/run/world.h"
#include "tests/workloads/training/training_fixture.h"
#include "workloads/training/comm/training_traffic.h"

/* Groups of 6 and 12 experts' ranks on nodes of 8 GPUs: some lie in a node, most do not. */
#define MIXTURE "cluster.nodes=6;model.moe={experts: 12, topk: 2};workload.batch.global=96;"

static const char *const layouts[] = {
    MIXTURE "workload.parallel={tp: 1, pp: 1, dp: 48, ep: 12}",
    MIXTURE "workload.parallel={tp: 4, pp: 1, dp: 12, ep: 12, etp: 1, sequence-parallel: true}",
    MIXTURE "workload.parallel={tp: 1, pp: 1, dp: 48, ep: 4}",
    MIXTURE "workload.parallel={tp: 1, pp: 1, dp: 48, ep: 6}",
    MIXTURE "workload.parallel={tp: 1, pp: 2, dp: 24, ep: 4}",
};

typedef struct {
  OrrJob job;
  OrrProgram *program;
  OrrTraffic traffic;
} Planned;

static void planned_init(Planned *planned, const OrrScenario *scenario, const OrrWorld *world) {
  g_autoptr(GError) error = NULL;
  *planned = (Planned){.program = orr_program_new()};
  orr_job_init(&planned->job, scenario->workload.params, world, &error);
  g_assert_no_error(error);
  orr_traffic_init(&planned->traffic, &planned->job, planned->program);
}

static void planned_clear(Planned *planned) {
  orr_traffic_clear(&planned->traffic);
  orr_program_free(planned->program);
  orr_job_clear(&planned->job);
}

/* All groups of the first stage. */
static void plan(Planned *planned, OrrCollectiveOp op, OrrOperatorGroup group, double bytes,
                 OrrCommPlan *ret_plan) {
  const OrrJob *job = &planned->job;
  const OrrCallSpec spec = {op, bytes, orr_grouping_of(job, group)};
  const gint64 first = 0;
  const OrrRankRanges all = {0, &first, 1, orr_job_replica_ranks(job) * job->dp};
  g_autoptr(GError) error = NULL;
  OrrCalls calls;
  orr_calls_within(&calls, job, &spec, &all);
  orr_traffic_plan(&planned->traffic, "all", 1, &calls, ret_plan, &error);
  g_assert_no_error(error);
  orr_calls_clear(&calls);
}

static void assert_equal(const Planned *a, const OrrCommPlan *x, const Planned *b,
                         const OrrCommPlan *y) {
  g_assert_cmpuint(x->n_phases, ==, y->n_phases);
  g_assert_true(x->predicted_s == y->predicted_s);
  for (guint k = 0; k < x->n_phases; k++) {
    guint n, m;
    const OrrPhase *p = &x->phases[k], *q = &y->phases[k];
    g_assert_true(p->latency_s == q->latency_s && p->bytes == q->bytes && p->path == q->path);
    const OrrLinkUse *uses = orr_program_path_uses(a->program, p->path, &n);
    const OrrLinkUse *others = orr_program_path_uses(b->program, q->path, &m);
    g_assert_cmpmem(uses, n * sizeof *uses, others, m * sizeof *others);
    for (guint u = 0; u < n; u++)
      g_assert_cmpuint(g_array_index(a->traffic.links, guint32, uses[u].link), ==,
                       g_array_index(b->traffic.links, guint32, uses[u].link));
  }
  const OrrPlannedCollective *row = &g_array_index(a->traffic.collectives, OrrPlannedCollective, 0),
                             *other =
                                 &g_array_index(b->traffic.collectives, OrrPlannedCollective, 0);
  g_assert_true(row->latency_s == other->latency_s && row->predicted_s == other->predicted_s);
  g_assert_cmpstr(row->algorithm, ==, other->algorithm);
}

/* Of one call by each group: kept by @kept's world, and by none. */
static void compare(Planned *kept, Planned *own, OrrCollectiveOp op, OrrOperatorGroup group,
                    double bytes) {
  OrrCommPlan found = {0}, made = {0};
  plan(kept, op, group, bytes, &found);
  plan(own, op, group, bytes, &made);
  assert_equal(kept, &found, own, &made);
  orr_comm_plan_clear(&found);
  orr_comm_plan_clear(&made);
}

/* Each layout twice with one cache over all of them, against none. */
static void test_joined(void) {
  static const OrrCollectiveOp ops[] = {ORR_ALL_REDUCE, ORR_ALL_TO_ALL, ORR_SEND_RECV};
  g_autoptr(OrrScenario) first = scenario_of(shared_library(), scenario_text, layouts[0]);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrRunWorld) machine = orr_run_world_new(shared_library(), first, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < 2 * G_N_ELEMENTS(layouts); i++) {
    const char *layout = layouts[i % G_N_ELEMENTS(layouts)];
    g_autoptr(OrrScenario) scenario = scenario_of(shared_library(), scenario_text, layout);
    const OrrWorld world = orr_run_world_of(machine, scenario);
    OrrWorld plain = world;
    plain.plans = NULL;
    for (guint k = 0; k < 2 * G_N_ELEMENTS(ops); k++) {
      Planned kept, own;
      planned_init(&kept, scenario, &world);
      planned_init(&own, scenario, &plain);
      compare(&kept, &own, ops[k / 2], ORR_GROUP_EP, k % 2 ? 1e6 : 1e8);
      planned_clear(&kept);
      planned_clear(&own);
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-traffic/joined", test_joined);
  return g_test_run();
}
