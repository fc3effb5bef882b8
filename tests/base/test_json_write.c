/*
 * test_json_write.c - commas, escapes and digits of written JSON, compared with texts that
 * RFC 8259 allows.
 */
#include "sim/base/json_write.h"

#include <math.h>

static void test_members(void) {
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_text(out, "name", "a \"b\"\\\n\x01");
  orr_json_write_text(out, "none", NULL);
  orr_json_write_number(out, "half", 0.5);
  orr_json_write_number(out, "nan", NAN);
  orr_json_write_int(out, "n", -3);
  orr_json_write_bool(out, "is \"so\"", TRUE);
  g_string_append_c(out, '}');
  g_assert_cmpstr(out->str, ==,
                  "{\"name\": \"a \\\"b\\\"\\\\\\n\\u0001\", \"none\": null, \"half\": 0.5, "
                  "\"nan\": null, \"n\": -3, \"is \\\"so\\\"\": true}");
}

/* The shortest of 15 and 17 digits that gives the same double: 0.1 + 0.2 needs 17. */
static void test_digits(void) {
  g_autoptr(GString) out = g_string_new("[");
  orr_json_write_number(out, NULL, 0.1);
  orr_json_write_number(out, NULL, 0.1 + 0.2);
  orr_json_write_number(out, NULL, INFINITY);
  ORR_JSON_NUMBERS(out, {"a", 2}, {"b", 1e15});
  g_assert_cmpstr(out->str, ==, "[0.1, 0.30000000000000004, null, \"a\": 2, \"b\": 1e+15");
}

/* An element has a comma unless it is the first; a member at the beginning of a line has none of
 * its own. */
static void test_nested(void) {
  char *words[] = {"x", "y"};
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_array(out, "rows");
  for (int i = 0; i < 2; i++) {
    orr_json_write_element(out, "\n  ");
    orr_json_write_int(out, "i", i);
    g_string_append_c(out, '}');
  }
  g_string_append(out, "],\n ");
  orr_json_write_texts(out, "words", words, 2);
  orr_json_write_texts(out, "no", words, 0);
  orr_json_write_object(out, "o");
  orr_json_write_bool(out, "is", FALSE);
  g_string_append(out, "}}");
  g_assert_cmpstr(out->str, ==,
                  "{\"rows\": [\n  {\"i\": 0},\n  {\"i\": 1}],\n \"words\": [\"x\", \"y\"], "
                  "\"no\": [], \"o\": {\"is\": false}}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/json-write/members", test_members);
  g_test_add_func("/json-write/digits", test_digits);
  g_test_add_func("/json-write/nested", test_nested);
  return g_test_run();
}
