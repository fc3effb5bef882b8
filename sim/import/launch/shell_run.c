/*
 * shell_run.c - walks the tree of a script: variables change, commands are noted, none is run.
 */
#include <string.h>

#include "sim/import/launch/shell_private.h"

enum { MOST_COMMANDS = 100000, MOST_TURNS = 1000 };

/* A script with what its tree points into. */
typedef struct {
  GPtrArray *tokens;
  OrrShellTree *tree;
} Script;

static OrrShellTruth run_tree(OrrShell *shell, const OrrShellTree *tree);

/* --- The shell --- */

static void free_variable(OrrShellVariable *variable) {
  g_ptr_array_unref(variable->items);
  g_free(variable);
}

static void free_script(Script *script) {
  orr_shell_tree_free(script->tree);
  g_ptr_array_unref(script->tokens);
  g_free(script);
}

static void free_word(OrrLaunchWord *word) {
  g_free(word->text);
  g_free(word->unresolved);
  g_free(word);
}

static void free_command(OrrLaunchCommand *command) {
  g_ptr_array_unref(command->words);
  g_ptr_array_unref(command->environment);
  g_free(command);
}

OrrShell *orr_shell_new(OrrLaunchDraft *draft) {
  OrrShell *shell = g_new0(OrrShell, 1);
  shell->draft = draft;
  shell->variables =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)free_variable);
  shell->functions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  shell->scripts = g_ptr_array_new_with_free_func((GDestroyNotify)free_script);
  shell->commands = g_ptr_array_new_with_free_func((GDestroyNotify)free_command);
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
  g_hash_table_unref(shell->warned);
  g_free(shell);
}

const GPtrArray *orr_shell_commands(const OrrShell *shell) { return shell->commands; }

void orr_shell_warn_once(OrrShell *shell, OrrPlace place, const char *format, ...) {
  va_list values;
  va_start(values, format);
  char *text = g_strdup_vprintf(format, values);
  va_end(values);
  if (!g_hash_table_contains(shell->warned, text))
    orr_diags_warning(orr_launch_draft_diags(shell->draft), place, "%s", text);
  g_hash_table_add(shell->warned, text);
}

/* --- Commands --- */

/* One command's tokens, sorted. */
typedef struct {
  GPtrArray *texts;       /* of char *, with marks */
  GPtrArray *places;      /* of OrrShellToken *, parallel: whose place each text has */
  GPtrArray *assignments; /* of OrrShellToken *, in front */
  const OrrShellToken *document;
  char *target;     /* of > */
  gboolean appends; /* >> */
} Simple;

static void add_texts(OrrShell *shell, Simple *simple, const OrrShellToken *token) {
  orr_shell_expand(shell, token->raw, token->place, simple->texts);
  while (simple->places->len < simple->texts->len) g_ptr_array_add(simple->places, (gpointer)token);
}

/* Whether the command is [ or test, where an unset variable is empty. */
static gboolean is_condition(const OrrShellTree *tree) {
  const OrrShellToken *first = tree->words->pdata[0];
  return strcmp(first->raw, "[") == 0 || strcmp(first->raw, "test") == 0;
}

static void sort_tokens(OrrShell *shell, const OrrShellTree *tree, Simple *simple) {
  for (guint i = 0; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    if (token->kind == ORR_SHELL_WORD) {
      if (simple->texts->len == 0 && orr_shell_assignment(token->raw))
        g_ptr_array_add(simple->assignments, (gpointer)token);
      else
        add_texts(shell, simple, token);
    } else if (token->body) {
      simple->document = token;
    } else if (++i < tree->words->len && strchr(token->raw, '>')) {
      const OrrShellToken *target = tree->words->pdata[i];
      g_free(simple->target);
      simple->target = orr_shell_expand_text(shell, target->raw, target->place);
      simple->appends = strstr(token->raw, ">>") != NULL;
    }
  }
}

static const char *text_at(const Simple *simple, guint i) {
  return i < simple->texts->len ? simple->texts->pdata[i] : NULL;
}

static OrrPlace place_at(const Simple *simple, guint i) {
  return ((const OrrShellToken *)simple->places->pdata[i])->place;
}

