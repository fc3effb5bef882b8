/*
 * test_measure_plan.c - which shape is next: seeds far apart, then where neighbours disagree.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/measure_session.h"

/* Sixteen points on one axis, bytes 1, 3, 7 ... 65535: log2(1 + bytes) is 1 ... 16, scaled to 0,
 * 1/15 ... 1. */
static void plan_line(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  (void)facts;
  for (gint64 i = 1; i <= 16; i++) orr_family_add(family, shapes, (gint64[]){((gint64)1 << i) - 1});
}

static OrrShapeWork no_work(const OrrShape *shape, const OrrBenchFacts *facts) {
  (void)shape, (void)facts;
  return (OrrShapeWork){.dtype = ORR_FP32}; /* so the roofline is 2 us everywhere */
}

static const OrrShapeColumn columns[] = {{"bytes", NULL, FALSE}, {NULL, NULL, FALSE}};
static const OrrMeasureFamily line = {.entry = {"line", "A line.", NULL},
                                      .columns = columns,
                                      .min_gpus = 1,
                                      .plan = plan_line,
                                      .work = no_work};

static OrrBenchFacts small_facts(void) {
  OrrBenchFacts facts = {.memory_bytes = 1e9, .memory_bytes_per_s = 1e12};
  for (int d = 0; d < ORR_N_DTYPES; d++) facts.flops[d] = 1e12;
  return facts;
}

static gint64 next_bytes(OrrMeasurePlan *plan) {
  const OrrShape *shape = orr_measure_plan_shape(plan, orr_measure_plan_next(plan, NULL));
  return shape ? shape->at[0] : -1;
}

static void mark(OrrMeasurePlan *plan, gint64 bytes, double us) {
  const OrrShape shape = {.family = &line, .at = {bytes}};
  g_assert_true(orr_measure_plan_mark(plan, &shape, us));
}

/* One axis: three seeds. The middle of [0, 1] is between 7/15 and 8/15: the first of the two,
 * 2^8 - 1. Then the farthest: 16 is 8 steps away, 1 is 7. Then the other end. */
static void test_seeds(void) {
  const OrrBenchFacts facts = small_facts();
  g_autoptr(OrrMeasurePlan) plan = orr_measure_plan_new(&facts, 1);
  orr_measure_plan_add(plan, &line);
  const gint64 wanted[] = {255, 65535, 1};
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    double score = 0;
    g_assert_cmpint(next_bytes(plan), ==, wanted[i]);
    orr_measure_plan_next(plan, &score);
    g_assert_true(isinf(score));
    mark(plan, wanted[i], 2);
  }
}

/* Times of 2 us but for a step up by e from 2^12 on: after the seeds (8, 16, 1: log2 of 1 +
 * bytes) the points 16 and 8 disagree with each other and 1 with 16 a little; what is measured
 * next lies between 8 and 16, and stays around the step: of five more measurements four or more
 * are from 9 to 15. */
static void test_refines_where_neighbours_disagree(void) {
  const OrrBenchFacts facts = small_facts();
  g_autoptr(OrrMeasurePlan) plan = orr_measure_plan_new(&facts, 1);
  orr_measure_plan_add(plan, &line);
  guint near = 0;
  for (guint i = 0; i < 8; i++) {
    const gint64 bytes = next_bytes(plan);
    const double place = log2(1.0 + bytes);
    mark(plan, bytes, place >= 12 ? 2 * M_E : 2);
    if (i >= 3) near += place >= 9 && place <= 15;
  }
  g_assert_cmpuint(near, >=, 4);
}

/* Seven tables of two points, one slice each: 0, 1 ... 6. */
static void plan_tables(const OrrMeasureFamily *family, const OrrBenchFacts *facts,
                        GArray *shapes) {
  (void)facts;
  for (gint64 table = 0; table < 7; table++)
    for (gint64 bytes = 1; bytes <= 2; bytes++)
      orr_family_add(family, shapes, (gint64[]){table, bytes});
}

/* Families take turns until each has its seeds, however many tables one of them has: of the
 * first six shapes three are of the line, which has one table and comes last. */
