/*
 * expression.h - small expressions over documented names: the constraints and objectives of sweeps.
 *
 *   tp * pp * dp == n-gpus        tp <= gpus-per-node and recompute != "full"
 *   memory_peak_bytes < 72 GiB    max(tp, cp) in (1, 2, 4) or not fits
 *
 *   or < and < not < == != < <= > >= in < + - < * / % < unary - < number [unit], 'text', name,
 *   function(...), (...)
 *
 * A name can contain '-', '_' and '.', so a minus between two names needs spaces: "a - b" is a
 * difference, "a-b" a name. '-' and '_' are equal in names. An unknown word is an error, unless it
 * is compared with a name of type text (recompute == full). Functions: abs, ceil, floor, log2, max,
 * min, round, sqrt.
 *
 * Types are number, text and truth. The parser checks them and reports an error at its column.
 * Numbers are doubles; x / 0 and x % 0 are NaN, and NaN compares false with everything.
 */
#pragma once

#include "sim/base/diag.h"

typedef enum { ORR_VALUE_NUMBER, ORR_VALUE_TEXT, ORR_VALUE_TRUTH } OrrValueType;

typedef struct {
  OrrValueType type;
  double number;    /* NUMBER; TRUTH: 0 or 1 */
  const char *text; /* TEXT; outlives the evaluation */
} OrrValue;

typedef struct {
  const char *name;
  OrrValueType type;
} OrrExpressionName; /* its index in the array is its slot */

typedef struct OrrExpression OrrExpression;

#define ORR_EXPRESSION_MOST_BYTES 4096
#define ORR_EXPRESSION_MOST_DEPTH 64

/* @names: the @n_names names that the expression may use; the array can be freed afterwards.
 * @place: of the first character of @text. NULL with the first error in @diags. */
OrrExpression *orr_expression_parse(const char *text, OrrPlace place,
                                    const OrrExpressionName *names, guint n_names, OrrDiags *diags);
void orr_expression_free(OrrExpression *expression);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrExpression, orr_expression_free)

OrrValueType orr_expression_type(const OrrExpression *expression);
const char *orr_expression_text(const OrrExpression *expression); /* as written */
gboolean orr_expression_uses(const OrrExpression *expression, guint slot);

/* @values: by slot, each of its name's type. */
OrrValue orr_expression_value(const OrrExpression *expression, const OrrValue *values);
/* of type TRUTH */
gboolean orr_expression_holds(const OrrExpression *expression, const OrrValue *values);
/* of type NUMBER, or TRUTH */
double orr_expression_number(const OrrExpression *expression, const OrrValue *values);
