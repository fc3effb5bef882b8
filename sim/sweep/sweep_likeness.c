/*
 * sweep_likeness.c - packs, unpacks and reads likenesses, column by column of their table.
 */
#include "sim/sweep/sweep_likeness.h"

static void *member_of(OrrLikenessRow *row, size_t field) {
  return (char *)row + orr_likeness_table.fields[field].offset;
}

static gboolean is_text(size_t field) {
  return orr_likeness_table.fields[field].kind == ORR_FIELD_TEXT;
}

gboolean orr_sweep_likeness_pack(const OrrLikenessRow *row, OrrSweepLikeness *ret_packed) {
  char *at = ret_packed->texts, *const end = at + sizeof ret_packed->texts;
  guint n = 0;
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    const void *member = member_of((OrrLikenessRow *)row, i);
    if (!is_text(i)) {
      if (n == G_N_ELEMENTS(ret_packed->numbers)) break;
      ret_packed->numbers[n++] = *(const double *)member;
      continue;
    }
    const char *text = *(char *const *)member;
    const size_t size = strlen(text) + 1;
    if (size > (size_t)(end - at)) break;
    memcpy(at, text, size);
    at += size;
    if (i + 1 == orr_likeness_table.n_fields) return TRUE; /* the last column, `bound` */
  }
  memset(ret_packed, 0, sizeof *ret_packed);
  return FALSE;
}

OrrLikenessRow *orr_sweep_likeness_unpack(const OrrSweepLikeness *packed) {
  const char *at = packed->texts;
  guint n = 0;
  if (!*at) return NULL; /* every workload has a kind */
  OrrLikenessRow *row = g_new0(OrrLikenessRow, 1);
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    if (!is_text(i)) {
      *(double *)member_of(row, i) = packed->numbers[n++];
      continue;
    }
    *(const char **)member_of(row, i) = g_intern_string(at);
    at += strlen(at) + 1;
  }
  return row;
}

/* Numbers with 17 digits, which restore a double exactly. */
static char *select_sql(gint64 run) {
  GString *sql = g_string_new("SELECT ");
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    g_autofree char *column = g_strdelimit(g_strdup(orr_likeness_table.fields[i].name), "-", '_');
    g_string_append(sql, i > 0 ? ", " : "");
    if (is_text(i))
      g_string_append(sql, column);
    else
      g_string_append_printf(sql, "iif(%s IS NULL, NULL, printf('%%!.17g', %s))", column, column);
  }
  g_string_append_printf(sql, " FROM likeness WHERE run_id = %ld", run);
  return g_string_free(sql, FALSE);
}

gboolean orr_sweep_likeness_is_stored(OrrStore *store) {
  g_autoptr(OrrAnswer) answer =
      orr_store_query(store, "SELECT 1 FROM sqlite_schema WHERE name = 'likeness'", 0, NULL);
  return answer && answer->rows->len > 0;
}

OrrLikenessRow *orr_sweep_likeness_read(OrrStore *store, gint64 run, GError **error) {
  if (!orr_sweep_likeness_is_stored(store)) return NULL;
  g_autofree char *sql = select_sql(run);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, error);
  if (!answer || answer->rows->len == 0) return NULL;
  OrrLikenessRow *row = g_new0(OrrLikenessRow, 1);
  char **cells = answer->rows->pdata[0];
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    if (is_text(i))
      *(const char **)member_of(row, i) = g_intern_string(cells[i] ? cells[i] : "");
    else
      *(double *)member_of(row, i) = cells[i] ? g_ascii_strtod(cells[i], NULL) : NAN;
  }
  return row;
}
