/*
 * expression.c - evaluates an expression, given the values of its names.
 */
#include "sim/base/expression.h"

#include "sim/base/expression_private.h"

OrrTerm *orr_term_new(OrrTermKind kind, OrrValueType type, guint at) {
  OrrTerm *term = g_new0(OrrTerm, 1);
  term->kind = kind;
  term->type = type;
  term->at = at;
  term->operands = g_ptr_array_new_with_free_func((GDestroyNotify)orr_term_free);
  return term;
}

void orr_term_free(OrrTerm *term) {
  if (!term) return;
  if (term->kind == ORR_TERM_CONSTANT) g_free((char *)term->value.text);
  g_ptr_array_unref(term->operands);
  g_free(term);
}

void orr_expression_free(OrrExpression *expression) {
  if (!expression) return;
  orr_term_free(expression->root);
  ORR_FREE(expression->text, expression);
}

OrrValueType orr_expression_type(const OrrExpression *expression) { return expression->root->type; }

const char *orr_expression_text(const OrrExpression *expression) { return expression->text; }

static gboolean uses(const OrrTerm *term, guint slot) {
  if (term->kind == ORR_TERM_NAME && term->slot == slot) return TRUE;
  for (guint i = 0; i < term->operands->len; i++)
    if (uses(term->operands->pdata[i], slot)) return TRUE;
  return FALSE;
}

gboolean orr_expression_uses(const OrrExpression *expression, guint slot) {
  return uses(expression->root, slot);
}

static OrrValue number(double value) {
  return (OrrValue){.type = ORR_VALUE_NUMBER, .number = value};
}

static OrrValue truth(gboolean value) {
  return (OrrValue){.type = ORR_VALUE_TRUTH, .number = value};
}

static OrrValue value_of(const OrrTerm *term, const OrrValue *values);

static double operand(const OrrTerm *term, guint i, const OrrValue *values) {
  return value_of(term->operands->pdata[i], values).number;
}

static gboolean are_equal(const OrrTerm *term, guint i, const OrrValue *values) {
  const OrrValue a = value_of(term->operands->pdata[0], values),
                 b = value_of(term->operands->pdata[i], values);
  return a.type == ORR_VALUE_TEXT ? g_strcmp0(a.text, b.text) == 0 : a.number == b.number;
}

static gboolean is_in(const OrrTerm *term, const OrrValue *values) {
  for (guint i = 1; i < term->operands->len; i++)
    if (are_equal(term, i, values)) return TRUE;
  return FALSE;
}

/* Sizes are positive, so the sign of the remainder does not matter; it is C's. */
static double modulo(double a, double b) { return b == 0 ? NAN : fmod(a, b); }

static double extreme(const OrrTerm *term, const OrrValue *values, gboolean most) {
  double best = operand(term, 0, values);
  for (guint i = 1; i < term->operands->len; i++) {
    const double other = operand(term, i, values);
    best = isnan(other) || isnan(best) ? NAN : most ? MAX(best, other) : MIN(best, other);
  }
  return best;
}

static gboolean compare(const OrrTerm *term, const OrrValue *values) {
  const double a = operand(term, 0, values), b = operand(term, 1, values);
  switch (term->kind) {
  case ORR_TERM_LESS:
    return a < b;
  case ORR_TERM_LESS_EQUAL:
    return a <= b;
  case ORR_TERM_GREATER:
    return a > b;
  default:
    return a >= b;
  }
}

static double arithmetic(const OrrTerm *term, const OrrValue *values) {
  const double a = operand(term, 0, values), b = operand(term, 1, values);
  switch (term->kind) {
  case ORR_TERM_ADD:
    return a + b;
  case ORR_TERM_SUBTRACT:
    return a - b;
  case ORR_TERM_MULTIPLY:
    return a * b;
  case ORR_TERM_DIVIDE:
    return b == 0 ? NAN : a / b;
  default:
    return modulo(a, b);
  }
}

static double function(const OrrTerm *term, const OrrValue *values) {
  const double a = operand(term, 0, values);
  switch (term->kind) {
  case ORR_TERM_ABS:
    return fabs(a);
  case ORR_TERM_CEIL:
    return ceil(a);
  case ORR_TERM_FLOOR:
    return floor(a);
  case ORR_TERM_LOG2:
    return a > 0 ? log2(a) : NAN;
  case ORR_TERM_ROUND:
    return round(a);
  case ORR_TERM_SQRT:
    return a >= 0 ? sqrt(a) : NAN;
  default:
    return extreme(term, values, term->kind == ORR_TERM_MAX);
  }
}

static OrrValue value_of(const OrrTerm *term, const OrrValue *values) {
  switch (term->kind) {
  case ORR_TERM_CONSTANT:
    return term->value;
  case ORR_TERM_NAME:
    return values[term->slot];
  case ORR_TERM_NOT:
    return truth(operand(term, 0, values) == 0);
  case ORR_TERM_MINUS:
    return number(-operand(term, 0, values));
  case ORR_TERM_OR:
    return truth(operand(term, 0, values) != 0 || operand(term, 1, values) != 0);
  case ORR_TERM_AND:
    return truth(operand(term, 0, values) != 0 && operand(term, 1, values) != 0);
  case ORR_TERM_EQUAL:
    return truth(are_equal(term, 1, values));
  case ORR_TERM_UNEQUAL:
    return truth(!are_equal(term, 1, values));
  case ORR_TERM_IN:
    return truth(is_in(term, values));
  case ORR_TERM_LESS:
  case ORR_TERM_LESS_EQUAL:
  case ORR_TERM_GREATER:
  case ORR_TERM_GREATER_EQUAL:
    return truth(compare(term, values));
  case ORR_TERM_ADD:
  case ORR_TERM_SUBTRACT:
  case ORR_TERM_MULTIPLY:
  case ORR_TERM_DIVIDE:
  case ORR_TERM_MODULO:
    return number(arithmetic(term, values));
  default:
    return number(function(term, values));
  }
}

OrrValue orr_expression_value(const OrrExpression *expression, const OrrValue *values) {
  return value_of(expression->root, values);
}

gboolean orr_expression_holds(const OrrExpression *expression, const OrrValue *values) {
  return value_of(expression->root, values).number != 0;
}

double orr_expression_number(const OrrExpression *expression, const OrrValue *values) {
  return value_of(expression->root, values).number;
}
