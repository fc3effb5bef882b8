/*
 * thin.c - chooses the rows of a profile to keep, round by round, and makes holes of the others.
 */
#include "calibration/fit/measured_private.h"

#include "calibration/crossval/crossval_private.h"
#include "calibration/profile/profile_moe.h"

enum { GEMM, ATTENTION, MOE, N_KINDS, ROUNDS = 12 };

/* One measured row: a latency in the text of one line of a table. */
typedef struct {
  guint8 kind;
  gboolean is_kept;
  guint table, line, index; /* line: of the table; index: in its text */
  OrrCrossvalPoint point;
  double error; /* |modelled / measured - 1|, where it is not kept */
} Slot;

typedef struct {
  OrrProfile *profile;
  const OrrDevice *device;
  GArray *slots; /* of Slot, line by line in the profile's order */
  guint n_kept;
} Thinning;

static const OrrCrossvalFamily *const families[N_KINDS] = {
    &orr_crossval_gemm, &orr_crossval_attention, &orr_crossval_moe};

static GPtrArray *tables_of(const OrrProfile *profile, int kind) {
  return kind == GEMM ? profile->gemm : kind == ATTENTION ? profile->attention : profile->moe;
}

static GPtrArray *lines_of(const OrrProfile *profile, int kind, guint table) {
  gpointer at = tables_of(profile, kind)->pdata[table];
  return kind == GEMM        ? ((OrrProfileGemm *)at)->rows
         : kind == ATTENTION ? ((OrrProfileAttention *)at)->rows
                             : ((OrrProfileMoe *)at)->rows;
}

static char **text_of(const OrrProfile *profile, int kind, guint table, guint line) {
  gpointer at = lines_of(profile, kind, table)->pdata[line];
  return kind == GEMM        ? &((OrrProfileGemmRow *)at)->us
         : kind == ATTENTION ? &((OrrProfileAttentionRow *)at)->us
                             : &((OrrProfileMoeRow *)at)->us;
}

/* --- The rows --- */

/* The shape at place @index of a line, as crossval_*.c name it. */
static void set_keys(const OrrProfile *profile, Slot *slot, const GArray *axis,
                     const GArray *second) {
  gpointer line = lines_of(profile, slot->kind, slot->table)->pdata[slot->line];
  double *keys = slot->point.keys;
  const double at = g_array_index(axis, double, slot->index / (second ? second->len : 1));
  if (slot->kind == GEMM) {
    const OrrProfileGemmRow *row = line;
    memcpy(keys, ((double[]){at, (double)row->n, (double)row->k}), 3 * sizeof(double));
  } else if (slot->kind == ATTENTION) {
    const OrrProfileAttentionRow *row = line;
    memcpy(keys,
           ((double[]){(double)row->head_dim, (double)row->heads, (double)row->kv_heads, at,
                       g_array_index(second, double, slot->index % second->len)}),
           5 * sizeof(double));
  } else {
    const OrrProfileMoeRow *row = line;
    memcpy(keys,
           ((double[]){at, (double)row->hidden, (double)row->inter, (double)row->topk,
                       (double)row->experts, (double)row->tp, (double)row->ep}),
           7 * sizeof(double));
  }
}

/* Lists the rows of the line that @line names (kind, table, line). */
static gboolean list_line(Thinning *thinning, const Slot *line, const GArray *axis,
                          const GArray *second, GError **error) {
  const char *text = *text_of(thinning->profile, line->kind, line->table, line->line);
  g_autoptr(GArray) us = orr_profile_numbers(text, TRUE, error);
  ORR_EACH_VALUE_AT(i, const double, time_us, us) {
    if (isnan(time_us)) continue;
    Slot slot = *line;
    slot.index = i;
    slot.point.measured_s = time_us * 1e-6;
    set_keys(thinning->profile, &slot, axis, second);
    g_array_append_val(thinning->slots, slot);
  }
  return us != NULL;
}

static gboolean list_table(Thinning *thinning, int kind, guint table, GError **error) {
  gpointer at = tables_of(thinning->profile, kind)->pdata[table];
  const char *axis_text = kind == GEMM        ? ((OrrProfileGemm *)at)->m
                          : kind == ATTENTION ? ((OrrProfileAttention *)at)->batch
                                              : ((OrrProfileMoe *)at)->tokens;
  g_autoptr(GArray) axis = orr_profile_numbers(axis_text, FALSE, error);
  g_autoptr(GArray) second =
      axis && kind == ATTENTION
          ? orr_profile_numbers(((OrrProfileAttention *)at)->length, FALSE, error)
          : NULL;
  if (!axis || (kind == ATTENTION && !second)) return FALSE;
  Slot line = {.kind = (guint8)kind, .table = table};
  for (; line.line < lines_of(thinning->profile, kind, table)->len; line.line++)
    if (!list_line(thinning, &line, axis, second, error)) return FALSE;
  return TRUE;
}

/* --- What is kept, as a profile --- */

