/*
 * nsys.c - reads the tables of Nsight Systems' SQLite export and checks every value.
 */
#include "results/nsys.h"

#include <stdarg.h>

#include "results/store_private.h"
#include "sim/base/number.h"

enum { MOST_ERRORS = 100 };

/* An export has some 100 bytes a kernel: 50 million are more than an hour of steps at full
 * speed. */
static const OrrNsysLimits limits = {.most_rows = 50000000, .most_s = 600};

typedef struct {
  sqlite3 *db;
  const char *path;
  OrrDiags *diags;
  const OrrNsysLimits *limits;
} Reader;

static void clear_kernel(gpointer data) { g_free(((OrrNsysKernel *)data)->name); }

static void clear_collective(gpointer data) { g_free(((OrrNsysCollective *)data)->op); }

void orr_nsys_free(OrrNsys *nsys) {
  if (!nsys) return;
  g_array_unref(nsys->kernels);
  g_array_unref(nsys->collectives);
  ORR_FREE(nsys->device, nsys);
}

static OrrNsys *nsys_new(void) {
  OrrNsys *nsys = g_new0(OrrNsys, 1);
  nsys->kernels = g_array_new(FALSE, FALSE, sizeof(OrrNsysKernel));
  nsys->collectives = g_array_new(FALSE, FALSE, sizeof(OrrNsysCollective));
  g_array_set_clear_func(nsys->kernels, clear_kernel);
  g_array_set_clear_func(nsys->collectives, clear_collective);
  return nsys;
}

/* --- SQLite --- */

static OrrPlace place_of(const Reader *reader) {
  return (OrrPlace){g_intern_string(reader->path), 0, 0};
}

/* NULL, with a diagnostic, if the statement does not fit the file. */
static sqlite3_stmt *prepare(const Reader *reader, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) == SQLITE_OK) return statement;
  orr_diags_error(reader->diags, place_of(reader), "is not an export of Nsight Systems: %s",
                  sqlite3_errmsg(reader->db));
  return NULL;
}

static gboolean has(const Reader *reader, const char *table, const char *column) {
  return sqlite3_table_column_metadata(reader->db, "main", table, column, NULL, NULL, NULL, NULL,
                                       NULL) == SQLITE_OK;
}

/* nsys export writes plain tables. A view may be endless, and a virtual table is a module's
 * code. */
static gboolean check_kinds(const Reader *reader) {
  static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "StringIds", "TARGET_INFO_GPU",
                                       "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"};
  const guint n_before = orr_diags_n_errors(reader->diags);
  for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
    const char *kind = orr_foreign_kind(reader->db, tables[i]);
    if (kind && strcmp(kind, "table") != 0)
      orr_diags_error(reader->diags, place_of(reader), "%s is a %s: nsys export writes a table",
                      tables[i], kind);
  }
  return orr_diags_n_errors(reader->diags) == n_before;
}

/* Reports all missing columns. */
static gboolean check_columns(const Reader *reader, const char *table, const char *const *columns) {
  gboolean complete = has(reader, table, NULL);
  if (!complete) orr_diags_error(reader->diags, place_of(reader), "there is no table %s", table);
  for (gboolean known = complete; known && *columns; columns++)
    if (!has(reader, table, *columns)) {
      orr_diags_error(reader->diags, place_of(reader), "table %s has no column %s", table,
                      *columns);
      complete = FALSE;
    }
  return complete;
}

/* FALSE, with the reason in the diagnostics, unless the statement came to its end. */
static gboolean finish(const Reader *reader, sqlite3_stmt *statement, int status) {
  if (status == SQLITE_INTERRUPT)
    orr_diags_error(reader->diags, place_of(reader), "cannot be read within %g s",
                    reader->limits->most_s);
  else if (status != SQLITE_DONE && status != SQLITE_ROW)
    orr_diags_error(reader->diags, place_of(reader), "cannot be read to its end: %s",
                    sqlite3_errmsg(reader->db));
  sqlite3_finalize(statement);
  return status == SQLITE_DONE;
}

