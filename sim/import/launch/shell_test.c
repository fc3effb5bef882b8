/*
 * shell_test.c - the conditions of [ ] and [[ ]], in three values: what only the machine knows
 * (files, results of commands) is unknown, with a warning.
 */
#include "sim/import/launch/shell_private.h"

typedef struct {
  OrrShell *shell;
  const GPtrArray *texts;
  guint next, depth;
  OrrPlace place;
} Test;

static OrrShellTruth read_or(Test *test);

OrrShellTruth orr_shell_not(OrrShellTruth truth) {
  return truth == ORR_SHELL_UNKNOWN ? truth : truth == ORR_SHELL_FALSE;
}

static const char *peek(const Test *test) {
  return test->next < test->texts->len ? test->texts->pdata[test->next] : NULL;
}

static gboolean take(Test *test, const char *text) {
  if (g_strcmp0(peek(test), text) != 0) return FALSE;
  test->next++;
  return TRUE;
}

static gboolean is_binary(const char *text) {
  static const char *const words[] = {"=",   "==",  "!=",  "=~",  "<",   ">", "-eq",
                                      "-ne", "-lt", "-le", "-gt", "-ge", NULL};
  return text && g_strv_contains(words, text);
}

/* Whether a text is known; else a warning. */
static gboolean is_known(const Test *test, const char *text) {
  g_autofree char *name = orr_shell_unresolved(text);
  if (name)
    orr_shell_warn_once(test->shell, test->place,
                        "a condition on %s is not known: its branch is not taken; --set %s=VALUE "
                        "decides",
                        name, name);
  return name == NULL;
}

static gboolean compare_numbers(const char *a, const char *sign, const char *b) {
  const gint64 left = g_ascii_strtoll(a, NULL, 10), right = g_ascii_strtoll(b, NULL, 10);
  static const struct {
    const char *sign;
    gboolean less, equal, more;
  } signs[] = {{"-eq", FALSE, TRUE, FALSE}, {"-ne", TRUE, FALSE, TRUE},
               {"-lt", TRUE, FALSE, FALSE}, {"-le", TRUE, TRUE, FALSE},
               {"-gt", FALSE, FALSE, TRUE}, {"-ge", FALSE, TRUE, TRUE}};
  for (guint i = 0; i < G_N_ELEMENTS(signs); i++)
    if (strcmp(sign, signs[i].sign) == 0)
      return left < right ? signs[i].less : left == right ? signs[i].equal : signs[i].more;
  return FALSE;
}

/* a =~ b. The matcher gives up on a pattern that would take it long: then nothing is known. */
static OrrShellTruth match(const Test *test, const char *text, const char *pattern) {
  g_autofree char *bounded = g_strconcat("(*LIMIT_MATCH=20000)", pattern, NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(GRegex) regex = g_regex_new(bounded, 0, 0, &error);
  const gboolean is_match = regex && g_regex_match_full(regex, text, -1, 0, 0, NULL, &error);
  if (!error) return is_match ? ORR_SHELL_TRUE : ORR_SHELL_FALSE;
  orr_shell_warn_once(test->shell, test->place,
                      "a condition by the pattern '%.60s' is not known: its branch is not taken",
                      pattern);
  return ORR_SHELL_UNKNOWN;
}

static OrrShellTruth compare(Test *test, const char *a, const char *sign, const char *b) {
  if (!is_known(test, a) || !is_known(test, b)) return ORR_SHELL_UNKNOWN;
  if (sign[0] == '-') return compare_numbers(a, sign, b);
  if (sign[0] == '<') return strcmp(a, b) < 0;
  if (sign[0] == '>') return strcmp(a, b) > 0;
  if (strcmp(sign, "=~") == 0) return match(test, a, b);
  return (strcmp(a, b) == 0 || g_pattern_match_simple(b, a)) == (sign[0] == '=');
}

static OrrShellTruth read_unary(Test *test, const char *sign) {
  const char *text = peek(test);
  if (text) test->next++;
  if (!text) return strcmp(sign, "-z") == 0 || strcmp(sign, "-n") == 0; /* [ -z $EMPTY ] */
  if (strcmp(sign, "-v") != 0 && !is_known(test, text)) return ORR_SHELL_UNKNOWN;
  if (strcmp(sign, "-n") == 0) return *text != '\0';
  if (strcmp(sign, "-z") == 0) return *text == '\0';
  if (strcmp(sign, "-v") == 0) return orr_shell_variable(test->shell, text) != NULL;
  orr_shell_warn_once(test->shell, test->place,
                      "a condition on a file is not known: its branch is not taken");
  return ORR_SHELL_UNKNOWN;
}

/* [ $EMPTY = x ]: bash says that an operator was expected, and fails. */
static OrrShellTruth refuse_empty(Test *test) {
  test->next += test->next + 1 < test->texts->len ? 2 : 1;
  return ORR_SHELL_FALSE;
}

static OrrShellTruth read_primary(Test *test) {
  const char *text = peek(test);
  if (!text) return ORR_SHELL_FALSE;
  if (test->depth > ORR_SHELL_DEPTH) {
    orr_shell_stop(test->shell, test->place, "more than %d levels of nesting", ORR_SHELL_DEPTH);
    return ORR_SHELL_FALSE;
  }
  const gboolean is_alone = test->next + 2 < test->texts->len;
  if (is_binary(text) && !(is_alone && is_binary(test->texts->pdata[test->next + 1])))
    return refuse_empty(test);
  test->next++;
  if (strcmp(text, "!") == 0) {
    test->depth++;
    const OrrShellTruth truth = orr_shell_not(read_primary(test));
    test->depth--;
    return truth;
  }
  if (strcmp(text, "(") == 0) {
    test->depth++;
    const OrrShellTruth truth = read_or(test);
    take(test, ")");
    test->depth--;
    return truth;
  }
  if (text[0] == '-' && g_ascii_isalpha(text[1]) && !text[2] && !is_binary(peek(test)))
    return read_unary(test, text);
  if (!is_binary(peek(test))) return is_known(test, text) ? *text != '\0' : ORR_SHELL_UNKNOWN;
  const char *sign = peek(test);
  test->next++;
  const char *other = peek(test) ? peek(test) : "";
  test->next++;
  return compare(test, text, sign, other);
}

/* @decides: the value of one that decides for all: false of "and", true of "or". */
static OrrShellTruth join(OrrShellTruth a, OrrShellTruth b, OrrShellTruth decides) {
  if (a == decides || b == decides) return decides;
  return a == ORR_SHELL_UNKNOWN ? a : b;
}

static OrrShellTruth read_and(Test *test) {
  OrrShellTruth truth = read_primary(test);
  while (take(test, "&&") || take(test, "-a"))
    truth = join(truth, read_primary(test), ORR_SHELL_FALSE);
  return truth;
}

static OrrShellTruth read_or(Test *test) {
  OrrShellTruth truth = read_and(test);
  while (take(test, "||") || take(test, "-o")) truth = join(truth, read_and(test), ORR_SHELL_TRUE);
  return truth;
}

OrrShellTruth orr_shell_test(OrrShell *shell, const GPtrArray *texts, OrrPlace place) {
  Test test = {.shell = shell, .texts = texts, .place = place};
  return read_or(&test);
}