/* The line's text with '-' for each row that is not kept; NULL where none is kept. */
static char *kept_text(const Slot *first, guint n, guint n_places) {
  g_autofree const double **at = g_new0(const double *, n_places);
  guint n_kept = 0;
  for (guint i = 0; i < n; i++)
    if (first[i].is_kept) at[first[i].index] = &first[i].point.measured_s, n_kept++;
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < n_places; i++) {
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(text, i ? " " : "");
    g_string_append(text,
                    at[i] ? g_ascii_formatd(buffer, sizeof buffer, "%.6g", *at[i] * 1e6) : "-");
  }
  return g_string_free(text, n_kept == 0);
}

static gboolean same_line(const Slot *a, const Slot *b) {
  return a->kind == b->kind && a->table == b->table && a->line == b->line;
}

static guint count_places(const char *text) {
  guint n = 0;
  for (const char *c = text; *c; c++)
    n += !g_ascii_isspace(*c) && (c == text || g_ascii_isspace(c[-1]));
  return n;
}

/* The end of slot @begin's line. */
static guint line_end(const GArray *slots, guint begin) {
  guint end = begin + 1;
  while (end < slots->len &&
         same_line(&g_array_index(slots, Slot, begin), &g_array_index(slots, Slot, end)))
    end++;
  return end;
}

/* Sets every line's text to the rows kept, NULL where there are none, and returns the old texts. */
static GPtrArray *swap_texts(Thinning *thinning) {
  GPtrArray *old = g_ptr_array_new();
  for (guint begin = 0, end; begin < thinning->slots->len; begin = end) {
    const Slot *first = &g_array_index(thinning->slots, Slot, begin);
    char **text = text_of(thinning->profile, first->kind, first->table, first->line);
    end = line_end(thinning->slots, begin);
    g_ptr_array_add(old, *text);
    *text = kept_text(first, end - begin, count_places(*text));
  }
  return old;
}

static void restore_texts(Thinning *thinning, GPtrArray *old) {
  guint n = 0;
  for (guint begin = 0; begin < thinning->slots->len; begin = line_end(thinning->slots, begin)) {
    const Slot *first = &g_array_index(thinning->slots, Slot, begin);
    char **text = text_of(thinning->profile, first->kind, first->table, first->line);
    g_free(*text);
    *text = old->pdata[n++];
  }
  g_ptr_array_unref(old);
}

/* A profile of the non-empty lines; it borrows all its data. */
typedef struct {
  OrrProfile profile;
} View;

