/*
 * test_field_docs.c - the Markdown reference and the JSON Schema of a table.
 */
#include "tests/base/field_sample.h"

static void assert_has(const char *text, const char *piece) {
  if (!strstr(text, piece)) g_error("'%s' is not in:\n%s", piece, text);
}

static void test_markdown(void) {
  g_autofree char *text = orr_field_markdown(&sample_table);
  assert_has(text, "# sample\n\nEvery kind of field.\n\n| Key | Type | Default | Meaning "
                   "|\n|---|---|---|---|\n");
  assert_has(text, "| `name` | text | required | What it is called. |\n");
  assert_has(text, "| `tp` | whole number, 1 to 64 | `1` | Tensor-parallel ranks. |\n");
  assert_has(text, "| `precision` | `fp32`, `fp16`, `bf16` | `bf16` | Number format. |\n");
  assert_has(
      text, "| `pipeline` | one of [pipeline](#pipeline) | `interleaved-1f1b` | The schedule. |\n");
  assert_has(text, "| `interleaved-1f1b` | Chunks in turn \\| each a stage. |\n");
  assert_has(text, "\n## batch\n");
  assert_has(text, "\n### pipeline: interleaved-1f1b\n");
}

static guint count_bars(const char *line) {
  guint n = 0;
  for (const char *c = line; *c; c++) n += *c == '|' && (c == line || c[-1] != '\\');
  return n;
}

/* Every row of a table has as many bars as the row above it. */
static void test_markdown_rows_are_whole(void) {
  g_autofree char *text = orr_field_markdown(&sample_table);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint n_rows = 0;
  for (guint i = 1; lines[i]; i++) {
    if (*lines[i] != '|' || *lines[i - 1] != '|') continue;
    g_assert_cmpuint(count_bars(lines[i]), ==, count_bars(lines[i - 1]));
    n_rows++;
  }
  /* sample 1 + 15, batch 1 + 2, pipeline 1 + 2, its interleaved entry 1 + 2, fault 1 + 2 */
  g_assert_cmpuint(n_rows, ==, 28);
}

static void test_schema(void) {
  g_autofree char *text = orr_field_json_schema(&sample_table, NULL);
  assert_has(text,
             "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"sample\","
             "\"$ref\":\"#/$defs/sample\",\"$defs\":{\"quantity\":{");
  assert_has(text, ",\"sample\":{\"type\":\"object\"");
  assert_has(
      text, "\"tp\":{\"description\":\"Tensor-parallel ranks.\",\"default\":1,\"type\":\"integer\","
            "\"minimum\":1,\"maximum\":64}");
  assert_has(text, "\"enum\":[\"fp32\",\"fp16\",\"bf16\"]");
  assert_has(text, "\"required\":[\"name\"],\"additionalProperties\":false");
  assert_has(
      text,
      "\"oneOf\":[{\"const\":\"gpipe\",\"description\":\"All forward, then all backward.\"},{");
  assert_has(text, "\"properties\":{\"kind\":{\"const\":\"interleaved-1f1b\"},\"chunks\":");
  assert_has(text, "\"sweep\":{\"description\":\"Any tree.\"}");
  g_assert_null(strstr(text, ".overlay"));
}

/* A map without `kind` is of the default's kind; where there is no default, `kind` is required. */
static void test_schema_of_choices(void) {
  g_autofree char *text = orr_field_json_schema(&sample_table, NULL);
  assert_has(text,
             "\"pipeline\":{\"description\":\"The schedule.\",\"default\":\"interleaved-1f1b\","
             "\"if\":{\"type\":\"object\",\"not\":{\"required\":[\"kind\"]}},"
             "\"then\":{\"$ref\":\"#/$defs/pipeline.interleaved-1f1b\"},\"else\":{\"$ref\":\"#/"
             "$defs/pipeline\"}}");
  assert_has(
      text,
      "\"router\":{\"description\":\"A choice with no default.\",\"$ref\":\"#/$defs/pipeline\"}");
  assert_has(text,
             "{\"if\":{\"properties\":{\"kind\":{\"const\":\"gpipe\"}},\"required\":[\"kind\"]},"
             "\"then\":{\"$ref\":\"#/$defs/pipeline.gpipe\"}}");
}

/* Above a `base:` no key is required, in the document and in its sections. */
static void test_schema_of_overlays(void) {
  g_autofree char *text = orr_field_json_schema(&sample_table, "sample");
  assert_has(
      text,
      "\"required\":[\"schema\"],\"properties\":{\"schema\":{\"const\":\"sample/1\"}},"
      "\"if\":{\"type\":\"object\",\"required\":[\"base\"]},"
      "\"then\":{\"$ref\":\"#/$defs/sample.overlay\"},\"else\":{\"$ref\":\"#/$defs/sample\"}");
  assert_has(text,
             "\"batch\":{\"description\":\"Batch sizes.\",\"$ref\":\"#/$defs/batch.overlay\"}");
  const char *overlay = strstr(text, "\"sample.overlay\":{");
  g_assert_nonnull(overlay);
  g_assert_null(strstr(overlay, "\"required\":[\"name\"]"));
  assert_has(overlay, "\"tp\":{\"$ref\":\"#/$defs/sample/properties/tp\"}");
  assert_has(text, "\"batch.overlay\":{\"$ref\":\"#/$defs/batch\"}");
}

/* No JSON reader is at hand, but flow YAML holds JSON: what is not well-formed, or has a key
 * twice, is refused. */
static void test_schema_is_well_formed(void) {
  g_autofree char *text = orr_field_json_schema(&sample_table, "sample");
  g_autoptr(OrrNode) root = sample_tree(text);
  g_assert_cmpuint(orr_node_length(orr_node_get(root, "$defs")), ==, 15);
  /* quantity, percentage; sample, pipeline with its two entries, batch, fault, and the overlay of
   * each; the names of the pipelines */
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/field-docs/markdown", test_markdown);
  g_test_add_func("/field-docs/markdown-rows-are-whole", test_markdown_rows_are_whole);
  g_test_add_func("/field-docs/schema", test_schema);
  g_test_add_func("/field-docs/schema-of-choices", test_schema_of_choices);
  g_test_add_func("/field-docs/schema-of-overlays", test_schema_of_overlays);
  g_test_add_func("/field-docs/schema-is-well-formed", test_schema_is_well_formed);
  return g_test_run();
}
