/*
 * shell_loop.c - for, for ((...)), select, while and until.
 *
 * A loop turns as often as it would. Where nobody knows how often, it turns once and is open: its
 * commands name it, and what it assigns to a variable from before it is unresolved.
 *
 *   for i in $(seq 0 3)       4 turns
 *   for h in $(cat hosts)     open, unless the file was given: who knows how many words it prints
 *   while ! curl ...          no turn: a command is taken to succeed
 *   while read -r line        a turn for each line that is known; else open
 *   while true                open, unless a break leaves it
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_TURNS = 10000 };

void orr_shell_open_loop(OrrShell *shell, const char *what, OrrPlace place) {
  if (shell->n_open++ > 0) return;
  g_autofree char *plain = orr_shell_plain(what);
  shell->loop = g_strdup_printf("%.100s", plain);
  shell->loop_place = place;
}

void orr_shell_close_loop(OrrShell *shell) {
  if (--shell->n_open == 0) g_clear_pointer(&shell->loop, g_free);
}

/* Whether the loop ends with this turn. */
static gboolean leaves(OrrShell *shell) {
  if (shell->is_over || shell->is_exiting || shell->is_returning) return TRUE;
  if (shell->n_leaves == 0) return FALSE;
  return --shell->n_leaves > 0 || !shell->goes_on;
}

static void turn_once(OrrShell *shell, const OrrShellTree *tree, const char *what) {
  orr_shell_open_loop(shell, what, tree->place);
  orr_shell_run_tree(shell, tree->below->pdata[tree->below->len - 1]);
  leaves(shell);
  orr_shell_close_loop(shell);
}

/* The words of @tree behind @word, as written; @in stands behind the first. Newly allocated. */
static char *written(const char *word, const GPtrArray *words, const char *in) {
  GString *text = g_string_new(word);
  for (guint i = 0; i < words->len && text->len < 100; i++)
    g_string_append_printf(text, "%s %s", i == 1 ? in : "",
                           ((const OrrShellToken *)words->pdata[i])->raw);
  return g_string_free(text, FALSE);
}

/* --- for --- */

/* Whether nobody knows how many words @text is, of the word @raw: "$X" is one. */
static gboolean is_many(const char *raw, const char *text) {
  const gboolean is_quoted = raw[0] == '"' && !strstr(raw, "[@]") && !strstr(raw, "$@");
  if (is_quoted) return FALSE;
  return orr_shell_is_open(text) || (!strpbrk(raw, "\"'") && strpbrk(text, "*?"));
}

/* The words of the loop. FALSE: nobody knows how many. */
static gboolean expand_list(OrrShell *shell, const OrrShellTree *tree, GPtrArray *texts) {
  OrrShellToken arguments = {.kind = ORR_SHELL_WORD, .raw = (char *)"\"$@\""};
  gboolean is_known = TRUE;
  for (guint i = 1; i < tree->words->len + tree->is_arguments; i++) {
    const OrrShellToken *token = i < tree->words->len ? tree->words->pdata[i] : &arguments;
    const guint first = texts->len;
    orr_shell_expand(shell, token->raw, tree->place, texts);
    for (guint k = first; k < texts->len; k++) {
      is_known = is_known && !is_many(token->raw, texts->pdata[k]);
      if (*(const char *)texts->pdata[k] == '{' && strstr(texts->pdata[k], ".."))
        orr_shell_stop(shell, token->place,
                       "bash does not expand '%s' to numbers: write $(seq ...)", token->raw);
    }
  }
  return is_known;
}

static void turn_words(OrrShell *shell, const OrrShellTree *tree, const char *name) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  if (!expand_list(shell, tree, texts) || tree->is_select) {
    g_autofree char *what = written(tree->is_select ? "select" : "for", tree->words, " in");
    g_autofree char *mark = orr_shell_marked(name);
    orr_shell_assign(shell, name, mark);
    turn_once(shell, tree, what);
    return;
  }
  if (texts->len > MOST_TURNS)
    orr_shell_stop(shell, tree->place, "for %s: more than %d turns", name, MOST_TURNS);
  for (guint i = 0; i < texts->len && !shell->is_over; i++) {
    orr_shell_assign(shell, name, texts->pdata[i]);
    orr_shell_run_tree(shell, tree->below->pdata[0]);
    if (leaves(shell)) return;
  }
}

