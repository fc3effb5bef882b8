/*
 * shell_run.c - walks the tree of a script: variables change, commands are noted, none is run.
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_STEPS = 100000, MOST_SCRIPTS = 1000 };

/* A script with what its tree points into. */
typedef struct {
  GPtrArray *tokens;
  OrrShellTree *tree;
} Script;

/* --- The shell --- */

static void free_variable(OrrShellVariable *variable) {
  g_ptr_array_unref(variable->items);
  if (variable->keys) g_ptr_array_unref(variable->keys);
  g_free(variable);
}

static void free_script(Script *script) {
  orr_shell_tree_free(script->tree);
  g_ptr_array_unref(script->tokens);
  g_free(script);
}

static void free_command(OrrLaunchCommand *command) {
  g_ptr_array_unref(command->words);
  g_ptr_array_unref(command->environment);
  ORR_FREE(command->loop, command);
}

OrrShell *orr_shell_new(OrrLaunchDraft *draft) {
  OrrShell *shell = g_new0(OrrShell, 1);
  shell->draft = draft;
  shell->output_of = orr_shell_output_of_text;
  shell->variables =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)free_variable);
  shell->functions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  shell->scripts = g_ptr_array_new_with_free_func((GDestroyNotify)free_script);
  shell->commands = g_ptr_array_new_with_free_func((GDestroyNotify)free_command);
  shell->own = g_hash_table_new(NULL, NULL);
  shell->warned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (char **pair = orr_launch_draft_options(draft)->variables; pair && *pair; pair++) {
    const char *equals = strchr(*pair, '=');
    if (!equals) continue;
    g_autofree char *name = g_strndup(*pair, (gsize)(equals - *pair));
    orr_shell_set(shell, name, equals + 1);
    orr_shell_variable(shell, name)->is_fixed = TRUE;
  }
  return shell;
}

void orr_shell_free(OrrShell *shell) {
  if (!shell) return;
  g_hash_table_unref(shell->variables);
  g_hash_table_unref(shell->functions);
  g_ptr_array_unref(shell->scripts);
  g_ptr_array_unref(shell->commands);
  g_hash_table_unref(shell->own);
  g_hash_table_unref(shell->warned);
  if (shell->arguments) g_ptr_array_unref(shell->arguments);
  ORR_FREE(shell->loop, shell);
}

const GPtrArray *orr_shell_commands(const OrrShell *shell) { return shell->commands; }

/* --- Compound commands --- */

static OrrShellTruth run_if(OrrShell *shell, const OrrShellTree *tree) {
  guint i = 0;
  for (; i + 1 < tree->below->len; i += 2)
    if (orr_shell_run_tree(shell, tree->below->pdata[i]) == ORR_SHELL_TRUE) {
      orr_shell_run_tree(shell, tree->below->pdata[i + 1]);
      return ORR_SHELL_TRUE;
    }
  if (i < tree->below->len) orr_shell_run_tree(shell, tree->below->pdata[i]);
  return TRUE;
}

static gboolean matches(OrrShell *shell, const OrrShellTree *patterns, const char *text) {
  ORR_EACH_POINTER(const OrrShellToken, token, patterns->words) {
    g_autofree char *pattern = orr_shell_expand_text(shell, token->raw, token->place);
    if (g_pattern_match_simple(pattern, text)) return TRUE;
  }
  return FALSE;
}

static OrrShellTruth run_case(OrrShell *shell, const OrrShellTree *tree) {
  const OrrShellToken *word = tree->words->pdata[0];
  g_autofree char *text = orr_shell_expand_text(shell, word->raw, word->place);
  g_autofree char *unresolved = orr_shell_unresolved(text);
  if (unresolved)
    orr_shell_warn_once(shell, tree->place, "a case on %s: add --set %s=VALUE", unresolved,
                        unresolved);
  for (guint i = 0; i + 1 < tree->below->len; i += 2)
    if (matches(shell, tree->below->pdata[i], unresolved ? "" : text)) {
      orr_shell_run_tree(shell, tree->below->pdata[i + 1]);
      break;
    }
  return TRUE;
}

static OrrShellTruth run_brackets(OrrShell *shell, const OrrShellTree *tree) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  const gboolean was = shell->is_condition;
  shell->is_condition = TRUE;
  ORR_EACH_POINTER(const OrrShellToken, token, tree->words)
    g_ptr_array_add(texts, orr_shell_expand_text(shell, token->raw, token->place));
  shell->is_condition = was;
  return orr_shell_test(shell, texts, tree->place);
}

static OrrShellTruth run_list(OrrShell *shell, const OrrShellTree *tree) {
  OrrShellTruth truth = ORR_SHELL_TRUE;
  for (guint i = 0; i < tree->below->len && !orr_shell_is_leaving(shell); i++)
    truth = orr_shell_run_tree(shell, tree->below->pdata[i]);
  return truth;
}

