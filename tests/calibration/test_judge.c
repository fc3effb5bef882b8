/* test_judge.c - rows that contradict the others of their kind, and what answers in their place. */
#include <math.h>

#include "calibration/cost/cost_tables.h"
#include "tests/calibration/calibration_sample.h"

/* Adds a curve of its own volume over @sizes (ends with 0) whose times are size * volume us, but
 * for the row at @wrong (its index), which takes @factor times as long. */
static void add_curve(GArray *rows, guint curve, guint kind, const double *sizes, double volume,
                      guint wrong, double factor) {
  for (guint i = 0; sizes[i] > 0; i++) {
    const OrrJudgedRow row = {.curve = curve,
                              .kind = kind,
                              .size = sizes[i],
                              .volume = volume,
                              .time_s = 1e-6 * sizes[i] * volume * (i == wrong ? factor : 1)};
    g_array_append_val(rows, row);
  }
}

static const double sizes[] = {1, 2, 4, 8, 16, 32, 0};
enum { N_SIZES = 6, NONE = 99 };

static GArray *one_curve(guint wrong, double factor) {
  GArray *rows = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
  add_curve(rows, 0, 0, sizes, 1, wrong, factor);
  return rows;
}

static gboolean is_aside(const GArray *rows, guint at) {
  return g_array_index(rows, OrrJudgedRow, at).is_aside;
}

/* Time is work. Row 2 three times as long: 3 times what 2 calls of row 1, or 4 of row 0, take; more
 * than 2 times. A third: row 3 in four parts of it. 1.9 times as long: within the
 * tolerance. The last row, beyond which none is larger, is judged by growth alone. */
static void test_spike(void) {
  static const struct {
    guint at;
    double factor;
    guint n_aside;
  } cases[] = {{2, 3, 1}, {2, 1.0 / 3, 1}, {2, 1.9, 0}, {5, 3, 1}, {0, 1.0 / 3, 1}, {0, 1, 0}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GArray) rows = one_curve(cases[i].at, cases[i].factor);
    g_assert_cmpuint(orr_judge_rows(rows), ==, cases[i].n_aside);
    g_assert_cmpint(is_aside(rows, cases[i].at), ==, cases[i].n_aside > 0);
  }
}

/* Of an all-reduce. 1, 2, 7.5, 5, 16, 32 us at 1 to 32: the third falls to the fourth, 1.5 times,
 * and no other row contradicts either. The power law from 2 to 5 us, over a factor of 4, puts the
 * third at 3.2, off by 2.4; from 7.5 to 16 the fourth at 11, off by 2.2: the third goes. 1.24
 * times is within the tolerance, tokens have 2, and a curve that does the same says that it is
 * the kernel. The first row, 3 us, is put at 1 by the next two, which have 2 and 4: off by 3. */
static void test_neighbours(void) {
  static const struct {
    double us[N_SIZES];
    gboolean is_bytes;
    guint aside; /* its index */
  } cases[] = {{{1, 2, 7.5, 5, 16, 32}, TRUE, 2},      {{1, 2, 7.5, 5, 16, 32}, FALSE, NONE},
               {{1, 2, 5.2, 4.2, 16, 32}, TRUE, NONE}, {{1, 2, 4.2, 3, 20, 40}, TRUE, 3},
               {{3, 2, 4, 8, 16, 32}, TRUE, 0},        {{1, 2, 4, 8, 16, 12}, TRUE, 5}};
  for (guint copies = 1; copies <= 2; copies++)
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
      g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
      for (guint c = 0; c < copies; c++) add_curve(rows, c, c, sizes, 1, NONE, 1);
      for (guint k = 0; k < rows->len; k++) {
        g_array_index(rows, OrrJudgedRow, k).time_s = 1e-6 * cases[i].us[k % N_SIZES];
        g_array_index(rows, OrrJudgedRow, k).is_bytes = cases[i].is_bytes;
      }
      const gboolean goes = cases[i].aside != NONE && copies == 1;
      g_assert_cmpuint(orr_judge_rows(rows), ==, goes);
      if (goes) g_assert_true(is_aside(rows, cases[i].aside));
    }
}

