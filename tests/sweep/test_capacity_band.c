/*
 * test_capacity_band.c - rates that hold with confidence, from measured rows made up here: all are
 * like the question, and their latencies are the same multiple of the simulated ones, so that this
 * multiple is both bounds of each band.
 */
#include <glib/gstdio.h>
#include <math.h>

#include "sim/bands/residuals.h"
#include "sim/sweep/capacity.h"
#include "tests/engine/forked.h"
#include "tests/workloads/serving/serving_fixture.h"
#include "tests/run/shared_library.h"

/* One sequence at a time, ten steps of 1 s. */
#define ONE_SERVER                                                                                 \
  "workload.engine={max-num-seqs: 1, kv-blocks: 1000000, eager-prefill: false, host: {step: 1 "    \
  "s}};"                                                                                           \
  "workload.metrics={request-rows: 0, step-rows: 0};workload.input={tokens: "                      \
  "1};workload.output={tokens: 10};"                                                               \
  "workload.load={kind: poisson, rate: 0.03};workload.requests=400;"

static char *folder;

static char *residuals_path(void) {
  return g_build_filename(folder, "calibration", "residuals", "serving.csv", NULL);
}

static void begin_folder(void) {
  folder = g_dir_make_tmp("orrery-capacity-XXXXXX", NULL);
  g_autofree char *path = residuals_path(), *parent = g_path_get_dirname(path);
  g_mkdir_with_parents(parent, 0777);
}

static void end_folder(void) {
  for (g_autofree char *path = residuals_path(); strlen(path) >= strlen(folder);) {
    g_remove(path);
    char *parent = g_path_get_dirname(path);
    g_free(path);
    path = parent;
  }
  g_clear_pointer(&folder, g_free);
}

/* Measured over simulated; 0: not measured. */
typedef struct {
  double ttft, tpot;
} Multiples;

/* A row that is like a run of ONE_SERVER. */
static void add_row(OrrResiduals *residuals, const OrrLikenessRow *likeness, const char *set,
                    const Multiples *multiples) {
  OrrResidual row = {.set = g_intern_string(set),
                     .part = g_intern_string(""),
                     .row = residuals->rows->len + 1,
                     .label = g_strdup("made up"),
                     .likeness = *likeness};
  if (multiples->ttft > 0)
    row.answers[row.n_answers++] =
        (OrrResidualAnswer){g_intern_string("ttft_mean_s"), 10 * multiples->ttft, 10};
  if (multiples->tpot > 0)
    row.answers[row.n_answers++] =
        (OrrResidualAnswer){g_intern_string("tpot_mean_s"), 10 * multiples->tpot, 10};
  g_array_append_val(residuals->rows, row);
}

static void write_residuals(gconstpointer data) {
  static const char *const sets[] = {"a", "b", "c"};
  g_autoptr(GError) error = NULL;
  OrrLibrary *library = shared_library();
  g_autofree char *findings = NULL, *path = residuals_path();
  g_autoptr(OrrScenario) scenario = serving_scenario(library, ONE_SERVER, &findings);
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  const OrrLikenessRow likeness = orr_likeness_of(library, scenario, outcome);
  g_autoptr(OrrResiduals) residuals = orr_residuals_new();
  for (guint i = 0; i < 120; i++) add_row(residuals, &likeness, sets[i / 40], data);
  orr_residuals_write(residuals, "serving", path, &error);
  g_assert_no_error(error);
}

/* @multiples NULL: the file of residuals is not one. */
static OrrCapacity *find(const char *slo, double confidence, const Multiples *multiples) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = residuals_path();
  if (multiples)
    forked(write_residuals, multiples);
  else
    g_assert_true(g_file_set_contents(path, "set,row\nbad\n", -1, NULL));
  g_autoptr(OrrLibrary) library = orr_library_new((const char *const[]){folder, NULL});
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(serving_text, strlen(serving_text), "test.yaml", diags);
  g_autofree char *sets = g_strdup_printf(ONE_SERVER "workload.slo={%s}", slo);
  g_auto(GStrv) parts = g_strsplit(sets, ";", -1);
  for (char **part = parts; *part && **part; part++) {
    char *value = strchr(*part, '=');
    *value++ = '\0';
    orr_field_set(&orr_scenario_table, tree, *part, value, &error);
    g_assert_no_error(error);
  }
  const OrrCapacityQuery query = {
      .fraction = 0.7, .tolerance = 0.05, .seeds = 2, .confidence = confidence};
  OrrCapacity *capacity = orr_capacity_find(library, tree, &query, &error);
  g_assert_no_error(error);
  return capacity;
}

