/*
 * shell_parameter.c - what stands in ${...}: a variable, an item, all items or keys of an array,
 * and what the operators behind make of it (${V:-w}, ${V%.*}, ${V/a/b}, ${V:1:2}, ${#V}, ${!V},
 * ${V,,}).
 */
#include "sim/import/launch/shell_private.h"

/* Bytes that a pattern looks at for one byte of the budget. */
enum { LOOKS_PER_BYTE = 8 };

/* One parameter. */
typedef struct {
  OrrShell *shell;
  OrrPlace place;
  const char *name, *index; /* index NULL: none */
  OrrShellValue value;
} Parameter;

gsize orr_shell_name_length(const char *text) {
  gsize n = 0;
  if (g_ascii_isdigit(*text)) {
    while (g_ascii_isdigit(text[n])) n++;
    return n;
  }
  while (g_ascii_isalnum(text[n]) || text[n] == '_') n++;
  return n ? n : *text && strchr("@*#?$!-", *text) ? 1 : 0;
}

char *orr_shell_joined(const OrrShell *shell, const OrrShellValue *value) {
  const char *separators = orr_shell_separators(shell);
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < value->items->len; i++) {
    if (i && *separators) g_string_append_c(text, value->is_many ? ' ' : *separators);
    g_string_append(text, value->items->pdata[i]);
  }
  return g_string_free(text, FALSE);
}

/* --- Looking up --- */

static void add_item(Parameter *one, const char *text) {
  if (orr_shell_draw(one->shell, strlen(text) + 16, one->place))
    g_ptr_array_add(one->value.items, g_strdup(text));
}

static gboolean is_all(const char *index) {
  return index && (strcmp(index, "@") == 0 || strcmp(index, "*") == 0);
}

/* $1 and further, where they were given: one that is missing is empty. */
static gboolean look_up_argument(Parameter *one, const char *name) {
  const GPtrArray *arguments = one->shell->arguments;
  const OrrShellVariable *fixed = orr_shell_variable(one->shell, name);
  const gboolean is_fixed = fixed && fixed->is_fixed && one->shell->n_calls == 0;
  if (!arguments || is_fixed || !g_ascii_isdigit(*name) || strcmp(name, "0") == 0) return FALSE;
  const guint64 at = g_ascii_strtoull(name, NULL, 10);
  add_item(one, at <= arguments->len ? arguments->pdata[at - 1] : "");
  return one->value.is_set = TRUE;
}

/* The items of an array, or the arguments; NULL: it is not set. */
static const GPtrArray *items_of(const OrrShell *shell, const char *name) {
  const gboolean is_arguments = strcmp(name, "@") == 0 || strcmp(name, "*") == 0;
  if (is_arguments && shell->arguments) return shell->arguments;
  const OrrShellVariable *variable = orr_shell_variable(shell, is_arguments ? "@" : name);
  return variable ? variable->items : NULL;
}

/* Where item @index of @variable is; G_MAXUINT: nowhere. */
static guint position_of(OrrShell *shell, const OrrShellVariable *variable, const char *index,
                         OrrPlace place) {
  guint found = G_MAXUINT;
  if (variable->keys) {
    g_autofree char *key = orr_shell_expand_text(shell, index, place);
    g_ptr_array_find_with_equal_func(variable->keys, key, g_str_equal, &found);
    return found;
  }
  gint64 at = -1;
  if (!orr_shell_arithmetic(shell, index, &at, NULL)) return found;
  if (at < 0) at += variable->items->len;
  return at >= 0 && at < variable->items->len ? (guint)at : found;
}