/* vLLM's all-reduce over 8 B200: 256 KiB took 25.8 us, 1 MiB 17.2, 32 KiB 8.2. Answered between
 * the latter two, with the reason. */
static void test_all_reduce(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("b200");
  g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
  double before_s = 0;
  for (double bytes = 32768; bytes <= 8388608; bytes *= 2) {
    const OrrLibraryCall call = {"vllm", "all_reduce", 8, bytes, 0, 0, 0, NULL};
    OrrCost cost;
    g_assert_true(orr_cost_library(model, &call, &cost));
    g_assert_cmpfloat(cost.time_s, >, before_s);
    g_assert_cmpint(cost.aside != NULL, ==, bytes > 32768 && bytes < 1048576);
    before_s = cost.time_s;
  }
}

/* A protocol switch: from 8 on everything takes three times as long. Rows below and above
 * contradict one another, as many on each side, so none is excluded. */
static void test_step(void) {
  g_autoptr(GArray) rows = one_curve(NONE, 1);
  for (guint i = 3; i < N_SIZES; i++) g_array_index(rows, OrrJudgedRow, i).time_s *= 3;
  g_assert_cmpuint(orr_judge_rows(rows), ==, 0);
}

/* A kink that another curve has at the same size is the kernel's, and stays; one in the other
 * direction does not confirm it. */
static void test_repeated(void) {
  g_autoptr(GArray) rows = one_curve(2, 3);
  add_curve(rows, 1, 1, sizes, 1, 2, 4);
  g_assert_cmpuint(orr_judge_rows(rows), ==, 0);
  g_autoptr(GArray) opposite = one_curve(2, 3);
  add_curve(opposite, 1, 1, sizes, 1, 2, 0.3);
  g_assert_cmpuint(orr_judge_rows(opposite), ==, 2);
}

/* Three curves of one kind with volumes 1, 2, 3, and the last one twice as slow in all rows: each
 * is more than 1.3 times what two other curves allow. With two curves it stands one against one,
 * and with curves of other kinds against none. */
static void test_curves(void) {
  for (guint n_sound = 1; n_sound <= 2; n_sound++)
    for (guint kind = 0; kind < 2; kind++) {
      g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
      for (guint c = 0; c < n_sound; c++) add_curve(rows, c, c * kind, sizes, c + 1, NONE, 1);
      add_curve(rows, 2, 2 * kind, sizes, 3, NONE, 1);
      for (guint i = rows->len - N_SIZES; i < rows->len; i++)
        g_array_index(rows, OrrJudgedRow, i).time_s *= 2;
      const guint n = orr_judge_rows(rows);
      g_assert_cmpuint(n, ==, n_sound == 2 && kind == 0 ? N_SIZES : 0);
      g_assert_cmpint(is_aside(rows, rows->len - 1), ==, n > 0);
    }
}

/* Latency 10 us, 1 us for 1,000 bytes; the row of 8,000 bytes, 18 us, says 60. It is interpolated
 * from 4,000 (14 us) and 16,000 (26 us), and the answer says so, also beside the row. */
static void test_collective(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\ncollectives:\n"
                     "- {op: all_reduce, ranks: 8, bytes: \"1000 2000 4000 8000 16000 32000\",\n"
                     "   us: \"11 12 14 60 26 42\"}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrCost cost;
  g_assert_true(orr_cost_collective(model, "all_reduce", 8, 8000, &cost));
  g_assert_cmpfloat_with_epsilon(cost.time_s * 1e6, 18, 1);
  g_assert_cmpint(cost.how, ==, ORR_HOW_INTERPOLATED);
  g_assert_nonnull(strstr(cost.aside, "the row here says 60 us"));
  g_assert_true(orr_cost_collective(model, "all_reduce", 8, 6000, &cost));
  g_assert_nonnull(cost.aside);
  g_assert_true(orr_cost_collective(model, "all_reduce", 8, 4000, &cost));
  g_assert_null(cost.aside);
  g_assert_cmpint(cost.how, ==, ORR_HOW_MEASURED);
  g_autofree char *asides = orr_cost_asides(model);
  g_assert_cmpstr(asides, ==, "collectives 1 of 6");
}

