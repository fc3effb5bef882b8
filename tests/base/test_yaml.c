/* test_yaml.c - reading and writing YAML; every kind of bad input has one clear finding. */
#include "sim/base/yaml.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* The findings of reading @length bytes; the tree goes to @ret_tree where that is not NULL. */
static char *findings_n(const char *text, gsize length, OrrNode **ret_tree) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, length, "t", diags);
  if (ret_tree) *ret_tree = g_steal_pointer(&tree);
  return orr_diags_text(diags);
}

static void assert_findings(const char *text, const char *expected) {
  g_autofree char *found = findings_n(text, strlen(text), NULL);
  g_assert_cmpstr(found, ==, expected);
}

static void assert_file_findings(const char *path, const char *expected_rest) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_read_file(path, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_autofree char *expected = g_strconcat(path, expected_rest, NULL);
  g_assert_cmpstr(found, ==, expected);
  g_assert_null(tree);
}

static void test_tree_and_places(void) {
  const char *text = "# a comment\n"
                     "schema: cluster/1\n"
                     "nodes: 128 # another\n"
                     "link: {rate: 450 GB/s, \"name\": 'a: b'}\n"
                     "list:\n"
                     "- 1\n"
                     "- [x, y]\n";
  g_autoptr(OrrNode) root = NULL;
  g_autofree char *found = findings_n(text, strlen(text), &root);
  g_assert_cmpstr(found, ==, "");
  g_assert_cmpint(root->kind, ==, ORR_NODE_MAP);
  g_assert_cmpuint(orr_node_length(root), ==, 4);
  g_assert_cmpstr(orr_node_get_text(root, "nodes"), ==, "128");
  g_assert_false(orr_node_get(root, "nodes")->quoted);
  const OrrNode *link = orr_node_get(root, "link");
  g_assert_cmpstr(orr_node_get_text(link, "rate"), ==, "450 GB/s");
  const OrrNode *name =
      orr_node_get(link, "name"); /* link: {rate: 450 GB/s, "name": '... : column 32 */
  g_assert_cmpstr(name->text, ==, "a: b");
  g_assert_true(name->quoted);
  g_assert_cmpstr(name->place.file, ==, "t");
  g_assert_cmpint(name->place.line, ==, 4);
  g_assert_cmpint(name->place.column, ==, 32);
  const OrrNode *key = g_ptr_array_index(root->keys, 3);
  g_assert_cmpint(key->place.line, ==, 5);
  g_assert_cmpint(key->place.column, ==, 1);
  g_assert_cmpuint(orr_node_length(orr_node_get(root, "list")), ==, 2);
}

/* `--set` reads flow text, scalars too. */
static void test_small_documents(void) {
  assert_findings("8", "");
  assert_findings("[1, 2]", "");
  assert_findings("{\"json\": [true, null, 1e3]}", "");
  assert_findings("{\n\t\"indented\": {\n\t\t\"with\": \"tabs\"\n\t}\n}\n",
                  "");                                 /* as JSON files are */
  assert_findings("\357\273\277a: 1\r\nb: 2\r\n", ""); /* byte order mark, CRLF */
  assert_findings("---\na: 1\n...\n", "");
  assert_findings("%YAML 1.1\n---\na:\n", "");
}

static void test_nothing_there(void) {
  assert_findings("", "t: error: is empty\n");
  assert_findings("# only a comment\n", "t: error: holds no document\n");
  assert_findings("\n  \n", "t: error: holds no document\n");
  assert_findings("---\n", "t: error: holds no document\n");
}

static void test_binary(void) {
  g_autofree char *nul = findings_n("a: 1\nb\0c: 2", 11, NULL);
  g_assert_cmpstr(nul, ==, "t:2:2: error: is not text: byte 0x00 is binary\n");
  assert_findings("\177ELF\002\001",
                  "t:1:1: error: is not valid YAML: control characters are not allowed (0x7F)\n");
  assert_findings("a: \xff\xfe", "t:1:4: error: is not text: byte 0xFF is not UTF-8\n");
  assert_findings("a: \303\251 \xe9",
                  "t:1:6: error: is not text: byte 0xE9 is not UTF-8\n"); /* 'é' is one column */
  assert_findings("a: 1\nb: \033[2J",
                  "t:2:4: error: is not valid YAML: control characters are not allowed (0x1B)\n");
  assert_findings("a: \"\\0\"", "t:1:4: error: a NUL character in a text\n");
}

static void test_syntax_errors_have_places(void) {
  assert_findings("a: 1\n\tb: 2\n", "t:2:1: error: is not valid YAML: tab used for indentation\n");
  assert_findings("a: [1, 2\nb: 3\n", "t:2:2: error: is not valid YAML: did not find expected ',' "
                                      "or ']' while parsing a flow sequence "
                                      "that began on line 1\n");
  assert_findings(
      "a: b: c\n",
      "t:1:5: error: is not valid YAML: mapping values are not allowed in this context\n");
  assert_findings(
      "a: 'no end\n",
      "t:2:1: error: is not valid YAML: found unexpected end of stream while scanning a quoted "
      "scalar that began on line 1\n");
}

