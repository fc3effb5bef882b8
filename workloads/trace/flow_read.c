/*
 * flow_read.c - reads the table of flows and the log of htsim (flow_list.h).
 */
#include "workloads/trace/flow_list.h"

enum { MOST_FLOWS = 2000000, N_COLUMNS = 6, MOST_SHOWN = 60 };

static const char header[] = "id,src,dst,bytes,start_us,end_us";

typedef struct {
  const char *file, *line;
  guint number;
} Place;

static gboolean wrong(const Place *place, const char *at, const char *allowed, GError **error) {
  g_autofree char *cut = g_strndup(at, MIN(strcspn(at, "\r\n"), MOST_SHOWN));
  g_autofree char *shown = g_utf8_make_valid(cut, -1);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s:%u:%d: expected %s, found '%s'", place->file,
                       place->number, (int)(at - place->line) + 1, allowed, shown);
}

/* "1,0,8,4194304,1.5,90.25": the numbers, FALSE with @error. */
static gboolean read_row(const Place *place, double *ret_row, GError **error) {
  const char *at = place->line;
  for (guint i = 0; i < N_COLUMNS; i++) {
    char *end;
    ret_row[i] = g_ascii_strtod(at, &end);
    if (end == at || !(ret_row[i] >= 0 && ret_row[i] < 1e18) ||
        *end != (i + 1 < N_COLUMNS ? ',' : '\0'))
      return wrong(place, at, "six numbers from 0 on with commas", error);
    at = end + 1;
  }
  return TRUE;
}

GArray *orr_flow_list_read(const char *text, gsize length, const char *file, GError **error) {
  g_autofree char *copy = g_strndup(text, length);
  g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
  g_autoptr(GArray) flows = g_array_new(FALSE, FALSE, sizeof(OrrFlow));
  for (guint i = 0; lines[i]; i++) {
    const Place place = {file, g_strchomp(lines[i]), i + 1};
    double row[N_COLUMNS];
    if (i == 0 && strcmp(lines[i], header) != 0)
      return wrong(&place, lines[i], header, error) ? NULL : NULL;
    if (i == 0 || !*lines[i]) continue;
    if (!read_row(&place, row, error)) return NULL;
    if (row[0] != flows->len + 1 || row[1] > G_MAXUINT32 || row[2] > G_MAXUINT32 ||
        flows->len == MOST_FLOWS)
      return wrong(&place, lines[i], "ids that count up from 1, and ranks", error) ? NULL : NULL;
    ORR_APPEND(flows, OrrFlow,
               {(guint32)row[1], (guint32)row[2], row[3], row[4] / 1e6, row[5] / 1e6, NAN});
  }
  if (flows->len == 0)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: a table without flows", file);
  return g_steal_pointer(&flows);
}

/* --- The log --- */

typedef struct {
  guint32 src, dst;
  guint64 id; /* 0: none */
  double end_s;
} Finished;

/* "Uec_0_8": the pair at the end of the name. */
static gboolean read_pair(const char *name, gsize length, Finished *finished) {
  g_autofree char *copy = g_strndup(name, length);
  g_auto(GStrv) parts = g_strsplit(copy, "_", -1);
  const guint n = g_strv_length(parts);
  gint64 src, dst;
  if (n < 3 || !g_ascii_string_to_signed(parts[n - 2], 10, 0, G_MAXUINT32, &src, NULL) ||
      !g_ascii_string_to_signed(parts[n - 1], 10, 0, G_MAXUINT32, &dst, NULL))
    return FALSE;
  finished->src = (guint32)src;
  finished->dst = (guint32)dst;
  return TRUE;
}

/* A line "Flow NAME ... finished at T ..."; FALSE: another line. @ret_wrong: the place that cannot
 * be read; NULL: fine. */