static OrrLaunchWord *word_of(const char *text, OrrPlace place) {
  OrrLaunchWord *word = g_new0(OrrLaunchWord, 1);
  word->text = orr_shell_plain(text);
  word->unresolved = orr_shell_unresolved(text);
  word->place = place;
  return word;
}

static gint by_name(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_exported(const OrrShell *shell, OrrLaunchCommand *command, OrrPlace place) {
  GHashTableIter each;
  gpointer name, value;
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_hash_table_iter_init(&each, shell->variables);
  while (g_hash_table_iter_next(&each, &name, &value))
    if (((OrrShellVariable *)value)->is_exported) g_ptr_array_add(names, name);
  g_ptr_array_sort(names, by_name);
  for (guint i = 0; i < names->len; i++) {
    const OrrShellVariable *variable = orr_shell_variable(shell, names->pdata[i]);
    g_autofree char *pair =
        g_strdup_printf("%s=%s", (char *)names->pdata[i],
                        variable->items->len ? (char *)variable->items->pdata[0] : "");
    g_ptr_array_add(command->environment, word_of(pair, place));
  }
}

static void note_command(OrrShell *shell, const Simple *simple) {
  OrrLaunchCommand *command = g_new0(OrrLaunchCommand, 1);
  command->words = g_ptr_array_new_with_free_func((GDestroyNotify)free_word);
  command->environment = g_ptr_array_new_with_free_func((GDestroyNotify)free_word);
  for (guint i = 0; i < simple->texts->len; i++)
    g_ptr_array_add(command->words, word_of(text_at(simple, i), place_at(simple, i)));
  add_exported(shell, command, place_at(simple, 0));
  for (guint i = 0; i < simple->assignments->len; i++) {
    const OrrShellToken *token = simple->assignments->pdata[i];
    g_autofree char *pair = orr_shell_expand_text(shell, token->raw, token->place);
    g_ptr_array_add(command->environment, word_of(pair, token->place));
  }
  g_ptr_array_add(shell->commands, command);
}

/* --- Builtins --- */

static OrrShellTruth run_export(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  (void)simple;
  for (guint i = 1; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    if (token->kind != ORR_SHELL_WORD || token->raw[0] == '-') continue;
    g_autofree char *name = orr_shell_assignment(token->raw)
                                ? orr_shell_assign_raw(shell, token->raw, token->place)
                                : g_strdup(token->raw);
    OrrShellVariable *variable = orr_shell_variable(shell, name);
    if (variable) variable->is_exported = TRUE;
  }
  return TRUE;
}

static OrrShellTruth run_unset(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  (void)tree;
  for (guint i = 1; i < simple->texts->len; i++)
    g_hash_table_remove(shell->variables, text_at(simple, i));
  return TRUE;
}

static OrrShellTruth run_source(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  const char *path = text_at(simple, 1);
  g_autofree char *plain = path ? orr_shell_plain(path) : NULL;
  OrrLaunchSource *source = plain ? orr_launch_form_source(shell->draft, plain) : NULL;
  if (source) {
    source->is_used = TRUE;
    orr_shell_run(shell, source);
  } else if (plain) {
    orr_shell_warn_once(shell, tree->place, "%s was not given: add it to the command line", plain);
  }
  return TRUE;
}

static OrrShellTruth run_eval(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 1; i < simple->texts->len; i++)
    g_string_append_printf(text, "%s%s", i > 1 ? " " : "", text_at(simple, i));
  orr_shell_run_text(shell, text->str, tree->place);
  return TRUE;
}

static OrrShellTruth run_exit(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  (void)tree;
  shell->is_over = strcmp(text_at(simple, 0), "exit") == 0;
  return TRUE;
}

static OrrShellTruth run_test(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new();
  for (guint i = 1; i < simple->texts->len; i++)
    if (i + 1 < simple->texts->len || strcmp(text_at(simple, i), "]") != 0)
      g_ptr_array_add(texts, simple->texts->pdata[i]);
  return orr_shell_test(shell, texts, tree->place);
}

static OrrShellTruth run_false(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  (void)shell;
  (void)tree;
  (void)simple;
  return FALSE;
}

