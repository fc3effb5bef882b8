/*
 * shell_output.c - what commands print whose output follows from their words and their input:
 * $(seq 0 3), $(echo $GPUS | tr , ' '), $(echo "$HOSTS" | wc -w). Nothing is run.
 *
 * To add one: a function, and a row of `printers`. It returns NULL for options that it does not
 * know: then the output is not known.
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_NUMBERS = 10000 };

/* One command: its words, and its input (NULL: not known). */
typedef struct {
  OrrShell *shell;
  const GPtrArray *texts; /* of char *; the first is its name */
  const char *input;
  OrrPlace place;
} Call;

static const char *word(const Call *call, guint i) {
  return i < call->texts->len ? call->texts->pdata[i] : NULL;
}

static gboolean read_integer(const char *text, gint64 *ret_number) {
  char *end = NULL;
  *ret_number = text ? g_ascii_strtoll(text, &end, 10) : 0;
  return text && end > text && !*end && ABS(*ret_number) < 1000000000;
}

/* The words from @from on, joined by blanks. */
static char *joined(const Call *call, guint from) {
  GString *text = g_string_new(NULL);
  for (guint i = from; i < call->texts->len; i++)
    g_string_append_printf(text, "%s%s", i > from ? " " : "", word(call, i));
  return g_string_free(text, FALSE);
}

/* --- Printers --- */

static char *print_echo(const Call *call) {
  guint from = 1;
  gboolean has_newline = TRUE, has_escapes = FALSE;
  for (const char *text; (text = word(call, from)) && text[0] == '-' && text[1]; from++) {
    if (strspn(text + 1, "neE") != strlen(text + 1)) break;
    has_newline = has_newline && !strchr(text, 'n');
    has_escapes = has_escapes || strchr(text, 'e');
  }
  g_autofree char *text = joined(call, from);
  g_autofree char *plain = has_escapes ? g_strcompress(text) : g_strdup(text);
  return g_strconcat(plain, has_newline ? "\n" : "", NULL);
}

/* %s and %d; the format again for the words that are left, as in bash. */
static char *print_format(const Call *call) {
  g_autofree char *format = word(call, 1) ? g_strcompress(word(call, 1)) : NULL;
  guint next = 2;
  if (!format) return NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  do {
    const guint first = next;
    for (const char *at = format; *at; at++) {
      if (*at != '%') {
        g_string_append_c(text, *at);
      } else if (at[1] == '%') {
        g_string_append_c(text, *++at);
      } else if (at[1] && strchr("sd", at[1])) {
        g_string_append(text, word(call, next) ? word(call, next) : at[1] == 'd' ? "0" : "");
        next++, at++;
      } else {
        return NULL;
      }
    }
    if (next == first || !orr_shell_draw(call->shell, text->len / 64, call->place)) break;
  } while (next < call->texts->len);
  return g_strdup(text->str);
}

/* seq LAST, FIRST LAST, FIRST STEP LAST; -s SIGN, -w */
static char *print_seq(const Call *call) {
  const char *separator = "\n";
  gboolean is_padded = FALSE;
  gint64 numbers[3] = {1, 1, 1};
  guint n = 0;
  for (guint i = 1; i < call->texts->len; i++) {
    const char *text = word(call, i);
    if (strcmp(text, "-w") == 0)
      is_padded = TRUE;
    else if (strcmp(text, "-s") == 0)
      separator = word(call, ++i);
    else if (g_str_has_prefix(text, "-s"))
      separator = text + 2;
    else if (n == 3 || !read_integer(text, &numbers[n++]))
      return NULL;
  }
  if (n == 0 || !separator) return NULL;
  const gint64 first = n > 1 ? numbers[0] : 1, step = n == 3 ? numbers[1] : 1;
  const gint64 last = numbers[n - 1];
  if (step == 0) return NULL;
  const gint64 count = (last - first) / step + 1;
  if (count > MOST_NUMBERS && (last - first) / step >= 0) {
    orr_shell_stop(call->shell, call->place, "seq prints more than %d numbers", MOST_NUMBERS);
    return NULL;
  }
  g_autofree char *longest = g_strdup_printf("%ld", MAX(ABS(first), ABS(last)));
  const int width = is_padded ? (int)strlen(longest) : 0;
  GString *text = g_string_new(NULL);
  for (gint64 at = first; step > 0 ? at <= last : at >= last; at += step)
    g_string_append_printf(text, "%s%0*ld", at == first ? "" : separator, width, at);
  if (text->len) g_string_append_c(text, '\n');
  return g_string_free(text, FALSE);
}

