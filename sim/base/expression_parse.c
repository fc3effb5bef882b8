/*
 * expression_parse.c - turns text into a type-checked tree by recursive descent (the grammar is in
 * expression.h).
 *
 * Parsing stops at the first error, since later ones would be guesses. Every function returns NULL
 * once parser->failed is set.
 */
#include <stdarg.h>

#include "sim/base/expression_private.h"
#include "sim/base/quantity.h"

typedef struct {
  const char *text;
  guint at; /* the next character */
  guint depth;
  OrrPlace place;
  const OrrExpressionName *names;
  guint n_names;
  OrrDiags *diags;
  gboolean failed;
} Parser;

static const char *const type_words[] = {"a number", "text", "true or false"};

static OrrTerm *read_or(Parser *parser);

/* --- Errors --- */

static void G_GNUC_PRINTF(3, 4) fail(Parser *parser, guint at, const char *format, ...) {
  if (parser->failed) return;
  parser->failed = TRUE;
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *why = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  OrrPlace place = parser->place;
  place.column += (int)g_utf8_strlen(parser->text, at);
  orr_diags_error(parser->diags, place, "expression '%s': %s", parser->text, why);
}

static OrrTerm *fail_term(OrrTerm *term) {
  orr_term_free(term);
  return NULL;
}

/* "at the end" or "'x'": what was found in place of something else. */
static char *found(const Parser *parser) {
  const char *here = parser->text + parser->at;
  if (!*here) return g_strdup("the end");
  const char *next = g_utf8_find_next_char(here, NULL);
  return g_strdup_printf("'%.*s'", (int)(next - here), here);
}

/* --- Letters --- */

static void skip_space(Parser *parser) {
  while (g_ascii_isspace(parser->text[parser->at])) parser->at++;
}

static gboolean accept(Parser *parser, const char *symbol) {
  skip_space(parser);
  if (strncmp(parser->text + parser->at, symbol, strlen(symbol)) != 0) return FALSE;
  parser->at += strlen(symbol);
  return TRUE;
}

static gboolean begins_word(char c) { return g_ascii_isalpha(c) || c == '_'; }

/* "gpus-per-node", "gpt3-175b", "workload.parallel.tp": a '-' or '.' belongs to the word where a
 * letter or digit follows. */
static guint word_length(const char *text) {
  guint n = 0;
  if (!begins_word(text[0])) return 0;
  while (g_ascii_isalnum(text[n]) || text[n] == '_' ||
         ((text[n] == '-' || text[n] == '.') && g_ascii_isalnum(text[n + 1])))
    n++;
  return n;
}

static gboolean accept_word(Parser *parser, const char *word) {
  skip_space(parser);
  const char *here = parser->text + parser->at;
  const guint n = word_length(here);
  if (n != strlen(word) || strncmp(here, word, n) != 0) return FALSE;
  parser->at += n;
  return TRUE;
}

static gboolean same_name(const char *a, const char *b) {
  for (; *a && *b; a++, b++)
    if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return FALSE;
  return *a == *b;
}

/* --- Operands --- */

static OrrTerm *constant(OrrValue value, guint at) {
  OrrTerm *term = orr_term_new(ORR_TERM_CONSTANT, value.type, at);
  term->value = value;
  return term;
}

/* The length of the unit after a number: the longest text of letters and one '/'. 0 without a
 * unit. */
static guint unit_length(const char *text) {
  static const char *const words[] = {"and", "or", "in", "not"};
  guint n = 0;
  while (g_ascii_isalpha(text[n]) || (text[n] == '/' && n > 0 && g_ascii_isalpha(text[n + 1]))) n++;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (n == strlen(words[i]) && strncmp(text, words[i], n) == 0) return 0;
  return text[0] == '%' ? 0 : n;
}

