/* test_import_nccl_tests.c - what nccl-tests prints becomes rows; each bad line is named, and then
 * nothing is returned.
 */
#include "calibration/fit/import_nccl_tests.h"

#include <glib/gstdio.h>

#include "calibration/profile/profile_private.h"
#include "sim/base/fault.h"
#include "tests/calibration/calibration_sample.h"

#define STARTS "# Collective test starting: all_reduce_perf\n"
#define RANK0 "#  Rank  0 Group  0 Pid 100 on  node1 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
#define RANK1 "#  Rank  1 Group  0 Pid 100 on  node1 device  1 [0x43] NVIDIA H100 80GB HBM3\n"
#define RANK2 "#  Rank  2 Group  0 Pid 100 on  node1 device  2 [0x44] NVIDIA H100 80GB HBM3\n"
#define HEADINGS                                                                                   \
  "#                                              out-of-place          in-place\n"                \
  "#   size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"     \
  "#    (B)  (elements)               (us)  (GB/s)  (GB/s)       (us)  (GB/s)  (GB/s)\n"
#define ROW(size, out, in)                                                                         \
  "  " size "  256  float  sum  -1  " out "  0.1  0.1  0  " in "  0.1  0.1  0\n"
#define FOOT "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.2\n#\n"

static char *import(const char *text, const OrrNcclTestsOrder *order, GError **error) {
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp("orrery-nccl-XXXXXX", &path, NULL);
  g_assert_cmpint(fd, >=, 0);
  g_close(fd, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  char *answer = orr_import_nccl_tests(path, order, error);
  g_remove(path);
  return answer;
}

static const OrrNcclTestsOrder plain = {.device = "h100-sxm"};

static char *good(const char *text, const OrrNcclTestsOrder *order) {
  g_autoptr(GError) error = NULL;
  char *answer = import(text, order, &error);
  g_assert_no_error(error);
  return answer;
}

/* Sizes in any order become rising; a size of 0, the log's other lines and the foot are passed
 * over. */
static void test_profile(void) {
  g_autofree char *text =
      good(STARTS RANK0 RANK1
           "NCCL version 2.27.3+cuda12.9\nnode1:1:2 [0] NCCL INFO Connected\n" HEADINGS ROW(
               "0", "5", "5") ROW("4096", "12.5", "11") ROW("1024", "10", "9") FOOT,
           &plain);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpstr(orr_profile_name(profile), ==, "h100-sxm-collectives");
  g_assert_nonnull(
      strstr(text, "NVIDIA H100 80GB HBM3, NCCL 2.27.3+cuda12.9, float, out of place"));
  g_assert_cmpuint(profile->collectives->len, ==, 1);
  const OrrProfileCollective *row = profile->collectives->pdata[0];
  g_assert_cmpstr(row->op, ==, "all_reduce");
  g_assert_cmpint(row->ranks, ==, 2);
  g_assert_cmpstr(row->bytes, ==, "1024 4096");
  g_assert_cmpstr(row->us, ==, "10 12.5");
}

/* With a base to lie on, the document says so. */
static void test_base(void) {
  const OrrNcclTestsOrder order = {.device = "h100-sxm", .base = "h100-sxm"};
  g_autofree char *text = good(STARTS RANK0 RANK1 HEADINGS ROW("1024", "10", "9") FOOT, &order);
  g_assert_nonnull(strstr(text, "\nbase: h100-sxm\n"));
}

static void test_in_place_csv(void) {
  OrrNcclTestsOrder order = {
      .device = "h100-sxm", .in_place = TRUE, .csv = TRUE, .op = "all_gather"};
  g_autofree char *text = good(RANK0 RANK1 HEADINGS ROW("1024", "10", "9.5"), &order);
  g_assert_cmpstr(text, ==,
                  "# device: NVIDIA H100 80GB HBM3; source: nccl-tests, in place; latency_us is "
                  "one call, microseconds\n"
                  "system,table,dtype,version,op,n_gpus,bytes,latency_us\n"
                  "h100-sxm,nccl_perf,float,,all_gather,2,1024,9.5\n");
}

/* Older texts: a rank without a group, no root, "error" as a difference, the collective in a
 * command line. */
static void test_old_text(void) {
  g_autofree char *text =
      good("$ mpirun -np 2 ./build/reduce_scatter_perf -b 8\n"
           "#   Rank  0 Pid   1320 on n device  0 [0x00] NVIDIA H100 80GB HBM3\n#   Rank  1 Pid   "
           "1321 on n "
           "device  1 [0x01] NVIDIA H100 80GB HBM3\n"
           "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
           "  2048  512  half  sum  7.5  0.1  0.1  1e-07  7.4  0.1  0.1  N/A\n",
           &plain);
  g_assert_nonnull(
      strstr(text, "op: reduce_scatter\n    ranks: 2\n    bytes: \"2048\"\n    us: \"7.5\""));
}

/* Headings may end before the column of wrong results; then nothing beyond the row is read. */
static void test_short_headings(void) {
  g_autofree char *text = good(STARTS RANK0 RANK1 "#   size  count  type  time  time\n"
                                                  "  1024  256  float  10.5  10.6\n",
                               &plain);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpuint(profile->collectives->len, ==, 1);
}

/* Two runs in one text: over 2 and over 3 ranks. */
static void test_two_runs(void) {
  g_autofree char *text = good(STARTS RANK0 RANK1 HEADINGS ROW("1024", "10", "9")
                                   FOOT RANK0 RANK1 RANK2 HEADINGS ROW("1024", "3", "3") FOOT,
                               &plain);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpuint(profile->collectives->len, ==, 2);
}

/* mpirun and srun put the rank before each line; NCCL's own lines lie between the rows. */
static void test_tags(void) {
  /* the third of HPE's PALS (ALCF's Polaris), the fourth of pdsh; then dates of mpirun,
   * kubectl, a collector of logs, and ts */
  static const char *const tags[] = {"[1,0]<stdout>:",
                                     " 0: ",
                                     "x3005c0s13b0n0.hsn.org 0: ",
                                     "node1: ",
                                     "Thu Jul 18 15:41:05 2024<stdout>:",
                                     "Thu Jul 18 15:41:05 2024[1,0]<stdout>:",
                                     "2024-07-18T15:41:05.123456789Z ",
                                     "[2024-07-18 15:41:05,123] ",
                                     "Jul 18 15:41:05 "};
  for (guint i = 0; i < G_N_ELEMENTS(tags); i++) {
    g_auto(GStrv) lines = g_strsplit(STARTS RANK0 RANK1 HEADINGS ROW("1024", "10", "9"), "\n", -1);
    g_autoptr(GString) tagged = g_string_new("[1,1]<stdout>:node1:26:26 [1] NCCL INFO ready\n");
    for (char **line = lines; **line; line++)
      g_string_append_printf(tagged, "%s%s\n", tags[i], *line);
    g_autofree char *text = good(tagged->str, &plain);
    g_assert_nonnull(strstr(text, "ranks: 2\n    bytes: \"1024\"\n    us: \"10\""));
  }
}

/* Collectives without a reduction may leave the column of it empty. */
static void test_empty_column(void) {
  g_autofree char *text =
      good("alltoall_perf\n" RANK0 RANK1
           "# size count type redop time algbw busbw error time algbw busbw error\n"
           "  1024 256 float  10.5 0.1 0.1 0e+00 10.6 0.1 0.1 N/A\n",
           &plain);
  g_assert_nonnull(strstr(text, "us: \"10.5\""));
}

/* A test that failed before its first row is left out, and a comment says so. */
static void test_failed(void) {
  g_autofree char *text = good(
      "# Collective test starting: alltoall_perf\n" RANK0 RANK1 HEADINGS
      "node1: Test NCCL failure common.cu:401\n" STARTS RANK0 RANK1 HEADINGS ROW("1024", "10", "9"),
      &plain);
  g_assert_nonnull(strstr(text, "# Left out, for the test failed: alltoall.\n"));
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpuint(profile->collectives->len, ==, 1);
}

/* The first call of a log set up its connections: 983 us for 8 bytes, where 16 and 32 take 167
 * and 168. The row is written, with the reason why no answer uses it. */
static void test_excluded(void) {
  g_autofree char *text = good(STARTS RANK0 RANK1 HEADINGS ROW("8", "983", "166")
                                   ROW("16", "167", "166") ROW("32", "168", "166"),
                               &plain);
  g_assert_nonnull(strstr(text,
                          "    # 8 bytes are excluded: the row here says 983 us, but 16 bytes, 2 "
                          "times the work, takes 167 us\n"));
  g_assert_nonnull(strstr(text, "us: \"983 167 168\""));
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpuint(profile->collectives->len, ==, 1);
}

/* Over 3 ranks a bus bandwidth of 4/3 is all_reduce's alone; a fragment lists no ranks. */
static void test_unnamed(void) {
  const OrrNcclTestsOrder order = {.device = "h100-sxm", .ranks = 3};
  g_autofree char *text =
      good(HEADINGS "  3000 750 float sum -1 10 0.3 0.4 0 10 0.3 0.4 0\n", &order);
  g_assert_nonnull(strstr(text, "op: all_reduce\n    ranks: 3\n"));
}

static void assert_refused(const char *text, const char *words) {
  g_autoptr(GError) error = NULL;
  g_assert_null(import(text, &plain, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  if (!strstr(error->message, words)) g_error("'%s' does not say '%s'", error->message, words);
}

static void assert_refused_as(const char *text, const OrrNcclTestsOrder *order, const char *words) {
  g_autoptr(GError) error = NULL;
  g_autofree char *answer = import(text, order, &error);
  g_assert_null(answer);
  if (!strstr(error->message, words)) g_error("'%s' is missing in: %s", words, error->message);
}

/* A log says what it is of: neither --collective nor --device changes that. */
static void test_contradictions(void) {
  static const OrrNcclTestsOrder gather = {.device = "h100-sxm", .op = "all_gather"};
  static const OrrNcclTestsOrder small = {.device = "a100-40gb-sxm"};
  assert_refused_as("all_reduce_perf\n" RANK0 RANK1 HEADINGS ROW("1024", "10", "9"), &gather,
                    "the log is of all_reduce, not of --collective all_gather");
  /* of older drivers, as in microsoft/superbenchmark's logs, and of a machine of another vendor */
  assert_refused_as(
      "all_reduce_perf\n#  Rank 0 Pid 1 on n device 0 [0x00] A100-SXM4-40GB\n"
      "#  Rank 1 Pid 1 on n device 1 [0x01] A100-SXM4-40GB\n" HEADINGS ROW("1024", "10", "9"),
      &plain, "which is a100-40gb-sxm, not h100-sxm");
  assert_refused_as(
      "all_reduce_perf\n#  Rank 0 Pid 1 on n device 0 [0x00] AMD Instinct MI100\n"
      "#  Rank 1 Pid 1 on n device 1 [0x01] AMD Instinct MI100\n" HEADINGS ROW("1024", "10", "9"),
      &small, "measured on AMD Instinct MI100, which the library does not have");
}

#define HEAD STARTS RANK0 RANK1 HEADINGS /* lines 1 to 6: rows are from 7 on */

static void test_refused(void) {
  assert_refused("", "no row of nccl-tests");
  assert_refused(HEAD FOOT, "no row of nccl-tests: the test of all_reduce failed");
  assert_refused(STARTS RANK0 HEADINGS ROW("1024", "10", "9"), ":4:1: error: one rank: ");
  assert_refused(
      STARTS "#  Rank  0 Pid 1 on n device  0 [0x43] NVIDIA H200\n"
             "#  Rank  1 Pid 1 on n device  1 [0x44] NVIDIA H200\n" HEADINGS ROW("1024", "10", "9"),
      "measured on NVIDIA H200, which is h200-sxm, not h100-sxm");
  assert_refused(RANK0 RANK1 RANK2 HEADINGS "  3000 750 float none -1 10 0.3 0.2 0 10 0.3 0.2 0\n",
                 "all_gather or alltoall; pass --collective NAME");
  assert_refused(HEAD ROW("1024", "nan", "9"), ":7:1: error: time is 'nan'");
  assert_refused(HEAD ROW("1024", "0", "9"), "time is '0'");
  assert_refused(HEAD ROW("1024", "-3", "9"), "time is '-3'");
  assert_refused(HEAD ROW("1024", "10", "9") "  2048  512  float  sum\n",
                 ":8:1: error: 4 columns, the headings want 13");
  assert_refused(HEAD ROW("1024", "10", "9") ROW("1024", "11", "9"),
                 ":8:1: error: 1024 bytes again, as in line 7");
  assert_refused(HEAD "  1024 256 float sum -1 10 0.1 0.1 3 9 0.1 0.1 0\n", "3 results are wrong");
  assert_refused(HEAD ROW("1024", "10", "9") "  2048 256 half sum -1 10 0.1 0.1 0 9 0.1 0.1 0\n",
                 "type half");
  assert_refused(HEAD ROW("10.5", "10", "9"), "size is '10.5'");
  assert_refused(STARTS HEADINGS ROW("1024", "10", "9"), "--ranks N");
  assert_refused(RANK0 RANK1 HEADINGS "  3000 750 float sum -1 10 0.3 0.9 0 10 0.3 0.9 0\n",
                 "which collective this log measures; pass --collective NAME");
  assert_refused(STARTS RANK0 RANK1 ROW("1024", "10", "9"), "before the line of headings");
  assert_refused(STARTS RANK0
                 "#  Rank  1 Group  0 Pid 100 on  node1 devi\n" HEADINGS ROW("1024", "10", "9"),
                 "cut off");
  assert_refused(STARTS RANK0
                 "#  Rank  1 Group  0 Pid 1 on  node1 device  1 [0x43] NVIDIA A100\n" HEADINGS ROW(
                     "1024", "10", "9"),
                 ":3:1: error: rank 1 is a NVIDIA A100");
  assert_refused(
      STARTS RANK0
      "#  Rank  1 Group  0 Pid 1 on  node2 device  1 [0x43] NVIDIA H100 80GB HBM3\n" HEADINGS ROW(
          "1024", "10", "9"),
      "2 ranks on 2 hosts");
  assert_refused(HEAD ROW("1024", "10", "9") RANK0 RANK1 HEADINGS ROW("1024", "10", "9"),
                 "duplicate run: ");
  assert_refused("./hypercube_perf -b 8\n" RANK0 RANK1 HEADINGS ROW("1024", "10", "9"),
                 "'hypercube'");
}

/* Every bad line is named, not the first alone. */
static void test_all_named(void) {
  assert_refused(HEAD ROW("1024", "nan", "9") ROW("2048", "10", "9") ROW("4096", "0", "9"),
                 ":9:1:");
}

static void test_no_file(void) {
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_import_nccl_tests("/nonexistent/file", &plain, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
}

/* Row of 2 (n-1)/n = 1.75 for n = 8. */
#define FULL_ROW                                                                                   \
  "  8192  2048  float  sum  -1  21000  409.04  715.83  0  20990  409.24  716.17  0\n"
#define RANK7 "#  Rank  7 Group  0 Pid 107 on  node1 device  7 [0x47] NVIDIA H100 80GB HBM3\n"

/* A list with gaps counts to its highest rank, where the bandwidths confirm it; --ranks must fit
 * both. */
static void test_ranks(void) {
  static const char log[] = STARTS RANK0 RANK1 "...\n" RANK7 HEADINGS FULL_ROW;
  OrrNcclTestsOrder order = {.device = "h100-sxm"};
  g_autofree char *text = good(log, &order);
  g_assert_nonnull(strstr(text, "ranks: 8\n"));
  assert_refused(STARTS RANK0 RANK1 HEADINGS FULL_ROW, "in all_reduce over 2 ranks it is 1 times");
  assert_refused(STARTS RANK0 RANK7 HEADINGS
                 "  8192  2048  float  sum  -1  21  0  0  0  20  0  0  0\n",
                 "the list of ranks has gaps: 2 lines, the last one of rank 7");
  order.ranks = 6;
  g_autoptr(GError) error = NULL;
  g_assert_null(import(log, &order, &error));
  g_assert_nonnull(strstr(error->message, "the log lists at least 8 ranks, --ranks is 6"));
  order.ranks = 8;
  g_clear_error(&error);
  g_assert_null(import(STARTS RANK0 RANK1 HEADINGS ROW("1024", "10", "9"), &order, &error));
  g_assert_nonnull(strstr(error->message, "the log lists 2 ranks, --ranks is 8"));
}

/* Factor, reduction and root name the collective: over 2 ranks 1 with a sum and no root is an
 * all-reduce, 0.5 a reduce-scatter, 1 without either send and receive. */
static void test_op_of_rows(void) {
  static const struct {
    const char *row, *op;
  } rows[] = {
      {"  8192  2048  float  sum  -1  210  40.04  40.04  0  209  40.24  40.24  0\n", "all_reduce"},
      {"  8192  2048  float  sum  -1  210  40.04  20.02  0  209  40.24  20.12  0\n",
       "reduce_scatter"},
      {"  8192  2048  float  none  -1  210  40.04  40.04  0  209  40.24  40.24  0\n", "sendrecv"},
      {"  8192  2048  float  none  0  210  40.04  40.04  0  209  40.24  40.24  0\n", "broadcast"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *log = g_strconcat(RANK0 RANK1 HEADINGS, rows[i].row, NULL);
    g_autofree char *text = good(log, &plain);
    g_autofree char *wanted = g_strdup_printf("op: %s\n", rows[i].op);
    g_assert_nonnull(strstr(text, wanted));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/nccl-tests/ranks", test_ranks);
  g_test_add_func("/nccl-tests/op-of-rows", test_op_of_rows);
  g_test_add_func("/nccl-tests/profile", test_profile);
  g_test_add_func("/nccl-tests/base", test_base);
  g_test_add_func("/nccl-tests/short-headings", test_short_headings);
  g_test_add_func("/nccl-tests/in-place-csv", test_in_place_csv);
  g_test_add_func("/nccl-tests/old-text", test_old_text);
  g_test_add_func("/nccl-tests/tags", test_tags);
  g_test_add_func("/nccl-tests/contradictions", test_contradictions);
  g_test_add_func("/nccl-tests/empty-column", test_empty_column);
  g_test_add_func("/nccl-tests/failed", test_failed);
  g_test_add_func("/nccl-tests/excluded", test_excluded);
  g_test_add_func("/nccl-tests/unnamed", test_unnamed);
  g_test_add_func("/nccl-tests/two-runs", test_two_runs);
  g_test_add_func("/nccl-tests/refused", test_refused);
  g_test_add_func("/nccl-tests/all-named", test_all_named);
  g_test_add_func("/nccl-tests/no-file", test_no_file);
  return g_test_run();
}