static char *print_expr(const Call *call) {
  g_autofree char *text = joined(call, 1);
  gint64 number = 0;
  if (!orr_shell_arithmetic(call->shell, text, &number, NULL)) return NULL;
  return g_strdup_printf("%ld\n", number);
}

/* cat, cat FILE... of files that were given or written. */
static char *print_cat(const Call *call) {
  if (call->texts->len == 1) return g_strdup(call->input);
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 1; i < call->texts->len; i++) {
    const OrrLaunchSource *source = orr_launch_form_source(call->shell->draft, word(call, i));
    if (!source || !orr_shell_draw(call->shell, source->length, call->place)) return NULL;
    g_string_append(text, source->text);
  }
  return g_strdup(text->str);
}

/* tr FROM TO and tr -d SET, of single characters. */
static char *print_tr(const Call *call) {
  const gboolean drops = g_strcmp0(word(call, 1), "-d") == 0;
  if (!call->input || call->texts->len != 3) return NULL;
  g_autofree char *from = g_strcompress(word(call, drops ? 2 : 1));
  g_autofree char *to = drops ? g_strdup("") : g_strcompress(word(call, 2));
  if (strpbrk(from, "[-") || strpbrk(to, "[-") || !*from || (!drops && !*to)) return NULL;
  GString *text = g_string_new(NULL);
  for (const char *at = call->input; *at; at++) {
    const char *found = strchr(from, *at);
    if (!found)
      g_string_append_c(text, *at);
    else if (!drops)
      g_string_append_c(text, to[MIN((gsize)(found - from), strlen(to) - 1)]);
  }
  return g_string_free(text, FALSE);
}

/* wc -l, -w, -c of the input. */
static char *print_wc(const Call *call) {
  const char *what = word(call, 1);
  if (!call->input || call->texts->len != 2) return NULL;
  gsize n_lines = 0, n_words = 0;
  for (const char *at = call->input; *at; at++) {
    n_lines += *at == '\n';
    n_words += !g_ascii_isspace(*at) && (at == call->input || g_ascii_isspace(at[-1]));
  }
  const gsize n = strcmp(what, "-l") == 0   ? n_lines
                  : strcmp(what, "-w") == 0 ? n_words
                  : strcmp(what, "-c") == 0 ? strlen(call->input)
                                            : G_MAXSIZE;
  return n == G_MAXSIZE ? NULL : g_strdup_printf("%zu\n", n);
}

/* cut -d SIGN -f N, also as -dSIGN -fN. */
static char *print_cut(const Call *call) {
  char sign = '\t';
  gint64 field = 0;
  for (guint i = 1; i < call->texts->len; i++) {
    const char *text = word(call, i),
               *value = text[0] && text[1] && text[2] ? text + 2 : word(call, i + 1);
    i += value && value != text + 2;
    if (g_str_has_prefix(text, "-d") && value && value[0] && !value[1])
      sign = *value;
    else if (!g_str_has_prefix(text, "-f") || !read_integer(value, &field))
      return NULL;
  }
  if (!call->input || field < 1) return NULL;
  g_auto(GStrv) lines = g_strsplit(call->input, "\n", -1);
  GString *text = g_string_new(NULL);
  for (char **line = lines; *line && (line[1] || **line); line++) {
    g_auto(GStrv) fields = g_strsplit(*line, (const char[]){sign, '\0'}, -1);
    const guint n = g_strv_length(fields);
    g_string_append_printf(text, "%s\n", n == 1 ? *line : field <= n ? fields[field - 1] : "");
  }
  return g_string_free(text, FALSE);
}

static char *print_basename(const Call *call) {
  if (call->texts->len < 2 || call->texts->len > 3) return NULL;
  char *base = g_path_get_basename(word(call, 1));
  const char *ending = word(call, 2);
  if (ending && g_str_has_suffix(base, ending) && strcmp(base, ending) != 0)
    base[strlen(base) - strlen(ending)] = '\0';
  return base;
}

