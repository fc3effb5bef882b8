/*
 * shell_command.c - one simple command: its words, its redirections, and what becomes of it: an
 * assignment, a builtin, a function, a script in a word, or a command that is noted.
 */
#include "sim/import/launch/shell_private.h"

/* Whether the command is [ or test, where an unset variable is empty. */
static gboolean is_condition(const OrrShellTree *tree) {
  const OrrShellToken *first = tree->words->pdata[0];
  return strcmp(first->raw, "[") == 0 || strcmp(first->raw, "test") == 0;
}

static void read_redirect(OrrShell *shell, const OrrShellTree *tree, guint i,
                          OrrShellSimple *simple) {
  const OrrShellToken *token = tree->words->pdata[i];
  char *text = NULL;
  if (token->body) simple->document = token;
  if (orr_shell_input_of(shell, tree->words, i, &text)) {
    g_free(simple->input.text);
    simple->input.text = text;
    simple->has_input = TRUE;
  } else if (i + 1 < tree->words->len && strchr(token->raw, '>')) {
    const OrrShellToken *target = tree->words->pdata[i + 1];
    g_free(simple->target);
    simple->target = orr_shell_expand_text(shell, target->raw, target->place);
    simple->appends = strstr(token->raw, ">>") != NULL;
  }
}

static void sort_tokens(OrrShell *shell, const OrrShellTree *tree, OrrShellSimple *simple) {
  for (guint i = 0; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    if (token->kind == ORR_SHELL_REDIRECT) {
      read_redirect(shell, tree, i, simple);
      i += token->body == NULL;
    } else if (simple->texts->len == 0 && orr_shell_assignment(token->raw)) {
      g_ptr_array_add(simple->assignments, (gpointer)token);
    } else {
      orr_shell_expand(shell, token->raw, token->place, simple->texts);
      while (simple->places->len < simple->texts->len)
        g_ptr_array_add(simple->places, (gpointer)token);
    }
  }
}

static OrrPlace place_at(const OrrShellSimple *simple, guint i) {
  return ((const OrrShellToken *)simple->places->pdata[i])->place;
}

/* --- Noting --- */

static void free_word(OrrLaunchWord *word) { ORR_FREE(word->text, word->unresolved, word); }

static void add_word(OrrShell *shell, GPtrArray *words, const char *text, OrrPlace place) {
  if (!orr_shell_draw(shell, strlen(text) + sizeof(OrrLaunchWord), place)) return;
  OrrLaunchWord *word = g_new0(OrrLaunchWord, 1);
  word->text = orr_shell_plain(text);
  word->unresolved = orr_shell_unresolved(text);
  word->place = place;
  g_ptr_array_add(words, word);
}

static void add_exported(OrrShell *shell, OrrLaunchCommand *command, OrrPlace place) {
  GHashTableIter each;
  gpointer name, value;
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_hash_table_iter_init(&each, shell->variables);
  while (g_hash_table_iter_next(&each, &name, &value))
    if (((OrrShellVariable *)value)->is_exported) g_ptr_array_add(names, name);
  g_ptr_array_sort(names, orr_order_texts);
  for (guint i = 0; i < names->len && !shell->is_over; i++) {
    const OrrShellVariable *variable = orr_shell_variable(shell, names->pdata[i]);
    const char *text = variable->items->len ? variable->items->pdata[0] : "";
    if (!orr_shell_draw(shell, strlen(text), place)) return;
    g_autofree char *pair = g_strdup_printf("%s=%s", (char *)names->pdata[i], text);
    add_word(shell, command->environment, pair, place);
  }
}

/* Who knows how often xargs and parallel start what stands behind them. */
static gboolean repeats(const OrrShellSimple *simple) {
  static const char *const names[] = {"xargs", "parallel", NULL};
  g_autofree char *base = g_path_get_basename(orr_shell_text_at(simple, 0));
  return g_strv_contains(names, base);
}

static const OrrLaunchCommand *note_command(OrrShell *shell, const OrrShellSimple *simple) {
  OrrLaunchCommand *command = g_new0(OrrLaunchCommand, 1);
  command->words = g_ptr_array_new_with_free_func((GDestroyNotify)free_word);
  command->environment = g_ptr_array_new_with_free_func((GDestroyNotify)free_word);
  command->loop = g_strdup(shell->loop);
  command->loop_place = shell->loop_place;
  command->around = shell->around;
  command->is_background = shell->is_background;
  if (simple->bracket) command->bracket = simple->bracket->place;
  g_ptr_array_add(shell->commands, command);
  shell->is_guess = TRUE;
  for (guint i = 0; i < simple->texts->len; i++)
    add_word(shell, command->words, orr_shell_text_at(simple, i), place_at(simple, i));
  add_exported(shell, command, place_at(simple, 0));
  ORR_EACH_POINTER(const OrrShellToken, token, simple->assignments) {
    g_autofree char *pair = orr_shell_expand_text(shell, token->raw, token->place);
    add_word(shell, command->environment, pair, token->place);
  }
  return command;
}