static const OrrCapacityPoint *point_at(const OrrCapacity *capacity, guint i) {
  return &g_array_index(capacity->points, OrrCapacityPoint, i);
}

/* A measurement equals the simulation: at each rate the same requests meet their objectives. */
static void test_exact(void) {
  g_autoptr(OrrCapacity) capacity = find("ttft: 11.1 s, tpot: 1.05 s", 0.9, &(Multiples){1, 1});
  for (guint i = 0; i < capacity->points->len; i++) {
    const OrrCapacityPoint *point = point_at(capacity, i);
    g_assert_cmpint(point->band.quality, ==, ORR_BAND_GOOD);
    g_assert_cmpfloat_with_epsilon(point->sure.mean, point->alone.mean, 1e-12);
  }
  g_assert_cmpfloat(capacity->alone.meets, >, 0);
  g_assert_cmpfloat(capacity->sure.meets, ==, capacity->alone.meets);
  g_assert_cmpfloat(capacity->sure.fails, ==, capacity->alone.fails);
}

/* First tokens take twice as long as simulated: a request within 22.2 s measured is one within
 * 11.1 s simulated. So the rate that holds for 22.2 s is the simulation's for 11.1 s, up to the
 * tolerance of both searches, and lower than the simulation's for 22.2 s. */
static void test_twice(void) {
  g_autoptr(OrrCapacity) twice = find("ttft: 22.2 s", 0.9, &(Multiples){2, 1});
  g_autoptr(OrrCapacity) half = find("ttft: 11.1 s", 0.9, &(Multiples){2, 1});
  g_assert_cmpfloat_with_epsilon(twice->sure.meets / half->alone.meets, 1, 0.1);
  g_assert_cmpfloat(twice->alone.meets, >, 1.1 * twice->sure.meets);
  g_assert_cmpfloat_with_epsilon(point_at(twice, 0)->band.factors[ORR_LIMIT_TTFT], 2, 1e-9);
  g_assert_true(isnan(point_at(twice, 0)->band.factors[ORR_LIMIT_TPOT])); /* no objective */
}

/* Tokens take 1.1 times as long: an objective of 1.05 s per token, which the simulated 1 s meets at
 * any rate, does not hold at any. */
static void test_never(void) {
  g_autoptr(OrrCapacity) capacity = find("ttft: 11.1 s, tpot: 1.05 s", 0.9, &(Multiples){1, 1.1});
  g_assert_cmpfloat(capacity->alone.meets, >, 0);
  g_assert_cmpfloat(capacity->sure.meets, ==, 0);
  for (guint i = 0; i < capacity->points->len; i++)
    g_assert_cmpfloat(point_at(capacity, i)->sure.mean, ==, 0);
}

/* Bounds at one-sided confidence 0.9 need weights of 9 or more, at 0.9999 of 9999: 120 rows are too
 * few, and no rate can be named. What the simulation says alone stays. */
static void test_too_sure(void) {
  g_autoptr(OrrCapacity) capacity = find("ttft: 11.1 s", 0.9999, &(Multiples){1, 1});
  g_assert_cmpfloat(capacity->alone.meets, >, 0);
  g_assert_cmpfloat(capacity->sure.meets, ==, 0);
  const OrrCapacityBand *band = &point_at(capacity, 0)->band;
  g_assert_cmpint(band->quality, ==, ORR_BAND_NONE);
  g_assert_cmpstr(band->reason, ==, "ttft: too few measured runs for this level");
}

/* A file of residuals that cannot be read costs the bands, and the simulation's rate stays. */
static void test_bad_file(void) {
  g_autoptr(OrrCapacity) capacity = find("ttft: 11.1 s", 0.9, NULL);
  g_assert_cmpfloat(capacity->alone.meets, >, 0);
  g_assert_cmpfloat(capacity->sure.meets, ==, 0);
  g_assert_cmpint(point_at(capacity, 0)->band.quality, ==, ORR_BAND_NONE);
  g_assert_nonnull(strstr(capacity->band_note, "serving.csv"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  begin_folder();
  g_test_add_func("/sweep/capacity-band/exact", test_exact);
  g_test_add_func("/sweep/capacity-band/twice", test_twice);
  g_test_add_func("/sweep/capacity-band/never", test_never);
  g_test_add_func("/sweep/capacity-band/too-sure", test_too_sure);
  g_test_add_func("/sweep/capacity-band/bad-file", test_bad_file);
  const int status = g_test_run();
  end_folder();
  return status;
}