/* One of the three parts of for ((a; b; c)); empty: true. */
static OrrShellTruth compute(OrrShell *shell, const char *part, OrrPlace place) {
  gint64 number = 0;
  g_autofree char *unresolved = NULL;
  if (part[strspn(part, " \t\n")] == '\0') return ORR_SHELL_TRUE;
  if (orr_shell_arithmetic(shell, part, &number, &unresolved))
    return number ? ORR_SHELL_TRUE : ORR_SHELL_FALSE;
  if (!unresolved)
    orr_shell_stop(shell, place, "'%s' where an arithmetic expression was expected", part);
  return ORR_SHELL_UNKNOWN;
}

static void turn_arithmetic(OrrShell *shell, const OrrShellTree *tree, const char *raw) {
  g_autofree char *inside = g_strndup(raw + 2, MAX(strlen(raw), 4) - 4);
  g_auto(GStrv) parts = g_strsplit(inside, ";", 4);
  if (g_strv_length(parts) != 3)
    return orr_shell_stop(shell, tree->place, "'for %s' is not of the form for ((a; b; c))", raw);
  gboolean is_known = compute(shell, parts[0], tree->place) != ORR_SHELL_UNKNOWN;
  for (guint turn = 0; !shell->is_over; turn++) {
    const OrrShellTruth truth = compute(shell, parts[1], tree->place);
    is_known = is_known && truth != ORR_SHELL_UNKNOWN;
    if (truth == ORR_SHELL_FALSE) return;
    if (!is_known) {
      g_autofree char *what = written("for", tree->words, "");
      turn_once(shell, tree, what);
      return;
    }
    if (turn == MOST_TURNS)
      orr_shell_stop(shell, tree->place, "for %s: more than %d turns", raw, MOST_TURNS);
    orr_shell_run_tree(shell, tree->below->pdata[0]);
    if (leaves(shell)) return;
    is_known = compute(shell, parts[2], tree->place) != ORR_SHELL_UNKNOWN;
  }
}

OrrShellTruth orr_shell_run_for(OrrShell *shell, const OrrShellTree *tree) {
  const OrrShellToken *name = tree->words->pdata[0];
  if (g_str_has_prefix(name->raw, "(("))
    turn_arithmetic(shell, tree, name->raw);
  else
    turn_words(shell, tree, name->raw);
  return ORR_SHELL_TRUE;
}

/* --- while --- */

static OrrShellTruth check(OrrShell *shell, const OrrShellTree *tree) {
  shell->is_guess = FALSE;
  const OrrShellTruth truth = orr_shell_run_tree(shell, tree->below->pdata[0]);
  return tree->is_until ? orr_shell_not(truth) : truth;
}

/* The first words of the condition, "while read -r line". Newly allocated. */
static char *written_while(const OrrShellTree *tree) {
  const OrrShellTree *first = tree->below->pdata[0];
  while (first->below->len > 0) first = first->below->pdata[0];
  return written(tree->is_until ? "until" : "while", first->words, "");
}

/* The commands of a loop that never ends, from @from on: those in the background are started again
 * and again; the first that is not blocks it. */
static void mark_endless(OrrShell *shell, guint from, const char *what, OrrPlace place) {
  for (guint i = from; i < shell->commands->len; i++) {
    OrrLaunchCommand *command = shell->commands->pdata[i];
    if (command->loop || !command->is_background) continue;
    command->loop = g_strdup(what);
    command->loop_place = place;
  }
}

OrrShellTruth orr_shell_run_while(OrrShell *shell, const OrrShellTree *tree) {
  g_autofree char *what = written_while(tree);
  for (guint turn = 0; !shell->is_over; turn++) {
    const guint n_changes = shell->n_changes, n_commands = shell->commands->len;
    const OrrShellTruth truth = check(shell, tree);
    if (truth != ORR_SHELL_TRUE || leaves(shell)) break;
    if (shell->is_guess) {
      turn_once(shell, tree, what);
      break;
    }
    if (turn == MOST_TURNS)
      orr_shell_stop(shell, tree->place, "'%s' does not end in %d turns", what, MOST_TURNS);
    orr_shell_run_tree(shell, tree->below->pdata[1]);
    if (leaves(shell)) break;
    if (shell->n_changes != n_changes) continue;
    mark_endless(shell, n_commands, what, tree->place); /* the next turn would be the same */
    break;
  }
  return ORR_SHELL_TRUE;
}
