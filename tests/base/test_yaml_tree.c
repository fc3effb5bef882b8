/* test_yaml_tree.c - the binary form of a tree is the parsed tree, or nothing. */
#include "sim/base/yaml_tree.h"

#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "tests/base/test_size.h"

static OrrNode *parse(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrNode *root = orr_yaml_parse(text, strlen(text), "t", diags);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
  return root;
}

static void assert_same(const OrrNode *a, const OrrNode *b) {
  g_assert_cmpint(a->kind, ==, b->kind);
  g_assert_cmpstr(a->text, ==, b->text);
  g_assert_cmpint(a->quoted, ==, b->quoted);
  g_assert_cmpstr(a->place.file, ==, b->place.file);
  g_assert_cmpint(a->place.line, ==, b->place.line);
  g_assert_cmpint(a->place.column, ==, b->place.column);
  g_assert_cmpuint(orr_node_length(a), ==, orr_node_length(b));
  g_assert_true(!a->keys == !b->keys);
  for (guint i = 0; i < orr_node_length(a); i++) {
    if (a->keys) assert_same(a->keys->pdata[i], b->keys->pdata[i]);
    assert_same(a->items->pdata[i], b->items->pdata[i]);
  }
}

static const char *const texts[] = {
    "a: 1\nb: [2, 'x y', [], {}]\nc: {d: \"q\\u00e9\", e: a, f: {g: [1, [2, [3]]]}}\n",
    "a: |\n  two\n  lines\nb: >\n  folded\n  text\n",
    "[]",
    "{}",
    "x",
    "'': ''\n"};

static void test_same(void) {
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autoptr(OrrNode) root = parse(texts[i]);
    g_autoptr(GBytes) form = orr_yaml_tree_bytes(root, texts[i], strlen(texts[i]));
    g_autoptr(OrrYamlTree) tree =
        orr_yaml_tree_new(form, texts[i], strlen(texts[i]), g_intern_string("t"));
    g_assert_nonnull(tree);
    g_autoptr(OrrNode) read = orr_yaml_tree_root(tree);
    assert_same(root, read);
  }
}

/* A tree that was read can be laid under another one, and copied to be changed; it stays
 * unchanged. */
static void test_shared(void) {
  const char *text = texts[0];
  g_autoptr(OrrNode) root = parse(text);
  g_autoptr(OrrNode) over = parse("b: 3\nc: {f: {h: 4}}\n");
  g_autoptr(GBytes) form = orr_yaml_tree_bytes(root, text, strlen(text));
  g_autoptr(OrrYamlTree) tree = orr_yaml_tree_new(form, text, strlen(text), "t");
  {
    g_autoptr(OrrNode) read = orr_yaml_tree_root(tree);
    g_autoptr(OrrNode) laid = orr_node_lay(read, over);
    g_autoptr(OrrNode) merged = orr_node_merge(root, over);
    g_assert_true(orr_node_equal(laid, merged));
    OrrNode *own = orr_node_own(orr_node_ref(read));
    orr_node_set(orr_node_get(own, "c"), "d", orr_node_new_scalar(own->place, "changed"));
    g_assert_false(orr_node_equal(own, read));
    orr_node_free(own);
  }
  g_autoptr(OrrNode) read = orr_yaml_tree_root(tree);
  g_assert_true(orr_node_equal(read, root));
}

static OrrYamlTree *read_changed(GBytes *form, gsize at, guint8 value, gboolean is_sealed,
                                 const char *text) {
  gsize size = 0;
  const guint8 *data = g_bytes_get_data(form, &size);
  guint8 *copy = g_memdup2(data, size);
  copy[at] = value;
  if (is_sealed) orr_yaml_tree_seal(copy, size);
  g_autoptr(GBytes) changed = g_bytes_new_take(copy, size);
  return orr_yaml_tree_new(changed, text, strlen(text), "t");
}

/* Every byte damaged, and cut off anywhere: never read. With the checksum made to fit: not read, or
 * some whole tree, whose walk stays inside of it. */
static void test_damage(void) {
  const char *text = texts[0];
  g_autoptr(OrrNode) root = parse(text);
  g_autoptr(GBytes) form = orr_yaml_tree_bytes(root, text, strlen(text));
  gsize size = 0;
  const guint8 *data = g_bytes_get_data(form, &size);
  for (gsize at = 0; at < size; at++) {
    g_autoptr(GBytes) cut = g_bytes_new(data, at);
    g_assert_null(orr_yaml_tree_new(cut, text, strlen(text), "t"));
    g_assert_null(read_changed(form, at, data[at] ^ 1, FALSE, text));
    for (guint value = 0; value < 256; value += test_size(17, 85)) {
      g_autoptr(OrrYamlTree) tree = read_changed(form, at, (guint8)value, TRUE, text);
      if (!tree) continue;
      g_autoptr(OrrNode) read = orr_yaml_tree_root(tree);
      g_autoptr(OrrNode) copy = orr_node_copy(read);
      g_assert_true(orr_node_equal(copy, read));
    }
  }
}

