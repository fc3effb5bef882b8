/*
 * test_field_read.c - what a table accepts, and what it says about the rest.
 */
#include "tests/base/field_sample.h"

static void test_every_kind(void) {
  Sample sample;
  g_autofree char *found =
      sample_read("name: 8\n"
                  "overlap: false\n"
                  "tp: 1_6\n"
                  "pp: 1e1\n"
                  "bandwidth: 450 GB/s\n"
                  "limit: 2 us\n"
                  "share: 0.5\n"
                  "precision: fp16\n"
                  "pipeline: {kind: interleaved-1f1b, chunks: 3, inner: gpipe}\n"
                  "router: gpipe\n"
                  "batch: {global: 1536}\n"
                  "tags: [a, 2]\n"
                  "sizes: [1 MiB]\n"
                  "faults: [{name: link, at: 1 ms}, {name: nic}]\n"
                  "sweep: {any: [thing]}\n",
                  &sample);
  const Interleaved *pipeline = sample.pipeline.params;
  g_assert_cmpstr(found, ==, "");
  g_assert_cmpstr(sample.name, ==, "8"); /* a text takes any scalar */
  g_assert_false(sample.overlap);
  g_assert_cmpint(sample.tp, ==, 16);
  g_assert_cmpint(sample.pp, ==, 10);
  g_assert_cmpfloat(sample.bandwidth, ==, 450e9);
  g_assert_cmpfloat_with_epsilon(sample.limit, 2e-6, 1e-20);
  g_assert_cmpfloat(sample.share, ==, 0.5);
  g_assert_cmpint(sample.precision, ==, 1);
  g_assert_cmpint(pipeline->chunks, ==, 3);
  g_assert_true(pipeline->inner.entry == &sample_gpipe);
  g_assert_true(sample.router.entry == &sample_gpipe);
  g_assert_null(sample.router.params);
  g_assert_cmpint(sample.batch.global, ==, 1536);
  g_assert_cmpint(sample.batch.micro, ==,
                  1); /* given in part: the key's default, not the section's */
  g_assert_cmpstr(sample.tags[1], ==, "2");
  g_assert_cmpfloat(g_array_index(sample.sizes, double, 0), ==, 1048576);
  g_assert_cmpuint(sample.faults->len, ==, 2);
  g_assert_cmpfloat_with_epsilon(((Fault *)sample.faults->pdata[0])->at, 1e-3, 1e-18);
  g_assert_cmpstr(((Fault *)sample.faults->pdata[1])->name, ==, "nic");
  g_assert_nonnull(orr_node_get(sample.sweep, "any"));
  orr_field_clear(&sample_table, &sample);
}

/* @text is the sample's text after "name: x\n"; @wanted what the diagnostics must be, all of
 * them. */
static void assert_found(const char *text, const char *wanted) {
  Sample sample;
  g_autofree char *whole = g_strconcat("name: x\n", text, NULL);
  g_autofree char *found = sample_read(whole, &sample);
  g_strchomp(found);
  g_assert_cmpstr(found, ==, wanted);
  orr_field_clear(&sample_table, &sample);
}

static void test_unknown_keys(void) {
  assert_found("batch: {mirco: 1}", "t.yaml:2:9: error: unknown key 'mirco' in batch: did you mean "
                                    "'micro'? (allowed: global, micro)");
  assert_found("pipeline: {kind: gpipe, chunks: 2}",
               "t.yaml:2:25: error: unknown key 'chunks' in gpipe (allowed: kind)");
  assert_found("pipeline: {kind: interleaved-1f1b, chunk: 2}",
               "t.yaml:2:36: error: unknown key 'chunk' in interleaved: did you mean 'chunks'? "
               "(allowed: kind, chunks, inner)");
  assert_found("schema: sample/1", ""); /* the document's own key */
  assert_found("batch: {schema: batch/1}",
               "t.yaml:2:9: error: unknown key 'schema' in batch (allowed: global, micro)");
}

static void test_missing_key(void) {
  Sample sample;
  g_autofree char *found = sample_read("tp: 1", &sample);
  g_assert_cmpstr(g_strchomp(found), ==,
                  "t.yaml:1:1: error: missing key 'name' in sample: What it is called.");
  orr_field_clear(&sample_table, &sample);
  assert_found("faults: [{at: 1 s}]",
               "t.yaml:2:10: error: missing key 'name' in fault: What breaks.");
}

