/*
 * trace_read.h - a trace of any form that can be read: Kineto's JSON (kineto.h), plain or gzipped,
 * or an SQLite export of Nsight Systems (results/nsys_timeline.h). The first bytes say which.
 */
#ifndef ORR_TRACE_READ_H
#define ORR_TRACE_READ_H

#include "sim/base/diag.h"
#include "sim/explain/timeline.h"

G_BEGIN_DECLS

/* A sorted time line, and its form in words ("Kineto", "Nsight Systems"; static) in *@ret_form.
 * @step: the beginning of the name of the ranges that mark steps; NULL: "ProfilerStep#". NULL with
 * the reason in @diags. */
OrrTimeline *orr_trace_read(const char *path, const char *step, const char **ret_form,
                            OrrDiags *diags);

G_END_DECLS

#endif
