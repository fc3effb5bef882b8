/*
 * nsys.h - reads the SQLite export of NVIDIA Nsight Systems (`nsys export --type sqlite`): kernels
 * by name, and collectives by NCCL's NVTX ranges.
 *
 * Tables: CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, demangledName, correlationId, and
 * optionally streamId and globalPid), StringIds (id, value), optionally TARGET_INFO_GPU (id, name);
 * NVTX_EVENTS (start, end, text, textId, globalTid, and jsonText or jsonTextId where
 * the payload was exported) and CUPTI_ACTIVITY_KIND_RUNTIME (start, correlationId, globalTid) for
 * ranges. A correlationId is unique only within its process: globalPid is the upper 40 bits of
 * globalTid (Nsight Systems' export schema, "Serialized process and thread identifiers"). The file
 * is opened read-only.
 */
#pragma once

#include "sim/base/diag.h"

typedef struct {
  char *name;
  /* "gemm", "attention", "collective", "memory", "other": from words in the name */
  const char *family;
  gint64 calls, streams;
  double total_us, median_us, least_us, most_us;
} OrrNsysKernel;

/* One call of a collective: the time of the kernels launched inside its range. */
typedef struct {
  char *op;     /* "all_reduce" */
  gint64 bytes; /* from the payload of the range; 0: not exported */
  double us;
} OrrNsysCollective;

typedef struct {
  char *device;        /* name of the GPU; NULL: unknown */
  GArray *kernels;     /* OrrNsysKernel, by name */
  GArray *collectives; /* OrrNsysCollective, by start */
} OrrNsys;

/* Limits of a read: rows per table, and seconds in all. */
typedef struct {
  gint64 most_rows;
  double most_s;
} OrrNsysLimits;

/* NULL with ORR_FAULT_DOCUMENT for
 *  - bad rows, each named by rowid (an end before its start, an unknown name, a duplicate kernel,
 *    a negative time; the first hundred);
 *  - a table or column that is missing or is a view;
 *  - kernels of different devices;
 *  - a file beyond the limits, by default 50 million rows and 10 minutes.
 * NULL with ORR_FAULT_RESOURCE where the file does not exist or is not an SQLite database. */
OrrNsys *orr_nsys_read(const char *path, GError **error);
OrrNsys *orr_nsys_read_within(const char *path, const OrrNsysLimits *limits, GError **error);
void orr_nsys_free(OrrNsys *nsys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNsys, orr_nsys_free)

/* "# device: ...", then kernel,calls,total_us,mean_us,median_us,min_us,max_us,family,streams,
 * ordered by total time, longest first. */
char *orr_nsys_kernels_csv(const OrrNsys *nsys);

/* system,table,dtype,version,op,n_gpus,bytes,latency_us: the input of `import measured
 * --collectives`. One row per op and size, with the median of its calls. Calls whose size was not
 * exported are skipped and counted in @ret_n_left_out. */
char *orr_nsys_collectives_csv(const OrrNsys *nsys, const char *system, gint64 n_ranks,
                               guint *ret_n_left_out);

/* nsys_timeline.c: the kernels, copies and ranges of an export of Nsight Systems, one by one.
 *
 * Tables: CUPTI_ACTIVITY_KIND_KERNEL with StringIds, and, where there are any, _MEMCPY (copyKind
 * 1: to the device, 2: to the host), _MEMSET, and NVTX_EVENTS (text, or textId of StringIds).
 * Times are nanoseconds from the session's start. */

typedef enum { ORR_NSYS_KERNEL, ORR_NSYS_COPY, ORR_NSYS_RANGE } OrrNsysSort;

typedef struct {
  OrrNsysSort sort;
  const char *name;
  double begin_s, end_s;
  gint64 device, stream; /* 0 for ranges */
} OrrNsysEvent;

typedef void (*OrrNsysSink)(const OrrNsysEvent *event, void *user);

/* FALSE with the reason in @diags: no database of Nsight Systems, a bad row, no kernel, more than
 * 50 million rows, or more than 10 minutes. */
gboolean orr_nsys_timeline_read(const char *path, OrrNsysSink sink, void *user, OrrDiags *diags);