static void test_whole_numbers(void) {
  assert_found("tp: 3.5",
               "t.yaml:2:5: error: 'tp' must be a whole number without a unit, found '3.5'");
  assert_found("tp: 8 GB",
               "t.yaml:2:5: error: 'tp' must be a whole number without a unit, found '8 GB'");
  assert_found("tp: 1e-1",
               "t.yaml:2:5: error: 'tp' must be a whole number without a unit, found '1e-1'");
  assert_found(
      "tp: '8'",
      "t.yaml:2:5: error: 'tp' must be a whole number without a unit, found the text \"8\"");
  assert_found("tp: [8]",
               "t.yaml:2:5: error: 'tp' must be a whole number without a unit, found a list");
  assert_found("tp:",
               "t.yaml:2:4: error: 'tp' must be a whole number without a unit, found nothing");
  assert_found("tp: 65", "t.yaml:2:5: error: 'tp' must be between 1 and 64, found '65'");
  assert_found("pp: -1", "t.yaml:2:5: error: 'pp' must be 0 or greater, found '-1'");
  assert_found("batch: {micro: 0}",
               "t.yaml:2:16: error: 'micro' must be greater than 0, found '0'");
}

/* A bare number where a unit is needed lists the units; the words are quantity.c's own. */
static void test_quantities(void) {
  Sample sample;
  g_autofree char *found = sample_read("name: x\nbandwidth: 450", &sample);
  g_assert_nonnull(strstr(found, "t.yaml:2:12: error: 'bandwidth': "));
  g_assert_nonnull(strstr(found, orr_unit_allowed(ORR_UNIT_BYTES_PER_S)));
  orr_field_clear(&sample_table, &sample);
  assert_found("bandwidth: 0 GB/s",
               "t.yaml:2:12: error: 'bandwidth' must be greater than 0, found '0 GB/s'");
  assert_found("share: 120 %", "t.yaml:2:8: error: 'share' must be between 0 and 1, found '120 %'");
}

static void test_words_and_choices(void) {
  assert_found("precision: bf61",
               "t.yaml:2:12: error: unknown precision 'bf61': did you mean 'bf16'? "
               "(allowed: fp32, fp16, bf16)");
  assert_found("pipeline: gpip", "t.yaml:2:11: error: unknown pipeline 'gpip': did you mean "
                                 "'gpipe'? (allowed: gpipe, interleaved-1f1b)");
  assert_found(
      "router: {}",
      "t.yaml:2:9: error: missing key 'kind' in router (allowed: gpipe, interleaved-1f1b)");
  assert_found("pipeline: {chunks: 5}", ""); /* no kind: the entry of the default */
  assert_found("overlap: yes", "t.yaml:2:10: error: 'overlap' must be true or false, found 'yes'");
}

static void test_wrong_shapes(void) {
  assert_found("batch: 5", "t.yaml:2:8: error: 'batch' must be a map, found '5'");
  assert_found("tags: a", "t.yaml:2:7: error: 'tags' must be a list, found 'a'");
  assert_found("tags: [{a: 1}]", "t.yaml:2:8: error: 'tags' must be a list of texts, found a map");
  assert_found("faults: [x]", "t.yaml:2:10: error: 'faults' must be a map, found 'x'");
  assert_found("pipeline: [gpipe]",
               "t.yaml:2:11: error: 'pipeline' must be a name or a map with 'kind', found a list");
}

static void test_root_is_no_map(void) {
  Sample sample;
  g_autofree char *found = sample_read("[1]", &sample);
  g_assert_cmpstr(g_strchomp(found), ==, "t.yaml:1:1: error: 'sample' must be a map, found a list");
  orr_field_clear(&sample_table, &sample);
}

/* All findings at once, in the order of the document. */
static void test_collects_all(void) {
  assert_found("tp: x\noverlap: 3\nnmae: y",
               "t.yaml:2:5: error: 'tp' must be a whole number without a unit, found 'x'\n"
               "t.yaml:3:10: error: 'overlap' must be true or false, found '3'\n"
               "t.yaml:4:1: error: unknown key 'nmae' in sample: did you mean 'name'? "
               "(allowed: name, overlap, tp, pp, bandwidth, limit, share, precision, "
               "pipeline, router, batch, tags, sizes, faults, sweep)");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/field-read/every-kind", test_every_kind);
  g_test_add_func("/field-read/unknown-keys", test_unknown_keys);
  g_test_add_func("/field-read/missing-key", test_missing_key);
  g_test_add_func("/field-read/whole-numbers", test_whole_numbers);
  g_test_add_func("/field-read/quantities", test_quantities);
  g_test_add_func("/field-read/words-and-choices", test_words_and_choices);
  g_test_add_func("/field-read/wrong-shapes", test_wrong_shapes);
  g_test_add_func("/field-read/root-is-no-map", test_root_is_no_map);
  g_test_add_func("/field-read/collects-all", test_collects_all);
  return g_test_run();
}
