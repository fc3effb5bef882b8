/*
 * Costs: a lookup of each kind of operator, and what it takes to have the profile in memory.
 */
#include "tests/bench/bench_world.h"

#define N_SHAPES 64 /* asked in turn, so that no lookup profits from the one before */

typedef OrrOperator (*Shape)(guint i);

static gint64 between(guint i, gint64 low, gint64 step) {
  return low + step * (gint64)(i % N_SHAPES);
}

static OrrOperator gemm(guint i) {
  return orr_operator_gemm("gemm", ORR_PASS_FORWARD, ORR_BF16,
                           (OrrGemmShape){1, between(i, 1000, 131), between(i * 7, 1500, 97),
                                          between(i * 5, 1100, 113)});
}

static OrrOperator attention(guint i) {
  const gint64 length = between(i, 500, 61);
  return orr_operator_attention("attention", ORR_PASS_FORWARD, ORR_BF16,
                                (OrrAttentionShape){.batch = 1 + i % 8,
                                                    .q_length = length,
                                                    .kv_length = length,
                                                    .heads = 16,
                                                    .kv_heads = 16,
                                                    .head_dim = 128,
                                                    .causal = TRUE});
}

static OrrOperator memory(guint i) {
  return orr_operator_memory("layer-norm", ORR_PASS_FORWARD, ORR_BF16,
                             (double)between(i, 1000000, 100000), 0);
}

/* Layers that nobody measured: the nearest three answer. */
static OrrOperator moe(guint i) {
  return orr_operator_moe("moe", ORR_PASS_FORWARD, ORR_BF16,
                          (OrrMoeShape){.tokens = between(i, 100, 77),
                                        .hidden = 4096,
                                        .inter = between(i, 1024, 64),
                                        .topk = 8,
                                        .experts = 128,
                                        .tp = 1,
                                        .ep = 1 + 7 * (i % 2),
                                        .projections = 3,
                                        .imbalance = 1.2 * (i % 2)});
}

typedef struct {
  Shape shape;
  const OrrCostModel *model;
} Ask;

static double lookup_ns(gconstpointer data) {
  const Ask *ask = data;
  const guint n = 200000;
  OrrOperator shapes[N_SHAPES];
  for (guint i = 0; i < N_SHAPES; i++) shapes[i] = ask->shape(i);
  double sum_s = 0;
  for (guint i = 0; i < N_SHAPES; i++)
    sum_s += orr_cost_operator(ask->model, &shapes[i]).time_s; /* warm */
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < n; i++)
    sum_s += orr_cost_operator(ask->model, &shapes[i % N_SHAPES]).time_s;
  const double ns = bench_since(begin_us) * 1e9 / n;
  if (!(sum_s > 0)) g_error("the kernels take no time");
  return ns;
}

static double collective_ns(gconstpointer data) {
  const OrrCostModel *model = data;
  const guint n = 200000;
  OrrCost cost;
  double sum_s = 0;
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < n; i++) {
    if (!orr_cost_collective(model, "all_reduce", 8, 1e4 + 1e5 * (i % N_SHAPES), &cost))
      g_error("no rows");
    sum_s += cost.time_s;
  }
  return sum_s > 0 ? bench_since(begin_us) * 1e9 / n : 0;
}

static double profile_ms(gconstpointer name) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrProfile) profile = bench_profile(library, name);
  const double ms = bench_since(begin_us) * 1e3;
  return profile ? ms : 0;
}

static double model_ms(gconstpointer data) {
  const OrrDevice *device = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrProfile) profile = bench_profile(library, device->name);
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrCostModel) model = orr_cost_model_new(profile, device, &error);
  const double ms = bench_since(begin_us) * 1e3;
  bench_check(error);
  return model ? ms : 0;
}

static double yaml_mb_per_second(gconstpointer path) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = NULL;
  gsize length = 0;
  g_autoptr(GError) error = NULL;
  g_file_get_contents(path, &text, &length, &error);
  bench_check(error);
  const gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, length, path, diags);
  const double rate = (double)length * 1e-6 / bench_since(begin_us);
  bench_check_diags(diags);
  return tree ? rate : 0;
}

static OrrCostModel *cost_model(const OrrProfile *profile, const OrrDevice *device) {
  g_autoptr(GError) error = NULL;
  OrrCostModel *model = orr_cost_model_new(profile, device, &error);
  bench_check(error);
  return model;
}

static void measure_lookups(OrrLibrary *library, const OrrDevice *device) {
  g_autoptr(OrrProfile) profile = bench_profile(library, device->name);
  g_autoptr(OrrCostModel) model = cost_model(profile, device);
  bench_row("cost: GEMM lookup, warm, h100-sxm", bench_figure(lookup_ns, &(Ask){gemm, model}),
            "ns");
  bench_row("cost: attention lookup, warm", bench_figure(lookup_ns, &(Ask){attention, model}),
            "ns");
  bench_row("cost: lookup of routed experts, warm", bench_figure(lookup_ns, &(Ask){moe, model}),
            "ns");
  bench_row("cost: memory-bound lookup, warm", bench_figure(lookup_ns, &(Ask){memory, model}),
            "ns");
  bench_row("cost: measured collective lookup, warm", bench_figure(collective_ns, model), "ns");
}

/* A profile with wave quantisation, which the H100's has not. */
static void measure_waves(OrrLibrary *library) {
  OrrCluster cluster;
  bench_cluster(library, "base: dgx-a100-superpod", &cluster);
  g_autoptr(OrrProfile) profile = bench_profile(library, cluster.device.name);
  g_autoptr(OrrCostModel) model = cost_model(profile, &cluster.device);
  bench_row("cost: GEMM lookup, warm, a100-80gb-sxm", bench_figure(lookup_ns, &(Ask){gemm, model}),
            "ns");
  orr_field_clear(&orr_cluster_table, &cluster);
}

int main(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *rows = orr_library_path(library, "profile", "h100-sxm-kernels");
  OrrCluster cluster;
  bench_cluster(library, "base: dgx-h100-superpod", &cluster);
  measure_lookups(library, &cluster.device);
  measure_waves(library);
  bench_row("cost: h100-sxm profile read from YAML", bench_figure(profile_ms, "h100-sxm"), "ms");
  bench_row("cost: b200 profile read from YAML", bench_figure(profile_ms, "b200"), "ms");
  bench_row("cost: a100-80gb-sxm profile read from YAML", bench_figure(profile_ms, "a100-80gb-sxm"),
            "ms");
  bench_row("cost: h100-sxm cost model made from the profile",
            bench_figure(model_ms, &cluster.device), "ms");
  bench_row("cost: YAML of h100-sxm's kernel rows parsed", bench_figure(yaml_mb_per_second, rows),
            "MB/s");
  orr_field_clear(&orr_cluster_table, &cluster);
  return 0;
}
