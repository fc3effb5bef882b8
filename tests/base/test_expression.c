/*
 * test_expression.c - constraints and objectives: values, types, and where errors are marked.
 */
#include "sim/base/expression.h"

#include <math.h>
#include <string.h>

#include "sim/base/random.h"

static const OrrExpressionName names[] = {{"tp", ORR_VALUE_NUMBER},
                                          {"pp", ORR_VALUE_NUMBER},
                                          {"n-gpus", ORR_VALUE_NUMBER},
                                          {"memory-peak-bytes", ORR_VALUE_NUMBER},
                                          {"recompute", ORR_VALUE_TEXT},
                                          {"fits", ORR_VALUE_TRUTH},
                                          {"workload.parallel.tp", ORR_VALUE_NUMBER}};
static const OrrValue values[] = {
    {ORR_VALUE_NUMBER, 8, NULL},    {ORR_VALUE_NUMBER, 16, NULL},
    {ORR_VALUE_NUMBER, 1024, NULL}, {ORR_VALUE_NUMBER, 64. * 1073741824, NULL},
    {ORR_VALUE_TEXT, 0, "full"},    {ORR_VALUE_TRUTH, 1, NULL},
    {ORR_VALUE_NUMBER, 8, NULL}};

static const OrrPlace place = {"sweep.yaml", 7, 11};

static double number(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrExpression) expression =
      orr_expression_parse(text, place, names, G_N_ELEMENTS(names), diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_cmpstr(found, ==, "");
  return orr_expression_number(expression, values);
}

static void test_numbers(void) {
  const struct {
    const char *text;
    double value;
  } cases[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"8 - 2 - 1", 5}, /* from the left */
      {"64 / 4 / 2", 8},
      {"-tp + 1", -7},
      {"- -tp", 8},
      {"tp * pp", 128},
      {"n-gpus - tp", 1016}, /* a name with a minus in it, then a difference */
      {"n_gpus -8", 1016},   /* '_' is '-', and a minus beside a digit is one */
      {"n-gpus / (tp*pp)", 8},
      {"17 % 5", 2},
      {"max(tp, pp, 3)", 16},
      {"min(tp, pp)", 8},
      {"ceil(7 / 2) + floor(7 / 2) + round(3.6) + abs(-1)", 12},
      {"log2(n-gpus)", 10},
      {"sqrt(pp)", 4},
      {"1e3", 1000},
      {".5", 0.5},
      {"2 GiB", 2147483648.},
      {"400 Gb/s", 50e9}, /* bits */
      {"2 us", 2e-6},
      {"workload.parallel.tp + tp", 16},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    g_assert_cmpfloat(number(cases[i].text), ==, cases[i].value);
  g_assert_true(isnan(number("1 / 0")));
  g_assert_true(isnan(number("1 % 0")));
}

static void test_truths(void) {
  const char *const holds[] = {"tp * pp * 8 == n-gpus",
                               "tp <= 8 and pp > 8",
                               "tp > 8 or pp > 8",
                               "not tp > 8",
                               "recompute == full",
                               "recompute == 'full'",
                               "full == recompute",
                               "recompute != none",
                               "recompute in (none, full)",
                               "tp in (1, 2, 8)",
                               "fits",
                               "fits == true",
                               "memory_peak_bytes < 72 GiB",
                               "tp > 8 and pp > 99 or pp == 16", /* and before or */
                               "not (1 / 0 > 0) and not (1 / 0 <= 0)"};
  const char *const fails[] = {"tp != 8", "not fits", "recompute in (none, selective)",
                               "tp == 8 and (pp == 8 or pp == 4)"};
  for (guint i = 0; i < G_N_ELEMENTS(holds); i++) g_assert_cmpfloat(number(holds[i]), ==, 1);
  for (guint i = 0; i < G_N_ELEMENTS(fails); i++) g_assert_cmpfloat(number(fails[i]), ==, 0);
}

static void test_types(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrExpression) a =
      orr_expression_parse("tp + 1", place, names, G_N_ELEMENTS(names), diags);
  g_autoptr(OrrExpression) b =
      orr_expression_parse("recompute", place, names, G_N_ELEMENTS(names), diags);
  g_assert_cmpint(orr_expression_type(a), ==, ORR_VALUE_NUMBER);
  g_assert_cmpint(orr_expression_type(b), ==, ORR_VALUE_TEXT);
  g_assert_cmpstr(orr_expression_text(a), ==, "tp + 1");
  g_assert_true(orr_expression_uses(a, 0));
  g_assert_false(orr_expression_uses(a, 1));
}

