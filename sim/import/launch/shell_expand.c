/*
 * shell_expand.c - words as written become words: braces, quotes, variables, arithmetic, what
 * commands print; then the fields of what was not quoted.
 */
#include "sim/import/launch/shell_private.h"

/* Words being written. */
typedef struct {
  OrrShell *shell;
  GString *word;
  gboolean has_word;  /* something, perhaps empty quotes, was written */
  gboolean is_quoted; /* inside "...": nothing splits */
  OrrPlace place;
  GPtrArray *texts; /* of char *; NULL: one text, nothing splits */
} Out;

static void expand_into(Out *out, const char *raw, gsize length);

/* --- Writing words --- */

static void put(Out *out, const char *text, gsize length) {
  if (!orr_shell_draw(out->shell, length, out->place)) return;
  g_string_append_len(out->word, text, (gssize)length);
  out->has_word = TRUE;
}

static void end_word(Out *out) {
  if (!out->texts || !out->has_word) return;
  if (orr_shell_draw(out->shell, sizeof(OrrLaunchWord), out->place))
    g_ptr_array_add(out->texts, g_strdup(out->word->str));
  g_string_truncate(out->word, 0);
  out->has_word = FALSE;
}

const char *orr_shell_separators(const OrrShell *shell) {
  const OrrShellVariable *variable = orr_shell_variable(shell, "IFS");
  return variable && variable->items->len ? variable->items->pdata[0] : " \t\n";
}

/* How many characters of @text come before the next separator outside of marks. */
static gsize field_length(const char *text, const char *separators) {
  gsize n = 0;
  for (gboolean inside = FALSE; text[n]; n++) {
    inside = text[n] == ORR_SHELL_MARK || (inside && text[n] != ORR_SHELL_MARK_END);
    if (!inside && strchr(separators, text[n])) break;
  }
  return n;
}

/* How many characters of @text separate two fields: blanks, and at most one other separator. */
static gsize gap_length(const char *text, const char *separators) {
  gsize n = 0;
  for (gboolean has_sign = FALSE; text[n] && strchr(separators, text[n]); n++) {
    const gboolean is_sign = !strchr(" \t\n", text[n]);
    if (is_sign && has_sign) break;
    has_sign = has_sign || is_sign;
  }
  return n;
}

static gsize blank_length(const char *text, const char *separators) {
  gsize n = 0;
  while (text[n] && strchr(" \t\n", text[n]) && strchr(separators, text[n])) n++;
  return n;
}

/* An expansion's value: its first field goes on what was written, its last may go on. */
static void put_value(Out *out, const char *value) {
  if (out->is_quoted || !out->texts) return put(out, value, strlen(value));
  const char *separators = orr_shell_separators(out->shell);
  const gsize blanks = blank_length(value, separators);
  if (blanks) end_word(out);
  for (value += blanks; *value && !out->shell->is_over;) {
    const gsize n = field_length(value, separators);
    put(out, value, n);
    value += n;
    const gsize gap = gap_length(value, separators);
    if (gap) end_word(out);
    value += gap;
  }
}

void orr_shell_split(const char *text, const char *separators, guint most, GPtrArray *fields) {
  gsize length = strlen(text);
  text += blank_length(text, separators);
  length = strlen(text);
  while (length && strchr(" \t\n", text[length - 1]) && strchr(separators, text[length - 1]))
    length--;
  g_autofree char *all = g_strndup(text, length);
  for (const char *at = all; *at;) {
    const gboolean is_last = most && fields->len + 1 == most;
    const gsize n = is_last ? strlen(at) : field_length(at, separators);
    g_ptr_array_add(fields, g_strndup(at, n));
    at += n;
    at += gap_length(at, separators);
  }
}

static void put_values(Out *out, const OrrShellValue *value, const char *name) {
  if (!value->is_set && out->shell->is_condition)
    return orr_shell_warn_once(out->shell, out->place, "a condition takes %s as not set", name);
  if (!value->is_set) {
    g_autofree char *text = orr_shell_marked(name);
    put_value(out, text);
    return;
  }
  if (!value->is_many || !out->texts) {
    g_autofree char *text = orr_shell_joined(out->shell, value);
    put_value(out, text);
    if (out->is_quoted) out->has_word = TRUE;
    return;
  }
  if (value->items->len == 0 && out->word->len == 0) out->has_word = FALSE; /* "${A[@]}" of () */
  for (guint i = 0; i < value->items->len; i++) {
    if (i) end_word(out);
    put_value(out, value->items->pdata[i]);
    if (out->is_quoted) out->has_word = TRUE;
  }
}

static void put_parameter(Out *out, const char *spec) {
  g_autofree char *name = NULL;
  const OrrShellValue value = orr_shell_parameter(out->shell, spec, out->place, &name);
  put_values(out, &value, name);
  g_ptr_array_unref(value.items);
}

/* --- Words --- */

/* What nobody knows: @written as it stands, or the variable that it lacks. */
static void put_unknown(Out *out, const char *written) {
  g_autofree char *text = orr_shell_marked(written);
  put_value(out, text);
}

static void put_arithmetic(Out *out, const char *text) {
  gint64 number = 0;
  g_autofree char *unresolved = NULL;
  if (orr_shell_arithmetic(out->shell, text, &number, &unresolved)) {
    g_autofree char *digits = g_strdup_printf("%ld", number);
    put_value(out, digits);
    return;
  }
  g_autofree char *written = g_strdup_printf("$((%s))", text);
  g_autofree char *plain = orr_shell_plain(written);
  put_unknown(out, unresolved ? unresolved : plain);
}

/* Without the newlines at its end, as $(...) has it. */
static void put_output(Out *out, char *printed) {
  gsize n = strlen(printed);
  while (n && printed[n - 1] == '\n') printed[--n] = '\0';
  put_value(out, printed);
}

