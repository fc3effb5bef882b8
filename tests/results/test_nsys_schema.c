/*
 * test_nsys_schema.c - an export with the tables as Nsight Systems 2024 and 2025 write them (`nsys
 * export --type sqlite`, schema 3.x: its reference's columns and types): two processes on two H100,
 * several kernels a family, streams, NCCL's ranges with their payload as text or as an id; and what
 * is wrong in one, by name.
 */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "results/nsys.h"
#include "sim/base/fault.h"

static const char schema[] =
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.1');"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, "
    "busLocation TEXT,"
    " isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, "
    "clockRate INTEGER,"
    " smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId "
    "INTEGER,"
    " globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName "
    "INTEGER,"
    " launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER "
    "NOT NULL,"
    " gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT "
    "NULL,"
    " blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER "
    "NOT NULL,"
    " localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT "
    "NULL,"
    " sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "eventClass INTEGER NOT "
    "NULL,"
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT "
    "NULL,"
    " callchainId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
    "rangeId INTEGER,"
    " category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId "
    "INTEGER,"
    " domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value "
    "INTEGER,"
    " int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);";

/* Names as CUPTI demangles them; 20 on: NVTX's. */
static const char strings[] =
    "INSERT INTO StringIds VALUES"
    " (1, 'nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT'),"
    " (2, 'void "
    "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8>(T1::"
    "Params)'),"
    " (3, 'void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
    "cutlass::bfloat16_t>>(...)'),"
    " (4, 'cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7'),"
    " (5, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned "
    "long)4096>)'),"
    " (6, 'ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)'),"
    " (7, 'void at::native::vectorized_elementwise_kernel<4, "
    "at::native::CUDAFunctor_add<c10::BFloat16>>(int, T2, "
    "T3)'),"
    " (8, 'void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
    "float>(int, float)'),"
    " (9, 'my_own_thing'),"
    " (20, 'ncclAllReduce'), (21, 'ncclAllGather'), (22, 'forward'),"
    " (30, '{\"NCCL communicator ID\": 123456789, \"Message size [bytes]\": 33554432, \"Reduction "
    "operation\": "
    "\"Sum\"}'),"
    " (40, 'cudaLaunchKernelExC_v11060');"
    "INSERT INTO TARGET_INFO_GPU VALUES"
    " (1, 0, 'NVIDIA H100 80GB HBM3', '0000:19:00.0', 1, 52428800, 85024112640, 3352320000000, "
    "1980000000, 132, 0, 'a',"
    " NULL, 'GH100', 0), (1, 1, 'NVIDIA H100 80GB HBM3', '0000:3B:00.0', 1, 52428800, 85024112640, "
    "3352320000000,"
    " 1980000000, 132, 1, 'b', NULL, 'GH100', 1);";

/* Process p (1 or 2) is globalPid p << 24, its only thread p << 24 | 7; both number their
 * launches from 1. */
static gint64 process_of(int p) { return (gint64)p << 24; }

static void add_kernel(GString *sql, int p, int name, int stream, int launch, gint64 start_ns,
                       gint64 us) {
  g_string_append_printf(sql,
                         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%ld, %ld, %d, 1, NULL, "
                         "%d, %d, %ld, %d, %d, NULL, 1, 0, 168, 132, 1, 1, 384, 1, 1, 0,"
                         " 0, 0, 0, %d, 102400, NULL, 0);",
                         start_ns, start_ns + 1000 * us, p - 1, stream, launch, process_of(p), name,
                         name, launch);
  g_string_append_printf(
      sql, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, 0, %ld, %d, 40, 0, NULL);",
      1000 * launch, 1000 * launch + 10, process_of(p) | 7, launch);
}

/* A push-pop range (59) of a process around its launches [first, last]. */
static void add_range(GString *sql, int p, int name, const char *json, const char *json_id,
                      int first, int last) {
  g_string_append_printf(sql,
                         "INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, NULL, NULL, NULL, NULL, %ld, "
                         "NULL, %d, 1, NULL, NULL, NULL, NULL, NULL, NULL, %s, %s, NULL);",
                         1000 * first - 5, 1000 * last + 50, process_of(p) | 7, name, json_id,
                         json);
}

/* Each process p runs kernels 1 to 4, 7, 8 on stream 7 for 10, 20 ... 60 us (p = 2: 2 us more), an
 * all-reduce of 32 MiB on stream 20 for 100 us (p = 2: 140), an all-gather of two kernels from 0 to
 * 300 us, and a kernel that nobody knows.
 */
static GString *make_export(void) {
  static const int compute[] = {1, 2, 3, 4, 7, 8};
  GString *sql = g_string_new(schema);
  g_string_append(sql, strings);
  for (int p = 1; p <= 2; p++) {
    for (guint i = 0; i < G_N_ELEMENTS(compute); i++)
      add_kernel(sql, p, compute[i], 7, (int)i + 1, (gint64)(i + 1) * 1000000,
                 10 * (i + 1) + 2 * (p - 1));
    add_kernel(sql, p, 5, 20, 7, 8000000, p == 1 ? 100 : 140);
    add_kernel(sql, p, 6, 20, 8, 9000000, 100);
    add_kernel(sql, p, 6, 21, 9, 9150000, 150);
    add_kernel(sql, p, 9, 7, 10, 10000000, 5);
    add_range(sql, p, 22, "NULL", "NULL", 1, 10);
    add_range(sql, p, 20, "NULL", "30", 7, 7);
    add_range(sql, p, 21, "'{\"Message size [bytes]\": 4096}'", "NULL", 8, 9);
  }
  return sql;
}

static char *path;