static gboolean read_line(const char *line, Finished *ret_finished, const char **ret_wrong) {
  static const char *const ids[] = {" flowId ", " flow_id ", NULL};
  static const char end[] = " finished at ";
  const char *at = strstr(line, end), *name = line + strlen("Flow ");
  char *after;
  if (!g_str_has_prefix(line, "Flow ") || !at) return FALSE;
  *ret_finished = (Finished){0};
  *ret_wrong = NULL;
  for (guint i = 0; ids[i]; i++) {
    const char *id = strstr(line, ids[i]);
    if (id && id < at) ret_finished->id = g_ascii_strtoull(id + strlen(ids[i]), NULL, 10);
  }
  ret_finished->end_s = g_ascii_strtod(at + strlen(end), &after) / 1e6;
  if (after == at + strlen(end) || !(ret_finished->end_s >= 0)) *ret_wrong = at + strlen(end);
  if (!read_pair(name, strcspn(name, " "), ret_finished)) *ret_wrong = name;
  return TRUE;
}

static guint64 pair_of(guint32 src, guint32 dst) { return (guint64)src << 32 | dst; }

/* The flow that a line means; G_MAXUINT: none. @next: by pair, its first flow without a time + 1;
 * @after: by flow, the next one of its pair + 1. */
static guint flow_of(const GArray *flows, const Finished *finished, GHashTable *next,
                     const guint *after) {
  const guint64 key = pair_of(finished->src, finished->dst);
  if (finished->id >= 1 && finished->id <= flows->len) {
    const OrrFlow *flow = &g_array_index(flows, OrrFlow, finished->id - 1);
    if (pair_of(flow->src, flow->dst) == key && isnan(flow->got_s)) return (guint)finished->id - 1;
  }
  guint at = GPOINTER_TO_UINT(g_hash_table_lookup(next, &key));
  while (at && !isnan(g_array_index(flows, OrrFlow, at - 1).got_s)) at = after[at - 1];
  if (at) g_hash_table_insert(next, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(after[at - 1]));
  return at - 1;
}

/* Lists the flows of each pair in their order. */
static void chain(const GArray *flows, GHashTable *next, guint *after) {
  for (guint i = flows->len; i-- > 0;) {
    const OrrFlow *flow = &g_array_index(flows, OrrFlow, i);
    const guint64 key = pair_of(flow->src, flow->dst);
    after[i] = GPOINTER_TO_UINT(g_hash_table_lookup(next, &key));
    g_hash_table_insert(next, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(i + 1));
  }
}

gboolean orr_flow_list_finish(GArray *flows, const char *text, gsize length, const char *file,
                              GError **error) {
  g_autofree char *copy = g_strndup(text, length);
  g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
  g_autoptr(GHashTable) next = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  g_autofree guint *after = g_new0(guint, flows->len);
  guint n = 0;
  chain(flows, next, after);
  for (guint i = 0; lines[i]; i++) {
    const Place place = {file, lines[i], i + 1};
    const char *bad;
    Finished finished;
    if (!read_line(lines[i], &finished, &bad)) continue;
    if (bad) return wrong(&place, bad, "Flow NAME_SRC_DST ... finished at MICROSECONDS", error);
    const guint at = flow_of(flows, &finished, next, after);
    if (at == G_MAXUINT) return wrong(&place, lines[i], "a flow of the table, once", error);
    g_array_index(flows, OrrFlow, at).got_s = finished.end_s;
    n++;
  }
  return n > 0 ||
         orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "%s: no line 'Flow NAME_SRC_DST ... finished at MICROSECONDS'", file);
}

char *orr_flow_list_compared(const GArray *flows) {
  GString *text =
      g_string_new("id,src,dst,bytes,start_us,flows_fct_us,packets_fct_us,packets_over_flows\n");
  ORR_EACH_AT(i, const OrrFlow, flow, flows) {
    const double here_s = flow->end_s - flow->start_s, there_s = flow->got_s - flow->start_s;
    g_string_append_printf(text, "%u,%u,%u,%.0f,%.6f,%.6f,", i + 1, flow->src, flow->dst,
                           flow->bytes, flow->start_s * 1e6, here_s * 1e6);
    if (isnan(there_s))
      g_string_append(text, ",\n");
    else
      g_string_append_printf(text, "%.6f,%.4f\n", there_s * 1e6, there_s / here_s);
  }
  return g_string_free(text, FALSE);
}