/* --- Functions and scripts --- */

void orr_shell_set_arguments(OrrShell *shell, const OrrShellSimple *simple, guint at) {
  shell->arguments = g_ptr_array_new_with_free_func(g_free);
  for (guint i = at + 1; i < simple->texts->len; i++) {
    const char *text = orr_shell_text_at(simple, i);
    if (orr_shell_draw(shell, strlen(text) + 16, (OrrPlace){0}))
      g_ptr_array_add(shell->arguments, g_strdup(text));
  }
}

/* Takes back the arguments from before a function or a script. */
static void restore_arguments(OrrShell *shell, GPtrArray *before) {
  g_ptr_array_unref(shell->arguments);
  shell->arguments = before;
}

static void call_function(OrrShell *shell, const OrrShellTree *body, const OrrShellSimple *simple) {
  if (shell->depth >= ORR_SHELL_DEPTH)
    return orr_shell_stop(shell, place_at(simple, 0), "more than %d levels of nesting",
                          ORR_SHELL_DEPTH);
  GPtrArray *before = shell->arguments;
  orr_shell_set_arguments(shell, simple, 0);
  shell->depth++;
  shell->n_calls++;
  orr_shell_run_tree(shell, body);
  shell->is_returning = FALSE;
  shell->n_calls--;
  shell->depth--;
  restore_arguments(shell, before);
}

/* The word behind the options of a shell at @i, if one of them is -c ("bash -x -c SCRIPT"); 0:
 * none. */
static guint shell_script(const OrrShellSimple *simple, guint i) {
  for (i++; i + 1 < simple->texts->len && orr_shell_text_at(simple, i)[0] == '-'; i++)
    if (orr_shell_text_at(simple, i)[1] != '-' &&
        g_str_has_suffix(orr_shell_text_at(simple, i), "c"))
      return i + 1;
  return 0;
}

/* The script of "bash -c SCRIPT" or "ssh HOST 'SCRIPT'" in the command, whatever stands in front;
 * 0: none. */
static guint inner_script(const OrrShellSimple *simple) {
  for (guint i = 0; i < simple->texts->len; i++) {
    g_autofree char *base = g_path_get_basename(orr_shell_text_at(simple, i));
    const gboolean is_shell = strcmp(base, "bash") == 0 || strcmp(base, "sh") == 0;
    const guint script = is_shell ? shell_script(simple, i) : 0;
    if (script) return script;
    if (strcmp(base, "ssh") == 0 && strchr(orr_shell_text_at(simple, simple->texts->len - 1), ' '))
      return simple->texts->len - 1;
  }
  return 0;
}

static void run_inner(OrrShell *shell, const OrrShellSimple *simple) {
  const guint inner = inner_script(simple);
  if (inner == 0) return;
  const gboolean was_exiting = shell->is_exiting;
  orr_shell_run(shell, orr_shell_text_at(simple, inner), place_at(simple, inner));
  shell->is_exiting = was_exiting;
}

/* A here-document that a scheduler or a shell reads: "sbatch <<END", "bash <<END". */
static void run_document(OrrShell *shell, const OrrShellSimple *simple) {
  static const char *const readers[] = {"sbatch", "bash", "sh", "ssh", "srun", NULL};
  const char *body = simple->input.text;
  if (!simple->document || !body || !g_strv_contains(readers, orr_shell_text_at(simple, 0))) return;
  orr_shell_headers(shell, shell->draft, body);
  orr_shell_run(shell, body, simple->document->place);
}

static gboolean is_script(const char *path) {
  static const char *const endings[] = {".sh", ".bash", ".slurm", ".sbatch", ".sub"};
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
    if (g_str_has_suffix(path, endings[i])) return TRUE;
  return FALSE;
}

/* The script that text @i names, if this shell may run it: one that was given and that nothing else
 * has read, or that the script itself has written. NULL: none. */
