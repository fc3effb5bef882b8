/*
 * shell_input.c - what commands read: here-documents, here-strings, files that were given, the
 * output of <(command); and the two that read into variables, read and mapfile.
 *
 * Of an input that nobody knows, every variable is unresolved, and success is a guess.
 */
#include "sim/import/launch/shell_private.h"

/* --- Where input comes from --- */

/* The text of a file that was given or that the script has written; NULL: not known. */
static char *file_text(OrrShell *shell, const OrrShellToken *token) {
  g_autofree char *path = orr_shell_expand_text(shell, token->raw, token->place);
  g_autofree char *plain = orr_shell_plain(path);
  const OrrLaunchSource *source = orr_launch_form_source(shell->draft, plain);
  if (!source || !orr_shell_draw(shell, source->length, token->place)) return NULL;
  return g_strdup(source->text);
}

/* <(command) */
static char *process_text(OrrShell *shell, const OrrShellToken *token) {
  g_autofree char *inside = g_strndup(token->raw + 2, MAX(strlen(token->raw), 3) - 3);
  return shell->output_of(shell, inside, token->place);
}

gboolean orr_shell_input_of(OrrShell *shell, const GPtrArray *tokens, guint i, char **ret_text) {
  const OrrShellToken *token = tokens->pdata[i];
  if (token->kind != ORR_SHELL_REDIRECT) return FALSE;
  if (token->body) {
    *ret_text = token->is_literal ? g_strdup(token->body)
                                  : orr_shell_expand_document(shell, token->body, token->place);
    return TRUE;
  }
  const char *sign = token->raw + strspn(token->raw, "0123456789");
  const OrrShellToken *target = i + 1 < tokens->len ? tokens->pdata[i + 1] : NULL;
  if (!target || *sign != '<') return FALSE;
  if (strcmp(sign, "<<<") == 0) {
    g_autofree char *text = orr_shell_expand_text(shell, target->raw, target->place);
    *ret_text = g_strconcat(text, "\n", NULL);
  } else {
    *ret_text = g_str_has_prefix(target->raw, "<(") ? process_text(shell, target)
                                                    : file_text(shell, target);
  }
  return TRUE;
}

/* --- Options --- */

/* The options of one command, "-ra NAME -d ,". */
typedef struct {
  const OrrShellSimple *simple;
  const char *taking; /* letters that take a value */
  guint next;         /* of the words: the first behind the options */
  const char *values[128];
} Options;

static void read_options(Options *options) {
  options->next = 1;
  for (const char *text; (text = orr_shell_text_at(options->simple, options->next));
       options->next++) {
    if (text[0] != '-' || !text[1]) return;
    for (const char *letter = text + 1; *letter; letter++) {
      if ((guchar)*letter >= G_N_ELEMENTS(options->values)) continue;
      options->values[(guchar)*letter] = "";
      if (!strchr(options->taking, *letter)) continue;
      const char *value =
          letter[1] ? letter + 1 : orr_shell_text_at(options->simple, ++options->next);
      options->values[(guchar)*letter] = value ? value : "";
      break;
    }
  }
}

/* --- Reading --- */

static OrrShellInput *input_for(OrrShell *shell, const OrrShellSimple *simple) {
  return simple->has_input ? (OrrShellInput *)&simple->input : shell->input;
}

/* The text up to @delimiter, which is passed over; '\0': all. NULL: the input is at its end.
 * @ret_ended: whether the delimiter was there. */
static char *take_line(OrrShell *shell, OrrShellInput *input, char delimiter, gboolean *ret_ended) {
  const char *from = input->text + input->at;
  const gsize n = strcspn(from, (const char[]){delimiter, '\0'});
  *ret_ended = from[n] != '\0';
  if (!*from || !orr_shell_draw(shell, n + 16, (OrrPlace){0})) return NULL;
  input->at += n + *ret_ended;
  shell->n_changes++;
  return g_strndup(from, n);
}

