/*
 * question.c - parses the words of the command line that a query of the results database takes.
 */
#include "sim/cli/page.h"

#include "sim/cli/cli.h"

static void binding_clear(gpointer data) {
  OrrBinding *binding = data;
  ORR_FREE((char *)binding->name, (char *)binding->value);
}

GArray *orr_question_bindings(char **params, GError **error) {
  g_autoptr(GArray) bindings = g_array_new(FALSE, FALSE, sizeof(OrrBinding));
  g_array_set_clear_func(bindings, binding_clear);
  for (; params && *params; params++) {
    const char *equals = strchr(*params, '=');
    if (!equals || equals == *params)
      return orr_fault_null(error, ORR_FAULT_USAGE, "--param takes NAME=VALUE, found '%s'",
                            *params);
    ORR_APPEND(bindings, OrrBinding, {g_strndup(*params, equals - *params), g_strdup(equals + 1)});
  }
  return g_steal_pointer(&bindings);
}

char *orr_question_empty(const OrrView *view, const GArray *bindings) {
  g_autofree char *runs = orr_view_rows_from(view);
  GString *text = g_string_new(view->name);
  g_string_append_printf(text, " has rows for %s", runs);
  ORR_EACH_AT(i, const OrrBinding, one, bindings)
    g_string_append_printf(text, "%s%s=%s", i == 0 ? "; none has " : ", ", one->name, one->value);
  if (bindings->len > 0)
    g_string_append_printf(text, " ('orrery describe view %s' says what it takes)", view->name);
  return g_string_free(text, FALSE);
}

gboolean orr_question_check_view(const char *question, GError **error) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  if (orr_view_find(question) || strpbrk(question, " \n(;")) return TRUE;
  g_autofree const char **names = g_new0(const char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = views[i].name;
  orr_cli_unknown("view", question, names, error);
  return FALSE;
}

gboolean orr_question_run(const char *word, gint64 *ret_run, GError **error) {
  if (g_ascii_string_to_signed(word, 10, 1, G_MAXINT64, ret_run, NULL)) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "'%s' is not the number of a run: 'orrery query DB runs' lists the runs",
                       word);
}
