/* test_json.c - JSON as it goes by: values, what is skipped, and where a finding is. */
#include <string.h>

#include "sim/base/json.h"

static char *findings_of(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrJson json = orr_json_begin(text, strlen(text), "t.json", diags);
  while (orr_json_peek(&json)) orr_json_skip(&json);
  return orr_diags_text(diags);
}

static void test_values(void) {
  static const char text[] = " {\"a\": [1, -2.5e3, \"7\"], \"b\": {\"x\": null, \"y\": [true, "
                             "false]},\n \"c\": \"\\u0041\\n\\\"\"}";
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrJson json = orr_json_begin(text, strlen(text), "t.json", diags);
  double sum = 0;
  g_autofree char *c = NULL;
  g_assert_true(orr_json_open(&json));
  while (orr_json_more(&json)) {
    g_autofree char *key = orr_json_key(&json);
    if (strcmp(key, "a") == 0) {
      g_assert_true(orr_json_open(&json));
      for (double value; orr_json_more(&json); sum += value)
        g_assert_true(orr_json_number(&json, &value));
    } else if (strcmp(key, "c") == 0) {
      c = orr_json_text(&json);
    } else {
      orr_json_skip(&json);
    }
  }
  g_assert_cmpfloat(sum, ==, 1 - 2500 + 7);
  g_assert_cmpstr(c, ==, "A\n\"");
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
  g_assert_cmpint(orr_json_peek(&json), ==, 0);
}

static void test_findings(void) {
  static const struct {
    const char *text, *wanted;
  } cases[] = {
      {"{\"a\": 1", "t.json:1:8: error: the text ends where"},
      {"{\"a\"\n 1}", "t.json:2:2: error: found '1' where ':' was expected"},
      {"[1 2]", "t.json:1:4: error: found '2' where ',' or ']' was expected"},
      {"{\"a\": tru}", "a number was expected"},
      {"[\"a\nb\"]", "'\"' was expected"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *found = findings_of(cases[i].text);
    if (!strstr(found, cases[i].wanted))
      g_error("'%s': wanted '%s' in '%s'", cases[i].text, cases[i].wanted, found);
  }
  g_autoptr(GString) deep = g_string_new(NULL);
  for (int i = 0; i < 100; i++) g_string_append_c(deep, '[');
  g_autofree char *found = findings_of(deep->str);
  g_assert_nonnull(strstr(found, "less depth"));
  g_autofree char *none = findings_of("{\"a\": [1, {}], \"b\": null} \n 7");
  g_assert_cmpstr(none, ==, "");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/base/json/values", test_values);
  g_test_add_func("/base/json/findings", test_findings);
  return g_test_run();
}
