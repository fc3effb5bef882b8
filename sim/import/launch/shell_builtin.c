/*
 * shell_builtin.c - the commands that change the shell itself, and those that only print.
 *
 * To add one: a function, and a row of `builtins`.
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_SOURCES = 200 };

/* --- Variables --- */

/* export, declare, local, readonly, typeset; -A makes an associative array. */
static OrrShellTruth run_export(OrrShell *shell, const OrrShellTree *tree,
                                const OrrShellSimple *simple) {
  gboolean is_keyed = FALSE;
  for (guint i = 1; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    if (token->kind != ORR_SHELL_WORD) continue;
    is_keyed = is_keyed || (token->raw[0] == '-' && strchr(token->raw, 'A'));
    if (token->raw[0] == '-') continue;
    g_autofree char *name = g_strndup(token->raw, strcspn(token->raw, "[+="));
    OrrShellVariable *keyed = is_keyed ? orr_shell_assigned(shell, name) : NULL;
    if (keyed && !keyed->keys) keyed->keys = g_ptr_array_new_with_free_func(g_free);
    if (orr_shell_assignment(token->raw))
      g_free(orr_shell_assign_raw(shell, token->raw, token->place));
    OrrShellVariable *variable = orr_shell_variable(shell, name);
    if (variable) variable->is_exported = TRUE;
  }
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_unset(OrrShell *shell, const OrrShellTree *tree,
                               const OrrShellSimple *simple) {
  for (guint i = 1; i < simple->texts->len; i++)
    shell->n_changes += g_hash_table_remove(shell->variables, orr_shell_text_at(simple, i));
  return ORR_SHELL_TRUE;
}

/* let "i = i + 1" */
static OrrShellTruth run_let(OrrShell *shell, const OrrShellTree *tree,
                             const OrrShellSimple *simple) {
  gint64 number = 0;
  for (guint i = 1; i < simple->texts->len; i++)
    if (!orr_shell_arithmetic(shell, orr_shell_text_at(simple, i), &number, NULL))
      return ORR_SHELL_UNKNOWN;
  return number ? ORR_SHELL_TRUE : ORR_SHELL_FALSE;
}

/* set -- a b c: the arguments; other options change nothing here. */
static OrrShellTruth run_set(OrrShell *shell, const OrrShellTree *tree,
                             const OrrShellSimple *simple) {
  if (g_strcmp0(orr_shell_text_at(simple, 1), "--") != 0) return ORR_SHELL_TRUE;
  GPtrArray *before = shell->arguments;
  orr_shell_set_arguments(shell, simple, 1);
  if (before) g_ptr_array_unref(before);
  shell->n_changes++;
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_shift(OrrShell *shell, const OrrShellTree *tree,
                               const OrrShellSimple *simple) {
  const char *text = orr_shell_text_at(simple, 1);
  const guint64 n = text ? g_ascii_strtoull(text, NULL, 10) : 1;
  if (!shell->arguments) return ORR_SHELL_TRUE;
  if (n > shell->arguments->len) return ORR_SHELL_FALSE;
  shell->n_changes += n > 0;
  if (n > 0) g_ptr_array_remove_range(shell->arguments, 0, (guint)n);
  return ORR_SHELL_TRUE;
}

/* --- Control --- */

/* break N, continue N */
static OrrShellTruth run_break(OrrShell *shell, const OrrShellTree *tree,
                               const OrrShellSimple *simple) {
  const char *text = orr_shell_text_at(simple, 1);
  const guint64 n = text ? g_ascii_strtoull(text, NULL, 10) : 1;
  shell->n_leaves = (guint)CLAMP(n, 1, ORR_SHELL_DEPTH);
  shell->goes_on = strcmp(orr_shell_text_at(simple, 0), "continue") == 0;
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_exit(OrrShell *shell, const OrrShellTree *tree,
                              const OrrShellSimple *simple) {
  shell->is_exiting = strcmp(orr_shell_text_at(simple, 0), "exit") == 0;
  shell->is_returning = !shell->is_exiting && shell->n_calls > 0;
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_test(OrrShell *shell, const OrrShellTree *tree,
                              const OrrShellSimple *simple) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new();
  for (guint i = 1; i < simple->texts->len; i++)
    if (i + 1 < simple->texts->len || strcmp(orr_shell_text_at(simple, i), "]") != 0)
      g_ptr_array_add(texts, simple->texts->pdata[i]);
  return orr_shell_test(shell, texts, tree->place);
}

static OrrShellTruth run_false(OrrShell *shell, const OrrShellTree *tree,
                               const OrrShellSimple *simple) {
  return ORR_SHELL_FALSE;
}

/* What changes nothing here. */
static OrrShellTruth run_true(OrrShell *shell, const OrrShellTree *tree,
                              const OrrShellSimple *simple) {
  return ORR_SHELL_TRUE;
}

/* --- Scripts --- */

static OrrShellTruth run_source(OrrShell *shell, const OrrShellTree *tree,
                                const OrrShellSimple *simple) {
  const char *path = orr_shell_text_at(simple, 1);
  g_autofree char *plain = path ? orr_shell_plain(path) : NULL;
  OrrLaunchSource *source = plain ? orr_launch_form_source(shell->draft, plain) : NULL;
  const gboolean is_other = source && g_strcmp0(source->name, tree->place.file) != 0;
  if (is_other) { /* models/x.sh that x.sh reads has its name, and was not given */
    source->is_used = TRUE;
    orr_shell_run(shell, source->text, ORR_SHELL_BEGIN(source->name));
  } else if (plain) {
    orr_shell_warn_once(shell, tree->place, "%s was not given: add it to the command line", plain);
  }
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_eval(OrrShell *shell, const OrrShellTree *tree,
                              const OrrShellSimple *simple) {
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 1; i < simple->texts->len; i++)
    g_string_append_printf(text, "%s%s", i > 1 ? " " : "", orr_shell_text_at(simple, i));
  orr_shell_run(shell, text->str, tree->place);
  return ORR_SHELL_TRUE;
}

/* Writes the source @name, or adds to it. Takes time for what it adds alone. */
static void write_source(OrrShell *shell, const char *name, const char *text, gboolean appends,
                         OrrPlace place) {
  const gsize n = strlen(text);
  OrrLaunchSource *source = orr_launch_form_source(shell->draft, name);
  if (!orr_shell_draw(shell, n, place)) return;
  if (!source) {
    if (g_hash_table_size(shell->own) >= MOST_SOURCES)
      orr_shell_stop(shell, place, "more than %d files are written", MOST_SOURCES);
    source = orr_launch_form_add_text(shell->draft, name, text, n);
    source->is_used = TRUE;
    g_hash_table_add(shell->own, source);
    return;
  }
  const gsize kept = appends ? source->length : 0;
  source->text = g_realloc(source->text, kept + n + 1);
  memcpy(source->text + kept, text, n + 1);
  source->length = kept + n;
}

/* cat > FILE <<END: another source. */
static OrrShellTruth run_cat(OrrShell *shell, const OrrShellTree *tree,
                             const OrrShellSimple *simple) {
  const char *path = simple->target ? simple->target : orr_shell_text_at(simple, 1);
  if (!simple->document || !path || !simple->input.text) return ORR_SHELL_TRUE;
  g_autofree char *name = orr_shell_plain(path);
  g_autofree char *text = orr_shell_plain(simple->input.text);
  write_source(shell, name, text, simple->appends, tree->place);
  return ORR_SHELL_TRUE;
}

static const struct {
  const char *name;
  OrrShellBuiltin run;
} builtins[] = {
    {".", run_source},        {":", run_true},
    {"[", run_test},          {"break", run_break},
    {"cat", run_cat},         {"cd", run_true},
    {"continue", run_break},  {"declare", run_export},
    {"echo", run_true},       {"eval", run_eval},
    {"exit", run_exit},       {"export", run_export},
    {"false", run_false},     {"let", run_let},
    {"local", run_export},    {"mapfile", orr_shell_mapfile},
    {"mkdir", run_true},      {"printf", run_true},
    {"read", orr_shell_read}, {"readarray", orr_shell_mapfile},
    {"readonly", run_export}, {"return", run_exit},
    {"set", run_set},         {"shift", run_shift},
    {"source", run_source},   {"tee", run_cat},
    {"test", run_test},       {"true", run_true},
    {"typeset", run_export},  {"unset", run_unset},
};

OrrShellBuiltin orr_shell_builtin(const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS(builtins); i++)
    if (strcmp(builtins[i].name, name) == 0) return builtins[i].run;
  return NULL;
}
