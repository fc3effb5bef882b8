/*
 * shell_assign.c - assignments: NAME=value, NAME+=value, NAME[i]=value, NAME=(array).
 *
 * In a loop that turns who knows how often, a variable from before it becomes unresolved: its value
 * after one turn is not its value.
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_ITEMS = 1000 };

OrrShellVariable *orr_shell_assigned(OrrShell *shell, const char *name) {
  OrrShellVariable *variable = orr_shell_variable(shell, name);
  if (variable) return variable->is_fixed ? NULL : variable;
  variable = g_new0(OrrShellVariable, 1);
  variable->items = g_ptr_array_new_with_free_func(g_free);
  variable->n_open = shell->n_open;
  g_hash_table_insert(shell->variables, g_strdup(name), variable);
  return variable;
}

static gboolean is_unsure(const OrrShell *shell, const OrrShellVariable *variable) {
  return variable->n_open < shell->n_open;
}

/* A value of one unresolved part takes the name of its variable: --set @name resolves it. */
static char *renamed(const char *name, const char *value) {
  return orr_shell_is_open(value) ? orr_shell_marked(name) : g_strdup(value);
}

static void set_scalar(OrrShell *shell, OrrShellVariable *variable, char *value) {
  const gboolean is_same =
      variable->items->len == 1 && strcmp(variable->items->pdata[0], value) == 0;
  shell->n_changes += !is_same;
  g_ptr_array_set_size(variable->items, 0);
  g_ptr_array_add(variable->items, value);
  g_clear_pointer(&variable->keys, g_ptr_array_unref);
}

