/*
 * shell_expand.c - words as written become words: quotes, variables, arrays, ${V:-w} and its
 * relatives.
 */
#include <string.h>

#include "sim/base/fault.h"
#include "sim/import/launch/shell_private.h"

enum { MOST_EXPANDED = 16 << 20 };

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

OrrShellVariable *orr_shell_variable(const OrrShell *shell, const char *name) {
  return g_hash_table_lookup(shell->variables, name);
}

/* --- Marks --- */

char *orr_shell_unresolved(const char *text) {
  const char *mark = strchr(text, ORR_SHELL_MARK);
  while (mark && mark[1] == ORR_SHELL_MARK) mark++; /* of a script in a script */
  const char *end = mark ? strchr(mark, ORR_SHELL_MARK_END) : NULL;
  return end ? g_strndup(mark + 1, (gsize)(end - mark) - 1) : NULL;
}

char *orr_shell_plain(const char *text) {
  GString *plain = g_string_new(NULL);
  for (; *text; text++) {
    if (*text == ORR_SHELL_MARK && text[1] != '$' && text[1] != ORR_SHELL_MARK)
      g_string_append_c(plain, '$');
    else if (*text != ORR_SHELL_MARK && *text != ORR_SHELL_MARK_END)
      g_string_append_c(plain, *text);
  }
  return g_string_free(plain, FALSE);
}

static char *marked(const char *name) {
  return g_strdup_printf("%c%s%c", ORR_SHELL_MARK, name, ORR_SHELL_MARK_END);
}

static gboolean is_marked(const char *text) { return strchr(text, ORR_SHELL_MARK) != NULL; }

/* --- Writing words --- */

static void put(Out *out, const char *text, gsize length) {
  out->shell->expanded += length;
  if (out->shell->expanded > MOST_EXPANDED) {
    orr_shell_warn_once(out->shell, out->place, "the script expands to more than 16 MiB");
    out->shell->is_over = TRUE;
    return;
  }
  g_string_append_len(out->word, text, (gssize)length);
  out->has_word = TRUE;
}

static void end_word(Out *out) {
  if (!out->texts || !out->has_word) return;
  g_ptr_array_add(out->texts, g_strdup(out->word->str));
  g_string_truncate(out->word, 0);
  out->has_word = FALSE;
}

/* An expansion's value: split at blanks unless quoted. */
static void put_value(Out *out, const char *value) {
  if (out->is_quoted || !out->texts) {
    put(out, value, strlen(value));
    return;
  }
  for (gboolean inside = FALSE; *value; value++) {
    inside = *value == ORR_SHELL_MARK || (inside && *value != ORR_SHELL_MARK_END);
    if (!inside && strchr(" \t\n", *value))
      end_word(out);
    else
      put(out, value, 1);
  }
}

/* --- Parameters --- */

/* A parameter's values, as far as they are known. */
typedef struct {
  GPtrArray *items;         /* of char * */
  gboolean is_set, is_many; /* [@]: each item is a word */
} Value;

static void look_up(OrrShell *shell, const char *name, const char *index, Value *value) {
  const OrrShellVariable *variable = orr_shell_variable(shell, name);
  value->is_many = index && strcmp(index, "@") == 0;
  if (strcmp(name, "@") == 0 || strcmp(name, "*") == 0) {
    variable = orr_shell_variable(shell, "@");
    value->is_set = value->is_many = TRUE;
    index = "@";
  }
  if (!variable) return;
  value->is_set = TRUE;
  const gboolean all = index && (strcmp(index, "@") == 0 || strcmp(index, "*") == 0);
  gint64 at = 0;
  if (index && !all && !orr_shell_arithmetic(shell, index, &at, NULL)) at = -1;
  for (guint i = 0; i < variable->items->len; i++)
    if (all || i == at) g_ptr_array_add(value->items, g_strdup(variable->items->pdata[i]));
}

/* The items joined by blanks. Newly allocated. */
static char *joined(const Value *value) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < value->items->len; i++)
    g_string_append_printf(text, "%s%s", i ? " " : "", (char *)value->items->pdata[i]);
  return g_string_free(text, FALSE);
}

static void map_items(Value *value, char *(*change)(const char *item, const void *data),
                      const void *data) {
  for (guint i = 0; i < value->items->len; i++) {
    char *item = value->items->pdata[i];
    if (is_marked(item)) continue;
    value->items->pdata[i] = change(item, data);
    g_free(item);
  }
}

static char *lower(const char *item, const void *data) {
  (void)data;
  return g_ascii_strdown(item, -1);
}

static char *upper(const char *item, const void *data) {
  (void)data;
  return g_ascii_strup(item, -1);
}

