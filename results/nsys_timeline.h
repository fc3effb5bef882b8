/*
 * nsys_timeline.h - the kernels, copies and ranges of an export of Nsight Systems, one by one.
 *
 * Tables: CUPTI_ACTIVITY_KIND_KERNEL with StringIds, and, where there are any, _MEMCPY (copyKind 1:
 * to the device, 2: to the host), _MEMSET, and NVTX_EVENTS (text, or textId of StringIds). Times
 * are nanoseconds from the session's start.
 */
#ifndef ORR_NSYS_TIMELINE_H
#define ORR_NSYS_TIMELINE_H

#include "sim/base/diag.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
