/*
 * shell_arithmetic.c - $(( )): whole numbers, variables, + - * / %, comparisons and ?:.
 */
#include <string.h>

#include "sim/import/launch/shell_private.h"

typedef struct {
  OrrShell *shell;
  const char *at;
  char *unresolved;
  gboolean is_bad;
  guint depth;
} Sum;

static gint64 read_choice(Sum *sum);

static void skip(Sum *sum) { sum->at += strspn(sum->at, " \t\n"); }

static gint64 fail(Sum *sum, const char *unresolved) {
  if (!sum->unresolved && unresolved) sum->unresolved = g_strdup(unresolved);
  sum->is_bad = TRUE;
  return 0;
}

/* The number that a variable holds; bash takes an unset one as 0, but here it is unresolved. */
static gint64 read_variable(Sum *sum) {
  gsize n = 0;
  while (g_ascii_isalnum(sum->at[n]) || sum->at[n] == '_') n++;
  g_autofree char *name = g_strndup(sum->at, n);
  sum->at += n;
  const OrrShellVariable *variable = orr_shell_variable(sum->shell, name);
  if (!variable || variable->items->len == 0) return fail(sum, name);
  const char *text = variable->items->pdata[0];
  g_autofree char *unresolved = orr_shell_unresolved(text);
  if (unresolved) return fail(sum, unresolved);
  char *end = NULL;
  const gint64 number = g_ascii_strtoll(text, &end, 0);
  return end > text && !*end ? number : fail(sum, name);
}

static gint64 read_value(Sum *sum) {
  skip(sum);
  if (++sum->depth > ORR_SHELL_DEPTH) return fail(sum, NULL);
  gint64 number = 0;
  const char c = *sum->at;
  if (c == '(') {
    sum->at++;
    number = read_choice(sum);
    skip(sum);
    if (*sum->at == ')')
      sum->at++;
    else
      fail(sum, NULL);
  } else if (c == '-' || c == '+' || c == '!') {
    sum->at++;
    const gint64 value = read_value(sum);
    number = c == '-' ? (gint64)(0 - (guint64)value) : c == '!' ? !value : value;
  } else if (g_ascii_isdigit(c)) {
    char *end = NULL;
    number = g_ascii_strtoll(sum->at, &end, 0);
    sum->at = end;
  } else if (g_ascii_isalpha(c) || c == '_') {
    number = read_variable(sum);
  } else {
    fail(sum, NULL);
  }
  sum->depth--;
  return number;
}

static const char *const signs[][7] = {
    {"||", NULL},     {"&&", NULL},          {"==", "!=", NULL}, {"<=", ">=", "<", ">", NULL},
    {"+", "-", NULL}, {"*", "/", "%", NULL},
};

static gint64 combine(Sum *sum, const char *sign, gint64 a, gint64 b) {
  switch (sign[0]) {
  case '|':
    return a || b;
  case '&':
    return a && b;
  case '=':
    return a == b;
  case '!':
    return a != b;
  case '<':
    return sign[1] ? a <= b : a < b;
  case '>':
    return sign[1] ? a >= b : a > b;
  case '+':
    return (gint64)((guint64)a + (guint64)b);
  case '-':
    return (gint64)((guint64)a - (guint64)b);
  case '*':
    return (gint64)((guint64)a * (guint64)b);
  default:
    if (b == 0 || (b == -1 && a == G_MININT64)) return fail(sum, NULL);
    return sign[0] == '/' ? a / b : a % b;
  }
}

static const char *take_sign(Sum *sum, guint level) {
  skip(sum);
  for (const char *const *sign = signs[level]; *sign; sign++) {
    if (!g_str_has_prefix(sum->at, *sign)) continue;
    sum->at += strlen(*sign);
    return *sign;
  }
  return NULL;
}

static gint64 read_level(Sum *sum, guint level) {
  if (level >= G_N_ELEMENTS(signs)) return read_value(sum);
  gint64 number = read_level(sum, level + 1);
  for (const char *sign; !sum->is_bad && (sign = take_sign(sum, level));)
    number = combine(sum, sign, number, read_level(sum, level + 1));
  return number;
}

/* condition ? value : value. Both values are computed. */
static gint64 read_choice(Sum *sum) {
  if (++sum->depth > ORR_SHELL_DEPTH) return fail(sum, NULL);
  const gint64 condition = read_level(sum, 0);
  gint64 chosen = condition;
  skip(sum);
  if (*sum->at == '?') {
    sum->at++;
    const gint64 yes = read_choice(sum);
    skip(sum);
    if (*sum->at != ':') return fail(sum, NULL);
    sum->at++;
    const gint64 no = read_choice(sum);
    chosen = condition ? yes : no;
  }
  sum->depth--;
  return chosen;
}

gboolean orr_shell_arithmetic(OrrShell *shell, const char *text, gint64 *ret_value,
                              char **ret_unresolved) {
  g_autofree char *plain = orr_shell_expand_text(shell, text, (OrrPlace){0});
  Sum sum = {.shell = shell, .at = plain, .unresolved = orr_shell_unresolved(plain)};
  sum.is_bad = sum.unresolved != NULL;
  *ret_value = sum.is_bad ? 0 : read_choice(&sum);
  skip(&sum);
  if (*sum.at) sum.is_bad = TRUE;
  if (ret_unresolved)
    *ret_unresolved = sum.unresolved;
  else
    g_free(sum.unresolved);
  return !sum.is_bad;
}