/* "a && b" goes on where a succeeds, "a || b" where it fails; after an unknown a neither does. */
static OrrShellTruth run_and_or(OrrShell *shell, const OrrShellTree *tree) {
  OrrShellTruth truth = orr_shell_run_tree(shell, tree->below->pdata[0]);
  for (guint i = 1; i < tree->below->len && !orr_shell_is_leaving(shell); i++) {
    const OrrShellTree *next = tree->below->pdata[i];
    if (truth == (next->is_or ? ORR_SHELL_FALSE : ORR_SHELL_TRUE))
      truth = orr_shell_run_tree(shell, next);
  }
  return truth;
}

/* "a | b": b reads what a prints, as far as that is known. */
static OrrShellTruth run_pipe(OrrShell *shell, const OrrShellTree *tree) {
  OrrShellTruth truth = ORR_SHELL_TRUE;
  OrrShellInput *outer = shell->input;
  g_autofree char *text = NULL;
  for (guint i = 0; i < tree->below->len && !orr_shell_is_leaving(shell); i++) {
    OrrShellInput input = {.text = text};
    shell->input = i ? &input : outer;
    char *printed = orr_shell_output(shell, tree->below->pdata[i], text);
    truth = orr_shell_run_tree(shell, tree->below->pdata[i]);
    g_free(text);
    text = printed;
  }
  shell->input = outer;
  return truth;
}

static OrrShellTruth run_function(OrrShell *shell, const OrrShellTree *tree) {
  const OrrShellToken *name = tree->words->pdata[0];
  char *plain = g_strdup(name->raw);
  if (g_str_has_suffix(plain, "()")) plain[strlen(plain) - 2] = '\0';
  g_hash_table_replace(shell->functions, plain, tree->below->pdata[0]);
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_kind(OrrShell *shell, const OrrShellTree *tree) {
  switch (tree->kind) {
  case ORR_SHELL_SIMPLE:
    return orr_shell_run_simple(shell, tree);
  case ORR_SHELL_LIST:
    return run_list(shell, tree);
  case ORR_SHELL_PIPE:
    return run_pipe(shell, tree);
  case ORR_SHELL_AND_OR:
    return run_and_or(shell, tree);
  case ORR_SHELL_IF:
    return run_if(shell, tree);
  case ORR_SHELL_CASE:
    return run_case(shell, tree);
  case ORR_SHELL_FOR:
    return orr_shell_run_for(shell, tree);
  case ORR_SHELL_WHILE:
    return orr_shell_run_while(shell, tree);
  case ORR_SHELL_FUNCTION:
    return run_function(shell, tree);
  case ORR_SHELL_TEST:
    return run_brackets(shell, tree);
  }
  return ORR_SHELL_TRUE;
}

/* What the redirections behind a compound command give it to read. */
static gboolean read_redirects(OrrShell *shell, const OrrShellTree *tree, OrrShellInput *input) {
  gboolean has_input = FALSE;
  for (guint i = 0; tree->redirects && i < tree->redirects->len; i++) {
    char *text = NULL;
    if (!orr_shell_input_of(shell, tree->redirects, i, &text)) continue;
    g_free(input->text);
    input->text = text;
    has_input = TRUE;
  }
  return has_input;
}

static OrrShellTruth run_redirected(OrrShell *shell, const OrrShellTree *tree) {
  OrrShellInput input = {0}, *outer = shell->input;
  if (read_redirects(shell, tree, &input)) shell->input = &input;
  const OrrShellTruth truth = run_kind(shell, tree);
  shell->input = outer;
  g_free(input.text);
  return truth;
}

OrrShellTruth orr_shell_run_tree(OrrShell *shell, const OrrShellTree *tree) {
  if (shell->is_over) return ORR_SHELL_FALSE;
  orr_launch_draft_worked(1);
  if (++shell->n_steps > MOST_STEPS) {
    orr_shell_stop(shell, tree->place, "more than 100,000 steps");
    return ORR_SHELL_FALSE;
  }
  const gboolean was_background = shell->is_background;
  shell->is_background = was_background || tree->is_background;
  const OrrShellTruth truth = tree->redirects ? run_redirected(shell, tree) : run_kind(shell, tree);
  shell->is_background = was_background;
  return tree->is_negated ? orr_shell_not(truth) : truth;
}

/* --- Scripts --- */

void orr_shell_run(OrrShell *shell, const char *text, OrrPlace place) {
  OrrDiags *diags = orr_launch_draft_diags(shell->draft);
  const guint n_errors = orr_diags_n_errors(diags);
  if (shell->depth >= ORR_SHELL_DEPTH || shell->scripts->len > MOST_SCRIPTS)
    return orr_shell_stop(shell, place, "more than %d levels of nesting, or %d scripts",
                          ORR_SHELL_DEPTH, MOST_SCRIPTS);
  if (!orr_shell_draw(shell, strlen(text), place)) return;
  Script *script = g_new0(Script, 1);
  script->tokens = orr_shell_tokens(text, place, FALSE, diags);
  if (orr_diags_n_errors(diags) == n_errors) script->tree = orr_shell_parse(script->tokens, diags);
  g_ptr_array_add(shell->scripts, script);
  if (!orr_shell_draw(shell, script->tokens->len * sizeof(OrrShellToken), place)) return;
  if (orr_diags_n_errors(diags) > n_errors) return;
  shell->depth++;
  orr_shell_run_tree(shell, script->tree);
  shell->depth--;
}
