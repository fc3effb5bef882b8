/*
 * sweep_reasons.c - a short list of reasons and their counts, searched from its beginning: there
 * are tens of reasons, however many points there are.
 */
#include "sim/sweep/sweep_reasons.h"

#include <string.h>

static void clear_reason(gpointer reason) { g_free(((OrrSweepExclusion *)reason)->reason); }

GArray *orr_sweep_reasons_new(void) {
  GArray *reasons = g_array_new(FALSE, TRUE, sizeof(OrrSweepExclusion));
  g_array_set_clear_func(reasons, clear_reason);
  return reasons;
}

void orr_sweep_reasons_add(GArray *reasons, const char *reason, guint64 n) {
  for (guint i = 0; i < reasons->len; i++) {
    OrrSweepExclusion *known = &g_array_index(reasons, OrrSweepExclusion, i);
    if (strcmp(known->reason, reason) != 0) continue;
    known->n += n;
    return;
  }
  const OrrSweepExclusion one = {g_strdup(reason), n};
  g_array_append_val(reasons, one);
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
  if (reason->len >= ORR_REASON_BYTES) g_string_truncate(reason, ORR_REASON_BYTES - 1);
  char *valid = g_utf8_make_valid(reason->str, (gssize)reason->len);
  g_string_free(reason, TRUE);
  return valid;
}
