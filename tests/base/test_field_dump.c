/*
 * test_field_dump.c - what is dumped reads back; paths and texts.
 */
#include "tests/base/field_sample.h"

static const char *const full =
    "name: 'a: b'\n"
    "tp: 8\n"
    "limit: 0.3 us\n"
    "precision: fp32\n"
    "pipeline: {kind: interleaved-1f1b, chunks: 3, inner: {kind: gpipe}}\n"
    "tags: ['x, y', z]\n"
    "sizes: [0.1 GB]\n"
    "faults: [{name: link, at: 1 ms}]\n"
    "sweep: {a: [1, {b: 2}]}\n";

/* Dump, write as YAML, read again, dump again: the two dumps are equal in every text, so every
 * double came back. */
static void assert_round_trip(const char *document) {
  Sample first, second;
  g_autofree char *found = sample_read(document, &first);
  g_assert_cmpstr(found, ==, "");
  g_autoptr(OrrNode) tree = orr_field_dump(&sample_table, &first);
  g_autofree char *text = orr_yaml_text(tree);
  g_autofree char *found_again = sample_read(text, &second);
  g_assert_cmpstr(found_again, ==, "");
  g_autoptr(OrrNode) again = orr_field_dump(&sample_table, &second);
  g_autofree char *text_again = orr_yaml_text(again);
  g_assert_cmpstr(text, ==, text_again);
  g_assert_cmpfloat(first.limit, ==, second.limit);
  g_assert_cmpfloat(first.share, ==, second.share);
  orr_field_clear(&sample_table, &first);
  orr_field_clear(&sample_table, &second);
}

static void test_round_trip(void) {
  assert_round_trip(full);
  assert_round_trip("name: ''");
}

static void append_line(const char *path, const char *text, void *user) {
  g_string_append_printf(user, "%s=%s\n", path, text);
}

/* Table order; absent optional members (pp, router) are left out; a list of scalars is one
 * value. */
static void test_flatten(void) {
  Sample sample;
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *found = sample_read(full, &sample);
  g_assert_cmpstr(found, ==, "");
  orr_field_flatten(&sample_table, &sample, append_line, out);
  g_assert_true(g_str_has_prefix(out->str, "name=a: b\noverlap=true\ntp=8\nbandwidth="));
  g_assert_nonnull(strstr(out->str, "\nprecision=fp32\n"
                                    "pipeline.kind=interleaved-1f1b\n"
                                    "pipeline.chunks=3\n"
                                    "pipeline.inner.kind=gpipe\n"
                                    "batch.global=512\n"
                                    "batch.micro=4\n"
                                    "tags=['x, y', z]\n"));
  g_assert_nonnull(strstr(out->str, "\nfaults.0.name=link\n"));
  g_assert_true(g_str_has_suffix(out->str, "\nsweep.a.0=1\nsweep.a.1.b=2\n"));
  g_assert_null(strstr(out->str, "router"));
  g_assert_null(strstr(out->str, "pp="));
  orr_field_clear(&sample_table, &sample);
}

static void append_micro(const void *section, void *user) {
  g_string_append_printf(user, "%d ", (int)((const Batch *)section)->micro);
}

static void append_chunks(const void *section, void *user) {
  g_string_append_printf(user, "%d ", (int)((const Interleaved *)section)->chunks);
}

static void append_fault(const void *section, void *user) {
  g_string_append_printf(user, "%s ", ((const Fault *)section)->name);
}

/* A section, the parameters of a choice, and the items of a list. */
static void test_each(void) {
  Sample sample;
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *found = sample_read(full, &sample);
  g_assert_cmpstr(found, ==, "");
  orr_field_each(&sample_table, &sample, &batch_table, append_micro, out);
  orr_field_each(&sample_table, &sample, &interleaved_table, append_chunks, out);
  orr_field_each(&sample_table, &sample, &fault_table, append_fault, out);
  g_assert_cmpstr(out->str, ==, "4 3 link ");
  orr_field_clear(&sample_table, &sample);
}

static void assert_text(const Sample *sample, guint field, const char *wanted) {
  g_autofree char *text = orr_field_text(&sample_fields[field], sample);
  g_assert_cmpstr(text, ==, wanted);
}

static void test_text(void) {
  Sample sample;
  g_autofree char *found = sample_read(full, &sample);
  g_assert_cmpstr(found, ==, "");
  assert_text(&sample, 0, "a: b");
  assert_text(&sample, 1, "true");
  assert_text(&sample, 2, "8");
  assert_text(&sample, 7, "fp32");
  assert_text(&sample, 8, "interleaved-1f1b");
  orr_field_clear(&sample_table, &sample);
}

/* What defaults leave unset (a required name) is not a member of the dump. */
static void test_dump_of_defaults(void) {
  Sample sample;
  orr_field_defaults(&sample_table, &sample);
  g_autoptr(OrrNode) tree = orr_field_dump(&sample_table, &sample);
  g_assert_null(orr_node_get(tree, "name"));
  g_assert_cmpstr(orr_node_get_text(tree, "tp"), ==, "1");
  orr_field_clear(&sample_table, &sample);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/field-dump/round-trip", test_round_trip);
  g_test_add_func("/field-dump/flatten", test_flatten);
  g_test_add_func("/field-dump/each", test_each);
  g_test_add_func("/field-dump/text", test_text);
  g_test_add_func("/field-dump/dump-of-defaults", test_dump_of_defaults);
  return g_test_run();
}
