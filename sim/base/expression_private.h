/*
 * expression_private.h - the tree that expression_parse.c makes and expression.c evaluates.
 *
 * Invariant: operands have the types that their operator requires, so evaluation checks nothing.
 */
#pragma once

#include "sim/base/expression.h"

typedef enum {
  ORR_TERM_CONSTANT,
  ORR_TERM_NAME,
  ORR_TERM_NOT,
  ORR_TERM_MINUS,
  ORR_TERM_OR,
  ORR_TERM_AND,
  ORR_TERM_EQUAL,
  ORR_TERM_UNEQUAL,
  ORR_TERM_LESS,
  ORR_TERM_LESS_EQUAL,
  ORR_TERM_GREATER,
  ORR_TERM_GREATER_EQUAL,
  ORR_TERM_IN, /* whether operand 0 equals one of the other operands */
  ORR_TERM_ADD,
  ORR_TERM_SUBTRACT,
  ORR_TERM_MULTIPLY,
  ORR_TERM_DIVIDE,
  ORR_TERM_MODULO,
  ORR_TERM_ABS,
  ORR_TERM_CEIL,
  ORR_TERM_FLOOR,
  ORR_TERM_LOG2,
  ORR_TERM_ROUND,
  ORR_TERM_SQRT,
  ORR_TERM_MAX,
  ORR_TERM_MIN
} OrrTermKind;

typedef struct OrrTerm OrrTerm;
struct OrrTerm {
  OrrTermKind kind;
  OrrValueType type;
  guint at;            /* offset in the text */
  guint slot;          /* NAME */
  OrrValue value;      /* CONSTANT; its text is owned */
  gboolean is_word;    /* an unquoted word: allowed only in a comparison with a name of type text */
  GPtrArray *operands; /* of OrrTerm, owned */
};

struct OrrExpression {
  char *text;
  OrrTerm *root;
};

OrrTerm *orr_term_new(OrrTermKind kind, OrrValueType type, guint at);
void orr_term_free(OrrTerm *term);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrTerm, orr_term_free)