static gboolean parse_unit(const char *text, double *ret_value) {
  for (OrrUnit unit = ORR_UNIT_BYTES; unit < ORR_N_UNITS; unit++)
    if (orr_quantity_parse(text, unit, ret_value, NULL)) return TRUE;
  return FALSE;
}

static OrrTerm *read_number(Parser *parser) {
  const guint at = parser->at;
  char *end = NULL;
  double value = g_ascii_strtod(parser->text + at, &end);
  parser->at = (guint)(end - parser->text);
  const guint number_end = parser->at;
  skip_space(parser);
  const guint n = unit_length(parser->text + parser->at);
  if (n == 0) {
    parser->at = number_end;
    if (begins_word(*end) || *end == '.') {
      fail(parser, number_end, "a number ends in '%c'", *end);
      return NULL;
    }
    return constant((OrrValue){.type = ORR_VALUE_NUMBER, .number = value}, at);
  }
  const guint unit_at = parser->at;
  parser->at += n;
  g_autofree char *digits = g_strndup(parser->text + at, number_end - at);
  g_autofree char *unit = g_strndup(parser->text + unit_at, n);
  g_autofree char *whole = g_strconcat(digits, " ", unit, NULL);
  if (!parse_unit(whole, &value)) {
    fail(parser, unit_at, "unknown unit '%s' (examples: GiB, GB/s, us, TFLOP/s, W)", unit);
    return NULL;
  }
  return constant((OrrValue){.type = ORR_VALUE_NUMBER, .number = value}, at);
}

static OrrTerm *read_quoted(Parser *parser) {
  const guint at = parser->at;
  const char quote = parser->text[at];
  const char *end = strchr(parser->text + at + 1, quote);
  if (!end) {
    fail(parser, at, "a text has no closing %c", quote);
    return NULL;
  }
  char *text = g_strndup(parser->text + at + 1, (gsize)(end - parser->text) - at - 1);
  parser->at = (guint)(end - parser->text) + 1;
  return constant((OrrValue){.type = ORR_VALUE_TEXT, .text = text}, at);
}

static const struct {
  const char *name;
  OrrTermKind kind;
  guint most; /* operands */
} functions[] = {{"abs", ORR_TERM_ABS, 1},         {"ceil", ORR_TERM_CEIL, 1},
                 {"floor", ORR_TERM_FLOOR, 1},     {"log2", ORR_TERM_LOG2, 1},
                 {"max", ORR_TERM_MAX, G_MAXUINT}, {"min", ORR_TERM_MIN, G_MAXUINT},
                 {"round", ORR_TERM_ROUND, 1},     {"sqrt", ORR_TERM_SQRT, 1}};

static void fail_unknown(Parser *parser, const char *word, guint at) {
  g_autoptr(GPtrArray) known = g_ptr_array_new();
  for (guint i = 0; i < parser->n_names; i++) g_ptr_array_add(known, (char *)parser->names[i].name);
  g_ptr_array_add(known, NULL);
  const char *nearest = orr_diag_nearest_word(word, (const char *const *)known->pdata);
  g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
  fail(parser, at, "unknown name '%s'%s%s%s (known: %s)", word, nearest ? ": did you mean '" : "",
       nearest ? nearest : "", nearest ? "'?" : "", *all ? all : "none");
}

static gboolean want_type(Parser *parser, const OrrTerm *term, OrrValueType type, const char *by) {
  if (!term) return FALSE;
  if (term->type == type && !term->is_word) return TRUE;
  if (term->is_word)
    fail_unknown(parser, term->value.text, term->at);
  else
    fail(parser, term->at, "'%s' wants %s, and this is %s", by, type_words[type],
         type_words[term->type]);
  return FALSE;
}