/* NAME[index] of one item. An index that is not known makes the item so. */
static void look_up_item(Parameter *one, const OrrShellVariable *variable) {
  g_autofree char *plain = orr_shell_expand_text(one->shell, one->index, one->place);
  g_autofree char *unresolved = orr_shell_unresolved(plain);
  const guint at =
      unresolved ? G_MAXUINT : position_of(one->shell, variable, one->index, one->place);
  const gboolean is_open =
      variable->items->len == 1 && orr_shell_is_open(variable->items->pdata[0]);
  one->value.is_set = TRUE;
  if (at < variable->items->len) {
    add_item(one, variable->items->pdata[at]);
  } else if (unresolved || is_open) {
    g_autofree char *mark = orr_shell_marked(unresolved ? unresolved : one->name);
    add_item(one, mark);
  }
}

static void look_up(Parameter *one, const char *name) {
  const gboolean is_arguments = strcmp(name, "@") == 0 || strcmp(name, "*") == 0;
  one->value.is_many = strcmp(name, "@") == 0 || (one->index && strcmp(one->index, "@") == 0);
  one->value.is_set = is_arguments;
  if (look_up_argument(one, name)) return;
  const GPtrArray *items = items_of(one->shell, name);
  if (!items) return;
  one->value.is_set = TRUE;
  if (one->index && !is_all(one->index))
    return look_up_item(one, orr_shell_variable(one->shell, name));
  const gboolean all = is_arguments || one->index;
  for (guint i = 0; i < items->len && (all || i == 0); i++) add_item(one, items->pdata[i]);
}

/* ${!NAME[@]}: the keys. */
static void look_up_keys(Parameter *one) {
  const OrrShellVariable *variable = orr_shell_variable(one->shell, one->name);
  one->value.is_many = TRUE;
  for (guint i = 0; variable && i < variable->items->len; i++) {
    g_autofree char *number = g_strdup_printf("%u", i);
    const gboolean is_open = orr_shell_is_open(variable->items->pdata[i]);
    add_item(one, is_open          ? (char *)variable->items->pdata[i]
                  : variable->keys ? (char *)variable->keys->pdata[i]
                                   : number);
  }
  one->value.is_set = variable != NULL;
}

/* --- Operators --- */

static void set_item(OrrShellValue *value, char *item) {
  g_ptr_array_set_size(value->items, 0);
  g_ptr_array_add(value->items, item);
  value->is_set = TRUE;
}

/* Changes every item that is known. */
static void map_items(Parameter *one,
                      char *(*change)(Parameter *one, const char *item, const void *data),
                      const void *data) {
  for (guint i = 0; i < one->value.items->len && !one->shell->is_over; i++) {
    char *item = one->value.items->pdata[i];
    if (strchr(item, ORR_SHELL_MARK)) continue;
    one->value.items->pdata[i] = change(one, item, data);
    g_free(item);
  }
}

static char *lower(Parameter *one, const char *item, const void *data) {
  return g_ascii_strdown(item, -1);
}

static char *upper(Parameter *one, const char *item, const void *data) {
  return g_ascii_strup(item, -1);
}

typedef struct {
  const char *pattern, *with;
  gboolean from_end, longest, all;
} Cut;

/* Without the part at the begin or the end that matches. */
static char *cut(Parameter *one, const char *item, const void *data) {
  const Cut *how = data;
  const gsize n = strlen(item);
  g_autofree char *text = g_strdup(item);
  GPatternSpec *pattern = g_pattern_spec_new(how->pattern);
  char *rest = NULL;
  for (gsize i = 0; i <= n && !rest; i++) {
    const gsize length = how->longest ? n - i : i;
    if (!orr_shell_draw(one->shell, length / LOOKS_PER_BYTE, one->place)) break;
    const char kept = text[length];
    if (!how->from_end) text[length] = '\0';
    const gboolean is_match =
        g_pattern_spec_match_string(pattern, how->from_end ? text + n - length : text);
    if (!how->from_end) text[length] = kept;
    if (is_match) rest = how->from_end ? g_strndup(item, n - length) : g_strdup(item + length);
  }
  g_pattern_spec_free(pattern);
  return rest ? rest : g_strdup(item);
}