static void test_families_take_turns(void) {
  static const OrrShapeColumn table_columns[] = {
      {"table", NULL, TRUE}, {"bytes", NULL, FALSE}, {NULL, NULL, FALSE}};
  static const OrrMeasureFamily tables = {.entry = {"tables", "Tables.", NULL},
                                          .columns = table_columns,
                                          .min_gpus = 1,
                                          .plan = plan_tables,
                                          .work = no_work};
  const OrrBenchFacts facts = small_facts();
  g_autoptr(OrrMeasurePlan) plan = orr_measure_plan_new(&facts, 1);
  orr_measure_plan_add(plan, &tables);
  orr_measure_plan_add(plan, &line);
  guint of_line = 0, of_tables[7] = {0};
  for (guint i = 0; i < 3 + 7; i++) {
    const OrrShape shape = *orr_measure_plan_shape(plan, orr_measure_plan_next(plan, NULL));
    of_line += shape.family == &line;
    if (shape.family == &tables) of_tables[shape.at[0]]++;
    g_assert_true(orr_measure_plan_mark(plan, &shape, 2));
    if (i == 5) g_assert_cmpuint(of_line, ==, 3);
  }
  g_assert_cmpuint(of_line, ==, 3); /* its seeds, and no refinement before every table has one */
  for (guint t = 0; t < 7; t++) g_assert_cmpuint(of_tables[t], ==, 1);
}

static OrrShapeWork work_of(const char *family, const gint64 *values) {
  const OrrBenchFacts facts = small_facts();
  OrrShape shape = {.family = orr_family_find(family)};
  memcpy(shape.at, values, orr_family_n_columns(shape.family) * sizeof *values);
  return shape.family->work(&shape, &facts);
}

/* A mixed batch is its chunk on a prefix and its decodes of mixed lengths, each as its own
 * family counts it. */
static void test_mixed_work(void) {
  for (gint64 chunk = 128; chunk <= 8192; chunk *= 8)
    for (gint64 decodes = 1; decodes <= 256; decodes *= 16) {
      const OrrShapeWork mixed =
          work_of("attention-mixed", (gint64[]){1, 0, 128, 64, 8, chunk, 2048, decodes, 8192});
      const OrrShapeWork prompt =
          work_of("attention-prefill", (gint64[]){1, 0, 0, 128, 128, 2048, 64, 8, 1, chunk});
      const OrrShapeWork rest =
          work_of("attention-decode", (gint64[]){1, 1, 128, 128, 64, 8, decodes, 8192});
      g_assert_cmpfloat_with_epsilon(mixed.flops / (prompt.flops + rest.flops), 1, 1e-12);
      g_assert_cmpfloat_with_epsilon(mixed.bytes / (prompt.bytes + rest.bytes), 1, 1e-12);
    }
}

/* How many shapes of a family's plan have that word in a column. */
static guint count_words(const char *family_name, gint64 capability, const char *column,
                         const char *word) {
  OrrBenchFacts facts = small_facts();
  const OrrMeasureFamily *family = orr_family_find(family_name);
  g_autoptr(GArray) shapes = g_array_new(FALSE, FALSE, sizeof(OrrShape));
  guint n = 0;
  facts.flops[ORR_FP8] = capability >= 89 ? 1e15 : 0;
  facts.scales_blocks = capability >= 100;
  facts.adds_fp8 = capability >= 90;
  facts.n_gpus = facts.n_ranks = 8;
  family->plan(family, &facts, shapes);
  for (guint i = 0; i < shapes->len; i++)
    n += strcmp(orr_shape_word(&g_array_index(shapes, OrrShape, i), column), word) == 0;
  return n;
}

/* A100 has no 8-bit floats, H100 no blocks of them: a device is asked for what its tensor cores
 * have. Narrow formats have backward products, as many as bf16 has unbatched ones. */
