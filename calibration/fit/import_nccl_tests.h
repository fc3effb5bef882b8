/*
 * import_nccl_tests.h - the text that all_reduce_perf and its siblings (NVIDIA nccl-tests) print
 * becomes rows.
 *
 *   # Collective test starting: all_reduce_perf       which collective: here, in a command line of the log, or by @op
 *   # Using devices
 *   #  Rank  0 Group  0 Pid 100 on  node1 device  0 [0x1b] NVIDIA H100 80GB HBM3     a line a rank: how many, of what
 *   #       size  count  type  redop  root   time  algbw  busbw  #wrong   time  algbw  busbw  #wrong
 *        1048576  262144  float  sum   -1   27.37  38.31  67.04      0  26.93  38.94  68.14      0
 *
 * Columns are those that the line of headings names; the first `time` is out-of-place, the second
 * in-place. Lines that begin with neither '#' nor a number are the log of something else. Sizes of
 * 0 (a size too small to split) are passed over.
 *
 * Laid on a base, the rows replace what they measure: their collective over as many ranks of one
 * domain, from their least size to their largest. The base answers all else, and next to that range
 * the two fade into each other (cost_collective.c).
 */
#ifndef ORR_IMPORT_NCCL_TESTS_H
#define ORR_IMPORT_NCCL_TESTS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  const char *device;  /* of the library */
  const char *base;    /* the profile that the new one is laid on; NULL: none */
  const char *op;      /* NULL: as the text says */
  gboolean in_place;   /* take the second time */
  gboolean one_domain; /* ranks on several hosts share a scale-up domain (NVL72) */
  gboolean csv;        /* rows for `import measured --collectives` instead of a profile */
} OrrNcclTestsOrder;

/* The profile DEVICE-collectives, or the rows as
 * system,table,dtype,version,op,n_gpus,bytes,latency_us. Several runs in one text must differ in
 * collective or number of ranks. NULL with ORR_FAULT_DOCUMENT that names every bad line: a
 * number that is none or not above 0, columns that are missing or too many, a size twice, wrong
 * results, ranks of different devices, number formats mixed; ORR_FAULT_RESOURCE: no such file. */
char *orr_import_nccl_tests(const char *path, const OrrNcclTestsOrder *order, GError **error);

G_END_DECLS

#endif
