/*
 * test_field_set.c - dotted paths into a document that is not read yet.
 */
#include "sim/base/fault.h"
#include "tests/base/field_sample.h"

static void assert_set(const char *document, const char *path, const char *text,
                       const char *wanted) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) root = sample_tree(document);
  g_autoptr(OrrNode) expected = sample_tree(wanted);
  gboolean good = orr_field_set(&sample_table, root, path, text, &error);
  g_assert_no_error(error);
  g_assert_true(good);
  g_autofree char *found = orr_yaml_text(root);
  g_test_message("%s", found);
  g_assert_true(orr_node_equal(root, expected));
}

static void assert_refused(const char *document, const char *path, const char *text,
                           const char *wanted) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) root = sample_tree(document);
  g_autoptr(OrrNode) before = orr_node_copy(root);
  g_assert_false(orr_field_set(&sample_table, root, path, text, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_cmpstr(error->message, ==, wanted);
  g_assert_true(orr_node_equal(root, before)); /* a bad path changes nothing */
}

static void test_scalars(void) {
  assert_set("{name: x, tp: 1}", "tp", "8", "{name: x, tp: 8}");
  assert_set("{name: x}", "tp", "8", "{name: x, tp: 8}");
  assert_set("{name: x}", "tags", "[a, b]", "{name: x, tags: [a, b]}");
  assert_set("{name: x}", "bandwidth", "450 GB/s", "{name: x, bandwidth: 450 GB/s}");
  assert_set("{name: x}", "base", "other", "{name: x, base: other}");
}

/* An absent section starts from its default, {micro: 4}. */
static void test_sections(void) {
  assert_set("{name: x, batch: {micro: 2}}", "batch.global", "64",
             "{name: x, batch: {micro: 2, global: 64}}");
  assert_set("{name: x}", "batch.global", "64", "{name: x, batch: {micro: 4, global: 64}}");
  assert_set("{name: x}", "batch", "{global: 64}", "{name: x, batch: {global: 64}}");
}

static void test_choices(void) {
  assert_set("{pipeline: interleaved-1f1b}", "pipeline.chunks", "4",
             "{pipeline: {kind: interleaved-1f1b, chunks: 4}}");
  assert_set("{pipeline: gpipe}", "pipeline", "interleaved-1f1b", "{pipeline: interleaved-1f1b}");
  /* another kind: the old one's parameters go */
  assert_set("{pipeline: {kind: interleaved-1f1b, chunks: 4}}", "pipeline.kind", "gpipe",
             "{pipeline: {kind: gpipe}}");
  assert_set("{pipeline: {kind: gpipe}}", "pipeline.kind", "gpipe", "{pipeline: {kind: gpipe}}");
  /* nothing names the kind yet: accepted, the reader will see */
  assert_set("{name: x}", "pipeline.chunks", "4", "{name: x, pipeline: {chunks: 4}}");
  assert_set("{pipeline: {kind: interleaved-1f1b}}", "pipeline.inner.kind", "gpipe",
             "{pipeline: {kind: interleaved-1f1b, inner: {kind: gpipe}}}");
}

static void test_lists_and_trees(void) {
  assert_set("{faults: [{name: a}]}", "faults.0.at", "2 s", "{faults: [{name: a, at: 2 s}]}");
  assert_set("{faults: [{name: a}, {name: b}]}", "faults.1", "{name: c}",
             "{faults: [{name: a}, {name: c}]}");
  assert_set("{name: x}", "sweep.any.thing", "1", "{name: x, sweep: {any: {thing: 1}}}");
  assert_set("{sweep: {axes: [{a: 1}]}}", "sweep.axes.0.a", "2", "{sweep: {axes: [{a: 2}]}}");
}

/* As if the document did not have the key: its default then holds, or the stack's setting. */
static void test_unset(void) {
  assert_set("{name: x, tp: 4}", "tp", "null", "{name: x}");
  assert_set("{name: x}", "tp", "~", "{name: x}");
  assert_set("{name: x, batch: {micro: 2, global: 8}}", "batch.global", "null",
             "{name: x, batch: {micro: 2}}");
  assert_set("{name: x, batch: {micro: 2}}", "batch", "null", "{name: x}");
  assert_set("{name: y}", "name", "'null'", "{name: 'null'}"); /* quoted: a text */
  assert_refused("{faults: [{name: a}]}", "faults.0", "null",
                 "path 'faults.0': an item of a list cannot be unset: give the whole list");
}

static void test_refusals(void) {
  assert_refused("{name: x}", "batch.mirco", "1",
                 "path 'batch.mirco': unknown key 'mirco' in batch: did you mean 'micro'? "
                 "(allowed: global, micro)");
  assert_refused("{pipeline: gpipe}", "pipeline.chunks", "2",
                 "path 'pipeline.chunks': unknown key 'chunks' in pipeline (allowed: kind)");
  assert_refused("{name: x}", "tp.x", "2",
                 "path 'tp.x': 'tp' is a single value and has no keys below it");
  assert_refused("{name: x}", "batch..micro", "2",
                 "path 'batch..micro': a name between the dots is missing");
  assert_refused("{name: x}", "", "2", "path '': a name between the dots is missing");
  assert_refused(
      "{name: x}", "faults.0.at", "2 s",
      "path 'faults.0.at': the list 'faults' is not in the document: it has no items to change");
  assert_refused(
      "{faults: [{name: a}]}", "faults.1.at", "2 s",
      "path 'faults.1.at': '1' is not an item of the list 'faults', which has 1 (counted from 0)");
}

static void assign(Sample *sample, const char *path, const char *text) {
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&sample_table, sample, path, &data);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_node_new_scalar((OrrPlace){0}, text);
  g_assert_true(field && orr_field_is_plain(field) && orr_field_assign(field, node, diags, data));
}

/* A member that was read takes each value, whatever it had before, as a sweep assigns it. */
static void test_assign(void) {
  Sample sample = {0};
  for (int i = 0; i < 2; i++) {
    assign(&sample, "overlap", "true");
    g_assert_true(sample.overlap);
    assign(&sample, "overlap", "false");
    g_assert_false(sample.overlap);
    assign(&sample, "pp", i ? "0" : "8");
    g_assert_cmpint(sample.pp, ==, i ? 0 : 8);
    assign(&sample, "precision", i ? "fp32" : "bf16");
    g_assert_cmpint(sample.precision, ==, i ? 0 : 2);
  }
}

static void test_value_is_no_yaml(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) root = sample_tree("{name: x}");
  g_assert_false(orr_field_set(&sample_table, root, "tags", "[a", &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_true(g_str_has_prefix(error->message, "path 'tags': '[a' is not a value: "));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/field-set/scalars", test_scalars);
  g_test_add_func("/field-set/sections", test_sections);
  g_test_add_func("/field-set/choices", test_choices);
  g_test_add_func("/field-set/lists-and-trees", test_lists_and_trees);
  g_test_add_func("/field-set/unset", test_unset);
  g_test_add_func("/field-set/refusals", test_refusals);
  g_test_add_func("/field-set/assign", test_assign);
  g_test_add_func("/field-set/value-is-no-yaml", test_value_is_no_yaml);
  return g_test_run();
}