/* ${V/text/with}: plain texts. */
static char *replace(Parameter *one, const char *item, const void *data) {
  const Cut *how = data;
  const gsize length = strlen(how->pattern), n_with = strlen(how->with);
  GString *text = g_string_new(NULL);
  const char *at = item, *end = item + strlen(item);
  /* not strstr: under sanitizers each call would measure the rest of the item */
  for (const char *found; length && (found = g_strstr_len(at, end - at, how->pattern));
       at = found + length) {
    if (!orr_shell_draw(one->shell, (gsize)(found - at) + n_with, one->place)) break;
    g_string_append_len(text, at, (gssize)(found - at));
    g_string_append_len(text, how->with, (gssize)n_with);
    if (how->all) continue;
    at = found + length;
    break;
  }
  g_string_append(text, at);
  return g_string_free(text, FALSE);
}

static void apply_cut(Parameter *one, const char *word, char sign) {
  const gboolean twice = word[0] == sign;
  g_autofree char *pattern = orr_shell_expand_text(one->shell, word + twice, one->place);
  const Cut how = {.pattern = pattern, .from_end = sign == '%', .longest = twice};
  map_items(one, cut, &how);
}

static void apply_replace(Parameter *one, const char *word) {
  const gboolean all = word[0] == '/';
  const char *slash = word + all;
  while (*slash && *slash != '/') slash += *slash == '\\' && slash[1] ? 2 : 1;
  g_autofree char *raw = g_strndup(word + all, (gsize)(slash - word) - all);
  g_autofree char *text = orr_shell_expand_text(one->shell, raw, one->place);
  g_autofree char *with = orr_shell_expand_text(one->shell, *slash ? slash + 1 : "", one->place);
  const Cut how = {.pattern = text, .with = with, .all = all};
  map_items(one, replace, &how);
}

/* The part of @n things that ":offset:length" means. */
static gboolean read_slice(Parameter *one, const char *word, gint64 n, gint64 *ret_from,
                           gint64 *ret_n) {
  const char *colon = strchr(word, ':');
  g_autofree char *first = colon ? g_strndup(word, (gsize)(colon - word)) : g_strdup(word);
  gint64 offset = 0, length = n;
  if (!orr_shell_arithmetic(one->shell, first, &offset, NULL)) return FALSE;
  if (colon && !orr_shell_arithmetic(one->shell, colon + 1, &length, NULL)) return FALSE;
  if (offset < 0) offset = MAX(0, n + offset);
  *ret_from = MIN(offset, n);
  *ret_n = length < 0 ? MAX(0, n + length - *ret_from) : MIN(length, n - *ret_from);
  return TRUE;
}

/* ${A[@]:offset:length}: items; of "$@" the first is number 1. */
static void slice_items(Parameter *one, const char *word) {
  GPtrArray *items = one->value.items;
  if (strcmp(one->name, "@") == 0 || strcmp(one->name, "*") == 0)
    g_ptr_array_insert(items, 0, g_strdup("bash"));
  gint64 from = 0, n = 0;
  if (!read_slice(one, word, items->len, &from, &n)) return;
  g_ptr_array_set_size(items, (int)(from + n));
  if (from > 0) g_ptr_array_remove_range(items, 0, (guint)from);
}

/* ${V:offset:length}: characters. */
static void apply_slice(Parameter *one, const char *word) {
  if (one->value.is_many || is_all(one->index)) return slice_items(one, word);
  g_autofree char *text = orr_shell_joined(one->shell, &one->value);
  gint64 from = 0, n = 0;
  if (read_slice(one, word, (gint64)strlen(text), &from, &n))
    set_item(&one->value, g_strndup(text + from, (gsize)n));
}