static OrrTerm *read_function(Parser *parser, guint f, guint at) {
  OrrTerm *term = orr_term_new(functions[f].kind, ORR_VALUE_NUMBER, at);
  do {
    OrrTerm *operand = read_or(parser);
    if (!operand) return fail_term(term);
    g_ptr_array_add(term->operands, operand);
    if (!want_type(parser, operand, ORR_VALUE_NUMBER, functions[f].name)) return fail_term(term);
  } while (accept(parser, ","));
  if (!accept(parser, ")")) {
    g_autofree char *here = found(parser);
    fail(parser, parser->at, "')' is missing after the operands of %s, found %s", functions[f].name,
         here);
  } else if (term->operands->len > functions[f].most) {
    fail(parser, at, "%s takes one operand, and has %u", functions[f].name, term->operands->len);
  }
  return parser->failed ? fail_term(term) : term;
}

static OrrTerm *read_word(Parser *parser) {
  const guint at = parser->at, n = word_length(parser->text + at);
  g_autofree char *word = g_strndup(parser->text + at, n);
  parser->at += n;
  if (parser->text[parser->at] == '(')
    for (guint f = 0; f < G_N_ELEMENTS(functions); f++)
      if (strcmp(functions[f].name, word) == 0) {
        parser->at++;
        return read_function(parser, f, at);
      }
  for (guint i = 0; i < parser->n_names; i++) {
    if (!same_name(parser->names[i].name, word)) continue;
    OrrTerm *term = orr_term_new(ORR_TERM_NAME, parser->names[i].type, at);
    term->slot = i;
    return term;
  }
  if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
    return constant((OrrValue){.type = ORR_VALUE_TRUTH, .number = *word == 't'}, at);
  OrrTerm *term = constant((OrrValue){.type = ORR_VALUE_TEXT, .text = g_strdup(word)}, at);
  term->is_word = TRUE; /* until a comparison with text takes it */
  return term;
}

static OrrTerm *read_bracket(Parser *parser) {
  const guint at = parser->at++;
  OrrTerm *term = read_or(parser);
  if (term && !accept(parser, ")")) {
    g_autofree char *here = found(parser);
    fail(parser, parser->at, "')' is missing for the '(' in column %u of the expression, found %s",
         at + 1, here);
    return fail_term(term);
  }
  return term;
}

static OrrTerm *read_operand(Parser *parser) {
  skip_space(parser);
  const char c = parser->text[parser->at];
  if (c == '(') return read_bracket(parser);
  if (c == '\'' || c == '"') return read_quoted(parser);
  if (g_ascii_isdigit(c) || (c == '.' && g_ascii_isdigit(parser->text[parser->at + 1])))
    return read_number(parser);
  if (begins_word(c)) return read_word(parser);
  g_autofree char *here = found(parser);
  fail(parser, parser->at, "a name, a number or '(' is missing, found %s", here);
  return NULL;
}

/* --- Operators --- */

/* Takes ownership of the operands. */
static OrrTerm *join(OrrTermKind kind, OrrValueType type, guint at, OrrTerm *a, OrrTerm *b) {
  OrrTerm *term = orr_term_new(kind, type, at);
  if (a) g_ptr_array_add(term->operands, a);
  if (b) g_ptr_array_add(term->operands, b);
  return term;
}

/* Requires both operands to have the type @wanted, which the result has too; else NULL. Takes
 * ownership. */
static OrrTerm *join_alike(Parser *parser, OrrTermKind kind, OrrValueType type, const char *symbol,
                           guint at, OrrTerm *a, OrrTerm *b) {
  OrrTerm *term = join(kind, type, at, a, b);
  if (want_type(parser, a, type, symbol) && want_type(parser, b, type, symbol)) return term;
  return fail_term(term);
}

static OrrTerm *read_unary(Parser *parser) {
  skip_space(parser);
  const guint at = parser->at;
  if (++parser->depth > ORR_EXPRESSION_MOST_DEPTH) {
    fail(parser, at, "is nested deeper than %d levels", ORR_EXPRESSION_MOST_DEPTH);
    return NULL;
  }
  OrrTerm *term;
  if (accept(parser, "-")) {
    OrrTerm *operand = read_unary(parser);
    term = join(ORR_TERM_MINUS, ORR_VALUE_NUMBER, at, operand, NULL);
    if (!want_type(parser, operand, ORR_VALUE_NUMBER, "-")) term = fail_term(term);
  } else {
    term = read_operand(parser);
  }
  parser->depth--;
  return term;
}

