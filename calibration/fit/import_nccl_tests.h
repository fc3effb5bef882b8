/*
 * import_nccl_tests.h - imports the text that all_reduce_perf and its siblings (NVIDIA nccl-tests)
 * print.
 *
 *   # Collective test starting: all_reduce_perf       which collective: here, in a command line of
 *                                                     the log, or by @op
 *   # Using devices
 *   #  Rank  0 Group  0 Pid 100 on  node1 device  0 [0x1b] NVIDIA H100 80GB HBM3
 *                                                     a line a rank: how many, of what
 *   #    size  count  type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
 *     1048576 262144 float  sum      -1  27.37  38.31  67.04      0  26.93  38.94  68.14      0
 *
 * The line of headings names the columns; the first `time` is out-of-place, the second in-place.
 * Lines that begin with neither '#' nor a number belong to another program's log; what mpirun,
 * srun and collectors of logs put before a line (a label, a date) is taken off. A list of ranks
 * with gaps ("...") counts up to its highest rank, which the quotient of the two bandwidths must
 * confirm; the quotient is checked wherever the log prints it. Sizes of 0 (a size too small to
 * split) are skipped, and so are tests that failed before their first row, with a comment in what
 * is written. Where nothing
 * names the collective, the quotient, the reduction and the root of its rows do, except for
 * all_gather and alltoall, which have the same.
 *
 * On a base, the rows replace their collective over that number of ranks of one domain, from their
 * smallest size to their largest. The base answers all other queries, and next to that range the
 * two fade into each other (cost_collective.c).
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  const char *device;  /* a name in the library */
  const char *base;    /* base of the new profile; NULL: none */
  const char *op;      /* NULL: read from the text */
  guint ranks;         /* where the text lists none, or not all; must fit it; 0: as listed */
  gboolean in_place;   /* take the second time */
  gboolean one_domain; /* ranks on several hosts share a scale-up domain (NVL72) */
  gboolean csv;        /* rows for `import measured --collectives` instead of a profile */
} OrrNcclTestsOrder;

/* The profile DEVICE-collectives, or the rows as
 * system,table,dtype,version,op,n_gpus,bytes,latency_us. Several runs in one text must differ in
 * collective or number of ranks. NULL with ORR_FAULT_DOCUMENT, which names every bad line: a bad
 * number, missing or extra columns, a repeated size, wrong results, ranks of different devices,
 * another device than @order's, one rank, mixed number formats; with ORR_FAULT_RESOURCE: no such
 * file. */
char *orr_import_nccl_tests(const char *path, const OrrNcclTestsOrder *order, GError **error);

typedef struct {
  double bytes;
  double us;          /* of the times that the order asks for */
  double in_place_us; /* NAN: not printed, or no number */
} OrrNcclTestsRow;

/* One test of a log. */
typedef struct {
  char *op;      /* as nccl-tests names it */
  char *device;  /* as the driver names it; NULL: not printed */
  char *type;    /* number format: "float" */
  char *redop;   /* "sum", "none"; NULL: not printed */
  char *version; /* of NCCL; NULL: not printed */
  guint n_ranks;
  guint n_hosts; /* 0: not printed */
  GArray *rows;  /* of OrrNcclTestsRow, as printed */
} OrrNcclTestsRun;

typedef struct {
  GPtrArray *runs; /* of OrrNcclTestsRun *, at least one */
  char *failed;    /* names of tests without a row, with commas; "": none */
} OrrNcclTestsLog;

/* The tests of a log. @order->device may be NULL: any device. Several hosts are right with
 * @order->csv. NULL with the errors of orr_import_nccl_tests. */
OrrNcclTestsLog *orr_import_nccl_tests_log(const char *path, const OrrNcclTestsOrder *order,
                                           GError **error);
void orr_nccl_tests_log_free(OrrNcclTestsLog *log);

/* Why a log that names @driver_name was not measured on the library's @device; NULL: it may have
 * been. @driver_name may be NULL. Newly allocated. */
char *orr_nccl_tests_log_other_device(const char *driver_name, const char *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNcclTestsLog, orr_nccl_tests_log_free)