/* IFS in front of the command, else of the shell. Newly allocated. */
static char *separators_for(OrrShell *shell, const OrrShellSimple *simple) {
  ORR_EACH_POINTER(const OrrShellToken, token, simple->assignments)
    if (g_str_has_prefix(token->raw, "IFS="))
      return orr_shell_expand_text(shell, token->raw + 4, token->place);
  return g_strdup(orr_shell_separators(shell));
}

static void assign_unknown(OrrShell *shell, const char *name, gboolean is_array) {
  g_autofree char *mark = orr_shell_marked(name);
  if (!is_array) return orr_shell_assign(shell, name, mark);
  GPtrArray *items = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(items, g_steal_pointer(&mark));
  orr_shell_assign_items(shell, name, items);
}

/* The words behind the options name variables; without one, @fallback does. */
static void assign_fields(OrrShell *shell, const Options *options, const char *line,
                          const char *separators) {
  const guint n = options->simple->texts->len;
  g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
  if (options->next >= n) return orr_shell_assign(shell, "REPLY", line);
  orr_shell_split(line, separators, n - options->next, fields);
  for (guint i = options->next; i < n; i++) {
    const guint field = i - options->next;
    orr_shell_assign(shell, orr_shell_text_at(options->simple, i),
                     field < fields->len ? (char *)fields->pdata[field] : "");
  }
}

static OrrShellTruth read_unknown(OrrShell *shell, const Options *options) {
  const guint n = options->simple->texts->len;
  const char *array = options->values['a'];
  if (array) assign_unknown(shell, array, TRUE);
  for (guint i = options->next; !array && i < n; i++)
    assign_unknown(shell, orr_shell_text_at(options->simple, i), FALSE);
  if (!array && options->next >= n) assign_unknown(shell, "REPLY", FALSE);
  shell->is_guess = TRUE;
  return ORR_SHELL_TRUE;
}

OrrShellTruth orr_shell_read(OrrShell *shell, const OrrShellTree *tree,
                             const OrrShellSimple *simple) {
  Options options = {.simple = simple, .taking = "adinNptu"};
  read_options(&options);
  OrrShellInput *input = input_for(shell, simple);
  if (!input || !input->text) return read_unknown(shell, &options);
  const char *delimiter = options.values['d'];
  gboolean ended = FALSE;
  g_autofree char *line = take_line(shell, input, delimiter ? *delimiter : '\n', &ended);
  g_autofree char *separators = separators_for(shell, simple);
  if (options.values['a']) {
    GPtrArray *fields = g_ptr_array_new_with_free_func(g_free);
    orr_shell_split(line ? line : "", separators, 0, fields);
    orr_shell_assign_items(shell, options.values['a'], fields);
  } else {
    assign_fields(shell, &options, line ? line : "", separators);
  }
  return ended ? ORR_SHELL_TRUE : ORR_SHELL_FALSE;
}

OrrShellTruth orr_shell_mapfile(OrrShell *shell, const OrrShellTree *tree,
                                const OrrShellSimple *simple) {
  Options options = {.simple = simple, .taking = "dnOsuCc"};
  read_options(&options);
  const char *name = orr_shell_text_at(simple, options.next);
  OrrShellInput *input = input_for(shell, simple);
  if (!name) name = "MAPFILE";
  if (!input || !input->text || options.values['O'] || options.values['n'] || options.values['s']) {
    assign_unknown(shell, name, TRUE);
    return ORR_SHELL_TRUE;
  }
  const char *delimiter = options.values['d'];
  const char sign = delimiter ? *delimiter : '\n';
  GPtrArray *items = g_ptr_array_new_with_free_func(g_free);
  gboolean ended = FALSE;
  for (char *line; (line = take_line(shell, input, sign, &ended));) {
    const gboolean is_kept = ended && !options.values['t'];
    g_ptr_array_add(items, is_kept ? g_strdup_printf("%s%c", line, sign) : g_strdup(line));
    g_free(line);
  }
  orr_shell_assign_items(shell, name, items);
  return ORR_SHELL_TRUE;
}
