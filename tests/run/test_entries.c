/*
 * test_entries.c - every family of choices, entry by entry: names, sentences, parameters, and the
 * members that its struct calls mandatory. A failure names the family, the entry and the member.
 */
#include <string.h>

#include "calibration/measure/family.h"
#include "results/store.h"
#include "sim/base/field.h"
#include "sim/run/answer/kinds.h"
#include "sim/sweep/sampler.h"
#include "tests/base/field_lint.h"
#include "topologies/fabric.h"
#include "topologies/job_placement.h"
#include "topologies/machine_fault.h"
#include "topologies/queue_model.h"
#include "topologies/transport.h"
#include "workloads/campaign/policy.h"
#include "workloads/cluster_jobs/core/gang_bins.h"
#include "workloads/cluster_jobs/core/gang_order.h"
#include "workloads/cluster_jobs/traces/job_trace.h"
#include "workloads/collectives/collective.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/autoscalers/autoscaler.h"
#include "workloads/serving/routers/router.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/serving/speculation/speculation.h"
#include "workloads/serving/tasks/steps/task_step.h"
#include "workloads/training/balances/balance.h"
#include "workloads/expert_loads/expert_load.h"
#include "workloads/training/pipelines/pipeline.h"
#include "workloads/training/sharding/sharding.h"
#include "workloads/training/tp_overlaps/tp_overlap.h"
#include "workloads/workload.h"

typedef struct {
  const char *name;
  size_t offset;
} Member;
#define MUST(type, member)                                                                         \
  { #member, offsetof(type, member) }

static const struct {
  const OrrRegistry *registry;
  Member mandatory[12]; /* functions; ends with a NULL name */
} families[] = {
    {&orr_arrival_registry, {MUST(OrrArrival, open), MUST(OrrArrival, next)}},
    {&orr_autoscaler_registry, {{0}}},
    {&orr_balance_registry, {MUST(OrrBalanceKind, deal)}},
    {&orr_collective_registry,
     {MUST(OrrCollectiveAlgorithm, supports), MUST(OrrCollectiveAlgorithm, plan),
      MUST(OrrCollectiveAlgorithm, oracle)}},
    {&orr_expert_load_registry, {MUST(OrrExpertLoadKind, loads)}},
    {&orr_fabric_registry,
     {MUST(OrrFabricKind, plan), MUST(OrrFabricKind, plan_free), MUST(OrrFabricKind, n_links),
      MUST(OrrFabricKind, route), MUST(OrrFabricKind, link_bandwidth),
      MUST(OrrFabricKind, link_name), MUST(OrrFabricKind, switch_latency),
      MUST(OrrFabricKind, levels), MUST(OrrFabricKind, bisection), MUST(OrrFabricKind, diameter)}},
    {&orr_gang_order_registry, {MUST(OrrGangOrder, key)}},
    {&orr_gang_placement_registry, {MUST(OrrGangPlacement, place)}},
    {&orr_job_reader_registry, {MUST(OrrJobReader, ending), MUST(OrrJobReader, read)}},
    {&orr_job_placement_registry, {MUST(OrrJobPlacementKind, choose)}},
    {&orr_machine_fault_registry, {MUST(OrrMachineFaultKind, strike)}},
    {&orr_measure_registry, {MUST(OrrMeasureFamily, plan), MUST(OrrMeasureFamily, work)}},
    {&orr_pipeline_registry,
     {MUST(OrrPipelineKind, chunks), MUST(OrrPipelineKind, steps), MUST(OrrPipelineKind, bubble),
      MUST(OrrPipelineKind, peak)}},
    {&orr_queue_registry, {{0}}},
    {&orr_recovery_policy_registry, {MUST(OrrRecoveryPolicy, plan)}},
    {&orr_router_registry, {MUST(OrrRouter, pick)}},
    {&orr_sampler_registry, {{0}}},
    {&orr_scheduler_registry, {MUST(OrrScheduler, plan)}},
    {&orr_sharding_registry, {MUST(OrrShardingKind, plan)}},
    {&orr_speculation_registry, {{0}}},
    {&orr_task_pool_registry,
     {MUST(OrrTaskPoolKind, open), MUST(OrrTaskPoolKind, add), MUST(OrrTaskPoolKind, servers),
      MUST(OrrTaskPoolKind, close)}},
    {&orr_task_step_registry, {MUST(OrrTaskStepKind, begin)}},
    {&orr_tp_overlap_registry, {{0}}},
    {&orr_transport_registry, {{0}}},
    {&orr_workload_registry,
     {MUST(OrrWorkloadKind, check), MUST(OrrWorkloadKind, compile),
      MUST(OrrWorkloadKind, work_free)}},
};

static void complain(const OrrRegistry *registry, const OrrEntry *entry, const char *what) {
  g_test_message("%s '%s': %s", registry->family, entry->name, what);
  g_test_fail();
}

static gboolean is_kebab(const char *name) {
  return name && g_regex_match_simple("^[a-z0-9+]+(-[a-z0-9+]+)*$", name, 0, 0);
}

/* Names in order and without repeats; a sentence each; parameters that keep the rules of tables. */
static void check_description(const OrrRegistry *registry, guint i) {
  const OrrEntry *entry = registry->entries[i];
  if (!is_kebab(entry->name)) complain(registry, entry, "the name is not kebab-case");
  if (i > 0 && strcmp(registry->entries[i - 1]->name, entry->name) >= 0)
    complain(registry, entry, "stands out of alphabetical order, or twice");
  if (!entry->sentence || !g_str_has_suffix(entry->sentence, "."))
    complain(registry, entry, "the sentence does not end in a period");
  g_autofree char *findings = entry->params ? orr_field_lint(entry->params) : NULL;
  if (findings) complain(registry, entry, findings);
}

static void test_families(void) {
  for (guint f = 0; f < G_N_ELEMENTS(families); f++) {
    const OrrRegistry *registry = families[f].registry;
    g_assert_nonnull(registry->entries[0]);
    for (guint i = 0; registry->entries[i]; i++) {
      check_description(registry, i);
      for (const Member *member = families[f].mandatory; member->name; member++) {
        const char *at = (const char *)registry->entries[i] + member->offset;
        g_autofree char *what = g_strdup_printf("lacks `%s`, which is mandatory", member->name);
        if (!*(void (*const *)(void))(const void *)at)
          complain(registry, registry->entries[i], what);
      }
    }
  }
}

/* Each kind of workload is in the view `summary`, so that no run is without a result there. */
static void test_summary(void) {
  const OrrView *view = orr_view_find("summary");
  for (guint i = 0; orr_workload_registry.entries[i]; i++) {
    const OrrRegistry *registry = &orr_workload_registry;
    const OrrRunKind *kind = orr_kinds_named(registry->entries[i]->name);
    g_autofree char *table = g_strdelimit(g_strdup(kind->result->name), "-", '_');
    g_autofree char *rows = g_strdup_printf("FROM %s WHERE run_id = :run", table);
    if (!strstr(view->sql, rows)) complain(registry, registry->entries[i], "is not in summary.sql");
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/entries/families", test_families);
  g_test_add_func("/entries/summary", test_summary);
  return g_test_run();
}