static void test_formats(void) {
  static const char *const narrow[] = {"fp8", "mxfp8", "nvfp4"};
  static const gint64 from[] = {89, 100, 100};
  for (guint i = 0; i < G_N_ELEMENTS(narrow); i++) {
    g_assert_cmpuint(count_words("gemm", from[i] - 1, "dtype", narrow[i]), ==, 0);
    g_assert_cmpuint(count_words("gemm", from[i], "dtype", narrow[i]), ==,
                     count_words("gemm", 80, "dtype", "fp16"));
    g_assert_cmpuint(count_words("moe-ffn", from[i] - 1, "dtype", narrow[i]), ==, 0);
    g_assert_cmpuint(count_words("moe-ffn", from[i], "dtype", narrow[i]), ==,
                     count_words("moe-ffn", 80, "dtype", "bf16"));
  }
  g_assert_cmpuint(count_words("collective", 80, "dtype", "fp8"), ==, 0);
  g_assert_cmpuint(count_words("collective", 90, "dtype", "fp8"), ==,
                   4 * 24); /* 3 reductions and the all-to-all */
}

/* With nothing to choose between, every shape comes once, and then none. */
static void test_ends(void) {
  const OrrBenchFacts facts = small_facts();
  g_autoptr(OrrMeasurePlan) plan = orr_measure_plan_new(&facts, 1);
  orr_measure_plan_add(plan, &line);
  for (guint i = 0; i < 15; i++) mark(plan, next_bytes(plan), 3);
  const OrrShape last = *orr_measure_plan_shape(plan, orr_measure_plan_next(plan, NULL));
  orr_measure_plan_drop(plan, &last);
  g_assert_cmpint(orr_measure_plan_next(plan, NULL), ==, -1);
  const OrrPlanState state = orr_measure_plan_state(plan, &line);
  g_assert_cmpuint(state.n_planned, ==, 15);
  g_assert_cmpuint(state.n_measured, ==, 15);
  g_assert_cmpfloat(state.disagreement, <, 1e-12); /* all residuals are equal */
}

/* Two measured points guess each other: e is |log(4/2)| for both. */
static void test_disagreement(void) {
  const OrrBenchFacts facts = small_facts();
  g_autoptr(OrrMeasurePlan) plan = orr_measure_plan_new(&facts, 1);
  orr_measure_plan_add(plan, &line);
  mark(plan, 1, 2);
  g_assert_true(isnan(orr_measure_plan_state(plan, &line).disagreement));
  mark(plan, 65535, 4);
  g_assert_cmpfloat_with_epsilon(orr_measure_plan_state(plan, &line).disagreement, log(2), 1e-12);
}

/* What would take too long, or not fit, is not planned. */
static void test_limits(void) {
  OrrBenchFacts facts = small_facts();
  const OrrMeasureFamily *gemm = orr_family_find("gemm");
  g_autoptr(OrrMeasurePlan) all = orr_measure_plan_new(&facts, INFINITY),
                            quick = orr_measure_plan_new(&facts, 0.01);
  orr_measure_plan_add(all, gemm);
  orr_measure_plan_add(quick, gemm);
  const guint n_all = orr_measure_plan_state(all, gemm).n_planned,
              n_quick = orr_measure_plan_state(quick, gemm).n_planned;
  g_assert_cmpuint(n_quick, <, n_all);
  facts.memory_bytes = 1e6;
  g_autoptr(OrrMeasurePlan) small = orr_measure_plan_new(&facts, INFINITY);
  orr_measure_plan_add(small, gemm);
  g_assert_cmpuint(orr_measure_plan_state(small, gemm).n_planned, <, n_all / 4);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/plan/seeds", test_seeds);
  g_test_add_func("/measure/plan/refines", test_refines_where_neighbours_disagree);
  g_test_add_func("/measure/plan/families-take-turns", test_families_take_turns);
  g_test_add_func("/measure/plan/ends", test_ends);
  g_test_add_func("/measure/plan/mixed-work", test_mixed_work);
  g_test_add_func("/measure/plan/formats", test_formats);
  g_test_add_func("/measure/plan/disagreement", test_disagreement);
  g_test_add_func("/measure/plan/limits", test_limits);
  return g_test_run();
}