/* All in one reading: nothing here stops it. */
static void test_what_the_subset_refuses(void) {
  assert_findings(
      "a: &x 1\n"
      "b: *x\n"
      "c: !!int 3\n"
      "d:\n"
      "  <<: {e: 1}\n"
      "a: 2\n"
      "{f: 1}: 3\n"
      "? [g]\n"
      ": 4\n"
      "'a': 5\n",
      "t:1:4: error: anchor '&x': anchors and aliases are not supported, write the value out\n"
      "t:2:4: error: alias '*x': anchors and aliases are not supported, write the value out\n"
      "t:3:4: error: tag 'tag:yaml.org,2002:int': tags are not supported\n"
      "t:5:3: error: merge keys ('<<') are not supported, write the entries out\n"
      "t:6:1: error: duplicate key 'a': first on line 1\n"
      "t:7:1: error: a map as a key: keys are words\n"
      "t:8:3: error: a list as a key: keys are words\n"
      "t:10:1: error: duplicate key 'a': first on line 1\n");
  assert_findings("a: 1\n---\nb: 2\n", "t:2:1: error: a second document: a file holds one\n");
  assert_findings("%TAG !e! tag:example.com,2000:\n---\na: 1\n",
                  "t:1:1: error: '%TAG': tags are not supported\n");
}

static void test_first_of_two_equal_keys_stays(void) {
  g_autoptr(OrrNode) root = NULL;
  g_autofree char *found = findings_n("a: 1\na: 2\nb: 3\n", 15, &root);
  g_assert_cmpstr(found, ==, "t:2:1: error: duplicate key 'a': first on line 1\n");
  g_assert_cmpstr(orr_node_get_text(root, "a"), ==, "1");
  g_assert_cmpuint(orr_node_length(root), ==, 2);
}

static char *nested(guint levels, const char *open, const char *close) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < levels; i++) g_string_append(text, open);
  for (guint i = 0; close && i < levels; i++) g_string_append(text, close);
  return g_string_free(text, FALSE);
}

/* 64 levels are read, the 65th is refused where it opens; a million of them cost no more. */
static void test_depth(void) {
  g_autofree char *deepest = nested(ORR_YAML_MAX_DEPTH, "[", "]");
  g_autofree char *deeper = nested(ORR_YAML_MAX_DEPTH + 1, "[", "]");
  const char *const bombs[] = {"[", "{a: ", "- ", "{", "? ", "[{a: "};
  assert_findings(deepest, "");
  assert_findings(deeper, "t:1:65: error: nested more than 64 levels deep\n");
  for (guint i = 0; i < G_N_ELEMENTS(bombs); i++) {
    g_autofree char *bomb = nested(1000000, bombs[i], NULL);
    g_autofree char *found = NULL;
    gint64 before = g_get_monotonic_time();
    found = findings_n(bomb, strlen(bomb), NULL);
    g_assert_nonnull(strstr(found, "error: nested more than 64 levels deep\n"));
    g_assert_cmpint(g_get_monotonic_time() - before, <, 5 * G_TIME_SPAN_SECOND);
  }
}

/* Two bytes a value: refused before it takes memory by the gigabyte. */
static void test_too_many_values(void) {
  g_autofree char *bomb = g_strnfill(3 << 20, ',');
  for (gsize i = 0; i < 3 << 20; i += 2) bomb[i] = '1';
  g_autofree char *text = g_strconcat("[", bomb, "]", NULL);
  assert_findings(text, "t:1:2097152: error: more than 1048576 values in one document\n");
}

static void test_many_tag_directives(void) {
  g_autoptr(GString) text = g_string_new("%YAML 1.1\n");
  for (int i = 0; i < 200000; i++) g_string_append_printf(text, "%%TAG !%d! x\n", i);
  assert_findings(text->str, "t:2:1: error: '%TAG': tags are not supported\n");
}

static void test_files(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.yaml", NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  assert_file_findings(path, ": error: cannot be read: No such file or directory\n");
  assert_file_findings(folder, ": error: cannot be read: it is a folder\n");
  g_assert_true(g_file_set_contents(path, "", 0, NULL));
  assert_file_findings(path, ": error: is empty\n");
  g_assert_true(g_file_set_contents(path, "a: [", -1, NULL));
  assert_file_findings(path, ":2:1: error: is not valid YAML: did not find expected node content "
                             "while parsing a flow node\n");
  if (geteuid() != 0) { /* root reads everything */
    g_assert_cmpint(g_chmod(path, 0), ==, 0);
    assert_file_findings(path, ": error: cannot be read: Permission denied\n");
    g_assert_cmpint(g_chmod(path, 0600), ==, 0);
  }
  g_assert_true(g_file_set_contents(path, "a: 1\n", -1, NULL));
  g_autoptr(OrrNode) root = orr_yaml_read_file(path, diags);
  g_assert_cmpstr(orr_node_get_text(root, "a"), ==, "1");
  g_assert_cmpstr(root->place.file, ==, path);
  /* 100 MB, all a hole: refused by its size. */
  g_assert_cmpint(truncate(path, 100 * 1000 * 1000), ==, 0);
  assert_file_findings(path, ": error: is larger than 16 MiB, the most that is read\n");
  /* No size to ask for. */
  assert_file_findings("/dev/zero", ": error: cannot be read: it is a device, not a file\n");
  g_remove(path);
  g_rmdir(folder);
}

