/*
 * shell_arithmetic.c - $(( )) and (( )): whole numbers, variables, C's operators, assignments.
 */
#include "sim/import/launch/shell_private.h"

typedef struct {
  OrrShell *shell;
  const char *at;
  char *unresolved;
  gboolean is_bad;
  guint depth, n_dead; /* n_dead: branches that are read and not computed */
} Sum;

static gint64 read_assignment(Sum *sum);

static void skip(Sum *sum) { sum->at += strspn(sum->at, " \t\n"); }

static gint64 fail(Sum *sum, const char *unresolved) {
  if (!sum->unresolved && unresolved) sum->unresolved = g_strdup(unresolved);
  sum->is_bad = TRUE;
  return 0;
}

static gboolean take(Sum *sum, const char *sign) {
  skip(sum);
  if (!g_str_has_prefix(sum->at, sign)) return FALSE;
  sum->at += strlen(sign);
  return TRUE;
}

static gsize name_length(const char *text) {
  gsize n = 0;
  while (g_ascii_isalnum(text[n]) || text[n] == '_') n++;
  return n;
}

/* --- Variables --- */

/* NAME or NAME[index]. */
typedef struct {
  char *name, *index; /* index NULL: none */
} Target;

static void clear_target(Target *target) { ORR_FREE(target->name, target->index); }

static Target read_target(Sum *sum) {
  const gsize n = name_length(sum->at);
  Target target = {.name = g_strndup(sum->at, n)};
  sum->at += n;
  if (*sum->at != '[') return target;
  sum->at++;
  target.index = g_strdup_printf("%ld", read_assignment(sum));
  if (!take(sum, "]")) fail(sum, NULL);
  return target;
}

/* The number that a variable holds; bash takes an unset one as 0, but here it is unresolved. */
static gint64 value_of(Sum *sum, const Target *target) {
  if (sum->n_dead > 0) return 0;
  const OrrShellVariable *variable = orr_shell_variable(sum->shell, target->name);
  const guint64 at = target->index ? g_ascii_strtoull(target->index, NULL, 10) : 0;
  if (!variable || at >= variable->items->len) return fail(sum, target->name);
  const char *text = variable->items->pdata[at];
  g_autofree char *unresolved = orr_shell_unresolved(text);
  if (unresolved) return fail(sum, unresolved);
  char *end = NULL;
  const gint64 number = g_ascii_strtoll(text, &end, 0);
  return end > text && !*end ? number : fail(sum, target->name);
}

static gint64 store(Sum *sum, const Target *target, gint64 number) {
  if (sum->is_bad || sum->n_dead > 0) return number;
  g_autofree char *text = g_strdup_printf("%ld", number);
  if (target->index)
    orr_shell_assign_item(sum->shell, target->name, target->index, text, (OrrPlace){0});
  else
    orr_shell_assign(sum->shell, target->name, text);
  return number;
}

/* --- Values --- */

/* ++i, --i */
static gint64 read_step(Sum *sum, gint64 step) {
  skip(sum);
  if (!g_ascii_isalpha(*sum->at) && *sum->at != '_') return fail(sum, NULL);
  Target target = read_target(sum);
  const gint64 number = (gint64)((guint64)value_of(sum, &target) + (guint64)step);
  store(sum, &target, number);
  clear_target(&target);
  return number;
}

/* i, i++, i-- */
static gint64 read_variable(Sum *sum) {
  Target target = read_target(sum);
  const gint64 number = value_of(sum, &target);
  if (take(sum, "++"))
    store(sum, &target, (gint64)((guint64)number + 1));
  else if (take(sum, "--"))
    store(sum, &target, (gint64)((guint64)number - 1));
  clear_target(&target);
  return number;
}

/* 8, 0x10, 10#08 */
static gint64 read_number(Sum *sum) {
  char *end = NULL;
  gint64 number = g_ascii_strtoll(sum->at, &end, 0);
  const gsize digits = strspn(sum->at, "0123456789");
  if (sum->at[digits] == '#') {
    const guint64 base = g_ascii_strtoull(sum->at, NULL, 10);
    if (base < 2 || base > 36) return fail(sum, NULL);
    number = g_ascii_strtoll(sum->at + digits + 1, &end, (guint)base);
  }
  sum->at = end;
  return number;
}

static gint64 read_value(Sum *sum) {
  skip(sum);
  if (sum->is_bad || ++sum->depth > ORR_SHELL_DEPTH) return fail(sum, NULL);
  gint64 number = 0;
  const char c = *sum->at;
  if (take(sum, "(")) {
    number = read_assignment(sum);
    if (!take(sum, ")")) fail(sum, NULL);
  } else if (take(sum, "++") || take(sum, "--")) {
    number = read_step(sum, c == '+' ? 1 : -1);
  } else if (c && strchr("-+!~", c)) {
    sum->at++;
    const gint64 value = read_value(sum);
    number = c == '-'   ? (gint64)(0 - (guint64)value)
             : c == '!' ? !value
             : c == '~' ? ~value
                        : value;
  } else if (g_ascii_isdigit(c)) {
    number = read_number(sum);
  } else if (g_ascii_isalpha(c) || c == '_') {
    number = read_variable(sum);
  } else {
    fail(sum, NULL);
  }
  sum->depth--;
  return number;
}

/* --- Operators --- */

/* From the loosest to the tightest. */
static const char *const signs[][5] = {
    {"||", NULL},
    {"&&", NULL},
    {"|", NULL},
    {"^", NULL},
    {"&", NULL},
    {"==", "!=", NULL},
    {"<=", ">=", "<", ">", NULL},
    {"<<", ">>", NULL},
    {"+", "-", NULL},
    {"*", "/", "%", NULL},
    {"**", NULL},
};