typedef struct {
  const char *symbol;
  OrrTermKind kind;
} Operator;

/* Operators of one precedence, left to right; of two symbols with a common prefix the longer
 * first. */
static const Operator *accept_operator(Parser *parser, const Operator *operators) {
  for (; operators->symbol; operators++)
    if (accept(parser, operators->symbol)) return operators;
  return NULL;
}

static OrrTerm *read_product(Parser *parser) {
  static const Operator operators[] = {
      {"*", ORR_TERM_MULTIPLY}, {"/", ORR_TERM_DIVIDE}, {"%", ORR_TERM_MODULO}, {NULL, 0}};
  OrrTerm *term = read_unary(parser);
  while (term) {
    const Operator *operator= accept_operator(parser, operators);
    if (!operator) break;
    const guint at = parser->at;
    OrrTerm *other = read_unary(parser);
    term = join_alike(parser, operator->kind, ORR_VALUE_NUMBER, operator->symbol, at, term, other);
  }
  return term;
}

static OrrTerm *read_sum(Parser *parser) {
  static const Operator operators[] = {{"+", ORR_TERM_ADD}, {"-", ORR_TERM_SUBTRACT}, {NULL, 0}};
  OrrTerm *term = read_product(parser);
  while (term) {
    const Operator *operator= accept_operator(parser, operators);
    if (!operator) break;
    const guint at = parser->at;
    OrrTerm *other = read_product(parser);
    term = join_alike(parser, operator->kind, ORR_VALUE_NUMBER, operator->symbol, at, term, other);
  }
  return term;
}

/* An unquoted word counts as text where it is compared with text. */
static gboolean settle_words(Parser *parser, OrrTerm *a, OrrTerm *b) {
  if (a->is_word && !b->is_word && b->type == ORR_VALUE_TEXT) a->is_word = FALSE;
  if (b->is_word && !a->is_word && a->type == ORR_VALUE_TEXT) b->is_word = FALSE;
  OrrTerm *word = a->is_word ? a : b->is_word ? b : NULL;
  if (word) fail_unknown(parser, word->value.text, word->at);
  if (!word && a->type != b->type)
    fail(parser, b->at, "%s is compared with %s", type_words[a->type], type_words[b->type]);
  return !parser->failed;
}

/* Takes ownership of @a. */
static OrrTerm *read_list(Parser *parser, OrrTerm *a, guint at) {
  OrrTerm *term = join(ORR_TERM_IN, ORR_VALUE_TRUTH, at, a, NULL);
  if (!accept(parser, "(")) {
    g_autofree char *here = found(parser);
    fail(parser, parser->at, "'in' wants a list in brackets, found %s", here);
    return fail_term(term);
  }
  do {
    OrrTerm *b = read_sum(parser);
    if (!b) return fail_term(term);
    g_ptr_array_add(term->operands, b);
    if (!settle_words(parser, a, b)) return fail_term(term);
  } while (accept(parser, ","));
  if (!accept(parser, ")")) {
    g_autofree char *here = found(parser);
    fail(parser, parser->at, "')' is missing after the list of 'in', found %s", here);
    return fail_term(term);
  }
  return term;
}

