/*
 * test_field.c - look-up, defaults and clearing of field tables, and their lint.
 */
#include "tests/base/field_lint.h"
#include "tests/base/field_sample.h"

/* The fallbacks of the sample, worked out: 400 Gb/s = 400e9 / 8 = 5e10 B/s; 90 % = 0.9; bf16 is
 * word 2; the section's own fallback {micro: 4} keeps the section's global 512; 1 kB = 1000 B, 2
 * KiB = 2048 B. */
static void check_defaults(const Sample *sample) {
  g_assert_true(sample->overlap);
  g_assert_cmpint(sample->tp, ==, 1);
  g_assert_cmpint(sample->pp, ==, 0);
  g_assert_cmpfloat(sample->bandwidth, ==, 5e10);
  g_assert_cmpfloat(sample->limit, ==, 0);
  g_assert_cmpfloat_with_epsilon(sample->share, 0.9, 1e-15);
  g_assert_cmpint(sample->precision, ==, 2);
  g_assert_true(sample->pipeline.entry == &sample_interleaved);
  g_assert_cmpint(((const Interleaved *)sample->pipeline.params)->chunks, ==, 2);
  g_assert_null(sample->router.entry);
  g_assert_cmpint(sample->batch.global, ==, 512);
  g_assert_cmpint(sample->batch.micro, ==, 4);
  g_assert_cmpuint(g_strv_length(sample->tags), ==, 0);
  g_assert_cmpuint(sample->sizes->len, ==, 2);
  g_assert_cmpfloat(g_array_index(sample->sizes, double, 0), ==, 1000);
  g_assert_cmpfloat(g_array_index(sample->sizes, double, 1), ==, 2048);
  g_assert_null(sample->faults);
  g_assert_null(sample->sweep);
}

static void test_defaults(void) {
  Sample sample;
  memset(&sample, 0xee, sizeof sample);
  orr_field_defaults(&sample_table, &sample);
  g_assert_null(sample.name); /* required: left zero */
  check_defaults(&sample);
  orr_field_clear(&sample_table, &sample);
}

static void test_read_gives_the_same_defaults(void) {
  Sample sample;
  g_autofree char *found = sample_read("name: x", &sample);
  g_assert_cmpstr(found, ==, "");
  g_assert_cmpstr(sample.name, ==, "x");
  check_defaults(&sample);
  orr_field_clear(&sample_table, &sample);
}

/* Clearing leaves zeros, so clearing twice is harmless (the sanitizer would tell). */
static void test_clear_twice(void) {
  static const Sample zero;
  Sample sample;
  orr_field_defaults(&sample_table, &sample);
  orr_field_clear(&sample_table, &sample);
  g_assert_cmpmem(&sample, sizeof sample, &zero, sizeof zero);
  orr_field_clear(&sample_table, &sample);
}

static void test_lint_accepts_the_sample(void) {
  g_autofree char *found = orr_field_lint(&sample_table);
  g_assert_cmpstr(found, ==, NULL);
}

static void assert_lint(const OrrField *field, const char *wanted) {
  OrrFieldTable table = {
      .name = "bad", .sentence = "One bad field.", .size = sizeof(Sample), .n_fields = 1};
  table.fields = field;
  g_autofree char *found = orr_field_lint(&table);
  g_assert_nonnull(found);
  if (!strstr(found, wanted)) g_error("'%s' is not in '%s'", wanted, found);
}

/* One fixture a rule: each differs from a good field in one thing. */
static void test_lint_refuses(void) {
  const OrrField good = ORR_FIELD_INT(Sample, "tp", tp, "1", "Ranks.");
  OrrField bad = good;
  bad.name = "tensor_parallel";
  assert_lint(&bad, "kebab-case");
  bad = good, bad.sentence = "Ranks";
  assert_lint(&bad, "period");
  bad = good, bad.sentence = NULL;
  assert_lint(&bad, "no sentence");
  bad = good, bad.fallback = "many";
  assert_lint(&bad, "default 'many' does not read");
  bad = good, bad.kind = ORR_FIELD_WORD;
  assert_lint(&bad, "lacks words");
  bad = good, bad.kind = ORR_FIELD_CHOICE;
  assert_lint(&bad, "lacks a registry");
  bad = good, bad.kind = ORR_FIELD_SECTION;
  assert_lint(&bad, "lacks a table");
  bad = good, bad.offset = sizeof(Sample);
  assert_lint(&bad, "outside");
}

/* A default is read by the rules of a user's text: leaving out a required key is an error. */
static void test_lint_reads_section_defaults(void) {
  const OrrField field = ORR_FIELD_SECTION(Sample, "fault", batch, &fault_table, "{}", "A fault.");
  assert_lint(&field, "missing key 'name'");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/field/defaults", test_defaults);
  g_test_add_func("/field/read-gives-the-same-defaults", test_read_gives_the_same_defaults);
  g_test_add_func("/field/clear-twice", test_clear_twice);
  g_test_add_func("/field/lint-accepts-the-sample", test_lint_accepts_the_sample);
  g_test_add_func("/field/lint-refuses", test_lint_refuses);
  g_test_add_func("/field/lint-reads-section-defaults", test_lint_reads_section_defaults);
  return g_test_run();
}