/* Each with the column of the mark: the text begins in column 11. */
static void test_errors(void) {
  const struct {
    const char *text;
    int column;
    const char *message;
  } cases[] = {
      {"", 11, "a name, a number or '(' is missing, found the end"},
      {"tpp == 8", 11, "unknown name 'tpp': did you mean 'tp'?"},
      {"tp == 8 and", 22, "a name, a number or '(' is missing, found the end"},
      {"tp * (pp + 1", 23, "')' is missing for the '(' in column 6"},
      {"tp == recompute", 17, "a number is compared with text"},
      {"tp + recompute", 16, "'+' wants a number"},
      {"tp and fits", 11, "'and' wants true or false, and this is a number"},
      {"not tp", 15, "'not' wants true or false"},
      {"tp = 8", 14, "'==' does"},
      {"tp pp", 14, "an operator is missing before 'p'"},
      {"72 GoB > tp", 14, "unknown unit 'GoB'"},
      {"recompute == 'full", 24, "no closing '"},
      {"max(tp, recompute)", 19, "'max' wants a number"},
      {"abs(tp, pp)", 11, "abs takes one operand, and has 2"},
      {"tp in 8", 17, "'in' wants a list in brackets"},
      {"tp < 8 < 9", 18, "an operator is missing before '<'"},
      {"tp ? 1 : 2", 14, "an operator is missing before '?'"},
      {"recompute < full", 11, "wants a number"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_assert_null(orr_expression_parse(cases[i].text, place, names, G_N_ELEMENTS(names), diags));
    g_assert_cmpint(orr_diags_n_errors(diags), ==, 1);
    g_autofree char *text = orr_diags_text(diags);
    g_autofree char *mark = g_strdup_printf("sweep.yaml:7:%d: error", cases[i].column);
    if (!strstr(text, mark) || !strstr(text, cases[i].message))
      g_error("'%s': wanted %s ... %s, found %s", cases[i].text, mark, cases[i].message, text);
  }
}

static void test_limits(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *deep = g_strnfill(1000, '(');
  g_autofree char *minus = g_strnfill(1000, '-');
  g_autofree char *wide = g_strnfill(ORR_EXPRESSION_MOST_BYTES + 1, ' ');
  g_assert_null(orr_expression_parse(deep, place, names, G_N_ELEMENTS(names), diags));
  g_assert_null(orr_expression_parse(minus, place, names, G_N_ELEMENTS(names), diags));
  g_assert_null(orr_expression_parse(wide, place, names, G_N_ELEMENTS(names), diags));
  g_autoptr(GString) nots = g_string_new(NULL);
  for (int i = 0; i < 500; i++) g_string_append(nots, "not ");
  g_assert_null(orr_expression_parse(nots->str, place, names, G_N_ELEMENTS(names), diags));
  g_assert_null(orr_expression_parse("tp \xff", place, names, G_N_ELEMENTS(names), diags));
  g_assert_cmpint(orr_diags_n_errors(diags), ==, 5);
}

/* Any sequence of tokens is either read and has a value, or is refused with one error. */
static void test_random(void) {
  static const char *const tokens[] = {
      "tp", "n-gpus", "recompute", "fits", "8",  "1.5", "GiB", "'x'", "(", ")",  "+",
      "-",  "*",      "/",         "%",    "==", "!=",  "<",   "<=",  ",", "in", "and",
      "or", "not",    "max(",      "abs(", ".",  "=",   "\"",  "é",   " "};
  OrrRandom random = orr_random_stream(1, "expressions");
  guint n_read = 0;
  for (guint i = 0; i < 20000; i++) {
    g_autoptr(GString) text = g_string_new(NULL);
    const guint n = 1 + (guint)orr_random_below(&random, 8);
    for (guint k = 0; k < n; k++) {
      g_string_append(text, tokens[orr_random_below(&random, G_N_ELEMENTS(tokens))]);
      if (orr_random_below(&random, 3)) g_string_append_c(text, ' ');
    }
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrExpression) read =
        orr_expression_parse(text->str, place, names, G_N_ELEMENTS(names), diags);
    g_assert_cmpint(orr_diags_n_errors(diags), ==, read ? 0 : 1);
    if (read) orr_expression_value(read, values);
    n_read += read != NULL;
  }
  g_assert_cmpint(n_read, >, 200); /* the test reaches both ends */
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/base/expression/numbers", test_numbers);
  g_test_add_func("/base/expression/truths", test_truths);
  g_test_add_func("/base/expression/types", test_types);
  g_test_add_func("/base/expression/errors", test_errors);
  g_test_add_func("/base/expression/limits", test_limits);
  g_test_add_func("/base/expression/random", test_random);
  return g_test_run();
}