static OrrTerm *read_comparison(Parser *parser) {
  static const Operator operators[] = {{"==", ORR_TERM_EQUAL},
                                       {"!=", ORR_TERM_UNEQUAL},
                                       {"<=", ORR_TERM_LESS_EQUAL},
                                       {">=", ORR_TERM_GREATER_EQUAL},
                                       {"<", ORR_TERM_LESS},
                                       {">", ORR_TERM_GREATER},
                                       {NULL, 0}};
  OrrTerm *a = read_sum(parser);
  if (!a) return NULL;
  skip_space(parser);
  const guint at = parser->at;
  if (accept_word(parser, "in")) return read_list(parser, a, at);
  const Operator *operator= accept_operator(parser, operators);
  if (!operator) {
    if (accept(parser, "=")) fail(parser, at, "'=' compares nothing: '==' does");
    return parser->failed ? fail_term(a) : a;
  }
  OrrTerm *b = read_sum(parser);
  OrrTerm *term = join(operator->kind, ORR_VALUE_TRUTH, at, a, b);
  const gboolean orders = operator->kind != ORR_TERM_EQUAL && operator->kind != ORR_TERM_UNEQUAL;
  if (!b || (orders ? !want_type(parser, a, ORR_VALUE_NUMBER, operator->symbol) ||
                          !want_type(parser, b, ORR_VALUE_NUMBER, operator->symbol)
                    : !settle_words(parser, a, b)))
    return fail_term(term);
  return term;
}

static OrrTerm *read_not(Parser *parser) {
  skip_space(parser);
  const guint at = parser->at;
  if (!accept_word(parser, "not")) return read_comparison(parser);
  if (++parser->depth > ORR_EXPRESSION_MOST_DEPTH) {
    fail(parser, at, "is nested deeper than %d levels", ORR_EXPRESSION_MOST_DEPTH);
    return NULL;
  }
  OrrTerm *operand = read_not(parser);
  parser->depth--;
  OrrTerm *term = join(ORR_TERM_NOT, ORR_VALUE_TRUTH, at, operand, NULL);
  return want_type(parser, operand, ORR_VALUE_TRUTH, "not") ? term : fail_term(term);
}

static OrrTerm *read_and(Parser *parser) {
  OrrTerm *term = read_not(parser);
  while (term && accept_word(parser, "and")) {
    const guint at = parser->at;
    OrrTerm *other = read_not(parser);
    term = join_alike(parser, ORR_TERM_AND, ORR_VALUE_TRUTH, "and", at, term, other);
  }
  return term;
}

static OrrTerm *read_or(Parser *parser) {
  OrrTerm *term = read_and(parser);
  while (term && accept_word(parser, "or")) {
    const guint at = parser->at;
    OrrTerm *other = read_and(parser);
    term = join_alike(parser, ORR_TERM_OR, ORR_VALUE_TRUTH, "or", at, term, other);
  }
  return term;
}

/* --- Entry point --- */

static OrrTerm *read_whole(Parser *parser) {
  g_autoptr(OrrTerm) root = read_or(parser);
  if (!root) return NULL;
  skip_space(parser);
  if (root->is_word) {
    fail_unknown(parser, root->value.text, root->at);
    return NULL;
  }
  if (parser->text[parser->at]) {
    g_autofree char *here = found(parser);
    fail(parser, parser->at, "an operator is missing before %s", here);
    return NULL;
  }
  return g_steal_pointer(&root);
}

OrrExpression *orr_expression_parse(const char *text, OrrPlace place,
                                    const OrrExpressionName *names, guint n_names,
                                    OrrDiags *diags) {
  Parser parser = {
      .text = text, .place = place, .names = names, .n_names = n_names, .diags = diags};
  if (strlen(text) > ORR_EXPRESSION_MOST_BYTES) {
    orr_diags_error(diags, place, "an expression of more than %d bytes", ORR_EXPRESSION_MOST_BYTES);
    return NULL;
  }
  if (!g_utf8_validate(text, -1, NULL)) {
    orr_diags_error(diags, place, "an expression that is not valid UTF-8");
    return NULL;
  }
  OrrTerm *root = read_whole(&parser);
  if (!root) return NULL;
  OrrExpression *expression = g_new0(OrrExpression, 1);
  expression->text = g_strdup(text);
  expression->root = root;
  return expression;
}
