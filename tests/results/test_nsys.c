/*
 * test_nsys.c - an export of Nsight Systems, made here with the tables that a real one has:
 * kernels, ranges, and each thing that is wrong named.
 */
#include "results/nsys.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "sim/base/fault.h"

#define SCHEMA                                                                                     \
  "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"                          \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, correlationId, demangledName, "  \
  "streamId);"                                                                                     \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, correlationId, globalTid);"               \
  "CREATE TABLE NVTX_EVENTS (start, end, text, textId, globalTid, jsonText);"                      \
  "CREATE TABLE TARGET_INFO_GPU (id, name);"                                                       \
  "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100'), (1, 'NVIDIA H100'), (2, 'NVIDIA A100');" \
  "INSERT INTO StringIds VALUES (1, 'gemm<float, 2>'), (2, "                                       \
  "'ncclDevKernel_AllReduce_Sum_f16_RING_LL'), (3, "                                               \
  "'ncclAllReduce');"
/* Three products of 1, 3 and 2 us. */
#define KERNELS                                                                                    \
  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 1, 1, 7), (3000, 6000, 0, 2, 1, " \
  "7), (7000, 9000, 1, "                                                                           \
  "3, 1, 7);"
/* Two all-reduces of 1 MiB that take 10 and 20 us, launched within their ranges; one whose size
 * was not exported. */
#define RANGES                                                                                     \
  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20000, 30000, 0, 11, 2, 8), (40000, 60000, 0, "  \
  "12, 2, 8),"                                                                                     \
  " (70000, 80000, 0, 13, 2, 8);"                                                                  \
  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (110, 120, 11, 5), (210, 220, 12, 5), (310, "    \
  "320, 13, 5), (115, "                                                                            \
  "116, 1, 6);"                                                                                    \
  "INSERT INTO NVTX_EVENTS VALUES (100, 200, 'ncclAllReduce', NULL, 5, '{\"Message size "          \
  "[bytes]\": 1048576}'),"                                                                         \
  " (201, 300, NULL, 3, 5, '{\"NCCL communicator ID\": 7, \"Message size [bytes]\":1048576}'),"    \
  " (301, 400, 'ncclAllReduce', NULL, 5, NULL), (100, 400, 'step', NULL, 5, NULL);"

static char *path;

static void make(const char *sql) {
  sqlite3 *db = NULL;
  char *wrong = NULL;
  g_remove(path);
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &wrong) != SQLITE_OK) g_error("%s", wrong);
  sqlite3_close(db);
}

static OrrNsys *read_made(const char *sql) {
  g_autoptr(GError) error = NULL;
  make(sql);
  OrrNsys *nsys = orr_nsys_read(path, &error);
  g_assert_no_error(error);
  return nsys;
}

/* 1 + 3 + 2 us in 3 calls: mean 2, median 2; on one stream of either device. */
static void test_kernels(void) {
  g_autoptr(OrrNsys) nsys = read_made(SCHEMA KERNELS);
  g_autofree char *text = orr_nsys_kernels_csv(nsys);
  g_assert_cmpstr(text, ==,
                  "# device: NVIDIA H100; source: Nsight Systems\n"
                  "kernel,calls,total_us,mean_us,median_us,min_us,max_us,family,streams\n"
                  "\"gemm<float, 2>\",3,6,2,2,1,3,gemm,2\n");
}

/* The median of 10 and 20 us is 15; the third call has no size. */
static void test_collectives(void) {
  g_autoptr(OrrNsys) nsys = read_made(SCHEMA KERNELS RANGES);
  guint n_left_out;
  g_autofree char *text = orr_nsys_collectives_csv(nsys, "mine", 8, &n_left_out);
  g_assert_cmpuint(nsys->collectives->len, ==, 3);
  g_assert_cmpuint(n_left_out, ==, 1);
  g_assert_true(
      g_str_has_suffix(text, "bytes,latency_us\nmine,nccl_perf,half,,all_reduce,8,1048576,15\n"));
}

/* The longest total comes first: 40 us of NCCL before 6 us of products. */
static void test_order(void) {
  g_autoptr(OrrNsys) nsys = read_made(SCHEMA KERNELS RANGES);
  g_assert_cmpuint(nsys->kernels->len, ==, 2);
  g_assert_true(g_str_has_prefix(g_array_index(nsys->kernels, OrrNsysKernel, 0).name, "nccl"));
}

/* An export without NVTX and without GPU names still has its kernels. */
static void test_without_ranges(void) {
  g_autoptr(OrrNsys) nsys =
      read_made(SCHEMA KERNELS "DROP TABLE NVTX_EVENTS; DROP TABLE TARGET_INFO_GPU;");
  g_assert_null(nsys->device);
  g_assert_cmpuint(nsys->collectives->len, ==, 0);
}

static void assert_refused(const char *sql, int code, const char *words) {
  g_autoptr(GError) error = NULL;
  make(sql);
  g_assert_null(orr_nsys_read(path, &error));
  g_assert_error(error, ORR_FAULT, code);
  if (!strstr(error->message, words)) g_error("'%s' does not say '%s'", error->message, words);
}

#define ONE(values) SCHEMA KERNELS "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " values ";"

