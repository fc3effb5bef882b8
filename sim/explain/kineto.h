/*
 * kineto.h - reads a trace of PyTorch's profiler (Kineto): Trace Event JSON, plain or gzipped, as a
 * stream.
 *
 * Read are complete events ("ph": "X") of the categories of GPUs (kernel, gpu_memcpy, gpu_memset;
 * Kernel, Memcpy and Memset until 2021; mtia_ccp_events) and the ranges that mark steps. ts and dur
 * are microseconds, whole or with decimals. Of a collective's arguments "Collective name", "In msg
 * nelems", "Out msg nelems", "dtype" and "Process Group Description". Everything else is skipped:
 * it says what the host did. Metadata (user and host names) is never kept.
 * Source: pytorch/kineto, libkineto/src/output_json.cpp; torch/csrc/profiler/util.cpp (the
 * arguments of collectives).
 */
#ifndef ORR_KINETO_H
#define ORR_KINETO_H

#include "sim/base/diag.h"
#include "sim/explain/timeline.h"

G_BEGIN_DECLS

typedef struct {
  guint most_events; /* kernels and copies */
  double most_s;     /* seconds that a read may take */
} OrrKinetoLimits;

/* A sorted time line. @step: the beginning of the name of the ranges that mark steps; NULL:
 * "ProfilerStep#". NULL with the reason in @diags: no JSON, cut short, an event that ends before
 * it begins, no kernel at all, or beyond the limits (@limits NULL: 50 million events, 10
 * minutes). */
OrrTimeline *orr_kineto_read(const char *path, const char *step, const OrrKinetoLimits *limits,
                             OrrDiags *diags);

G_END_DECLS

#endif