static void assert_round_trip(const char *text) {
  g_autoptr(OrrNode) first = NULL;
  g_autoptr(OrrNode) second = NULL;
  g_autofree char *found = findings_n(text, strlen(text), &first);
  g_assert_cmpstr(found, ==, "");
  g_autofree char *written = orr_yaml_text(first);
  g_autofree char *found_again = findings_n(written, strlen(written), &second);
  g_assert_cmpstr(found_again, ==, "");
  g_test_message("%s", written);
  g_assert_true(orr_node_equal(first, second));
}

static void test_round_trip(void) {
  g_autofree char *long_key = g_strnfill(2000, 'k');
  g_autofree char *with_long_key = g_strdup_printf("? %s\n: 1\n", long_key);
  assert_round_trip("a: 1\nb: [x, {y: z, w: []}, {}]\nc: {d: {e: 450 GB/s}}\n");
  assert_round_trip("[[[]], [{a: [b]}], '']");
  assert_round_trip("''");
  assert_round_trip("'- a'");
  assert_round_trip("a: |\n  two\n  lines\n\nb: >-\n  folded\n  text\nc: \" lead and trail \"\n");
  assert_round_trip("{'a: b': 'x # y', '': null, 'on': \"tab\\t nul-ish \\x01 \\u263a \\uFEFF\", "
                    "'-': '?', '<<': 1}");
  assert_round_trip(with_long_key);
}

static void test_text_form(void) {
  const OrrPlace nowhere = {0};
  g_autoptr(OrrNode) root = orr_node_new_map(nowhere);
  OrrNode *list = orr_node_new_list(nowhere);
  orr_node_set(root, "rate", orr_node_new_scalar(nowhere, "450 GB/s"));
  orr_node_set(root, "note", orr_node_new_scalar(nowhere, "a: b"));
  orr_node_set(root, "none", orr_node_new_scalar(nowhere, ""));
  orr_node_set(root, "list", list);
  orr_node_append(list, orr_node_new_scalar(nowhere, "1"));
  orr_node_append(list, orr_node_new_map(nowhere));
  g_autofree char *text = orr_yaml_text(root);
  g_assert_cmpstr(text, ==, "rate: 450 GB/s\nnote: 'a: b'\nnone: \"\"\nlist:\n- 1\n- {}\n");
}

/* What YAML 1.1 reads as a truth value, a number of sixties or a date is quoted, so that PyYAML
 * reads a text too. */
static void test_text_of_yaml_1_1(void) {
  static const struct {
    const char *text, *written;
  } cases[] = {{"no", "\"no\"\n"},       {"On", "\"On\"\n"},
               {"1:30", "\"1:30\"\n"},   {"2026-11-22", "\"2026-11-22\"\n"},
               {"nothing", "nothing\n"}, {"true", "true\n"},
               {"-5", "-5\n"},           {"3.5", "3.5\n"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(OrrNode) root = orr_node_new_scalar((OrrPlace){0}, cases[i].text);
    g_autofree char *text = orr_yaml_text(root);
    g_assert_cmpstr(text, ==, cases[i].written);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/yaml/tree-and-places", test_tree_and_places);
  g_test_add_func("/yaml/small-documents", test_small_documents);
  g_test_add_func("/yaml/nothing-there", test_nothing_there);
  g_test_add_func("/yaml/binary", test_binary);
  g_test_add_func("/yaml/syntax-errors-have-places", test_syntax_errors_have_places);
  g_test_add_func("/yaml/what-the-subset-refuses", test_what_the_subset_refuses);
  g_test_add_func("/yaml/first-of-two-equal-keys-stays", test_first_of_two_equal_keys_stays);
  g_test_add_func("/yaml/depth", test_depth);
  g_test_add_func("/yaml/too-many-values", test_too_many_values);
  g_test_add_func("/yaml/many-tag-directives", test_many_tag_directives);
  g_test_add_func("/yaml/files", test_files);
  g_test_add_func("/yaml/round-trip", test_round_trip);
  g_test_add_func("/yaml/text-form", test_text_form);
  g_test_add_func("/yaml/text-of-yaml-1.1", test_text_of_yaml_1_1);
  return g_test_run();
}