/* FALSE where enough of a file was read to say what is wrong with it. */
static gboolean goes_on(const Reader *reader, gint64 n_rows) {
  if (n_rows > reader->limits->most_rows)
    orr_diags_error(reader->diags, place_of(reader),
                    "holds more than %ld rows: profile a shorter time", reader->limits->most_rows);
  return n_rows <= reader->limits->most_rows && orr_diags_n_errors(reader->diags) < MOST_ERRORS;
}

/* --- kernels --- */

static double median_of(GArray *times) {
  g_array_sort(times, orr_number_compare);
  return (g_array_index(times, double, (times->len - 1) / 2) +
          g_array_index(times, double, times->len / 2)) /
         2;
}

/* The first word that a kernel's name has says its family: cuBLAS, CUTLASS and Triton's
 * templates, FlashAttention and cuDNN's, NCCL's, and PyTorch's and Transformer Engine's kernels
 * that memory bounds. */
static const char *family_of(const char *name) {
  static const char *const words[][2] = {
      {"nccl", "collective"},  {"flash", "attention"},     {"fmha", "attention"},
      {"sdpa", "attention"},   {"attention", "attention"}, {"_mha", "attention"},
      {"gemm", "gemm"},        {"cutlass", "gemm"},        {"xmma", "gemm"},
      {"nvjet", "gemm"},       {"gemv", "gemm"},           {"splitk", "gemm"},
      {"matmul", "gemm"},      {"norm", "memory"},         {"elementwise", "memory"},
      {"softmax", "memory"},   {"copy", "memory"},         {"cast", "memory"},
      {"transpose", "memory"}, {"embedding", "memory"},    {"index", "memory"},
      {"gather", "memory"},    {"permute", "memory"},      {"reduce", "memory"},
      {"adam", "memory"},      {"dropout", "memory"},      {"glu", "memory"},
      {"gelu", "memory"},      {"cross_entropy", "memory"}};
  g_autofree char *lower = g_ascii_strdown(name, -1);
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (strstr(lower, words[i][0])) return words[i][1];
  return "other";
}

static void close_kernel(OrrNsys *nsys, char **name, GArray *times, GHashTable *streams) {
  if (!*name || times->len == 0) return;
  OrrNsysKernel kernel = {.name = *name,
                          .family = family_of(*name),
                          .calls = times->len,
                          .streams = g_hash_table_size(streams),
                          .median_us = median_of(times)};
  *name = NULL;
  g_hash_table_remove_all(streams);
  ORR_EACH_VALUE(const double, value, times) kernel.total_us += value;
  kernel.least_us = g_array_index(times, double, 0);
  kernel.most_us = g_array_index(times, double, times->len - 1);
  g_array_append_val(nsys->kernels, kernel);
  g_array_set_size(times, 0);
}

/* From one column of nanoseconds to another. Dates are a stranger's: what does not fit into 64 bits
 * wraps, and the checks of the result refuse it. */
static double microseconds(sqlite3_stmt *row, int from, int to) {
  const guint64 begin = (guint64)sqlite3_column_int64(row, from),
                end = (guint64)sqlite3_column_int64(row, to);
  return (double)(gint64)(end - begin) * 1e-3;
}

/* Columns: rowid, name, start, end, whether the row before is the same, device and stream as one
 * number. Times are nanoseconds from the session's start, so that none is below 0 and a
 * difference of two cannot overflow. */
static gboolean check_kernel(const Reader *reader, sqlite3_stmt *row) {
  gint64 id = sqlite3_column_int64(row, 0), start = sqlite3_column_int64(row, 2),
         end = sqlite3_column_int64(row, 3);
  gboolean has_times = sqlite3_column_type(row, 2) == SQLITE_INTEGER &&
                       sqlite3_column_type(row, 3) == SQLITE_INTEGER;
  const char *wrong = !has_times     ? "start or end is not a whole number"
                      : start < 0    ? "starts before the session does"
                      : end <= start ? "ends no later than it starts"
                      : sqlite3_column_type(row, 1) == SQLITE_NULL
                          ? "has a name that StringIds does not hold"
                      : sqlite3_column_type(row, 1) != SQLITE_TEXT ? "has a name that is not text"
                      : sqlite3_column_int(row, 4)                 ? "is a duplicate"
                                                                   : NULL;
  if (wrong) orr_diags_error(reader->diags, place_of(reader), "kernel of row %ld %s", id, wrong);
  return !wrong;
}

