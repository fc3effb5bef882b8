/*
 * test_uncertain.c - numbers with bounds: how they are read, merged and refused, and the
 * distribution that they mean.
 */
#include "sim/base/uncertain.h"

#include "tests/base/field_sample.h"

static char *read_into(const char *text, Sample *sample, GPtrArray *uncertain) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *whole = g_strconcat("name: x\n", text, NULL);
  g_autoptr(OrrNode) node = sample_tree(whole);
  orr_field_read_uncertain(&sample_table, node, NULL, diags, sample, uncertain);
  return g_strchomp(orr_diags_text(diags));
}

static void assert_mark(const GPtrArray *uncertain, guint i, const char *path, double value,
                        double low, double high) {
  const OrrUncertain *mark = uncertain->pdata[i];
  g_assert_cmpstr(mark->path, ==, path);
  g_assert_cmpfloat(mark->value, ==, value);
  g_assert_cmpfloat(mark->low, ==, low);
  g_assert_cmpfloat(mark->high, ==, high);
}

/* In the order of tables: a number, a quantity, a percentage, in a choice, a section and a list. */
static void test_read(void) {
  g_autoptr(GPtrArray) uncertain =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_uncertain_free);
  Sample sample;
  g_autofree char *found =
      read_into("tp: {value: 8, low: 4, high: 16}\n"
                "bandwidth: {low: 300 Gb/s, value: 40 GB/s, high: 50 GB/s}\n"
                "share: {value: 80 %, low: 0.7, high: 90 %}\n"
                "pipeline: {kind: interleaved-1f1b, chunks: {value: 2, low: 2, high: 2}}\n"
                "batch: {micro: {value: 4, low: 2, high: 8}}\n"
                "faults: [{name: a}, {name: b, at: {value: 2 s, low: 1 s, high: 1 min}}]\n",
                &sample, uncertain);
  g_assert_cmpstr(found, ==, "");
  g_assert_cmpuint(uncertain->len, ==, 6);
  assert_mark(uncertain, 0, "tp", 8, 4, 16);
  assert_mark(uncertain, 1, "bandwidth", 40e9, 37.5e9, 50e9);
  assert_mark(uncertain, 2, "share", 0.8, 0.7, 0.9);
  assert_mark(uncertain, 3, "pipeline.chunks", 2, 2, 2);
  assert_mark(uncertain, 4, "batch.micro", 4, 2, 8);
  assert_mark(uncertain, 5, "faults.1.at", 2, 1, 60);
  g_assert_true(((const OrrUncertain *)uncertain->pdata[0])->is_whole);
  g_assert_cmpint(((const OrrUncertain *)uncertain->pdata[0])->place.line, ==, 2);
  g_assert_cmpint(sample.tp, ==, 8);
  g_assert_cmpfloat(sample.bandwidth, ==, 40e9);
  g_assert_cmpint(sample.batch.micro, ==, 4);
  g_assert_cmpfloat(((Fault *)sample.faults->pdata[1])->at, ==, 2);
  orr_field_clear(&sample_table, &sample);
}

static void assert_found(const char *text, const char *wanted) {
  Sample sample;
  g_autofree char *found = read_into(text, &sample, NULL);
  g_assert_cmpstr(found, ==, wanted);
  orr_field_clear(&sample_table, &sample);
}

static void test_refuse(void) {
  assert_found("tp: {value: 8, low: 9, high: 16}\n",
               "t.yaml:2:5: error: the bounds of 'tp' must be low <= value <= high, found low 9, "
               "value 8, high 16");
  assert_found("tp: {value: 8, low: 4, high: 128}\n",
               "t.yaml:2:30: error: 'tp.high' must be between 1 and 64, found '128'");
  assert_found("tp: {value: 8, low: 4.5, high: 16}\n",
               "t.yaml:2:21: error: 'tp.low' must be a whole number without a unit, found '4.5'");
  assert_found("tp: {value: 8, hgih: 16}\n",
               "t.yaml:2:5: error: missing key 'low' in the bounds of 'tp': write {value: V, low: "
               "L, high: H}\n"
               "t.yaml:2:5: error: missing key 'high' in the bounds of 'tp': write {value: V, low: "
               "L, high: H}\n"
               "t.yaml:2:16: error: unknown key 'hgih' in the bounds of 'tp': did you mean 'high'? "
               "(allowed: value, low, high)");
  assert_found("limit: {value: 8 s, low: 4 B, high: 16 s}\n",
               "t.yaml:2:26: error: 'limit.low': '4 B' has an unknown unit 'B': allowed are ns, "
               "us, ms, s, min, "
               "h, d");
  assert_found(
      "limit: {value: {value: 8 s}, low: 4 s, high: 16 s}\n",
      "t.yaml:2:16: error: 'limit.value' must be a number with a unit, found a number with "
      "bounds (value, low, high)");
  assert_found("precision: {value: bf16, low: fp16, high: fp32}\n",
               "t.yaml:2:12: error: 'precision' takes no bounds (value, low, high): it is not a "
               "number");
  assert_found(
      "sizes: [{value: 1 B, low: 1 B, high: 2 B}]\n",
      "t.yaml:2:9: error: 'sizes' must be a number with a unit, found a number with bounds "
      "(value, low, high)");
}

/* A reader that has no use for bounds says so. */
static void test_plain(void) {
  Sample sample;
  g_autofree char *found = sample_read("name: x\ntp: {value: 8, low: 4, high: 16}\n", &sample);
  g_assert_cmpstr(found, ==,
                  "t.yaml:2:5: error: 'tp' takes no bounds (value, low, high) here: write a "
                  "number\n");
  orr_field_clear(&sample_table, &sample);
}

/* Bounds over a number replace it; a number over bounds replaces them; a bound changes alone. */
static void test_merge(void) {
  static const struct {
    const char *base, *over, *wanted;
  } cases[] = {
      {"{tp: 4}", "{tp: {value: 8, low: 4, high: 16}}", "{tp: {value: 8, low: 4, high: 16}}"},
      {"{tp: {value: 8, low: 4, high: 16}}", "{tp: 2}", "{tp: 2}"},
      {"{tp: {value: 8, low: 4, high: 16}}", "{tp: {high: 9}}",
       "{tp: {value: 8, low: 4, high: 9}}"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(OrrNode) base = sample_tree(cases[i].base), over = sample_tree(cases[i].over);
    g_autoptr(OrrNode) merged = orr_node_merge(base, over), wanted = sample_tree(cases[i].wanted);
    g_assert_true(orr_node_equal(merged, wanted));
  }
}

/* Of {4, 3, 7}: a quarter lies below 3.5, half below 4, three quarters below 5.5. Whole numbers
 * round. */
static void test_quantile(void) {
  OrrUncertain number = {.value = 4, .low = 3, .high = 7};
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0), ==, 3);
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0.25), ==, 3.5);
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0.5), ==, 4);
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0.75), ==, 5.5);
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 1), ==, 7);
  number.is_whole = TRUE;
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0.75), ==, 6);
  number = (OrrUncertain){.value = 2, .low = 2, .high = 4};
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0.3), ==, 2);
  g_assert_cmpfloat(orr_uncertain_quantile(&number, 0.75), ==, 3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/uncertain/read", test_read);
  g_test_add_func("/uncertain/refuse", test_refuse);
  g_test_add_func("/uncertain/plain", test_plain);
  g_test_add_func("/uncertain/merge", test_merge);
  g_test_add_func("/uncertain/quantile", test_quantile);
  return g_test_run();
}