static gint64 power(Sum *sum, gint64 a, gint64 b) {
  guint64 product = 1;
  if (b < 0) return fail(sum, NULL);
  for (gint64 i = 0; i < MIN(b, 64); i++) product *= (guint64)a;
  return b > 64 && (a < -1 || a > 1) ? 0 : (gint64)product;
}

static gint64 divide(Sum *sum, char sign, gint64 a, gint64 b) {
  if (sum->n_dead > 0) return 0;
  if (b == 0 || (b == -1 && a == G_MININT64)) return fail(sum, NULL);
  return sign == '/' ? a / b : a % b;
}

static gint64 combine(Sum *sum, const char *sign, gint64 a, gint64 b) {
  if (strcmp(sign, "**") == 0) return power(sum, a, b);
  if (strcmp(sign, "<<") == 0) return (gint64)((guint64)a << (b & 63));
  if (strcmp(sign, ">>") == 0) return a >> (b & 63);
  switch (sign[0]) {
  case '|':
    return sign[1] ? a || b : a | b;
  case '&':
    return sign[1] ? a && b : a & b;
  case '^':
    return a ^ b;
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
    return divide(sum, sign[0], a, b);
  }
}

/* The sign of this level that comes next. "|" is not the begin of "||", nor "*" of "**". */
static const char *take_sign(Sum *sum, guint level) {
  skip(sum);
  for (const char *const *sign = signs[level]; *sign; sign++) {
    if (!g_str_has_prefix(sum->at, *sign)) continue;
    if (!(*sign)[1] && strchr("|&*<>", **sign) && sum->at[1] == **sign) continue;
    sum->at += strlen(*sign);
    return *sign;
  }
  return NULL;
}

static gint64 read_level(Sum *sum, guint level) {
  if (level >= G_N_ELEMENTS(signs)) return read_value(sum);
  gint64 number = read_level(sum, level + 1);
  for (const char *sign; !sum->is_bad && (sign = take_sign(sum, level));) {
    const gboolean is_dead = (level == 0 && number != 0) || (level == 1 && number == 0);
    sum->n_dead += is_dead;
    const gint64 other = read_level(sum, level + 1);
    sum->n_dead -= is_dead;
    number = combine(sum, sign, number, other);
  }
  return number;
}

/* condition ? value : value. */
static gint64 read_choice(Sum *sum) {
  const gint64 condition = read_level(sum, 0);
  if (!take(sum, "?")) return condition;
  if (++sum->depth > ORR_SHELL_DEPTH) return fail(sum, NULL);
  sum->n_dead += condition == 0;
  const gint64 yes = read_assignment(sum);
  sum->n_dead -= condition == 0;
  if (!take(sum, ":")) return fail(sum, NULL);
  sum->n_dead += condition != 0;
  const gint64 no = read_assignment(sum);
  sum->n_dead -= condition != 0;
  sum->depth--;
  return condition ? yes : no;
}

/* The operator of the assignment that begins at @at, "" of a plain one; NULL: none does. */
static const char *assigning(const char *at, gsize *ret_length) {
  static const char *const operators[] = {"<<", ">>", "+", "-", "*", "/", "%", "&", "|", "^", ""};
  at += strspn(at, " \t\n");
  for (guint i = 0; i < G_N_ELEMENTS(operators); i++) {
    const gsize n = strlen(operators[i]);
    if (strncmp(at, operators[i], n) != 0 || at[n] != '=' || (n == 0 && at[1] == '=')) continue;
    *ret_length = n + 1;
    return operators[i];
  }
  return NULL;
}

/* NAME = value, NAME += value; else a choice. */
static gint64 read_assignment(Sum *sum) {
  skip(sum);
  const char *begin = sum->at;
  if (++sum->depth > ORR_SHELL_DEPTH) return fail(sum, NULL);
  gint64 number = 0;
  gsize length = 0;
  const gboolean is_name = g_ascii_isalpha(*begin) || *begin == '_';
  const gsize n = is_name ? name_length(begin) : 0;
  const char *bracket = begin[n] == '[' ? strchr(begin + n, ']') : NULL;
  const char *behind = bracket ? bracket + 1 : begin + n;
  const char *sign = is_name ? assigning(behind, &length) : NULL;
  if (sign) {
    Target target = read_target(sum);
    skip(sum);
    sum->at += length;
    const gint64 value = read_assignment(sum);
    number = *sign ? combine(sum, sign, value_of(sum, &target), value) : value;
    store(sum, &target, number);
    clear_target(&target);
  } else {
    number = read_choice(sum);
  }
  sum->depth--;
  return number;
}

gboolean orr_shell_arithmetic(OrrShell *shell, const char *text, gint64 *ret_value,
                              char **ret_unresolved) {
  g_autofree char *plain = orr_shell_expand_text(shell, text, (OrrPlace){0});
  Sum sum = {.shell = shell, .at = plain, .unresolved = orr_shell_unresolved(plain)};
  sum.is_bad = sum.unresolved != NULL;
  *ret_value = 0;
  do {
    if (!sum.is_bad) *ret_value = read_assignment(&sum);
  } while (!sum.is_bad && take(&sum, ","));
  skip(&sum);
  if (*sum.at) sum.is_bad = TRUE;
  if (ret_unresolved)
    *ret_unresolved = sum.unresolved;
  else
    g_free(sum.unresolved);
  return !sum.is_bad;
}
