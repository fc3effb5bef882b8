/*
 * nsys.h - the SQLite export of NVIDIA Nsight Systems (`nsys export --type sqlite`), read: kernels
 * by name, and the collectives that NCCL's NVTX ranges name.
 *
 * Tables: CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, demangledName, correlationId, and
 * streamId and globalPid where they are), StringIds (id, value), TARGET_INFO_GPU (id, name) where
 * there is one; NVTX_EVENTS (start, end, text, textId, globalTid, and jsonText or jsonTextId where
 * the payload was exported) and CUPTI_ACTIVITY_KIND_RUNTIME (start, correlationId, globalTid) for
 * ranges. A correlationId is unique in its process alone: globalPid is the upper 40 bits of
 * globalTid (Nsight Systems' export schema, "Serialized process and thread identifiers"). The file
 * is opened read-only, and nothing in it is changed.
 */
#ifndef ORR_NSYS_H
#define ORR_NSYS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *name;
  /* "gemm", "attention", "collective", "memory", "other": by words in the name */
  const char *family;
  gint64 calls, streams;
  double total_us, median_us, least_us, most_us;
} OrrNsysKernel;

/* One call of a collective: the time of the kernels that were launched inside its range. */
typedef struct {
  char *op;     /* "all_reduce" */
  gint64 bytes; /* of the range's payload; 0: not exported */
  double us;
} OrrNsysCollective;

typedef struct {
  char *device;        /* the GPU's name; NULL: not said */
  GArray *kernels;     /* OrrNsysKernel, by name */
  GArray *collectives; /* OrrNsysCollective, by start */
} OrrNsys;

/* What is read at most: the rows of one table, and how long. */
typedef struct {
  gint64 most_rows;
  double most_s;
} OrrNsysLimits;

/* NULL with ORR_FAULT_DOCUMENT that names every bad row (by rowid: an end before its start, a
 * name that is not there, a kernel twice, a time below 0; the first hundred), what table or
 * column is missing or is a view, kernels of different devices, and a file beyond the limits: 50
 * million rows, 10 minutes; ORR_FAULT_RESOURCE: no such file, or no SQLite. */
OrrNsys *orr_nsys_read(const char *path, GError **error);
OrrNsys *orr_nsys_read_within(const char *path, const OrrNsysLimits *limits, GError **error);
void orr_nsys_free(OrrNsys *nsys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNsys, orr_nsys_free)

/* "# device: ...", then kernel,calls,total_us,mean_us,median_us,min_us,max_us,family,streams, the
 * longest total first.
 */
char *orr_nsys_kernels_csv(const OrrNsys *nsys);

/* system,table,dtype,version,op,n_gpus,bytes,latency_us: what `import measured --collectives`
 * reads. A row for each op and size: the median of its calls; sizes that were not exported are
 * left out, and counted in @ret_n_left_out. */
char *orr_nsys_collectives_csv(const OrrNsys *nsys, const char *system, gint64 n_ranks,
                               guint *ret_n_left_out);

G_END_DECLS

#endif
