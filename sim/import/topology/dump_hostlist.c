/*
 * dump_hostlist.c - expands host lists within a limit, and writes them.
 */
#include "sim/import/topology/dump.h"

typedef struct {
  GPtrArray *names;
  guint max;
  GError **error;
} Expander;

static gboolean refuse(const Expander *expander, const char *format, const char *text) {
  g_autofree char *shown = g_strndup(text, 60);
  g_set_error(expander->error, ORR_FAULT, ORR_FAULT_DOCUMENT, format, shown);
  return FALSE;
}

static gboolean too_many(const Expander *expander) {
  g_set_error(expander->error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "the list names more than %u hosts or switches", expander->max);
  return FALSE;
}

static gboolean expand(const Expander *expander, const char *head, const char *tail);

/* One range "08-11" or number "08" of the brackets before @tail. */
static gboolean expand_range(const Expander *expander, const char *head, const char *range,
                             const char *tail) {
  char *end;
  const gsize width = strspn(range, "0123456789");
  const guint64 first = g_ascii_strtoull(range, &end, 10);
  guint64 last = first;
  if (width == 0 || width > 18)
    return refuse(expander, "'%s' in a host list is not a number", range);
  if (*end == '-') {
    const char *second = end + 1;
    const gsize n = strspn(second, "0123456789");
    if (n == 0 || n > 18 || second[n])
      return refuse(expander, "'%s' in a host list is not a range", range);
    last = g_ascii_strtoull(second, NULL, 10);
  } else if (*end) {
    return refuse(expander, "'%s' in a host list is not a range", range);
  }
  if (last < first) return refuse(expander, "the range '%s' of a host list runs backwards", range);
  if (last - first >= expander->max) return too_many(expander);
  for (guint64 i = first; i <= last; i++) {
    g_autofree char *longer = g_strdup_printf("%s%0*" G_GUINT64_FORMAT, head, (int)width, i);
    if (!expand(expander, longer, tail)) return FALSE;
  }
  return TRUE;
}

/* Adds @head followed by every expansion of @tail. */
static gboolean expand(const Expander *expander, const char *head, const char *tail) {
  const char *open = strchr(tail, '['), *close = open ? strchr(open, ']') : NULL;
  if (!open) {
    if (strchr(tail, ']'))
      return refuse(expander, "a ']' without '[' in the host list at '%s'", tail);
    if (expander->names->len >= expander->max) return too_many(expander);
    g_ptr_array_add(expander->names, g_strconcat(head, tail, NULL));
    return TRUE;
  }
  if (!close) return refuse(expander, "a '[' without ']' in the host list at '%s'", tail);
  g_autofree char *before = g_strndup(tail, (gsize)(open - tail));
  g_autofree char *inside = g_strndup(open + 1, (gsize)(close - open - 1));
  g_autofree char *longer = g_strconcat(head, before, NULL);
  g_auto(GStrv) ranges = g_strsplit(inside, ",", -1);
  if (!ranges[0]) return refuse(expander, "empty brackets in the host list at '%s'", tail);
  for (guint i = 0; ranges[i]; i++)
    if (!expand_range(expander, longer, ranges[i], close + 1)) return FALSE;
  return TRUE;
}

GPtrArray *orr_dump_hostlist(const char *text, guint max, GError **error) {
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  const Expander expander = {names, max, error};
  const char *start = text;
  int depth = 0;
  for (const char *at = text;; at++) {
    depth += (*at == '[') - (*at == ']');
    if (*at == ' ' || *at == '\t') continue;
    if (*at && (*at != ',' || depth > 0)) continue;
    g_autofree char *part = g_strstrip(g_strndup(start, (gsize)(at - start)));
    guint n_brackets = 0;
    for (const char *c = part; *c; c++) n_brackets += *c == '[';
    if (n_brackets > 4) {
      refuse(&expander, "more than four pairs of brackets in '%s'", part);
      return NULL;
    }
    if (*part && !expand(&expander, "", part)) return NULL;
    if (!*at) break;
    start = at + 1;
  }
  return g_steal_pointer(&names);
}

/* --- Writing --- */

/* The number at the end of @name; its digits in *@ret_width, 0 where there is none. */
static guint64 number_of(const char *name, gsize *ret_prefix, gsize *ret_width) {
  gsize n = strlen(name), first = n;
  while (first > 0 && g_ascii_isdigit(name[first - 1]) && n - first < 15) first--;
  *ret_prefix = first;
  *ret_width = n - first;
  return n > first ? g_ascii_strtoull(name + first, NULL, 10) : 0;
}

static gboolean follows(const char *a, const char *b) {
  gsize head_a, head_b, width_a, width_b;
  const guint64 x = number_of(a, &head_a, &width_a), y = number_of(b, &head_b, &width_b);
  if (!width_a || !width_b || head_a != head_b || strncmp(a, b, head_a) != 0 || y != x + 1)
    return FALSE;
  return width_a == width_b || (a[head_a] != '0' && b[head_b] != '0');
}

char *orr_dump_hostlist_text(const char *const *names) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; names[i];) {
    guint last = i;
    gsize head, width;
    number_of(names[i], &head, &width);
    while (names[last + 1] && follows(names[last], names[last + 1])) last++;
    if (text->len) g_string_append_c(text, ',');
    if (last == i)
      g_string_append(text, names[i]);
    else
      g_string_append_printf(text, "%.*s[%s-%s]", (int)head, names[i], names[i] + head,
                             names[last] + head);
    i = last + 1;
  }
  return g_string_free(text, FALSE);
}