/* Old exports have neither stream nor process. */
static sqlite3_stmt *select_kernels(const Reader *reader) {
  const char *stream = has(reader, "CUPTI_ACTIVITY_KIND_KERNEL", "streamId") ? "k.streamId" : "0";
  const char *process =
      has(reader, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid") ? "k.globalPid" : "0";
  g_autofree char *sql = g_strdup_printf(
      "SELECT k.rowid, s.value, k.start, k.end, coalesce(lag(k.start) OVER same IS k.start AND "
      "k.start IS NOT NULL"
      " AND lag(k.end) OVER same IS k.end, 0), (%s >> 24 << 32) + (k.deviceId << 20) + %s"
      " FROM CUPTI_ACTIVITY_KIND_KERNEL AS k"
      " LEFT JOIN StringIds AS s ON s.id = k.demangledName"
      " WINDOW same AS (PARTITION BY %s, k.deviceId, %s, k.demangledName, k.correlationId"
      " ORDER BY k.start, k.end, k.rowid) ORDER BY s.value, k.start, k.rowid",
      process, stream, process, stream);
  return prepare(reader, sql);
}

static gboolean read_kernels(const Reader *reader, OrrNsys *nsys) {
  static const char *const columns[] = {"start",         "end",           "deviceId",
                                        "demangledName", "correlationId", NULL};
  static const char *const strings[] = {"id", "value", NULL};
  if (!check_columns(reader, "CUPTI_ACTIVITY_KIND_KERNEL", columns) ||
      !check_columns(reader, "StringIds", strings))
    return FALSE;
  sqlite3_stmt *rows = select_kernels(reader);
  if (!rows) return FALSE;
  g_autoptr(GHashTable) streams = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
  g_autofree char *name = NULL;
  int status;
  for (gint64 n = 1; (status = sqlite3_step(rows)) == SQLITE_ROW && goes_on(reader, n); n++) {
    if (!check_kernel(reader, rows)) continue;
    const char *here = (const char *)sqlite3_column_text(rows, 1);
    double us = microseconds(rows, 2, 3);
    if (g_strcmp0(name, here) != 0) {
      close_kernel(nsys, &name, times, streams);
      g_free(name);
      name = g_strdup(here);
    }
    const gint64 stream = sqlite3_column_int64(rows, 5);
    g_array_append_val(times, us);
    g_hash_table_add(streams, g_memdup2(&stream, sizeof stream));
  }
  close_kernel(nsys, &name, times, streams);
  return finish(reader, rows, status);
}

/* --- the device --- */

static void read_device(const Reader *reader, OrrNsys *nsys) {
  if (!has(reader, "TARGET_INFO_GPU", "name") || !has(reader, "TARGET_INFO_GPU", "id")) return;
  sqlite3_stmt *rows =
      prepare(reader, "SELECT DISTINCT g.name FROM TARGET_INFO_GPU AS g WHERE g.id IN"
                      " (SELECT deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL) AND g.name IS NOT NULL"
                      " ORDER BY g.name LIMIT 10");
  if (!rows) return;
  int status;
  while ((status = sqlite3_step(rows)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(rows, 0);
    if (nsys->device)
      orr_diags_error(reader->diags, place_of(reader), "kernels of %s and of %s: devices are mixed",
                      nsys->device, name);
    else
      nsys->device = g_strdup(name);
  }
  finish(reader, rows, status);
}

/* --- NCCL's ranges --- */

/* NCCL names its ranges after its functions. */
static const char *op_of(const char *range) {
  static const char *const known[][2] = {
      {"ncclAllGather", "all_gather"}, {"ncclAllReduce", "all_reduce"},
      {"ncclAlltoAll", "alltoall"},    {"ncclBroadcast", "broadcast"},
      {"ncclReduce", "reduce"},        {"ncclReduceScatter", "reduce_scatter"},
      {"ncclSend", "sendrecv"}};
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(range, known[i][0]) == 0) return known[i][1];
  return NULL;
}

/* NCCL's payload says `"Message size [bytes]": N`. */
static gint64 bytes_of(const char *json) {
  const char *key = json ? strstr(json, "Message size [bytes]") : NULL;
  const char *digits = key ? strpbrk(key + strlen("Message size [bytes]"), "0123456789,}") : NULL;
  return digits && g_ascii_isdigit(*digits) ? g_ascii_strtoll(digits, NULL, 10) : 0;
}

static gboolean can_read_ranges(const Reader *reader) {
  static const char *const needed[][2] = {{"NVTX_EVENTS", "start"},
                                          {"NVTX_EVENTS", "end"},
                                          {"NVTX_EVENTS", "text"},
                                          {"NVTX_EVENTS", "globalTid"},
                                          {"CUPTI_ACTIVITY_KIND_RUNTIME", "start"},
                                          {"CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"},
                                          {"CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"}};
  for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
    if (!has(reader, needed[i][0], needed[i][1])) return FALSE;
  return TRUE;
}

/* A range's time is from the first start to the last end of NCCL's kernels that its thread
 * launched within it. */
static gboolean read_ranges(const Reader *reader, OrrNsys *nsys) {
  if (!can_read_ranges(reader)) return TRUE;
  const gboolean has_text = has(reader, "NVTX_EVENTS", "jsonText"),
                 has_id = has(reader, "NVTX_EVENTS", "jsonTextId");
  const char *json =
      has_text && has_id
          ? "coalesce(n.jsonText, (SELECT value FROM StringIds WHERE id = n.jsonTextId))"
      : has_id   ? "(SELECT value FROM StringIds WHERE id = n.jsonTextId)"
      : has_text ? "n.jsonText"
                 : "NULL";
  const char *same_process =
      has(reader, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid")
          ? " AND (k.globalPid IS NULL OR k.globalPid >> 24 = r.globalTid >> 24)"
          : "";
  const char *text = has(reader, "NVTX_EVENTS", "textId")
                         ? "coalesce(n.text, (SELECT value FROM StringIds WHERE id = n.textId))"
                         : "n.text";
  g_autofree char *sql = g_strdup_printf(
      "SELECT n.rowid, %s AS name, %s, min(k.start), max(k.end) FROM NVTX_EVENTS AS n"
      " JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.globalTid = n.globalTid AND r.start BETWEEN "
      "n.start AND n.end"
      " JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.correlationId = r.correlationId%s"
      " JOIN StringIds AS s ON s.id = k.demangledName AND s.value LIKE 'nccl%%'"
      " WHERE name LIKE 'nccl%%' AND n.end IS NOT NULL GROUP BY n.rowid ORDER BY n.start, n.rowid",
      text, json, same_process);
  sqlite3_stmt *rows = prepare(reader, sql);
  if (!rows) return FALSE;
  int status;
  for (gint64 n = 1; (status = sqlite3_step(rows)) == SQLITE_ROW && goes_on(reader, n); n++) {
    const char *op = op_of((const char *)sqlite3_column_text(rows, 1));
    OrrNsysCollective collective = {.bytes = bytes_of((const char *)sqlite3_column_text(rows, 2)),
                                    .us = microseconds(rows, 3, 4)};
    if (!op) continue;
    collective.op = g_strdup(op);
    g_array_append_val(nsys->collectives, collective);
  }
  return finish(reader, rows, status);
}

/* --- the whole --- */

static int compare_totals(gconstpointer a, gconstpointer b) {
  const OrrNsysKernel *x = a, *y = b;
  return x->total_us != y->total_us ? (x->total_us > y->total_us ? -1 : 1)
                                    : strcmp(x->name, y->name);
}

OrrNsys *orr_nsys_read(const char *path, GError **error) {
  return orr_nsys_read_within(path, &limits, error);
}

OrrNsys *orr_nsys_read_within(const char *path, const OrrNsysLimits *within, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNsys) nsys = nsys_new();
  Reader reader = {.path = path, .diags = diags, .limits = within};
  const gint64 until_us = g_get_monotonic_time() + (gint64)(within->most_s * G_USEC_PER_SEC);
  if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
      sqlite3_open_v2(path, &reader.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: cannot be opened", path);
    sqlite3_close(reader.db);
    return NULL;
  }
  orr_foreign_distrust(reader.db);
  orr_foreign_limit(reader.db, &until_us);
  if (check_kinds(&reader) &&
      read_kernels(&reader, nsys)) { /* ranges are of kernels whose times are right */
    read_device(&reader, nsys);
    read_ranges(&reader, nsys);
  }
  sqlite3_close(reader.db);
  if (orr_diags_n_errors(diags) == 0 && nsys->kernels->len == 0)
    orr_diags_error(diags, place_of(&reader), "holds no kernel");
  if (!orr_diags_check(diags, error)) return NULL;
  g_array_sort(nsys->kernels, compare_totals);
  return g_steal_pointer(&nsys);
}

/* --- writing --- */

static void append_number(GString *text, double value) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append(text,
                  g_ascii_formatd(buffer, sizeof buffer, value < 1e6 ? "%.6g" : "%.0f", value));
}