static void test_refused(void) {
  assert_refused("CREATE TABLE t (a)", ORR_FAULT_DOCUMENT, "no table CUPTI_ACTIVITY_KIND_KERNEL");
  assert_refused(SCHEMA, ORR_FAULT_DOCUMENT, "holds no kernel");
  assert_refused(SCHEMA
                 "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN demangledName TO name",
                 ORR_FAULT_DOCUMENT, "no column demangledName");
  assert_refused(ONE("(9000, 9000, 0, 9, 1, 7)"), ORR_FAULT_DOCUMENT,
                 "kernel of row 4 ends no later");
  assert_refused(ONE("(9000, 8000, 0, 9, 1, 7)"), ORR_FAULT_DOCUMENT,
                 "kernel of row 4 ends no later");
  assert_refused(ONE("('x', 9000, 0, 9, 1, 7)"), ORR_FAULT_DOCUMENT, "not a whole number");
  assert_refused(ONE("(NULL, 9000, 0, 9, 1, 7)"), ORR_FAULT_DOCUMENT, "not a whole number");
  assert_refused(ONE("(8000, 9000, 0, 9, 99, 7)"), ORR_FAULT_DOCUMENT, "StringIds does not hold");
  assert_refused(ONE("(1000, 2000, 0, 1, 1, 7)"), ORR_FAULT_DOCUMENT,
                 "kernel of row 4 is a duplicate");
  assert_refused(ONE("(8000, 9000, 2, 9, 1, 7)"), ORR_FAULT_DOCUMENT, "devices are mixed");
}

static void test_no_file(void) {
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_nsys_read("/nonexistent/file", &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
  g_clear_error(&error);
  g_assert_true(
      g_file_set_contents(path, "this is not a database, but long enough to be one", -1, NULL));
  g_assert_null(orr_nsys_read(path, &error));
  g_assert_nonnull(error);
}

/* What a stranger's file may hold: a view without an end, times whose difference does not fit 64
 * bits. */
static void test_hostile(void) {
#define LEAST "-9223372036854775808"
#define MOST "9223372036854775807"
  assert_refused(SCHEMA "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW "
                        "CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i)"
                        " AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS start, i + 1 AS end, "
                        "0 AS deviceId, i AS"
                        " correlationId, 1 AS demangledName, 7 AS streamId FROM n",
                 ORR_FAULT_DOCUMENT,
                 "CUPTI_ACTIVITY_KIND_KERNEL is a view: nsys export writes a table");
  assert_refused(SCHEMA KERNELS
                 "DROP TABLE NVTX_EVENTS; CREATE VIEW nvtx_events AS SELECT 1 AS start",
                 ORR_FAULT_DOCUMENT, "NVTX_EVENTS is a view");
  assert_refused(SCHEMA KERNELS
                 "DROP TABLE StringIds; CREATE VIRTUAL TABLE StringIds USING fts4(id, value)",
                 ORR_FAULT_DOCUMENT, "StringIds is a virtual table");
  assert_refused(ONE("(" LEAST ", " MOST ", 0, 9, 1, 7)"), ORR_FAULT_DOCUMENT,
                 "kernel of row 4 starts before the session");
  assert_refused(ONE("(" MOST ", " LEAST ", 0, 9, 1, 7)"), ORR_FAULT_DOCUMENT,
                 "kernel of row 4 ends no later");
  assert_refused(SCHEMA KERNELS "DROP TABLE StringIds; CREATE TABLE StringIds (id, value);"
                                "INSERT INTO StringIds VALUES (1, x'00')",
                 ORR_FAULT_DOCUMENT, "kernel of row 1 has a name that is not text");
  g_autoptr(OrrNsys) longest =
      read_made(SCHEMA "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, " MOST ", 0, 1, 1, 7)");
  g_assert_cmpfloat(g_array_index(longest->kernels, OrrNsysKernel, 0).total_us, ==, 0x1p63 * 1e-3);
#undef LEAST
#undef MOST
}

/* A file beyond the limits is refused; of one that is wrong all over the first hundred rows are
 * named. */
static void test_limits(void) {
  static const OrrNsysLimits two_rows = {2, 600}, no_time = {1000, 0}, three_rows = {3, 600};
  g_autoptr(GError) rows = NULL, time = NULL, many = NULL;
  make(SCHEMA KERNELS);
  g_assert_null(orr_nsys_read_within(path, &two_rows, &rows));
  g_assert_nonnull(strstr(rows->message, "more than 2 rows"));
  g_autoptr(OrrNsys) nsys = orr_nsys_read_within(path, &three_rows, NULL);
  g_assert_nonnull(nsys);
  make(SCHEMA "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i, 0, i, 1, 7 FROM n");
  g_assert_null(orr_nsys_read_within(path, &no_time, &time));
  g_assert_nonnull(strstr(time->message, "cannot be read within 0 s"));
  g_assert_null(orr_nsys_read(path, &many));
  g_assert_nonnull(strstr(many->message, "kernel of row 100 "));
  g_assert_null(strstr(many->message, "kernel of row 101 "));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  path = g_strdup_printf("%s/orrery-nsys-%d.sqlite", g_get_tmp_dir(),
                         (int)g_random_int_range(0, 1 << 30));
  g_test_add_func("/nsys/kernels", test_kernels);
  g_test_add_func("/nsys/collectives", test_collectives);
  g_test_add_func("/nsys/order", test_order);
  g_test_add_func("/nsys/without-ranges", test_without_ranges);
  g_test_add_func("/nsys/refused", test_refused);
  g_test_add_func("/nsys/hostile", test_hostile);
  g_test_add_func("/nsys/limits", test_limits);
  g_test_add_func("/nsys/no-file", test_no_file);
  int status = g_test_run();
  g_remove(path);
  g_free(path);
  return status;
}