static OrrLaunchSource *script_at(OrrShell *shell, const OrrShellSimple *simple, guint i) {
  g_autofree char *plain = orr_shell_plain(orr_shell_text_at(simple, i));
  OrrLaunchSource *source = is_script(plain) ? orr_launch_form_source(shell->draft, plain) : NULL;
  return source && (!source->is_used || g_hash_table_contains(shell->own, source)) ? source : NULL;
}

/* "bash run.sh 8 1024", "sbatch run.sh". */
static void run_script(OrrShell *shell, const OrrShellSimple *simple) {
  for (guint i = 0; i < simple->texts->len; i++) {
    OrrLaunchSource *source = script_at(shell, simple, i);
    if (!source) continue;
    GPtrArray *before = shell->arguments;
    source->is_used = TRUE;
    g_hash_table_remove(shell->own, source); /* not from inside of itself */
    orr_shell_set_arguments(shell, simple, i);
    orr_shell_headers(shell, shell->draft, source->text);
    orr_shell_run(shell, source->text, ORR_SHELL_BEGIN(source->name));
    g_hash_table_add(shell->own, source);
    shell->is_exiting = FALSE;
    restore_arguments(shell, before);
    return;
  }
}

/* --- What becomes of it --- */

static void start(OrrShell *shell, const OrrShellTree *tree, const OrrShellSimple *simple) {
  const gboolean is_repeated = repeats(simple);
  const char *around = shell->around;
  if (is_repeated) orr_shell_open_loop(shell, orr_shell_text_at(simple, 0), tree->place);
  const OrrLaunchCommand *command = note_command(shell, simple);
  shell->around = orr_launch_server_image_around(command, command->words->len);
  run_document(shell, simple);
  run_script(shell, simple);
  run_inner(shell, simple);
  shell->around = around;
  if (is_repeated) orr_shell_close_loop(shell);
}

static OrrShellTruth dispatch(OrrShell *shell, const OrrShellTree *tree,
                              const OrrShellSimple *simple) {
  const char *name = orr_shell_text_at(simple, 0);
  const OrrShellTree *body = g_hash_table_lookup(shell->functions, name);
  const OrrShellBuiltin builtin = orr_shell_builtin(name);
  if (shell->is_over) return ORR_SHELL_FALSE;
  if (body) {
    call_function(shell, body, simple);
    return ORR_SHELL_TRUE;
  }
  if (builtin) return builtin(shell, tree, simple);
  start(shell, tree, simple);
  return ORR_SHELL_TRUE;
}

/* (( expression )) */
static OrrShellTruth run_arithmetic(OrrShell *shell, const OrrShellToken *token) {
  g_autofree char *inside = g_strndup(token->raw + 2, MAX(strlen(token->raw), 4) - 4);
  g_autofree char *unresolved = NULL;
  gint64 number = 0;
  if (orr_shell_arithmetic(shell, inside, &number, &unresolved))
    return number ? ORR_SHELL_TRUE : ORR_SHELL_FALSE;
  if (unresolved)
    orr_shell_warn_once(shell, token->place,
                        "a condition on %s is not known: its branch is not taken; --set %s=VALUE "
                        "decides",
                        unresolved, unresolved);
  return ORR_SHELL_UNKNOWN;
}

static OrrShellTruth run_sorted(OrrShell *shell, const OrrShellTree *tree,
                                const OrrShellSimple *simple) {
  if (simple->texts->len) return dispatch(shell, tree, simple);
  ORR_EACH_POINTER(const OrrShellToken, token, simple->assignments)
    g_free(orr_shell_assign_raw(shell, token->raw, token->place));
  return ORR_SHELL_TRUE;
}

OrrShellTruth orr_shell_run_simple(OrrShell *shell, const OrrShellTree *tree) {
  const OrrShellToken *first = tree->words->pdata[0];
  if (g_str_has_prefix(first->raw, "((")) return run_arithmetic(shell, first);
  OrrShellSimple simple = {.texts = g_ptr_array_new_with_free_func(g_free),
                           .places = g_ptr_array_new(),
                           .assignments = g_ptr_array_new(),
                           .bracket = tree->bracket};
  const gboolean was = shell->is_condition;
  shell->is_condition = is_condition(tree);
  sort_tokens(shell, tree, &simple);
  shell->is_condition = was;
  const OrrShellTruth truth = run_sorted(shell, tree, &simple);
  g_ptr_array_unref(simple.texts);
  g_ptr_array_unref(simple.places);
  g_ptr_array_unref(simple.assignments);
  ORR_FREE(simple.target, simple.input.text);
  return truth;
}