typedef struct {
  const char *pattern, *with;
  gboolean from_end, longest, all;
} Cut;

/* Without the part at the begin or the end that matches. */
static char *cut(const char *item, const void *data) {
  const Cut *how = data;
  const gsize n = strlen(item);
  for (gsize i = 0; i <= n; i++) {
    const gsize length = how->longest ? n - i : i;
    g_autofree char *part = how->from_end ? g_strdup(item + n - length) : g_strndup(item, length);
    if (!g_pattern_match_simple(how->pattern, part)) continue;
    return how->from_end ? g_strndup(item, n - length) : g_strdup(item + length);
  }
  return g_strdup(item);
}

/* ${V/text/with}: plain texts. */
static char *replace(const char *item, const void *data) {
  const Cut *how = data;
  if (!*how->pattern) return g_strdup(item);
  g_auto(GStrv) parts = g_strsplit(item, how->pattern, how->all ? -1 : 2);
  return g_strjoinv(how->with, parts);
}

static void apply_cut(Out *out, Value *value, const char *word, char sign) {
  const gboolean twice = word[0] == sign;
  g_autofree char *pattern = orr_shell_expand_text(out->shell, word + twice, out->place);
  const Cut how = {.pattern = pattern, .from_end = sign == '%', .longest = twice};
  map_items(value, cut, &how);
}

static void apply_replace(Out *out, Value *value, const char *word) {
  const gboolean all = word[0] == '/';
  const char *slash = word + all;
  while (*slash && *slash != '/') slash += *slash == '\\' && slash[1] ? 2 : 1;
  g_autofree char *raw = g_strndup(word + all, (gsize)(slash - word) - all);
  g_autofree char *text = orr_shell_expand_text(out->shell, raw, out->place);
  g_autofree char *with = orr_shell_expand_text(out->shell, *slash ? slash + 1 : "", out->place);
  const Cut how = {.pattern = text, .with = with, .all = all};
  map_items(value, replace, &how);
}

/* ${V:offset:length} */
static void apply_slice(Out *out, Value *value, const char *word) {
  const char *colon = strchr(word, ':');
  g_autofree char *first = colon ? g_strndup(word, (gsize)(colon - word)) : g_strdup(word);
  g_autofree char *text = joined(value);
  const gint64 n = (gint64)strlen(text);
  gint64 offset = 0, length = n;
  if (!orr_shell_arithmetic(out->shell, first, &offset, NULL)) return;
  if (colon && !orr_shell_arithmetic(out->shell, colon + 1, &length, NULL)) return;
  if (offset < 0) offset = MAX(0, n + offset);
  offset = MIN(offset, n);
  length = length < 0 ? MAX(0, n + length - offset) : MIN(length, n - offset);
  g_ptr_array_set_size(value->items, 0);
  g_ptr_array_add(value->items, g_strndup(text + offset, (gsize)length));
}

static void set_item(Value *value, char *item) {
  g_ptr_array_set_size(value->items, 0);
  g_ptr_array_add(value->items, item);
  value->is_set = TRUE;
}

/* ${V:-w}, ${V:=w}, ${V:+w}, ${V:?w}; without the colon an empty value counts as set. */
static void apply_default(Out *out, Value *value, const char *name, const char *operator) {
  const gboolean has_colon = *operator== ':';
  const char sign = operator[has_colon], *word = operator+ has_colon + 1;
  g_autofree char *text = joined(value);
  const gboolean is_known = value->is_set && (!has_colon || *text);
  if (sign == '?' || (sign != '+' && is_known)) return;
  if (sign == '+' && !is_known)
    set_item(value, g_strdup(""));
  else
    set_item(value, orr_shell_expand_text(out->shell, word, out->place));
  if (sign == '=') orr_shell_assign(out->shell, name, value->items->pdata[0]);
}

static void apply(Out *out, Value *value, const char *name, const char *operator) {
  const char sign = *operator, second = sign ? operator[1] : '\0';
  if (!sign) return;
  if (strchr("-=+?", sign) || (sign == ':' && second && strchr("-=+?", second)))
    apply_default(out, value, name, operator);
  else if (sign == '%' || sign == '#')
    apply_cut(out, value, operator+ 1, sign);
  else if (sign == '/')
    apply_replace(out, value, operator+ 1);
  else if (sign == ':')
    apply_slice(out, value, operator+ 1);
  else if (sign == ',')
    map_items(value, lower, NULL);
  else if (sign == '^')
    map_items(value, upper, NULL);
}

static gsize name_length(const char *text) {
  gsize n = 0;
  if (g_ascii_isdigit(*text)) {
    while (g_ascii_isdigit(text[n])) n++;
    return n;
  }
  while (g_ascii_isalnum(text[n]) || text[n] == '_') n++;
  return n ? n : *text && strchr("@*#?$!-", *text) ? 1 : 0;
}

