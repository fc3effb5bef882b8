/*
 * test_collective_fixture.h - a machine to plan collectives on, and a group on it.
 *
 * Numbers are round so that expectations can be written down: scale-up 240 GB/s at 1 us a hop, NICs
 * 24 GB/s (a tenth) at 2 us + 0.5 us a switch. `leaf_nodes` nodes share a leaf; at least as many as
 * the machine has: every pair of nodes is one switch apart.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "workloads/collectives/collective.h"

typedef struct {
  OrrCluster cluster;
  OrrFabric *fabric;
} Machine;

#define SCALE_UP 240e9
#define NIC 24e9
#define SCALE_UP_HOP 1e-6
#define NIC_HOP 2.5e-6

/* @speed multiplies every bandwidth; @domain GPUs share a scale-up domain. */
static inline void machine_init_on(Machine *machine, guint nodes, guint domain, const char *fabric,
                                   double speed) {
  g_autofree char *text = g_strdup_printf(
      "device: {name: d, architecture: none, sms: 100, bf16: 300 TFLOP/s, memory: 80 GiB, "
      "memory-bandwidth: 2 TB/s,\n"
      "         scale-up-bandwidth: %.17g GB/s, scale-up-efficiency: 0.8, host-link-bandwidth: "
      "%.17g GB/s}\n"
      "nodes: %u\n"
      "node: {gpus: 8, scale-up-domain: %u, scale-up-latency: 1 us, nics-per-gpu: 1,\n"
      "       nic-bandwidth: %.17g GB/s, nic-efficiency: 0.96, nic-latency: 2 us,\n"
      "       host: {network-path: apart}}\n"
      "fabric: %s\n",
      300 * speed, 25 * speed, nodes, domain, 25 * speed, fabric);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "fixture", diags);
  g_autoptr(GError) error = NULL;
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  orr_field_read(&orr_cluster_table, node, NULL, diags, &machine->cluster);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  machine->fabric = orr_fabric_new(&machine->cluster, 1, &error);
  g_assert_no_error(error);
}

/* A fat-tree whose leaves hold @leaf_nodes nodes. */
static inline void machine_init(Machine *machine, guint nodes, guint domain, guint leaf_nodes,
                                double speed) {
  g_autofree char *fabric = g_strdup_printf(
      "{kind: fat-tree, radix: 65536, nodes-per-leaf: %u, switch-latency: 0.5 us}", leaf_nodes);
  machine_init_on(machine, nodes, domain, fabric, speed);
}

static inline void machine_clear(Machine *machine) {
  orr_fabric_free(machine->fabric);
  orr_field_clear(&orr_cluster_table, &machine->cluster);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Machine, machine_clear)

/* GPUs first, first + stride, ...: stride 1 fills nodes, stride 8 takes one of each. */
static inline gint64 *group_new(guint n, gint64 first, gint64 stride) {
  gint64 *gpus = g_new(gint64, n);
  for (guint i = 0; i < n; i++) gpus[i] = first + i * stride;
  return gpus;
}

static inline OrrCollectivePlan *plan_on(const Machine *machine, OrrCollectiveOp op, double bytes,
                                         const gint64 *gpus, guint n, const char *algorithm) {
  OrrCollectiveContext context = {.fabric = machine->fabric};
  OrrCollectiveCall call = {.op = op, .bytes = bytes, .gpus = gpus, .n = n};
  const OrrEntry *entry = algorithm ? orr_registry_find(&orr_collective_registry, algorithm) : NULL;
  g_autoptr(GError) error = NULL;
  OrrCollectivePlan *plan =
      orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)entry, &error);
  g_assert_no_error(error);
  return plan;
}

static inline const OrrCollectivePhase *phase_of(const OrrCollectivePlan *plan, guint i) {
  g_assert_cmpuint(i, <, plan->phases->len);
  return &g_array_index(plan->phases, OrrCollectivePhase, i);
}

/* What the phases add to the time beyond their latencies. */
static inline double latency_of(const OrrCollectivePlan *plan) {
  double sum_s = 0;
  for (guint i = 0; i < plan->phases->len; i++) sum_s += phase_of(plan, i)->latency_s;
  return sum_s;
}

#define assert_close(value, expected, relative)                                                    \
  g_assert_cmpfloat_with_epsilon((value), (expected), (relative)*fabs(expected) + 1e-300)