static void make(const char *sql) {
  sqlite3 *db = NULL;
  char *wrong = NULL;
  g_remove(path);
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &wrong) != SQLITE_OK) g_error("%s", wrong);
  sqlite3_close(db);
}

static const OrrNsysKernel *kernel_of(const OrrNsys *nsys, const char *part) {
  for (guint i = 0; i < nsys->kernels->len; i++)
    if (strstr(g_array_index(nsys->kernels, OrrNsysKernel, i).name, part))
      return &g_array_index(nsys->kernels, OrrNsysKernel, i);
  g_assert_not_reached();
}

/* Two calls each, one a process; the median of 10 and 12 us is 11. NCCL's all-gather has two
 * streams a process. */
static void test_kernels(void) {
  static const struct {
    const char *part, *family;
    gint64 calls, streams;
    double median_us;
  } wanted[] = {{"nvjet", "gemm", 2, 2, 11},
                {"cutlass::Kernel2", "gemm", 2, 2, 21},
                {"flash_fwd", "attention", 2, 2, 31},
                {"sdpa", "attention", 2, 2, 41},
                {"elementwise", "memory", 2, 2, 51},
                {"layer_norm", "memory", 2, 2, 61},
                {"AllReduce", "collective", 2, 2, 120},
                {"AllGather", "collective", 4, 4, 125},
                {"my_own", "other", 2, 2, 5}};
  g_autoptr(GString) sql = make_export();
  g_autoptr(GError) error = NULL;
  make(sql->str);
  g_autoptr(OrrNsys) nsys = orr_nsys_read(path, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(nsys->device, ==, "NVIDIA H100 80GB HBM3");
  g_assert_cmpuint(nsys->kernels->len, ==, G_N_ELEMENTS(wanted));
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    const OrrNsysKernel *kernel = kernel_of(nsys, wanted[i].part);
    g_assert_cmpstr(kernel->family, ==, wanted[i].family);
    g_assert_cmpint(kernel->calls, ==, wanted[i].calls);
    g_assert_cmpint(kernel->streams, ==, wanted[i].streams);
    g_assert_cmpfloat(kernel->median_us, ==, wanted[i].median_us);
  }
}

/* Launches of both processes have the same numbers: a range takes its own process's kernels.
 * All-reduces of 100 and 140 us have the median 120; an all-gather is from its first kernel's
 * start to its last one's end, 300 us. */
static void test_ranges(void) {
  g_autoptr(GString) sql = make_export();
  g_autoptr(GError) error = NULL;
  guint n_left_out = 0;
  make(sql->str);
  g_autoptr(OrrNsys) nsys = orr_nsys_read(path, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(nsys->collectives->len, ==, 4);
  g_autofree char *text = orr_nsys_collectives_csv(nsys, "mine", 2, &n_left_out);
  g_assert_cmpuint(n_left_out, ==, 0);
  g_assert_true(g_str_has_suffix(text, "\nmine,nccl_perf,half,,all_gather,2,4096,300\n"
                                       "mine,nccl_perf,half,,all_reduce,2,33554432,120\n"));
}

static void assert_refused(const char *more, const char *words) {
  g_autoptr(GString) sql = make_export();
  g_autoptr(GError) error = NULL;
  g_string_append(sql, more);
  make(sql->str);
  g_assert_null(orr_nsys_read(path, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  if (!strstr(error->message, words)) g_error("'%s' does not say '%s'", error->message, words);
}

#define CHANGE(set, row) "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET " set " WHERE rowid = " row ";"

static void test_refused(void) {
  assert_refused(CHANGE("end = start", "3"), "kernel of row 3 ends no later than it starts");
  assert_refused(CHANGE("demangledName = 77", "4"),
                 "kernel of row 4 has a name that StringIds does not hold");
  assert_refused(CHANGE("start = 'soon'", "5"),
                 "kernel of row 5 start or end is not a whole number");
  assert_refused("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL "
                 "WHERE rowid = 2;",
                 "kernel of row 21 is a duplicate");
  assert_refused(
      "UPDATE TARGET_INFO_GPU SET name = 'NVIDIA A100-SXM4-80GB' WHERE id = 1;",
      "kernels of NVIDIA A100-SXM4-80GB and of NVIDIA H100 80GB HBM3: devices are mixed");
  assert_refused("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId;",
                 "no column deviceId");
  assert_refused("DROP TABLE StringIds;", "there is no table StringIds");
  /* everything wrong is reported, not only the first */
  assert_refused(CHANGE("end = start", "3") CHANGE("end = start", "6"),
                 "kernel of row 6 ends no later");
}

/* The same launch number, name and time in two processes are two kernels. */
static void test_processes_are_not_repeats(void) {
  g_autoptr(GString) sql = make_export();
  g_autoptr(GError) error = NULL;
  g_string_append(sql, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 0, end = start + 1000;");
  make(sql->str);
  g_autoptr(OrrNsys) nsys = orr_nsys_read(path, &error);
  g_assert_no_error(error);
  g_assert_cmpint(kernel_of(nsys, "nvjet")->calls, ==, 2);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  path = g_strdup_printf("%s/orrery-nsys-schema-%d.sqlite", g_get_tmp_dir(),
                         (int)g_random_int_range(0, 1 << 30));
  g_test_add_func("/nsys-schema/kernels", test_kernels);
  g_test_add_func("/nsys-schema/ranges", test_ranges);
  g_test_add_func("/nsys-schema/refused", test_refused);
  g_test_add_func("/nsys-schema/processes-are-not-repeats", test_processes_are_not_repeats);
  int status = g_test_run();
  g_remove(path);
  g_free(path);
  return status;
}
