/*
 * The machine: a fabric of 131,072 GPUs, routes through it, and collectives planned on thousands of
 * ranks.
 */
#include "sim/base/random.h"
#include "tests/bench/bench_world.h"
#include "workloads/collectives/collective.h"

/* Three levels of 128-port switches join 128^3 / 4 = 524,288 NICs. */
static const char *const large = "{base: dgx-h100-superpod, nodes: 16384, max-nodes: 16384, "
                                 "fabric: {kind: fat-tree, levels: 3, radix: 128}}";
static const char *const middle = "{base: dgx-h100-superpod, nodes: 1024}";

static double build_us(gconstpointer cluster) {
  g_autoptr(GError) error = NULL;
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 1, &error);
  const double us = bench_since(begin_us) * 1e6;
  bench_check(error);
  return fabric ? us : 0;
}

static double route_ns(gconstpointer cluster) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 1, &error);
  bench_check(error);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  OrrRandom random = orr_random_stream(1, "routes");
  const guint64 n_gpus = (guint64)orr_fabric_n_gpus(fabric);
  const guint n = 1000000;
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < n; i++) {
    g_array_set_size(links, 0);
    orr_fabric_route(fabric, (gint64)orr_random_below(&random, n_gpus),
                     (gint64)orr_random_below(&random, n_gpus), i, links);
  }
  return bench_since(begin_us) * 1e9 / n;
}

typedef struct {
  const OrrCluster *cluster;
  const char *algorithm; /* NULL: the choice of all */
  guint stride;          /* 1: all GPUs; 8: one a node */
} Ask;

static double plan_ms(gconstpointer data) {
  const Ask *ask = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(ask->cluster, 1, &error);
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(NULL, &ask->cluster->device, &error);
  bench_check(error);
  const OrrEntry *entry =
      ask->algorithm ? orr_registry_find(&orr_collective_registry, ask->algorithm) : NULL;
  const guint n = (guint)orr_fabric_n_gpus(fabric) / ask->stride;
  g_autofree gint64 *gpus = g_new(gint64, n);
  for (guint i = 0; i < n; i++) gpus[i] = (gint64)i * ask->stride;
  const OrrCollectiveContext context = {fabric, cost};
  const OrrCollectiveCall call = {ORR_ALL_REDUCE, 1e9, gpus, n};
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrCollectivePlan) plan =
      orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)entry, &error);
  const double ms = bench_since(begin_us) * 1e3;
  bench_check(error);
  return plan ? ms : 0;
}

int main(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  OrrCluster huge, big;
  bench_cluster(library, large, &huge);
  bench_cluster(library, middle, &big);
  bench_row("fabric: 131,072 GPUs in a 3-level fat-tree, built", bench_figure(build_us, &huge),
            "us");
  bench_row("fabric: a route between two of them", bench_figure(route_ns, &huge), "ns");
  bench_row("collective: all-reduce of 8,192 ranks planned, best of all",
            bench_figure(plan_ms, &(Ask){&big, NULL, 1}), "ms");
  bench_row("collective: all-reduce of 8,192 ranks planned, ring",
            bench_figure(plan_ms, &(Ask){&big, "ring", 1}), "ms");
  bench_row("collective: all-reduce of 1,024 ranks, one a node, best of all",
            bench_figure(plan_ms, &(Ask){&big, NULL, 8}), "ms");
  orr_field_clear(&orr_cluster_table, &huge);
  orr_field_clear(&orr_cluster_table, &big);
  return 0;
}