static void view_clear(View *view) {
  GPtrArray *const lists[] = {view->profile.gemm, view->profile.attention, view->profile.moe};
  for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
    for (guint t = 0; lists[i] && t < lists[i]->len; t++) {
      GPtrArray *lines = i == GEMM        ? ((OrrProfileGemm *)lists[i]->pdata[t])->rows
                         : i == ATTENTION ? ((OrrProfileAttention *)lists[i]->pdata[t])->rows
                                          : ((OrrProfileMoe *)lists[i]->pdata[t])->rows;
      g_ptr_array_unref(lines);
      g_free(lists[i]->pdata[t]);
    }
  for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
    if (lists[i]) g_ptr_array_unref(lists[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(View, view_clear)

static GPtrArray *lines_left(const OrrProfile *profile, int kind, guint table) {
  const GPtrArray *lines = lines_of(profile, kind, table);
  GPtrArray *left = g_ptr_array_new();
  for (guint line = 0; line < lines->len; line++)
    if (*text_of(profile, kind, table, line)) g_ptr_array_add(left, lines->pdata[line]);
  return left;
}

static GPtrArray *tables_left(const OrrProfile *profile, int kind) {
  static const gsize sizes[N_KINDS] = {sizeof(OrrProfileGemm), sizeof(OrrProfileAttention),
                                       sizeof(OrrProfileMoe)};
  const GPtrArray *tables = tables_of(profile, kind);
  GPtrArray *left = tables ? g_ptr_array_new() : NULL;
  for (guint t = 0; t < orr_profile_length(tables); t++) {
    gpointer copy = g_memdup2(tables->pdata[t], sizes[kind]);
    GPtrArray *lines = lines_left(profile, kind, t);
    if (kind == GEMM)
      ((OrrProfileGemm *)copy)->rows = lines;
    else if (kind == ATTENTION)
      ((OrrProfileAttention *)copy)->rows = lines;
    else
      ((OrrProfileMoe *)copy)->rows = lines;
    g_ptr_array_add(left, copy);
  }
  return left;
}

/* Predicts the rows that are not kept from those that are. */
static gboolean predict_left_out(Thinning *thinning, GError **error) {
  GPtrArray *old = swap_texts(thinning);
  g_auto(View) view = {.profile = *thinning->profile};
  view.profile.gemm = tables_left(thinning->profile, GEMM);
  view.profile.attention = tables_left(thinning->profile, ATTENTION);
  view.profile.moe = tables_left(thinning->profile, MOE);
  g_autoptr(OrrCostModel) model = orr_cost_model_new(&view.profile, thinning->device, error);
  for (guint i = 0; model && i < thinning->slots->len; i++) {
    Slot *slot = &g_array_index(thinning->slots, Slot, i);
    if (slot->is_kept) continue;
    const OrrCost cost =
        families[slot->kind]->query(model, thinning->profile, slot->table, &slot->point);
    slot->point.modelled_s = cost.time_s;
    slot->error = fabs(cost.time_s / slot->point.measured_s - 1);
  }
  restore_texts(thinning, old);
  return model != NULL;
}

/* --- Choosing --- */

static void keep(Thinning *thinning, guint slot) {
  Slot *one = &g_array_index(thinning->slots, Slot, slot);
  thinning->n_kept += !one->is_kept;
  one->is_kept = TRUE;
}

/* Keeps the first and last row of each table, and about @n rows evenly spread over all tables. */
static void begin_evenly(Thinning *thinning, guint n) {
  const guint all = thinning->slots->len;
  for (guint i = 0; i < all; i++) {
    const Slot *slot = &g_array_index(thinning->slots, Slot, i);
    const gboolean is_first =
        i == 0 || slot[-1].kind != slot->kind || slot[-1].table != slot->table;
    const gboolean is_last =
        i + 1 == all || slot[1].kind != slot->kind || slot[1].table != slot->table;
    const gboolean is_even =
        (guint64)i * n / all != ((guint64)i + 1) * n / all && thinning->n_kept < n;
    if (is_first || is_last || is_even) keep(thinning, i);
  }
}

typedef struct {
  double error;
  guint slot;
} Worst;

static int compare_worst(gconstpointer a, gconstpointer b) {
  const Worst *x = a, *y = b;
  return x->error != y->error ? (x->error > y->error ? -1 : 1)
                              : (x->slot > y->slot) - (x->slot < y->slot);
}

/* Keeps the row with the largest error of each line, in the @n lines where it is largest. */
static void keep_worst(Thinning *thinning, guint n) {
  g_autoptr(GArray) worst = g_array_new(FALSE, FALSE, sizeof(Worst));
  for (guint begin = 0, end; begin < thinning->slots->len; begin = end) {
    Worst one = {-1, 0};
    end = line_end(thinning->slots, begin);
    for (guint i = begin; i < end; i++) {
      const Slot *slot = &g_array_index(thinning->slots, Slot, i);
      if (!slot->is_kept && slot->error > one.error) one = (Worst){slot->error, i};
    }
    if (one.error >= 0) g_array_append_val(worst, one);
  }
  g_array_sort(worst, compare_worst);
  for (guint i = 0; i < MIN(n, worst->len); i++)
    keep(thinning, g_array_index(worst, Worst, i).slot);
}

static gboolean choose(Thinning *thinning, guint n_rows, GError **error) {
  begin_evenly(thinning, n_rows / 3);
  while (thinning->n_kept < n_rows) {
    const guint left = n_rows - thinning->n_kept;
    if (!predict_left_out(thinning, error)) return FALSE;
    keep_worst(thinning, MIN(left, MAX(left / ROUNDS, n_rows / 50 + 1)));
  }
  return predict_left_out(thinning, error);
}

/* --- The whole --- */

static OrrErrors errors_left_out(const Thinning *thinning) {
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH(const Slot, slot, thinning->slots) {
    const double error = slot->point.modelled_s / slot->point.measured_s - 1;
    if (!slot->is_kept && slot->point.modelled_s > 0) g_array_append_val(errors, error);
  }
  return orr_errors_of(errors);
}

/* Makes the choice final: replaces the texts, and drops lines without one. */
static void apply(Thinning *thinning) {
  g_autoptr(GPtrArray) old = swap_texts(thinning);
  g_ptr_array_foreach(old, (GFunc)(void (*)(void))g_free, NULL);
  for (int kind = 0; kind < N_KINDS; kind++)
    for (guint t = 0; t < orr_profile_length(tables_of(thinning->profile, kind)); t++) {
      GPtrArray *lines = lines_of(thinning->profile, kind, t);
      for (guint line = lines->len; line-- > 0;)
        if (!*text_of(thinning->profile, kind, t, line))
          g_free(g_ptr_array_remove_index(lines, line));
    }
}

gboolean orr_thin(OrrProfile *profile, const OrrDevice *device, guint n_rows,
                  OrrThinned *ret_thinned, GError **error) {
  g_autoptr(GArray) slots = g_array_new(FALSE, TRUE, sizeof(Slot));
  Thinning thinning = {profile, device, slots, 0};
  guint n_tables = 0;
  for (int kind = 0; kind < N_KINDS; kind++)
    for (guint t = 0; t < orr_profile_length(tables_of(profile, kind)); t++, n_tables++)
      if (!list_table(&thinning, kind, t, error)) return FALSE;
  if (n_rows < 2 * n_tables)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "%u rows are too few for %u tables: keep at least %u", n_rows, n_tables,
                         2 * n_tables);
  if (slots->len > n_rows) {
    if (!choose(&thinning, n_rows, error)) return FALSE;
    apply(&thinning);
  }
  *ret_thinned = (OrrThinned){slots->len, slots->len > n_rows ? thinning.n_kept : slots->len,
                              errors_left_out(&thinning)};
  return TRUE;
}