static OrrShellTruth run_set(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  (void)shell;
  (void)tree;
  (void)simple;
  return TRUE;
}

/* cat > FILE <<END: another source. */
/* Adds to the source @name, or makes it. */
static void write_source(OrrShell *shell, const char *name, const char *text, gboolean appends) {
  OrrLaunchSource *old = appends ? orr_launch_form_source(shell->draft, name) : NULL;
  if (!old) {
    orr_launch_form_add_text(shell->draft, name, text, strlen(text))->is_used = TRUE;
    return;
  }
  char *both = g_strconcat(old->text, text, NULL);
  g_free(old->text);
  old->text = both;
  old->length = strlen(both);
}

static OrrShellTruth run_cat(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  (void)tree;
  const char *path = simple->target ? simple->target : text_at(simple, 1);
  if (!simple->document || !path) return TRUE;
  g_autofree char *name = orr_shell_plain(path);
  g_autofree char *body =
      simple->document->is_literal
          ? g_strdup(simple->document->body)
          : orr_shell_expand_document(shell, simple->document->body, simple->document->place);
  g_autofree char *text = orr_shell_plain(body);
  write_source(shell, name, text, simple->appends);
  return TRUE;
}

static const struct {
  const char *name;
  OrrShellTruth (*run)(OrrShell *shell, const OrrShellTree *tree, const Simple *simple);
} builtins[] = {
    {".", run_source},  {":", run_set},          {"[", run_test},          {"cat", run_cat},
    {"cd", run_set},    {"declare", run_export}, {"echo", run_set},        {"eval", run_eval},
    {"exit", run_exit}, {"export", run_export},  {"false", run_false},     {"local", run_export},
    {"mkdir", run_set}, {"printf", run_set},     {"readonly", run_export}, {"return", run_exit},
    {"set", run_set},   {"shift", run_set},      {"source", run_source},   {"tee", run_cat},
    {"test", run_test}, {"true", run_set},       {"typeset", run_export},  {"unset", run_unset},
};

/* $1 and the others are the words behind word @at. */
static void set_arguments(OrrShell *shell, const Simple *simple, guint at) {
  OrrShellVariable *all = orr_shell_assigned(shell, "@");
  if (all) g_ptr_array_set_size(all->items, 0);
  for (guint i = at + 1; i < simple->texts->len; i++) {
    g_autofree char *name = g_strdup_printf("%u", i - at);
    orr_shell_assign(shell, name, text_at(simple, i));
    if (all) g_ptr_array_add(all->items, g_strdup(text_at(simple, i)));
  }
}

static void call_function(OrrShell *shell, const OrrShellTree *body, const Simple *simple) {
  if (shell->depth >= ORR_SHELL_DEPTH) return;
  set_arguments(shell, simple, 0);
  shell->depth++;
  run_tree(shell, body);
  shell->depth--;
}

/* The word behind the options of a shell at @i, if one of them is -c ("bash -x -c SCRIPT"); 0:
 * none. */
static guint shell_script(const Simple *simple, guint i) {
  for (i++; i + 1 < simple->texts->len && text_at(simple, i)[0] == '-'; i++)
    if (text_at(simple, i)[1] != '-' && g_str_has_suffix(text_at(simple, i), "c")) return i + 1;
  return 0;
}

/* The script of "bash -c SCRIPT" or "ssh HOST 'SCRIPT'" in the command, whatever stands in front;
 * 0: none. */
static guint inner_script(const Simple *simple) {
  for (guint i = 0; i < simple->texts->len; i++) {
    g_autofree char *base = g_path_get_basename(text_at(simple, i));
    const gboolean is_shell = strcmp(base, "bash") == 0 || strcmp(base, "sh") == 0;
    const guint script = is_shell ? shell_script(simple, i) : 0;
    if (script) return script;
    if (strcmp(base, "ssh") == 0 && strchr(text_at(simple, simple->texts->len - 1), ' '))
      return simple->texts->len - 1;
  }
  return 0;
}

