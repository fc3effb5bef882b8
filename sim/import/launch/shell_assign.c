/*
 * shell_assign.c - assignments: NAME=value, NAME+=value, NAME[i]=value, NAME=(array).
 */
#include <string.h>

#include "sim/import/launch/shell_private.h"

enum { MOST_ITEMS = 1000 };

OrrShellVariable *orr_shell_assigned(OrrShell *shell, const char *name) {
  OrrShellVariable *variable = orr_shell_variable(shell, name);
  if (variable) return variable->is_fixed ? NULL : variable;
  variable = g_new0(OrrShellVariable, 1);
  variable->items = g_ptr_array_new_with_free_func(g_free);
  g_hash_table_insert(shell->variables, g_strdup(name), variable);
  return variable;
}

/* A value of one unresolved part takes the name of its variable: --set @name resolves it. */
static char *renamed(const char *name, const char *value) {
  const char *end = value[0] == ORR_SHELL_MARK ? strchr(value, ORR_SHELL_MARK_END) : NULL;
  if (end && end[1] == '\0')
    return g_strdup_printf("%c%s%c", ORR_SHELL_MARK, name, ORR_SHELL_MARK_END);
  return g_strdup(value);
}

void orr_shell_assign(OrrShell *shell, const char *name, const char *value) {
  OrrShellVariable *variable = orr_shell_assigned(shell, name);
  if (!variable) return;
  g_ptr_array_set_size(variable->items, 0);
  g_ptr_array_add(variable->items, renamed(name, value));
}

void orr_shell_set(OrrShell *shell, const char *name, const char *value) {
  orr_shell_assign(shell, name, value);
  OrrShellVariable *variable = orr_shell_variable(shell, name);
  if (variable) variable->is_exported = TRUE;
}

/* The '=' of "NAME=", "NAME+=" or "NAME[i]=" at the begin of @raw; NULL: not an assignment. */
const char *orr_shell_assignment(const char *raw) {
  const char *at = raw;
  if (!g_ascii_isalpha(*at) && *at != '_') return NULL;
  while (g_ascii_isalnum(*at) || *at == '_') at++;
  if (*at == '[') at += strcspn(at, "]") + (strchr(at, ']') != NULL);
  if (*at == '+') at++;
  return *at == '=' ? at : NULL;
}

static void append_items(OrrShell *shell, GPtrArray *items, const char *raw, OrrPlace place) {
  g_autofree char *inside = g_strndup(raw + 1, strlen(raw) > 2 ? strlen(raw) - 2 : 0);
  g_autoptr(GPtrArray) tokens =
      orr_shell_tokens(inside, place, TRUE, orr_launch_draft_diags(shell->draft));
  for (guint i = 0; i < tokens->len; i++) {
    const OrrShellToken *token = tokens->pdata[i];
    if (token->kind == ORR_SHELL_WORD) orr_shell_expand(shell, token->raw, token->place, items);
  }
}

static void assign_item(OrrShell *shell, OrrShellVariable *variable, const char *index,
                        const char *value) {
  gint64 at = -1;
  if (!orr_shell_arithmetic(shell, index, &at, NULL) || at < 0 || at > MOST_ITEMS) return;
  while (variable->items->len <= at) g_ptr_array_add(variable->items, g_strdup(""));
  g_free(variable->items->pdata[at]);
  variable->items->pdata[at] = g_strdup(value);
}

/* @raw is an assignment. Returns the name, newly allocated. */
char *orr_shell_assign_raw(OrrShell *shell, const char *raw, OrrPlace place) {
  const char *equals = orr_shell_assignment(raw);
  const gsize n = strcspn(raw, "[+=");
  g_autofree char *name = g_strndup(raw, n);
  const gboolean appends = equals[-1] == '+';
  OrrShellVariable *variable = orr_shell_assigned(shell, name);
  if (!variable) return g_steal_pointer(&name);
  if (equals[1] == '(') {
    GPtrArray *items = g_ptr_array_new_with_free_func(g_free);
    append_items(shell, items, equals + 1, place); /* may use the old value */
    if (!appends) g_ptr_array_set_size(variable->items, 0);
    g_ptr_array_extend_and_steal(variable->items, items);
    return g_steal_pointer(&name);
  }
  g_autofree char *value = orr_shell_expand_text(shell, equals + 1, place);
  if (raw[n] == '[') {
    g_autofree char *index = g_strndup(raw + n + 1, strcspn(raw + n + 1, "]"));
    assign_item(shell, variable, index, value);
  } else {
    const char *old = appends && variable->items->len ? variable->items->pdata[0] : "";
    g_autofree char *both = g_strconcat(old, value, NULL);
    orr_shell_assign(shell, name, both);
  }
  return g_steal_pointer(&name);
}
