/* test_toml.c - TOML's forms and errors, foreign YAML, and references in ${...}. */
#include <glib.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/toml.h"

/* The tree of @text as our YAML in one line; or the error. */
static char *toml(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_toml_parse(text, strlen(text), "t", diags);
  return tree ? orr_yaml_text(tree) : orr_diags_text(diags);
}

static void check(const char *text, const char *wanted) {
  g_autofree char *got = toml(text);
  if (!strstr(got, wanted)) g_error("'%s' is missing in '%s', of '%s'", wanted, got, text);
}

static void test_forms(void) {
  check("a = 1_200\nb = 0x10\nc = -1.5e3\nd = true # yes", "a: 1200\nb: 16\nc: -1.5e3\nd: true\n");
  check("[a.b]\nc = 'x\\y'\n[a]\nd.e = \"t\\u0041\\n\"\n", "c: \"x\\\\y\"");
  check("s = \"\"\"\na\\\n   b\"\"\"\"\n", "ab\\\"");
  check("l = [1, 2, # two\n 3,]\n[[t]]\nx = 1\n[[t]]\nx = 2", "- x: 2");
  check("i = {a = 1, b.c = 'z'}", "c: \"z\"");
  check("d = 1979-05-27 07:32:00Z\ne = 07:32:00", "1979-05-27 07:32:00Z");
  check("\"a b\".'c' = inf", "c: inf");
}

static void test_errors(void) {
  check("a = 1\na = 2", "t:2:3: error: 'a' comes twice");
  check("[a]\n[a]", "t:2:4: error: the table 'a' comes twice");
  check("a = 1_", "t:1:5: error: '1_' is not a value");
  check("a = \"x", "t:1:7: error: the text in quotes does not end");
  check("a = 1 b = 2", "t:1:7: error: the end of the line was expected");
  check("a = {b = 1}\n[a.c]", "has a value already");
  check("a = 1\n[a.b]", "has a value already");
  check("= 1", "t:1:1: error: a key was expected");
  check("a", "'=' after 'a' was expected");
  check("a = [1 2]", "',' or ']' was expected");
  check("a = \"\\q\"", "after a backslash");
  check("[a\nb = 1", "']' was expected");
  g_autoptr(GString) deep = g_string_new("a = ");
  for (guint i = 0; i < 1000; i++) g_string_append_c(deep, '[');
  check(deep->str, "levels deep");
}

static char *yaml(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GPtrArray) trees = orr_yaml_foreign_parse(text, strlen(text), "y", diags);
  if (!trees) return orr_diags_text(diags);
  GString *all = g_string_new(NULL);
  for (guint i = 0; i < trees->len; i++) {
    g_autofree char *one = orr_yaml_text(trees->pdata[i]);
    g_string_append_printf(all, "%s;", one);
  }
  return g_string_free(all, FALSE);
}

static void check_yaml(const char *text, const char *wanted) {
  g_autofree char *got = yaml(text);
  if (!strstr(got, wanted)) g_error("'%s' is missing in '%s', of '%s'", wanted, got, text);
}

static void test_yaml(void) {
  check_yaml("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", "d:\n  c: 3\n  b: 1\n");
  check_yaml("a: 1\n---\nb: 2\n", "a: 1\n;b: 2\n;");
  check_yaml("{\"a\": 1, # one\n \"b\": [1, 2,],\n}", "\"a\": 1\n\"b\":\n- 1\n- 2\n");
  check_yaml("a: !env X\n", "a: X");
  check_yaml("a: 1\na: 2", "a: 2\n");
  check_yaml("a: [", "y:2:1: error: is not valid YAML");
  check_yaml("%TAG ! x\n---\na: 1", "%TAG");
  check_yaml("a: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
             "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
             "e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n",
             "too many values");
}

static void check_resolved(const char *text, const char *wanted) {
  static char *variables[] = {"PP=4", NULL};
  const OrrLaunchOptions options = {.variables = variables};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GPtrArray) trees = orr_yaml_foreign_parse(text, strlen(text), "y", diags);
  OrrNode *tree = trees->pdata[0];
  orr_config_resolve(draft, tree);
  const char *got = orr_node_get_text(tree, "x");
  g_assert_cmpstr(got, ==, wanted);
}

static void test_references(void) {
  check_resolved("a: 3\nx: ${a}", "3");
  check_resolved("a: 3\nx: ${multiply:4, ${.a}}", "12");
  check_resolved("a: {b: 3}\nx: v${a.b}w", "v3w");
  check_resolved("x: ${oc.env:PP,8}", "4");
  check_resolved("x: ${oc.decode:${oc.env:OTHER,8}}", "8");
  check_resolved("x: ${PP:8}", "4");
  check_resolved("x: ${TP:8}", "8");
  check_resolved("x: ${int_div:7,2}", "3");
  check_resolved("x: ${div:7,0}", "${div:7,0}");
  check_resolved("x: ${path.choose:/a,/b}", "/a");
  check_resolved("x: ${nobody}/y", "${nobody}/y");

  check_resolved("training: {a: 1}\nx: ${training.a}", "1");
  g_autofree char *name = orr_config_resolve_unresolved("${oc.env:HOST,}/x");
  g_assert_cmpstr(name, ==, "HOST");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/toml/forms", test_forms);
  g_test_add_func("/toml/errors", test_errors);
  g_test_add_func("/yaml-foreign/forms", test_yaml);
  g_test_add_func("/config/references", test_references);
  return g_test_run();
}