/* $(command): nothing is run, but what some commands would print is known. */
static void put_command(Out *out, const char *written, gsize length) {
  const gboolean is_old = *written == '`'; /* `command` */
  g_autofree char *inside = is_old ? g_strndup(written + 1, MAX(length, 2) - 2)
                                   : g_strndup(written + 2, MAX(length, 3) - 3);
  g_autofree char *printed = out->shell->output_of(out->shell, inside, out->place);
  g_autofree char *text = g_strdup_printf("$(%s)", inside);
  if (printed)
    put_output(out, printed);
  else
    put_unknown(out, text);
}

static void put_dollar(Out *out, const char *at, gsize length) {
  if (g_str_has_prefix(at, "$((") && length > 5 && at[length - 2] == ')') {
    g_autofree char *text = g_strndup(at + 3, length - 5);
    put_arithmetic(out, text);
  } else if (at[1] == '(') {
    put_command(out, at, length);
  } else {
    g_autofree char *spec =
        at[1] == '{' ? g_strndup(at + 2, MAX(length, 3) - 3) : g_strndup(at + 1, length - 1);
    put_parameter(out, spec);
  }
}

static void put_double_quotes(Out *out, const char *from, const char *end) {
  const gboolean was_quoted = out->is_quoted;
  out->is_quoted = TRUE;
  out->has_word = TRUE;
  for (const char *at = from; at < end;) {
    if (*at == '\\' && at + 1 < end && strchr("\"\\$`\n", at[1])) {
      if (at[1] != '\n') put(out, at + 1, 1);
      at += 2;
    } else if (*at == '$' || *at == '`') {
      const char *part = orr_shell_part_end(at);
      if (*at == '$' && !(at[1] && strchr("({", at[1])))
        part = at + 1 + orr_shell_name_length(at + 1);
      expand_into(out, at, (gsize)(MIN(part, end) - at));
      at = MAX(part, at + 1);
    } else {
      put(out, at++, 1);
    }
  }
  out->is_quoted = was_quoted;
}

static void put_single_quotes(Out *out, const char *from, const char *end) {
  out->has_word = TRUE;
  put(out, from, (gsize)MAX(0, end - from));
}

/* $'...' has C's escapes. */
static void put_escaped(Out *out, const char *from, const char *end) {
  g_autofree char *written = g_strndup(from, (gsize)MAX(0, end - from));
  g_autofree char *text = g_strcompress(written);
  for (char *c = text; *c; c++)
    if ((guchar)*c < ' ' && !strchr("\n\t", *c)) *c = ' '; /* no marks */
  put_single_quotes(out, text, text + strlen(text));
}

/* One part at @at, which ends at @end. */
static void put_part(Out *out, const char *at, const char *end) {
  const gboolean is_closed = end > at + 1 && end[-1] == *at;
  if (*at == '\'' && !out->is_quoted)
    put_single_quotes(out, at + 1, is_closed ? end - 1 : end);
  else if (*at == '"' && !out->is_quoted)
    put_double_quotes(out, at + 1, is_closed ? end - 1 : end);
  else if (*at == '`')
    put_command(out, at, (gsize)(end - at));
  else if (*at == '$' && end > at + 1)
    put_dollar(out, at, (gsize)(end - at));
  else if (*at == '\\' && end > at + 1)
    put(out, at + 1, at[1] == '\n' ? 0 : (gsize)(end - at) - 1);
  else
    put(out, at, (gsize)(end - at));
}

static void expand_into(Out *out, const char *raw, gsize length) {
  if (out->shell->depth >= ORR_SHELL_DEPTH)
    return orr_shell_stop(out->shell, out->place, "more than %d levels of nesting",
                          ORR_SHELL_DEPTH);
  out->shell->depth++;
  for (const char *at = raw; at < raw + length && !out->shell->is_over;) {
    const char *end = orr_shell_part_end(at);
    if (*at == '$' && !(at[1] && strchr("({", at[1]))) end = at + 1 + orr_shell_name_length(at + 1);
    const gboolean is_escaped = *at == '$' && at[1] == '\'' && !out->is_quoted;
    end = MIN(is_escaped ? orr_shell_part_end(at + 1) : end, raw + length);
    if (is_escaped)
      put_escaped(out, at + 2, end > at + 2 && end[-1] == '\'' ? end - 1 : end);
    else
      put_part(out, at, end);
    at = end;
  }
  out->shell->depth--;
}

static void expand_word(OrrShell *shell, const char *raw, OrrPlace place, GPtrArray *texts) {
  Out out = {.shell = shell, .word = g_string_new(NULL), .place = place, .texts = texts};
  expand_into(&out, raw, strlen(raw));
  end_word(&out);
  g_string_free(out.word, TRUE);
}

void orr_shell_expand(OrrShell *shell, const char *raw, OrrPlace place, GPtrArray *texts) {
  g_autoptr(GPtrArray) words = orr_shell_braces(shell, raw, place);
  if (!words) expand_word(shell, raw, place, texts);
  for (guint i = 0; words && i < words->len; i++) expand_word(shell, words->pdata[i], place, texts);
}

char *orr_shell_expand_text(OrrShell *shell, const char *raw, OrrPlace place) {
  Out out = {.shell = shell, .word = g_string_new(NULL), .place = place};
  expand_into(&out, raw, strlen(raw));
  return g_string_free(out.word, FALSE);
}

char *orr_shell_expand_document(OrrShell *shell, const char *body, OrrPlace place) {
  Out out = {.shell = shell, .word = g_string_new(NULL), .place = place};
  put_double_quotes(&out, body, body + strlen(body));
  return g_string_free(out.word, FALSE);
}