static void test_stale(void) {
  const char *text = "a: 1\n", *other = "a: 2\n", *longer = "a: 1\n\n";
  g_autoptr(OrrNode) root = parse(text);
  g_autoptr(GBytes) form = orr_yaml_tree_bytes(root, text, strlen(text));
  g_assert_null(orr_yaml_tree_new(form, other, strlen(other), "t"));
  g_assert_null(orr_yaml_tree_new(form, longer, strlen(longer), "t"));
}

/* --- files --- */

static char *large_text(int value) {
  GString *text = g_string_new("rows:\n");
  for (int i = 0; i < 1000; i++)
    g_string_append_printf(text, "- {n: %d, us: \"%d 2 3\"}\n", i, value);
  return g_string_free(text, FALSE);
}

static char *first_us(const char *path) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) root = orr_yaml_tree_read_file(path, diags);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
  g_assert_cmpuint(orr_node_length(orr_node_get(root, "rows")), ==, 1000);
  return g_strdup(orr_node_get_text(orr_node_get(root, "rows")->items->pdata[0], "us"));
}

static void write_text(const char *path, int value) {
  g_autofree char *text = large_text(value);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void assert_first(const char *path, const char *expected) {
  g_autofree char *found = first_us(path);
  g_assert_cmpstr(found, ==, expected);
}

/* The cache holds a form of the text that was read; an edited text is read anew, and so is one
 * whose form was damaged. */
static void test_cache(void) {
  const char *folder = g_getenv("XDG_CACHE_HOME");
  g_autofree char *path = g_build_filename(folder, "own.yaml", NULL);
  g_autofree char *link = g_build_filename(folder, "again.yaml", NULL);
  write_text(path, 1);
  g_auto(GStrv) files = orr_yaml_tree_files(path);
  const char *kept = files[g_strv_length(files) - 1];
  assert_first(path, "1 2 3");
  g_assert_true(g_file_test(kept, G_FILE_TEST_IS_REGULAR));
  write_text(path, 7);
  assert_first(path, "7 2 3");

  g_auto(GStrv) others = orr_yaml_tree_files(link);
  const char *other = others[g_strv_length(others) - 1];
  write_text(link, 7);
  g_autofree char *form = NULL;
  gsize size = 0;
  g_assert_true(g_file_get_contents(kept, &form, &size, NULL));
  form[size - 4]++;
  g_assert_true(g_file_set_contents(other, form, (gssize)size, NULL));
  assert_first(link, "7 2 3");
}

/* A cache that cannot be written (its place is a file) does not matter. */
static void test_no_cache(void) {
  const char *folder = g_getenv("XDG_CACHE_HOME");
  g_autofree char *path = g_build_filename(folder, "third.yaml", NULL);
  write_text(path, 3);
  g_auto(GStrv) files = orr_yaml_tree_files(path);
  g_assert_cmpint(g_mkdir_with_parents(files[g_strv_length(files) - 1], 0700), ==, 0);
  assert_first(path, "3 2 3");
}

/* Findings are reported each time, and nothing is kept. */
static void test_findings(void) {
  const char *folder = g_getenv("XDG_CACHE_HOME");
  g_autofree char *path = g_build_filename(folder, "bad.yaml", NULL), *good = large_text(1);
  g_autofree char *bad = g_strconcat(good, "rows: twice\n", NULL);
  g_assert_true(g_file_set_contents(path, bad, -1, NULL));
  for (int i = 0; i < 2; i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) root = orr_yaml_tree_read_file(path, diags);
    g_assert_cmpuint(orr_diags_n_errors(diags), ==, 1);
  }
  g_auto(GStrv) files = orr_yaml_tree_files(path);
  for (char **file = files; *file; file++) g_assert_false(g_file_test(*file, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_autofree char *cache = g_dir_make_tmp("orrery-tree-XXXXXX", NULL);
  g_setenv("XDG_CACHE_HOME", cache, TRUE);
  g_test_add_func("/yaml-tree/same", test_same);
  g_test_add_func("/yaml-tree/shared", test_shared);
  g_test_add_func("/yaml-tree/damage", test_damage);
  g_test_add_func("/yaml-tree/stale", test_stale);
  g_test_add_func("/yaml-tree/cache", test_cache);
  g_test_add_func("/yaml-tree/no-cache", test_no_cache);
  g_test_add_func("/yaml-tree/findings", test_findings);
  return g_test_run();
}