/* ${V:-w}, ${V:=w}, ${V:+w}, ${V:?w}; without the colon an empty value counts as set. */
static void apply_default(Parameter *one, const char *operator) {
  const gboolean has_colon = *operator== ':';
  const char sign = operator[has_colon], *word = operator+ has_colon + 1;
  g_autofree char *text = orr_shell_joined(one->shell, &one->value);
  const gboolean is_known = one->value.is_set && (!has_colon || *text);
  if (sign == '?' || (sign != '+' && is_known)) return;
  if (sign == '+' && !is_known)
    set_item(&one->value, g_strdup(""));
  else
    set_item(&one->value, orr_shell_expand_text(one->shell, word, one->place));
  if (sign == '=') orr_shell_assign(one->shell, one->name, one->value.items->pdata[0]);
}

static void apply(Parameter *one, const char *operator) {
  const char sign = *operator, second = sign ? operator[1] : '\0';
  if (!sign) return;
  if (strchr("-=+?", sign) || (sign == ':' && second && strchr("-=+?", second)))
    apply_default(one, operator);
  else if (sign == '%' || sign == '#')
    apply_cut(one, operator+ 1, sign);
  else if (sign == '/')
    apply_replace(one, operator+ 1);
  else if (sign == ':')
    apply_slice(one, operator+ 1);
  else if (sign == ',')
    map_items(one, lower, NULL);
  else if (sign == '^')
    map_items(one, upper, NULL);
}

/* --- The whole --- */

/* ${#V}, ${#A[@]}: not known where an item may stand for several. */
static void count(Parameter *one) {
  const GPtrArray *items = one->value.items;
  const gboolean all = is_all(one->index) || strcmp(one->name, "@") == 0;
  ORR_EACH_POINTER(const char, item, items) {
    if (!(all ? orr_shell_is_open(item) : strchr(item, ORR_SHELL_MARK) != NULL)) continue;
    set_item(&one->value, orr_shell_marked(one->name));
    return;
  }
  const gsize length = items->len ? strlen(items->pdata[0]) : 0;
  set_item(&one->value, g_strdup_printf("%zu", all ? (gsize)items->len : length));
}

/* $#: as many as were given, or as --set has. */
static void count_arguments(Parameter *one) {
  guint n = one->shell->arguments ? one->shell->arguments->len : 0;
  for (gboolean is_next = !one->shell->arguments; is_next;) {
    g_autofree char *name = g_strdup_printf("%u", n + 1);
    is_next = orr_shell_variable(one->shell, name) != NULL;
    n += is_next;
  }
  set_item(&one->value, g_strdup_printf("%u", n));
}

static void find(Parameter *one, gboolean indirect) {
  if (strcmp(one->name, "#") == 0) {
    count_arguments(one);
  } else if (strcmp(one->name, "?") == 0) {
    set_item(&one->value, g_strdup("0"));
  } else if (indirect && is_all(one->index)) {
    look_up_keys(one);
  } else {
    look_up(one, one->name);
    if (!indirect || one->value.items->len == 0) return;
    g_autofree char *other = g_strdup(one->value.items->pdata[0]);
    g_ptr_array_set_size(one->value.items, 0);
    look_up(one, other);
  }
}

OrrShellValue orr_shell_parameter(OrrShell *shell, const char *spec, OrrPlace place,
                                  char **ret_name) {
  const gboolean counts = spec[0] == '#' && spec[1];
  const gboolean indirect = spec[0] == '!' && spec[1];
  spec += counts || indirect;
  const gsize n = orr_shell_name_length(spec);
  *ret_name = g_strndup(spec, n);
  const char *operator= spec + n;
  const char *close = *operator== '[' ? strchr(operator, ']') : NULL;
  g_autofree char *index = close ? g_strndup(operator+ 1, (gsize)(close - operator) - 1) : NULL;
  Parameter one = {.shell = shell,
                   .place = place,
                   .name = *ret_name,
                   .index = index,
                   .value = {.items = g_ptr_array_new_with_free_func(g_free)}};
  find(&one, indirect);
  if (counts) count(&one);
  apply(&one, close ? close + 1 : operator);
  return one.value;
}
