/*
 * test_calibrate_import.c - rows from reports of nsys and ncu: shapes of ranges and names, times of
 * ranges of several kernels, what is not used and why, and what is refused.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "calibration/measure/family.h"
#include "sim/base/fault.h"
#include "sim/calibrate/calibrate_import.h"
#include "sim/calibrate/calibrate.h"

static OrrCalibrateImport *read_sample(const char *name) {
  g_autofree char *path = g_test_build_filename(G_TEST_DIST, "fuzz", "profilers", name, NULL);
  g_autoptr(GError) error = NULL;
  OrrCalibrateImport *import = orr_calibrate_import_read(path, "h100-sxm", "2026-01-01", &error);
  g_assert_no_error(error);
  return import;
}

static void assert_row(const OrrCalibrateImport *import, guint i, const char *family,
                       const char *shape, double us) {
  g_assert_cmpuint(i, <, import->rows->len);
  const OrrMeasureRow *row = &g_array_index(import->rows, OrrMeasureRow, i);
  g_assert_cmpstr(row->family, ==, family);
  g_assert_cmpstr(row->shape, ==, shape);
  g_assert_cmpfloat_with_epsilon(row->median_us, us, 1e-9 * us);
  g_assert_cmpstr(row->device, ==, "h100-sxm");
  g_assert_cmpint(row->verified, ==, ORR_VERIFIED_UNCHECKED);
  g_assert_true(orr_measure_row_counts(row));
}

static void assert_unused(const OrrCalibrateImport *import, guint i, const char *name, double us,
                          const char *reason) {
  g_assert_cmpuint(i, <, import->unused->len);
  const OrrCalibrateUnused *unused = import->unused->pdata[i];
  g_assert_nonnull(strstr(unused->name, name));
  g_assert_nonnull(strstr(unused->reason, reason));
  g_assert_cmpfloat_with_epsilon(unused->us, us, 1e-9 * us);
}

/* The median of one kernel: 200.5 and 99 us. Two kernels of ten calls, (60 + 20) / 10 us each. bmm
 * is 32 products of 512 x 128 by 128 x 512. */
static void test_nsys_ranges(void) {
  g_autoptr(OrrCalibrateImport) import = read_sample("nvtx_kern_sum.csv");
  g_assert_cmpstr(import->tool, ==, "nsys");
  g_assert_cmpuint(import->rows->len, ==, 4);
  assert_row(import, 0, "gemm", "dtype=bf16 layout=forward batch=1 m=4096 n=4096 k=4096", 200.5);
  assert_row(import, 1, "gemm", "dtype=bf16 layout=dgrad batch=1 m=8192 n=1024 k=4096", 99);
  assert_row(import, 2, "gemm", "dtype=fp16 layout=forward batch=1 m=64 n=512 k=2048", 8);
  assert_row(import, 3, "gemm", "dtype=fp16 layout=wgrad batch=32 m=512 n=512 k=128", 20);
  g_assert_cmpuint(import->unused->len, ==, 3);
  assert_unused(import, 0, "scaled_dot_product", 9000, "mask");
  assert_unused(import, 1, "ncclAllReduce", 5000, "without its size");
  assert_unused(import, 2, "aten::copy_", 30, "holds no shape");
}

/* Without the number of calls: a range whose kernels ran 30 and 10 times is not used. */
static void test_nsys_names(void) {
  g_autoptr(OrrCalibrateImport) import = read_sample("kern_sum_nvtx.csv");
  g_assert_cmpuint(import->rows->len, ==, 1);
  assert_row(import, 0, "memory", "op=copy dtype=bf16 rows=4096 width=8192", 301);
  g_assert_cmpuint(import->unused->len, ==, 2);
  assert_unused(import, 0, "dtype=fp8", 2000, "different numbers of times");
  assert_unused(import, 1, "reduce_kernel", 100, "no range with a shape");
}

/* 7.5 and 8.5 us, so 8; 1,234,000 ns; 0.25 ms of no range. Other metrics are passed over. */
static void test_ncu(void) {
  g_autoptr(OrrCalibrateImport) import = read_sample("ncu.csv");
  g_assert_cmpstr(import->tool, ==, "ncu");
  g_assert_cmpuint(import->rows->len, ==, 2);
  assert_row(import, 0, "gemm", "dtype=bf16 layout=forward batch=1 m=1024 n=512 k=2048", 8);
  assert_row(import, 1, "collective", "op=all-reduce dtype=bf16 ranks=8 bytes=1048576", 1234);
  g_assert_cmpuint(import->unused->len, ==, 1);
  assert_unused(import, 0, "vectorized_elementwise_kernel", 250, "no range with a shape");
}