static char *print_dirname(const Call *call) {
  return call->texts->len == 2 ? g_path_get_dirname(word(call, 1)) : NULL;
}

static const struct {
  const char *name;
  char *(*print)(const Call *call);
} printers[] = {
    {"basename", print_basename},
    {"cat", print_cat},
    {"cut", print_cut},
    {"dirname", print_dirname},
    {"echo", print_echo},
    {"expr", print_expr},
    {"printf", print_format},
    {"seq", print_seq},
    {"tr", print_tr},
    {"wc", print_wc},
};

/* --- Trees --- */

static char *print_call(const Call *call) {
  for (guint i = 0; i < call->texts->len; i++)
    if (strchr(word(call, i), ORR_SHELL_MARK)) return NULL;
  if (call->texts->len == 0 || g_hash_table_contains(call->shell->functions, word(call, 0)))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS(printers); i++)
    if (strcmp(printers[i].name, word(call, 0)) == 0) return printers[i].print(call);
  return NULL;
}

static char *output_of_simple(OrrShell *shell, const OrrShellTree *tree, const char *input) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *own = NULL;
  Call call = {shell, texts, input, tree->place};
  for (guint i = 0; i < tree->words->len; i++) {
    const OrrShellToken *token = tree->words->pdata[i];
    char *text = NULL;
    if (token->kind == ORR_SHELL_WORD) {
      if (texts->len == 0 && orr_shell_assignment(token->raw)) return NULL;
      orr_shell_expand(shell, token->raw, token->place, texts);
      continue;
    }
    if (orr_shell_input_of(shell, tree->words, i, &text)) {
      g_free(own);
      own = text;
      call.input = own;
    } else if (!strstr(token->raw, "2>")) {
      return NULL; /* it prints into a file */
    }
    i += token->body == NULL;
  }
  return print_call(&call);
}

/* Of a pipe: each reads what the one before it prints. */
static char *output_of_pipe(OrrShell *shell, const OrrShellTree *tree, const char *input) {
  g_autofree char *text = g_strdup(input);
  for (guint i = 0; i < tree->below->len; i++) {
    char *printed = orr_shell_output(shell, tree->below->pdata[i], text);
    g_free(text);
    text = printed;
    if (!text) return NULL;
  }
  return g_steal_pointer(&text);
}

char *orr_shell_output(OrrShell *shell, const OrrShellTree *tree, const char *input) {
  if (shell->is_over) return NULL;
  char *text = NULL;
  if (tree->kind == ORR_SHELL_SIMPLE)
    text = output_of_simple(shell, tree, input);
  else if (tree->kind == ORR_SHELL_PIPE)
    text = output_of_pipe(shell, tree, input);
  else if (tree->kind == ORR_SHELL_LIST && tree->below->len == 1)
    text = orr_shell_output(shell, tree->below->pdata[0], input);
  if (!text || (orr_shell_draw(shell, strlen(text), tree->place) && !shell->is_over)) return text;
  g_free(text);
  return NULL;
}

/* $(<FILE) */
static char *output_of_file(OrrShell *shell, const GPtrArray *tokens) {
  char *text = NULL;
  const OrrShellToken *first = tokens->pdata[0];
  const gboolean is_file = tokens->len == 3 && strcmp(first->raw, "<") == 0;
  return is_file && orr_shell_input_of(shell, tokens, 0, &text) ? text : NULL;
}

char *orr_shell_output_of_text(OrrShell *shell, const char *text, OrrPlace place) {
  if (!orr_shell_draw(shell, strlen(text), place)) return NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* of text that is not a script nothing is known */
  g_autoptr(GPtrArray) tokens = orr_shell_tokens(text, place, FALSE, ignored);
  if (!orr_shell_draw(shell, tokens->len * sizeof(OrrShellToken), place)) return NULL;
  char *printed = output_of_file(shell, tokens);
  if (printed) return printed;
  OrrShellTree *tree = orr_shell_parse(tokens, ignored);
  if (orr_diags_n_errors(ignored) == 0) printed = orr_shell_output(shell, tree, NULL);
  orr_shell_tree_free(tree);
  return printed;
}