void orr_shell_assign(OrrShell *shell, const char *name, const char *value) {
  OrrShellVariable *variable = orr_shell_assigned(shell, name);
  if (!variable || !orr_shell_draw(shell, strlen(value), (OrrPlace){0})) return;
  set_scalar(shell, variable,
             is_unsure(shell, variable) ? orr_shell_marked(name) : renamed(name, value));
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

/* --- Items --- */

/* The index of an array that is not associative; -1: none, which is said. */
static gint64 index_of(OrrShell *shell, const char *name, const char *index, OrrPlace place) {
  gint64 at = -1;
  if (!orr_shell_arithmetic(shell, index, &at, NULL) || at < 0 || at > MOST_ITEMS)
    orr_shell_stop(shell, place, "%s[%s]: the index must be a number from 0 to %d", name, index,
                   MOST_ITEMS);
  return shell->is_over ? -1 : at;
}

/* Where the item of key @index is, made where it is missing. */
static gint64 key_of(OrrShell *shell, OrrShellVariable *variable, const char *index,
                     OrrPlace place) {
  g_autofree char *key = orr_shell_expand_text(shell, index, place);
  g_autofree char *open = orr_shell_unresolved(key);
  guint at = 0;
  if (g_ptr_array_find_with_equal_func(variable->keys, key, g_str_equal, &at)) return at;
  if (variable->keys->len > MOST_ITEMS || open) {
    orr_shell_stop(shell, place, "the key of an array is not known, or one of too many: %s", index);
    return -1;
  }
  g_ptr_array_add(variable->keys, g_steal_pointer(&key));
  return variable->keys->len - 1;
}

void orr_shell_assign_item(OrrShell *shell, const char *name, const char *index, const char *value,
                           OrrPlace place) {
  OrrShellVariable *variable = orr_shell_assigned(shell, name);
  if (!variable) return;
  const gint64 at =
      variable->keys ? key_of(shell, variable, index, place) : index_of(shell, name, index, place);
  if (at < 0) return;
  while (variable->items->len <= at) g_ptr_array_add(variable->items, g_strdup(""));
  shell->n_changes += strcmp(variable->items->pdata[at], value) != 0;
  g_free(variable->items->pdata[at]);
  variable->items->pdata[at] =
      is_unsure(shell, variable) ? orr_shell_marked(name) : g_strdup(value);
}

void orr_shell_assign_items(OrrShell *shell, const char *name, GPtrArray *items) {
  OrrShellVariable *variable = orr_shell_assigned(shell, name);
  if (!variable) return g_ptr_array_unref(items);
  shell->n_changes++;
  g_ptr_array_unref(variable->items);
  variable->items = items;
  g_clear_pointer(&variable->keys, g_ptr_array_unref);
  if (!is_unsure(shell, variable)) return;
  g_ptr_array_set_size(items, 0);
  g_ptr_array_add(items, orr_shell_marked(name));
}

/* "[key]=value" of an array. */
static void assign_keyed(OrrShell *shell, const char *name, const OrrShellToken *token) {
  const char *close = token->raw[0] == '[' ? strstr(token->raw, "]=") : NULL;
  if (!close)
    return orr_shell_stop(shell, token->place, "'%s' where [KEY]=VALUE was expected", token->raw);
  g_autofree char *index = g_strndup(token->raw + 1, (gsize)(close - token->raw) - 1);
  g_autofree char *value = orr_shell_expand_text(shell, close + 2, token->place);
  orr_shell_assign_item(shell, name, index, value, token->place);
}

/* ([key]=value ...) */
static void assign_pairs(OrrShell *shell, const char *name, const GPtrArray *tokens,
                         gboolean appends) {
  OrrShellVariable *variable = orr_shell_assigned(shell, name);
  if (!appends) {
    g_ptr_array_set_size(variable->items, 0);
    if (variable->keys) g_ptr_array_set_size(variable->keys, 0);
  }
  for (guint i = 0; i < tokens->len && !shell->is_over; i++) {
    const OrrShellToken *token = tokens->pdata[i];
    if (token->kind == ORR_SHELL_WORD) assign_keyed(shell, name, token);
  }
}

static gboolean is_pair(const GPtrArray *tokens) {
  ORR_EACH_POINTER(const OrrShellToken, token, tokens)
    if (token->kind == ORR_SHELL_WORD) return token->raw[0] == '[' && strstr(token->raw, "]=");
  return FALSE;
}

/* NAME=(...), NAME+=(...) */
static void assign_array(OrrShell *shell, const char *name, const char *raw, gboolean appends,
                         OrrPlace place) {
  const OrrShellVariable *old = orr_shell_variable(shell, name);
  g_autofree char *inside = g_strndup(raw + 1, strlen(raw) > 2 ? strlen(raw) - 2 : 0);
  g_autoptr(GPtrArray) tokens =
      orr_shell_tokens(inside, place, TRUE, orr_launch_draft_diags(shell->draft));
  const guint n_old = appends && old ? old->items->len : 0;
  if (!orr_shell_draw(shell, (tokens->len + n_old) * sizeof(OrrShellToken), place)) return;
  if (is_pair(tokens)) return assign_pairs(shell, name, tokens, appends);
  GPtrArray *items = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < n_old; i++) g_ptr_array_add(items, g_strdup(old->items->pdata[i]));
  ORR_EACH_POINTER(const OrrShellToken, token, tokens)
    if (token->kind == ORR_SHELL_WORD) orr_shell_expand(shell, token->raw, token->place, items);
  orr_shell_assign_items(shell, name, items);
}

/* @raw is an assignment. Returns the name, newly allocated. */
char *orr_shell_assign_raw(OrrShell *shell, const char *raw, OrrPlace place) {
  const char *equals = orr_shell_assignment(raw);
  const gsize n = strcspn(raw, "[+=");
  char *name = g_strndup(raw, n);
  const gboolean appends = equals[-1] == '+';
  const OrrShellVariable *variable = orr_shell_variable(shell, name);
  if (variable && variable->is_fixed) return name;
  if (equals[1] == '(') {
    assign_array(shell, name, equals + 1, appends, place);
    return name;
  }
  g_autofree char *value = orr_shell_expand_text(shell, equals + 1, place);
  if (raw[n] == '[') {
    g_autofree char *index = g_strndup(raw + n + 1, strcspn(raw + n + 1, "]"));
    orr_shell_assign_item(shell, name, index, value, place);
  } else {
    const char *old = appends && variable && variable->items->len ? variable->items->pdata[0] : "";
    g_autofree char *both = g_strconcat(old, value, NULL);
    orr_shell_assign(shell, name, both);
  }
  return name;
}
