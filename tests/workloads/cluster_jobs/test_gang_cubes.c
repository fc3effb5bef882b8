/*
 * test_gang_cubes.c - slices of whole cubes against counts by hand: any free cubes with optical
 * circuits, boxes of neighbours without, and the time until circuits are up.
 */
#include <string.h>

#include "sim/base/field.h"
#include "sim/base/random.h"
#include "sim/base/yaml.h"
#include "workloads/cluster_jobs/core/gang_bins.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

enum { HOSTS = 2, CHIPS = 4, CUBE = HOSTS * CHIPS, CUBES = 16 };

static const OrrGangPlacement *cubes(void) {
  return (gconstpointer)orr_registry_find(&orr_gang_placement_registry, "cubes");
}

/* Cubes of 2 hosts of 4 chips. */
static void *params_new(const char *grid, const char *circuits, const char *reconfigure) {
  const OrrFieldTable *table = cubes()->entry.params;
  void *params = g_malloc0(table->size);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strdup_printf("{nodes: 2, grid: %s, circuits: %s, reconfigure: %s}",
                                          grid, circuits, reconfigure);
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "p", diags);
  orr_field_read(table, node, NULL, diags, params);
  g_autoptr(GError) error = NULL;
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  return params;
}

static void params_free(void *params) {
  orr_field_clear(cubes()->entry.params, params);
  g_free(params);
}

/* How many gangs of @n_cubes find room one after the other, where @failed cubes (bits) are lost. */
static guint n_placed(void *params, guint n_cubes, guint failed) {
  OrrGangBins bins;
  g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  const OrrGangJob job = {.gpus = (gint64)n_cubes * CUBE};
  guint placed = 0;
  orr_gang_bins_init(&bins, CUBES * HOSTS, CHIPS);
  for (guint cube = 0; cube < CUBES; cube++) {
    const OrrGangShare lost = {cube * HOSTS, 1};
    g_array_set_size(shares, 0);
    g_array_append_val(shares, lost);
    if (failed & 1u << cube) orr_gang_bins_add(&bins, shares, -1);
  }
  while (cubes()->place(&bins, &job, params, shares)) {
    gint64 gpus = 0;
    for (guint i = 0; i < shares->len; i++) gpus += g_array_index(shares, OrrGangShare, i).gpus;
    g_assert_cmpint(gpus, ==, job.gpus);
    orr_gang_bins_add(&bins, shares, -1); /* asserts that nobody else has them */
    placed++;
  }
  orr_gang_bins_clear(&bins);
  return placed;
}

/* 16 cubes as 4x4; any of them fail. With circuits floor(free / k)
 * slices of k cubes fit, whichever cubes are free. */
static void test_circuits(void) {
  void *params = params_new("4x4", "true", "0 s");
  OrrRandom random = orr_random_stream(7, "cubes");
  for (guint i = 0; i < 200; i++) {
    const guint failed = (guint)orr_random_below(&random, 1 << CUBES);
    const guint free = CUBES - (guint)__builtin_popcount(failed);
    for (guint k = 1; k <= 5; k++) g_assert_cmpuint(n_placed(params, k, failed), ==, free / k);
  }
  params_free(params);
}

/* Fixed cables: on an empty grid, boxes tile it. A diagonal of failed cubes leaves 12: no box of
 * 4 in a row or of 2x2 but where they meet around the edges. With three cubes free in a row and
 * one elsewhere no slice of 4 fits, with circuits one does. */
static void test_fixed(void) {
  void *fixed = params_new("4x4", "false", "0 s"), *circuits = params_new("4x4", "true", "0 s");
  for (guint k = 1; k <= CUBES; k *= 2) g_assert_cmpuint(n_placed(fixed, k, 0), ==, CUBES / k);
  const guint row_and_one = 0xffff & ~(1u << 0 | 1u << 1 | 1u << 2 | 1u << 7);
  g_assert_cmpuint(n_placed(fixed, 4, row_and_one), ==, 0);
  g_assert_cmpuint(n_placed(circuits, 4, row_and_one), ==, 1);
  g_assert_cmpuint(n_placed(fixed, 3, row_and_one), ==, 1);
  /* around the edge: cubes 3 and 0 are neighbours */
  g_assert_cmpuint(n_placed(fixed, 2, 0xffff & ~(1u << 3 | 1u << 0)), ==, 1);
  g_assert_cmpuint(n_placed(fixed, 2, 0xffff & ~(1u << 1 | 1u << 3)), ==, 0);
  /* 4x4 has boxes of 1, 2, 3, 4, 6, 8, 9, 12 and 16 cubes alone */
  static const guint boxes =
      1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 12 | 1 << 16;
  for (guint k = 1; k <= CUBES; k++) {
    g_assert_cmpint(n_placed(fixed, k, 0) > 0, ==, (boxes >> k & 1) == 1);
    g_assert_cmpuint(n_placed(circuits, k, 0), ==, CUBES / k);
  }
  params_free(fixed);
  params_free(circuits);
}

/* A slice of 2 cubes waits 10 s for its circuits, a cube and a part of one do not; with fixed
 * cables nobody does. Each works for 100 s. */
static void test_reconfigure(void) {
  static const char *const circuits[] = {"true", "false"};
  static const gint64 gpus[] = {2 * CUBE, CUBE, CHIPS};
  for (guint c = 0; c < 2; c++) {
    void *params = params_new("4x4", circuits[c], "10 s");
    GArray *jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
    for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
      const OrrGangJob job = {.id = "",
                              .model = "",
                              .user = "",
                              .queue = "",
                              .number = i,
                              .gpus = gpus[i],
                              .work_us = 100000000};
      g_array_append_val(jobs, job);
    }
    const OrrGangRules rules = {
        .order = (gconstpointer)orr_registry_find(&orr_gang_order_registry, "fifo"),
        .placement = cubes(),
        .placement_params = params,
        .n_nodes = CUBES * HOSTS,
        .gpus_per_node = CHIPS};
    OrrGangTotals totals;
    orr_gang_sim_run(&rules, jobs, &totals);
    for (guint i = 0; i < jobs->len; i++) {
      OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
      const gint64 waits_us = c == 0 && i == 0 ? 10000000 : 0;
      g_assert_cmpint(job->end_us - job->first_start_us, ==, 100000000 + waits_us);
      g_assert_cmpint(job->overhead_us, ==, waits_us);
      g_clear_pointer(&job->shares, g_array_unref);
    }
    g_array_unref(jobs);
    params_free(params);
  }
}

static void test_refusals(void) {
  static const char *const grids[][2] = {{"4x4", NULL}, {"4x4x4", "has 128 nodes"}, {"4y4", "4y4"}};
  for (guint i = 0; i < G_N_ELEMENTS(grids); i++) {
    void *params = params_new(grids[i][0], "false", "0 s");
    g_autofree char *reason = cubes()->refuse(params, CUBES * HOSTS);
    if (grids[i][1])
      g_assert_nonnull(strstr(reason, grids[i][1]));
    else
      g_assert_null(reason);
    params_free(params);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/gang-cubes/circuits", test_circuits);
  g_test_add_func("/gang-cubes/fixed", test_fixed);
  g_test_add_func("/gang-cubes/reconfigure", test_reconfigure);
  g_test_add_func("/gang-cubes/refusals", test_refusals);
  return g_test_run();
}