/* A here-document that a scheduler or a shell reads: "sbatch <<END", "bash <<END". */
static void run_document(OrrShell *shell, const Simple *simple) {
  static const char *const readers[] = {"sbatch", "bash", "sh", "ssh", "srun", NULL};
  const OrrShellToken *document = simple->document;
  if (!document || !g_strv_contains(readers, text_at(simple, 0))) return;
  g_autofree char *body = document->is_literal
                              ? g_strdup(document->body)
                              : orr_shell_expand_document(shell, document->body, document->place);
  orr_shell_headers(shell, shell->draft, body);
  orr_shell_run_text(shell, body, document->place);
}

/* "bash run.sh 8 1024", "sbatch run.sh": a script that was given and that nothing has read. */
static void run_script(OrrShell *shell, const Simple *simple) {
  static const char *const endings[] = {".sh", ".bash", ".slurm", ".sbatch", ".sub"};
  for (guint i = 0; i < simple->texts->len; i++) {
    g_autofree char *plain = orr_shell_plain(text_at(simple, i));
    gboolean is_script = FALSE;
    for (guint k = 0; k < G_N_ELEMENTS(endings); k++)
      is_script = is_script || g_str_has_suffix(plain, endings[k]);
    OrrLaunchSource *source = is_script ? orr_launch_form_source(shell->draft, plain) : NULL;
    if (!source || source->is_used) continue;
    source->is_used = TRUE;
    set_arguments(shell, simple, i);
    orr_shell_headers(shell, shell->draft, source->text);
    orr_shell_run(shell, source);
    return;
  }
}

static OrrShellTruth dispatch(OrrShell *shell, const OrrShellTree *tree, const Simple *simple) {
  const char *name = text_at(simple, 0);
  const OrrShellTree *body = g_hash_table_lookup(shell->functions, name);
  const guint inner = inner_script(simple);
  if (body) {
    call_function(shell, body, simple);
    return TRUE;
  }
  if (g_str_has_prefix(name, "((")) return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(builtins); i++)
    if (strcmp(builtins[i].name, name) == 0) return builtins[i].run(shell, tree, simple);
  note_command(shell, simple);
  run_document(shell, simple);
  run_script(shell, simple);
  if (inner) orr_shell_run_text(shell, text_at(simple, inner), place_at(simple, inner));
  return TRUE;
}

static OrrShellTruth run_simple(OrrShell *shell, const OrrShellTree *tree) {
  if (++shell->n_commands > MOST_COMMANDS) {
    orr_shell_warn_once(shell, tree->place, "more than 100,000 commands");
    shell->is_over = TRUE;
    return FALSE;
  }
  Simple simple = {.texts = g_ptr_array_new_with_free_func(g_free),
                   .places = g_ptr_array_new(),
                   .assignments = g_ptr_array_new()};
  const gboolean was = shell->is_condition;
  shell->is_condition = is_condition(tree);
  sort_tokens(shell, tree, &simple);
  shell->is_condition = was;
  OrrShellTruth truth = ORR_SHELL_TRUE;
  if (simple.texts->len)
    truth = dispatch(shell, tree, &simple);
  else
    for (guint i = 0; i < simple.assignments->len; i++) {
      const OrrShellToken *token = simple.assignments->pdata[i];
      g_free(orr_shell_assign_raw(shell, token->raw, token->place));
    }
  g_ptr_array_unref(simple.texts);
  g_ptr_array_unref(simple.places);
  g_ptr_array_unref(simple.assignments);
  g_free(simple.target);
  return truth;
}

/* --- Compound commands --- */

static OrrShellTruth run_if(OrrShell *shell, const OrrShellTree *tree) {
  guint i = 0;
  for (; i + 1 < tree->below->len; i += 2)
    if (run_tree(shell, tree->below->pdata[i]) == ORR_SHELL_TRUE) {
      run_tree(shell, tree->below->pdata[i + 1]);
      return ORR_SHELL_TRUE;
    }
  if (i < tree->below->len) run_tree(shell, tree->below->pdata[i]);
  return TRUE;
}

static gboolean matches(OrrShell *shell, const OrrShellTree *patterns, const char *text) {
  for (guint i = 0; i < patterns->words->len; i++) {
    const OrrShellToken *token = patterns->words->pdata[i];
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
      run_tree(shell, tree->below->pdata[i + 1]);
      break;
    }
  return TRUE;
}

