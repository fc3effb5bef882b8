/* test_node.c - trees: maps, copies, merging. */
#include "sim/base/node.h"

#include <string.h>

#include "sim/base/yaml.h"

static const OrrPlace nowhere = {0};

static OrrNode *tree(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrNode *node = orr_yaml_parse(text, strlen(text), "test", diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return node;
}

static void assert_merge(const char *base_text, const char *over_text, const char *expected_text) {
  g_autoptr(OrrNode) base = tree(base_text);
  g_autoptr(OrrNode) over = tree(over_text);
  g_autoptr(OrrNode) expected = tree(expected_text);
  g_autoptr(OrrNode) merged = orr_node_merge(base, over);
  g_autofree char *text = orr_yaml_text(merged);
  g_test_message("%s", text);
  g_assert_true(orr_node_equal(merged, expected));
}

static void test_map_set_get_remove(void) {
  g_autoptr(OrrNode) map = orr_node_new_map(nowhere);
  orr_node_set(map, "a", orr_node_new_scalar(nowhere, "1"));
  orr_node_set(map, "b", orr_node_new_list(nowhere));
  orr_node_set(map, "a", orr_node_new_scalar(nowhere, "2"));
  orr_node_append(orr_node_get(map, "b"), orr_node_new_scalar(nowhere, "x"));
  g_autoptr(OrrNode) expected = tree("{a: 2, b: [x]}");
  g_assert_true(orr_node_equal(map, expected));
  g_assert_cmpuint(orr_node_length(map), ==, 2);
  g_assert_cmpuint(orr_node_length(orr_node_get(map, "a")), ==, 0);
  g_assert_cmpstr(orr_node_get_text(map, "a"), ==, "2");
  g_assert_null(orr_node_get_text(map, "b"));
  g_assert_null(orr_node_get(map, "c"));
  g_assert_null(orr_node_get(orr_node_get(map, "a"), "a"));
  g_assert_true(orr_node_remove(map, "a"));
  g_assert_false(orr_node_remove(map, "a"));
  g_assert_cmpuint(orr_node_length(map), ==, 1);
  g_assert_nonnull(orr_node_get(map, "b"));
}

static void test_copy_is_equal_and_apart(void) {
  g_autoptr(OrrNode) original = tree("a: {b: [1, '2', {c: d}]}\ne: ''");
  g_autoptr(OrrNode) copy = orr_node_copy(original);
  g_assert_true(orr_node_equal(original, copy));
  orr_node_set(orr_node_get(copy, "a"), "b", orr_node_new_scalar(nowhere, "gone"));
  g_assert_false(orr_node_equal(original, copy));
  g_assert_cmpuint(orr_node_length(orr_node_get(orr_node_get(original, "a"), "b")), ==, 3);
  g_assert_cmpint(orr_node_get(copy, "e")->place.line, ==, 2);
  g_assert_true(orr_node_get(copy, "e")->quoted);
}

static void test_equal(void) {
  const char *const different[] = {"{a: 1, b: 2}", "{b: 2, a: 1}", "{a: 1}", "{a: 1, b: 3}",
                                   "[a, 1]",       "[a]",          "a",      "{a: [1]}"};
  for (guint i = 0; i < G_N_ELEMENTS(different); i++)
    for (guint j = 0; j < G_N_ELEMENTS(different); j++) {
      g_autoptr(OrrNode) a = tree(different[i]);
      g_autoptr(OrrNode) b = tree(different[j]);
      g_assert_cmpint(orr_node_equal(a, b), ==, i == j);
    }
  g_autoptr(OrrNode) plain = tree("a: 1");
  g_autoptr(OrrNode) quoted = tree("\n\n  \"a\": '1'");
  g_assert_true(orr_node_equal(plain, quoted));
  g_assert_true(orr_node_equal(NULL, NULL));
  g_assert_false(orr_node_equal(plain, NULL));
}

static void test_merge(void) {
  assert_merge("{a: 1, m: {x: 1, y: 2}}", "{m: {y: 3, z: 4}, b: 5}",
               "{a: 1, m: {x: 1, y: 3, z: 4}, b: 5}");
  assert_merge("{a: [1, 2, 3]}", "{a: [4]}", "{a: [4]}");
  assert_merge("{a: {x: 1}}", "{a: name}", "{a: name}");
  assert_merge("{a: name}", "{a: {x: 1}}",
               "{a: {x: 1, base: name}}"); /* what the name stands for, with x changed */
  assert_merge("{a: name}", "{a: {base: other, x: 1}}", "{a: {base: other, x: 1}}");
  assert_merge("{a: name}", "{a: {kind: other, x: 1}}", "{a: {kind: other, x: 1}}");
  assert_merge("{}", "{a: 1}", "{a: 1}");
  assert_merge("{a: 1}", "{}", "{a: 1}");
}

/* The parameters of one choice mean nothing to another. */
static void test_merge_replaces_other_choices(void) {
  assert_merge("{f: {kind: fat-tree, levels: 3}}", "{f: {kind: rail, rails: 8}}",
               "{f: {kind: rail, rails: 8}}");
  assert_merge("{f: {kind: fat-tree, levels: 3}}", "{f: {kind: fat-tree, taper: 2}}",
               "{f: {kind: fat-tree, levels: 3, taper: 2}}");
  assert_merge("{f: {kind: fat-tree, levels: 3}}", "{f: {taper: 2}}",
               "{f: {kind: fat-tree, levels: 3, taper: 2}}");
  assert_merge("{c: {base: x, nodes: 3}}", "{c: {base: y}}", "{c: {base: y}}");
  assert_merge("{c: {base: x, nodes: 3}}", "{c: {base: x, gpus: 1}}",
               "{c: {base: x, nodes: 3, gpus: 1}}");
}

/* A finding about a merged tree must point into the document that has the value. */
static void test_merge_keeps_places(void) {
  g_autoptr(OrrNode) base = tree("a: 1\nb: 2");
  g_autoptr(OrrNode) over = tree("\n\n\nb:   3");
  g_autoptr(OrrNode) merged = orr_node_merge(base, over);
  g_assert_cmpint(orr_node_get(merged, "a")->place.line, ==, 1);
  g_assert_cmpint(orr_node_get(merged, "b")->place.line, ==, 4);
  g_assert_cmpint(orr_node_get(merged, "b")->place.column, ==, 6);
}

/* A finding stands at the deepest key of its path that is there; a place that knows no node
 * stays what it is. */
static void test_place_in(void) {
  g_autoptr(OrrNode) map = tree("a:\n  b: {c: 1}\n  d: 2\n");
  const OrrPlace place = orr_node_place(map);
  g_assert_cmpint(orr_node_place_in(place, "a.d").line, ==, 3);
  g_assert_cmpint(orr_node_place_in(place, "a.b.c").column, ==, 10);
  g_assert_cmpint(orr_node_place_in(place, "a.b.x").column, ==, 6);
  g_assert_cmpint(orr_node_place_in(place, "x.y").line, ==, map->place.line);
  g_assert_cmpint(orr_node_place_in((OrrPlace){"f", 7, 8, NULL}, "a.d").line, ==, 7);
}

/* A random map of the words a to e: few enough that base and override meet in keys of all kinds. */
static OrrNode *random_tree(GRand *random, guint depth) {
  static const char *const words[] = {"a", "b", "c", "kind", "base"};
  const int kind = depth == 0 ? 0 : g_rand_int_range(random, 0, 4);
  if (kind == 0) return orr_node_new_scalar(nowhere, words[g_rand_int_range(random, 0, 5)]);
  OrrNode *node = kind == 1 ? orr_node_new_list(nowhere) : orr_node_new_map(nowhere);
  for (int i = g_rand_int_range(random, 0, 4); i > 0; i--) {
    OrrNode *child = random_tree(random, depth - 1);
    if (kind == 1)
      orr_node_append(node, child);
    else
      orr_node_set(node, words[g_rand_int_range(random, 0, 5)], child);
  }
  return node;
}

static gboolean is_apart(const OrrNode *node) {
  gboolean apart = node->n_more == 0 && (!node->replaced || is_apart(node->replaced));
  for (guint i = 0; node->items && i < node->items->len; i++)
    apart =
        apart && is_apart(node->items->pdata[i]) && (!node->keys || is_apart(node->keys->pdata[i]));
  return apart;
}

/* Laying a tree over another gives what merging gives, changes neither of them, and shares nothing
 * once it is made its owner's own; it outlives both. */
static void test_lay_is_merge(void) {
  for (guint32 seed = 1; seed <= 300; seed++) {
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    OrrNode *base = random_tree(random, 4), *over = random_tree(random, 4);
    g_autoptr(OrrNode) last = random_tree(random, 4);
    g_autoptr(OrrNode) base_before = orr_node_copy(base);
    g_autoptr(OrrNode) over_before = orr_node_copy(over);
    g_autoptr(OrrNode) first = orr_node_merge(base, over);
    g_autoptr(OrrNode) expected = orr_node_merge(first, last);
    OrrNode *shared = orr_node_lay(base, over);
    OrrNode *laid = orr_node_lay(shared, last);
    g_autofree char *text = orr_yaml_text(laid), *wanted = orr_yaml_text(expected);
    if (strcmp(text, wanted) != 0) g_error("seed %u: laid\n%s\nmerged\n%s", seed, text, wanted);
    orr_node_free(shared);
    g_assert_true(orr_node_equal(base, base_before) && orr_node_equal(over, over_before));
    laid = orr_node_own(laid);
    g_assert_true(is_apart(laid) && is_apart(base) && is_apart(over));
    orr_node_free(base);
    orr_node_free(over);
    g_assert_true(orr_node_equal(laid, expected));
    orr_node_free(laid);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/node/map-set-get-remove", test_map_set_get_remove);
  g_test_add_func("/node/copy-is-equal-and-apart", test_copy_is_equal_and_apart);
  g_test_add_func("/node/equal", test_equal);
  g_test_add_func("/node/merge", test_merge);
  g_test_add_func("/node/merge-replaces-other-choices", test_merge_replaces_other_choices);
  g_test_add_func("/node/merge-keeps-places", test_merge_keeps_places);
  g_test_add_func("/node/place-in", test_place_in);
  g_test_add_func("/node/lay-is-merge", test_lay_is_merge);
  return g_test_run();
}