char *orr_nsys_kernels_csv(const OrrNsys *nsys) {
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "# device: %s; source: Nsight Systems\n",
                         nsys->device ? nsys->device : "not said");
  g_string_append(text, "kernel,calls,total_us,mean_us,median_us,min_us,max_us,family,streams\n");
  ORR_EACH(const OrrNsysKernel, kernel, nsys->kernels) {
    const double numbers[] = {kernel->total_us, kernel->total_us / (double)kernel->calls,
                              kernel->median_us, kernel->least_us, kernel->most_us};
    g_auto(GStrv) parts = g_strsplit(kernel->name, "\"", -1);
    g_autofree char *quoted = g_strjoinv("\"\"", parts);
    g_string_append_printf(text, "\"%s\",%ld", quoted, kernel->calls);
    for (guint k = 0; k < G_N_ELEMENTS(numbers); k++) {
      g_string_append_c(text, ',');
      append_number(text, numbers[k]);
    }
    g_string_append_printf(text, ",%s,%ld\n", kernel->family, kernel->streams);
  }
  return g_string_free(text, FALSE);
}

static int compare_calls(gconstpointer a, gconstpointer b) {
  const OrrNsysCollective *x = *(const OrrNsysCollective *const *)a,
                          *y = *(const OrrNsysCollective *const *)b;
  int by_op = strcmp(x->op, y->op);
  return by_op ? by_op : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

char *orr_nsys_collectives_csv(const OrrNsys *nsys, const char *system, gint64 n_ranks,
                               guint *ret_n_left_out) {
  GString *text = g_string_new(NULL);
  g_autoptr(GPtrArray) calls = g_ptr_array_new();
  g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
  g_string_append_printf(
      text,
      "# device: %s; source: Nsight Systems, NCCL's ranges; latency_us is the median call's\n",
      nsys->device ? nsys->device : "not said");
  g_string_append(text, "system,table,dtype,version,op,n_gpus,bytes,latency_us\n");
  ORR_EACH(OrrNsysCollective, call, nsys->collectives)
    if (call->bytes > 0) g_ptr_array_add(calls, call);
  *ret_n_left_out = nsys->collectives->len - calls->len;
  g_ptr_array_sort(calls, compare_calls);
  ORR_EACH_POINTER_AT(i, const OrrNsysCollective, call, calls) {
    g_array_append_val(times, call->us);
    if (i + 1 < calls->len && compare_calls(&calls->pdata[i], &calls->pdata[i + 1]) == 0) continue;
    g_string_append_printf(text, "%s,nccl_perf,half,,%s,%ld,%ld,", system, call->op, n_ranks,
                           call->bytes);
    append_number(text, median_of(times));
    g_string_append_c(text, '\n');
    g_array_set_size(times, 0);
  }
  return g_string_free(text, FALSE);
}