static void put_values(Out *out, const Value *value, const char *name) {
  if (!value->is_set && out->shell->is_condition) {
    orr_shell_warn_once(out->shell, out->place, "a condition takes %s as not set", name);
    return;
  }
  if (!value->is_set) {
    g_autofree char *text = marked(name);
    put_value(out, text);
    return;
  }
  if (!value->is_many || !out->texts) {
    g_autofree char *text = joined(value);
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

/* Splits "NAME[index]operator". */
static void put_parameter(Out *out, const char *spec) {
  Value value = {.items = g_ptr_array_new_with_free_func(g_free)};
  const gboolean counts = spec[0] == '#' && spec[1];
  const gboolean indirect = spec[0] == '!' && spec[1];
  spec += counts || indirect;
  const gsize n = name_length(spec);
  g_autofree char *name = g_strndup(spec, n);
  g_autofree char *index = NULL;
  const char *operator= spec + n;
  const char *close = *operator== '[' ? strchr(operator, ']') : NULL;
  if (close) {
    index = g_strndup(operator+ 1, (gsize)(close - operator) - 1);
    operator= close + 1;
  }
  if (strcmp(name, "#") == 0 || strcmp(name, "?") == 0)
    set_item(&value, g_strdup("0"));
  else
    look_up(out->shell, name, index, &value);
  if (indirect && value.items->len) {
    g_autofree char *other = g_strdup(value.items->pdata[0]);
    g_ptr_array_set_size(value.items, 0);
    look_up(out->shell, other, NULL, &value);
  }
  if (counts)
    set_item(&value, index ? g_strdup_printf("%u", value.items->len)
                           : g_strdup_printf("%zu", value.items->len ? strlen(value.items->pdata[0])
                                                                     : (gsize)0));
  apply(out, &value, name, operator);
  put_values(out, &value, name);
  g_ptr_array_unref(value.items);
}

/* --- Words --- */

/* What nobody knows: @written as it stands, or the variable that it lacks. */
static void put_unknown(Out *out, const char *written) {
  g_autofree char *text = marked(written);
  put_value(out, text);
}

static void put_arithmetic(Out *out, const char *text) {
  gint64 number = 0;
  g_autofree char *unresolved = NULL;
  if (orr_shell_arithmetic(out->shell, text, &number, &unresolved)) {
    g_autofree char *digits = g_strdup_printf("%" G_GINT64_FORMAT, number);
    put_value(out, digits);
    return;
  }
  g_autofree char *written = g_strdup_printf("$((%s))", text);
  g_autofree char *plain = orr_shell_plain(written);
  put_unknown(out, unresolved ? unresolved : plain);
}

/* $(command): nothing is run. */
static void put_command(Out *out, const char *written, gsize length) {
  const gboolean is_old = *written == '`'; /* `command` */
  g_autofree char *text = is_old ? g_strdup_printf("$(%.*s)", (int)MAX(length, 2) - 2, written + 1)
                                 : g_strndup(written, length);
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
        at[1] == '{' ? g_strndup(at + 2, length - 3) : g_strndup(at + 1, length - 1);
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
      if (*at == '$' && !(at[1] && strchr("({", at[1]))) part = at + 1 + name_length(at + 1);
      expand_into(out, at, (gsize)(MIN(part, end) - at));
      at = MAX(part, at + 1);
    } else {
      put(out, at++, 1);
    }
  }
  out->is_quoted = was_quoted;
}

/* $'...' and '...'. */
static void put_single_quotes(Out *out, const char *from, const char *end) {
  out->has_word = TRUE;
  put(out, from, (gsize)MAX(0, end - from));
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
  if (out->shell->depth >= ORR_SHELL_DEPTH) return;
  out->shell->depth++;
  for (const char *at = raw; at < raw + length && !out->shell->is_over;) {
    const char *end = orr_shell_part_end(at);
    if (*at == '$' && !(at[1] && strchr("({", at[1]))) end = at + 1 + name_length(at + 1);
    if (*at == '$' && at[1] == '\'' && !out->is_quoted) end = ++at, end = orr_shell_part_end(at);
    end = MIN(end, raw + length);
    put_part(out, at, end);
    at = end;
  }
  out->shell->depth--;
}

void orr_shell_expand(OrrShell *shell, const char *raw, OrrPlace place, GPtrArray *texts) {
  Out out = {.shell = shell, .word = g_string_new(NULL), .place = place, .texts = texts};
  expand_into(&out, raw, strlen(raw));
  end_word(&out);
  g_string_free(out.word, TRUE);
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
