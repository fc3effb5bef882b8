/*
 * fuzz_expression.c - libFuzzer target: no text may break the reader of expressions, and what it
 * accepts has a value. Text up to the first NUL is the expression.
 */
#include "sim/base/expression.h"
#include "tests/fuzz/fuzz_file.h"

static const OrrExpressionName names[] = {{"tp", ORR_VALUE_NUMBER},
                                          {"dp", ORR_VALUE_NUMBER},
                                          {"schedule", ORR_VALUE_TEXT},
                                          {"fits", ORR_VALUE_TRUTH}};
static const OrrValue values[] = {{ORR_VALUE_NUMBER, 4, NULL},
                                  {ORR_VALUE_NUMBER, 0, NULL},
                                  {ORR_VALUE_TEXT, 0, "1f1b"},
                                  {ORR_VALUE_TRUTH, 1, NULL}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autoptr(OrrExpression) expression =
      orr_expression_parse(text, (OrrPlace){"fuzz", 1, 1, NULL}, names, G_N_ELEMENTS(names), diags);
  g_assert_true((expression != NULL) == (orr_diags_n_errors(diags) == 0));
  if (!expression) return 0;
  const OrrValue value = orr_expression_value(expression, values);
  g_assert_true(value.type == orr_expression_type(expression));
  if (value.type == ORR_VALUE_TEXT) g_assert_nonnull(value.text);
  if (value.type == ORR_VALUE_TRUTH) g_assert_true(value.number == 0 || value.number == 1);
  return 0;
}
