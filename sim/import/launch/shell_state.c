/*
 * shell_state.c - what every part of the shell asks: variables, unresolved parts of texts, limits.
 * It calls no other part.
 */
#include "sim/import/launch/shell_private.h"

OrrShellVariable *orr_shell_variable(const OrrShell *shell, const char *name) {
  return g_hash_table_lookup(shell->variables, name);
}

const char *orr_shell_text_at(const OrrShellSimple *simple, guint i) {
  return i < simple->texts->len ? simple->texts->pdata[i] : NULL;
}

/* --- Marks --- */

char *orr_shell_unresolved(const char *text) {
  const char *mark = strchr(text, ORR_SHELL_MARK);
  while (mark && mark[1] == ORR_SHELL_MARK) mark++; /* of a script in a script */
  const char *end = mark ? strchr(mark, ORR_SHELL_MARK_END) : NULL;
  return end ? g_strndup(mark + 1, (gsize)(end - mark) - 1) : NULL;
}

char *orr_shell_plain(const char *text) {
  GString *plain = g_string_new(NULL);
  for (; *text; text++) {
    if (*text == ORR_SHELL_MARK && text[1] != '$' && text[1] != ORR_SHELL_MARK)
      g_string_append_c(plain, '$');
    else if (*text != ORR_SHELL_MARK && *text != ORR_SHELL_MARK_END)
      g_string_append_c(plain, *text);
  }
  return g_string_free(plain, FALSE);
}

char *orr_shell_marked(const char *name) {
  return g_strdup_printf("%c%s%c", ORR_SHELL_MARK, name, ORR_SHELL_MARK_END);
}

gboolean orr_shell_is_open(const char *text) {
  const char *end = text[0] == ORR_SHELL_MARK ? strchr(text, ORR_SHELL_MARK_END) : NULL;
  return end && end[1] == '\0';
}

/* --- Limits and warnings --- */

void orr_shell_warn_once(OrrShell *shell, OrrPlace place, const char *format, ...) {
  va_list values;
  va_start(values, format);
  char *text = g_strdup_vprintf(format, values);
  va_end(values);
  if (!g_hash_table_contains(shell->warned, text))
    orr_diags_warning(orr_launch_draft_diags(shell->draft), place, "%s", text);
  g_hash_table_add(shell->warned, text);
}

gboolean orr_shell_is_leaving(const OrrShell *shell) {
  return shell->is_over || shell->is_exiting || shell->is_returning || shell->n_leaves > 0;
}

void orr_shell_stop(OrrShell *shell, OrrPlace place, const char *format, ...) {
  if (shell->is_over) return;
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  g_autofree char *plain = orr_shell_plain(text);
  orr_diags_error(orr_launch_draft_diags(shell->draft), place, "%s", plain);
  shell->is_over = TRUE;
}

gboolean orr_shell_draw(OrrShell *shell, gsize bytes, OrrPlace place) {
  if (!shell->is_over && !orr_launch_draft_draw(shell->draft, bytes, place)) shell->is_over = TRUE;
  return !shell->is_over;
}
