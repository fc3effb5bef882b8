/*
 * sweep_reasons.c - a short list of reasons and their counts, searched from its beginning: there
 * are tens of reasons, however many points there are.
 */
#include "sim/sweep/sweep_reasons.h"

static void clear_reason(gpointer reason) { g_free(((OrrSweepExclusion *)reason)->reason); }

GArray *orr_sweep_reasons_new(void) {
  GArray *reasons = g_array_new(FALSE, TRUE, sizeof(OrrSweepExclusion));
  g_array_set_clear_func(reasons, clear_reason);
  return reasons;
}

/* Of messages that differ in their numbers the first by text stands for all, so that the order in
 * which processes answer does not matter. */
static const char others[] = " (or other numbers)";

char *orr_sweep_reasons_alike(const char *one, const char *other) {
  if (strcmp(one, other) == 0) return g_strdup(one);
  gsize length = strlen(one), other_length = strlen(other);
  if (g_str_has_suffix(one, others)) length -= strlen(others);
  if (g_str_has_suffix(other, others)) other_length -= strlen(others);
  g_autofree char *a = g_strndup(one, length), *b = g_strndup(other, other_length);
  g_autofree char *kind = orr_sweep_reasons_kind(a), *other_kind = orr_sweep_reasons_kind(b);
  if (strcmp(kind, other_kind) != 0) return NULL;
  return g_strconcat(strcmp(a, b) <= 0 ? a : b, others, NULL);
}

void orr_sweep_reasons_add(GArray *reasons, const char *reason, guint64 n) {
  ORR_EACH(OrrSweepExclusion, known, reasons) {
    char *both = orr_sweep_reasons_alike(known->reason, reason);
    if (!both) continue;
    g_free(known->reason);
    known->reason = both;
    known->n += n;
    return;
  }
  ORR_APPEND(reasons, OrrSweepExclusion, {g_strdup(reason), n});
}

static gint most_first(gconstpointer a, gconstpointer b) {
  const OrrSweepExclusion *x = a, *y = b;
  if (x->n != y->n) return x->n > y->n ? -1 : 1;
  return strcmp(x->reason, y->reason);
}

void orr_sweep_reasons_sort(GArray *reasons) { g_array_sort(reasons, most_first); }

char *orr_sweep_reasons_text(const GArray *reasons, guint most) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < MIN(reasons->len, most); i++) {
    const OrrSweepExclusion *one = &g_array_index(reasons, OrrSweepExclusion, i);
    g_string_append_printf(text, "%s  %" G_GUINT64_FORMAT " %s", i > 0 ? "\n" : "", one->n,
                           one->reason);
  }
  return g_string_free(text, FALSE);
}

/* Digits that are part of a word (h100, 1f1b) stay. */
static gboolean is_in_word(char before) {
  return g_ascii_isalnum(before) || strchr("-_.#", before);
}

char *orr_sweep_reasons_kind(const char *message) {
  GString *reason = g_string_new(NULL);
  for (const char *c = message; *c; c++) {
    if (!g_ascii_isdigit(*c) || is_in_word(c > message ? c[-1] : ' ')) {
      g_string_append_c(reason, *c);
      continue;
    }
    while (g_ascii_isdigit(c[1]) || (c[1] == '.' && g_ascii_isdigit(c[2]))) c++;
    g_string_append_c(reason, '#');
  }
  return g_string_free(reason, FALSE);
}

void orr_sweep_reasons_copy(char *reason, const char *message) {
  g_autofree char *cut = g_strndup(message, ORR_REASON_BYTES / 2 - 1);
  g_autofree char *valid =
      g_utf8_make_valid(strlen(message) < ORR_REASON_BYTES ? message : cut, -1);
  g_strlcpy(reason, valid, ORR_REASON_BYTES);
}