static OrrShellTruth run_for(OrrShell *shell, const OrrShellTree *tree) {
  const OrrShellToken *name = tree->words->pdata[0];
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 1; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    orr_shell_expand(shell, token->raw, token->place, texts);
  }
  for (guint i = 0; i < MIN(texts->len, MOST_TURNS) && !shell->is_over; i++) {
    orr_shell_assign(shell, name->raw, texts->pdata[i]);
    run_tree(shell, tree->below->pdata[0]);
  }
  return TRUE;
}

/* A loop that runs at all runs once: what it starts again is the same. */
static OrrShellTruth run_while(OrrShell *shell, const OrrShellTree *tree) {
  if (run_tree(shell, tree->below->pdata[0]) == ORR_SHELL_TRUE)
    run_tree(shell, tree->below->pdata[1]);
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_brackets(OrrShell *shell, const OrrShellTree *tree) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  const gboolean was = shell->is_condition;
  shell->is_condition = TRUE;
  for (guint i = 0; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    g_ptr_array_add(texts, orr_shell_expand_text(shell, token->raw, token->place));
  }
  shell->is_condition = was;
  return orr_shell_test(shell, texts, tree->place);
}

static OrrShellTruth run_list(OrrShell *shell, const OrrShellTree *tree) {
  OrrShellTruth truth = ORR_SHELL_TRUE;
  for (guint i = 0; i < tree->below->len && !shell->is_over; i++)
    truth = run_tree(shell, tree->below->pdata[i]);
  return truth;
}

/* "a && b" goes on where a succeeds, "a || b" where it fails; after an unknown a neither does. */
static OrrShellTruth run_pair(OrrShell *shell, const OrrShellTree *tree, OrrShellTruth goes_on) {
  const OrrShellTruth first = run_tree(shell, tree->below->pdata[0]);
  return first == goes_on ? run_tree(shell, tree->below->pdata[1]) : first;
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
    return run_simple(shell, tree);
  case ORR_SHELL_LIST:
    return run_list(shell, tree);
  case ORR_SHELL_AND:
    return run_pair(shell, tree, ORR_SHELL_TRUE);
  case ORR_SHELL_OR:
    return run_pair(shell, tree, ORR_SHELL_FALSE);
  case ORR_SHELL_IF:
    return run_if(shell, tree);
  case ORR_SHELL_CASE:
    return run_case(shell, tree);
  case ORR_SHELL_FOR:
    return run_for(shell, tree);
  case ORR_SHELL_WHILE:
    return run_while(shell, tree);
  case ORR_SHELL_FUNCTION:
    return run_function(shell, tree);
  case ORR_SHELL_TEST:
    return run_brackets(shell, tree);
  }
  return ORR_SHELL_TRUE;
}

static OrrShellTruth run_tree(OrrShell *shell, const OrrShellTree *tree) {
  if (shell->is_over) return ORR_SHELL_FALSE;
  const OrrShellTruth truth = run_kind(shell, tree);
  return tree->is_negated ? orr_shell_not(truth) : truth;
}

/* --- Scripts --- */

void orr_shell_run_text(OrrShell *shell, const char *text, OrrPlace place) {
  OrrDiags *diags = orr_launch_draft_diags(shell->draft);
  const guint n_errors = orr_diags_n_errors(diags);
  if (shell->depth >= ORR_SHELL_DEPTH || shell->scripts->len > MOST_TURNS) return;
  Script *script = g_new0(Script, 1);
  script->tokens = orr_shell_tokens(text, place, FALSE, diags);
  script->tree = orr_shell_parse(script->tokens, diags);
  g_ptr_array_add(shell->scripts, script);
  if (orr_diags_n_errors(diags) > n_errors) return;
  shell->depth++;
  run_tree(shell, script->tree);
  shell->depth--;
}

void orr_shell_run(OrrShell *shell, const OrrLaunchSource *source) {
  orr_shell_run_text(shell, source->text,
                     (OrrPlace){.file = g_intern_string(source->name), .line = 1, .column = 1});
}