/* One row of an expert layer ten times as long as its neighbours. */
static void test_moe(void) {
  g_autoptr(OrrProfile) profile = sample_profile(
      "schema: profile/1\nname: p\ndevice: d\nmoe:\n"
      "- {dtype: bf16, distribution: balanced, source: s, tokens: \"1 2 4 8 16 32\", rows: [\n"
      "   {hidden: 4096, inter: 2048, topk: 1, experts: 8, tp: 1, ep: 1,\n"
      "    us: \"100 110 120 1300 140 150\"}]}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  const OrrOperator op = orr_operator_moe("test", ORR_PASS_FORWARD, ORR_BF16,
                                          (OrrMoeShape){.tokens = 8,
                                                        .hidden = 4096,
                                                        .inter = 2048,
                                                        .topk = 1,
                                                        .experts = 8,
                                                        .tp = 1,
                                                        .ep = 1,
                                                        .projections = 3});
  const OrrCost cost = orr_cost_operator(model, &op);
  g_assert_cmpint(cost.how, ==, ORR_HOW_INTERPOLATED);
  g_assert_cmpfloat(cost.time_s, <, 200e-6);
  g_assert_nonnull(strstr(cost.aside, "1.3 ms"));
}

/* DeepEP over 8 nodes of H100 ran at half the NICs' rate: 3.4 times as long as over 4 nodes for 1.7
 * times the bytes that leave a node. Published for 4,096 tokens on the same NICs: combine 963,
 * 1,864, 3,565 and 5,923 us over 1, 2, 4 and 8 nodes. */
static void test_deepep(void) {
  static const struct {
    gint64 ranks;
    double published_us;
  } cases[] = {{8, 963}, {16, 1864}, {32, 3565}, {64, 5923}};
  static const char *const profiles[] = {"h100-sxm", "h200-sxm"};
  for (guint p = 0; p < G_N_ELEMENTS(profiles); p++) {
    g_autoptr(OrrProfile) profile = shipped_profile(profiles[p]);
    g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
      const OrrLibraryCall call = {"deepep", "combine", cases[i].ranks, 4096, 7168, 8, 256, NULL};
      OrrCost cost;
      g_assert_true(orr_cost_library(model, &call, &cost));
      g_assert_cmpfloat(fabs(cost.time_s * 1e6 / cases[i].published_us - 1), <, 0.15);
      g_assert_cmpint(cost.aside != NULL, ==, cases[i].ranks == 64);
    }
  }
}

/* The rule is for single rows that went wrong: it excludes few, and none of the collectives. */
static void test_shipped(void) {
  static const char *const profiles[] = {"a100-80gb-sxm", "b200", "gb200", "h100-sxm", "h200-sxm"};
  for (guint p = 0; p < G_N_ELEMENTS(profiles); p++) {
    g_autoptr(OrrProfile) profile = shipped_profile(profiles[p]);
    g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
    g_autofree char *asides = orr_cost_asides(model);
    g_auto(GStrv) tables = g_strsplit(asides, ", ", -1);
    for (guint i = 0; tables[i]; i++) {
      g_auto(GStrv) words = g_strsplit(tables[i], " of ", 2);
      const double n = g_ascii_strtod(strrchr(words[0], ' '), NULL);
      g_assert_false(g_str_has_prefix(tables[i], "collectives"));
      if (!g_str_has_prefix(tables[i], "gemm"))
        g_assert_cmpfloat(n, <=, fmax(2, 0.055 * g_ascii_strtod(words[1], NULL)));
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/judge/spike", test_spike);
  g_test_add_func("/judge/step", test_step);
  g_test_add_func("/judge/neighbours", test_neighbours);
  g_test_add_func("/judge/all-reduce", test_all_reduce);
  g_test_add_func("/judge/repeated", test_repeated);
  g_test_add_func("/judge/curves", test_curves);
  g_test_add_func("/judge/collective", test_collective);
  g_test_add_func("/judge/moe", test_moe);
  g_test_add_func("/judge/deepep", test_deepep);
  g_test_add_func("/judge/shipped", test_shipped);
  return g_test_run();
}