static void assert_shape(const char *range, const char *kernel, const char *text,
                         const char *reason) {
  OrrShape shape;
  g_autofree char *why = NULL;
  const gboolean fine = orr_calibrate_import_shape(range, kernel, &shape, &why);
  g_assert_true(fine == (text != NULL));
  if (!fine) g_assert_nonnull(strstr(why, reason));
  if (!fine) return;
  g_autofree char *found = orr_shape_text(&shape);
  g_assert_cmpstr(found, ==, text);
}

static void test_shapes(void) {
  const char *mm = "aten::mm, sizes = [[8, 4], [4, 2]]";
  assert_shape(mm, "ampere_sgemm_32x32_nt", "dtype=fp32 layout=wgrad batch=1 m=8 n=2 k=4", NULL);
  assert_shape(mm, "cutlass_tensorop_s1688gemm_128x128_tn",
               "dtype=tf32 layout=forward batch=1 m=8 n=2 k=4", NULL);
  assert_shape(mm, "nvjet_qqtst_128x128_TNN", "dtype=fp8 layout=forward batch=1 m=8 n=2 k=4", NULL);
  assert_shape(mm, "nvjet_tst_128x128", NULL, "the layout");
  assert_shape(mm, "my_gemm_tn", NULL, "the format");
  assert_shape("aten::mm, sizes = [[8, 4], [5, 2]]", "nvjet_tst_TNN", NULL,
               "do not make a product");
  assert_shape("aten::mm, sizes = [[8, 4]]", "nvjet_tst_TNN", NULL, "do not make a product");
  assert_shape("aten::mm, sizes = [[8, 4, 1, 9], [4, 2]]", "nvjet_tst_TNN", NULL, "product");
  assert_shape("aten::mm, sizes = [[99999999999999999999, 4], [4, 0]]", "nvjet_tst_TNN", NULL, "");
  assert_shape("orrery:gemms m=4", "k", NULL, "no family of microkernels 'gemms'");
  assert_shape("orrery:gemm dtype=bf16", "k", NULL, "");
  assert_shape("", "ncclDevKernel_SendRecv", NULL, "import nsys --ranks");
}

/* Writes @text to a file, reads it, and asserts that it is refused with @wanted. */
static void assert_refused(const char *text, const char *wanted) {
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  const int file = g_file_open_tmp("orrery-import-XXXXXX", &path, NULL);
  g_assert_cmpint(file, >=, 0);
  g_close(file, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  g_assert_null(orr_calibrate_import_read(path, "h100-sxm", "2026-01-01", &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_nonnull(strstr(error->message, wanted));
  g_unlink(path);
}

static void test_refused(void) {
  assert_refused("a,b\n1,2\n", "no table of");
  assert_refused("\xff\xfe", "not a text file");
  assert_refused("Time (%),Name\n1,x\n", "lacks columns");
  assert_refused("a line\nTime (%),Total Time (ns),Instances,Name\n1,x,1,k\n", ":3:");
  assert_refused("Time (%),Total Time (ns),Instances,Name\n1,5,0,k\n", "never ran");
  assert_refused("Time (%),Total Time (ns),Instances,Name\n1,-5,1,k\n", "want 0 or more");
  assert_refused("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,Duration,hour,1\n",
                 "'hour' is not a unit of time");
  assert_refused("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,Duration,us,x\n",
                 "'x' is not a time");
}

/* Stored rows are read back, beside other rows, and exported to the tables of their families. */
static void test_store(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-import-XXXXXX", NULL);
  g_autofree char *db = g_build_filename(folder, "c.db", NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCalibrateImport) nsys = read_sample("nvtx_kern_sum.csv"),
                                ncu = read_sample("ncu.csv");
  g_assert_true(orr_calibrate_import_store(nsys, db, &error));
  g_assert_true(orr_calibrate_import_store(ncu, db, &error));
  g_assert_no_error(error);
  g_autoptr(GArray) rows = orr_calibrate_rows_of(db, "h100-sxm", &error);
  g_assert_no_error(error);
  g_assert_cmpuint(rows->len, ==, 6);
  g_autoptr(GPtrArray) files = orr_measure_export(rows, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(files->len, ==, 2);
  g_assert_cmpstr(((OrrExportFile *)files->pdata[1])->file, ==, "gemm.csv");
  g_assert_cmpuint(((OrrExportFile *)files->pdata[1])->n_rows, ==, 5);
  for (const char *const *end = (const char *const[]){"", "-wal", "-shm", NULL}; *end; end++) {
    g_autofree char *path = g_strconcat(db, *end, NULL);
    g_unlink(path);
  }
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/calibrate/import/nsys-ranges", test_nsys_ranges);
  g_test_add_func("/calibrate/import/nsys-names", test_nsys_names);
  g_test_add_func("/calibrate/import/ncu", test_ncu);
  g_test_add_func("/calibrate/import/shapes", test_shapes);
  g_test_add_func("/calibrate/import/refused", test_refused);
  g_test_add_func("/calibrate/import/store", test_store);
  return g_test_run();
}
