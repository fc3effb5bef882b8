/*
 * work_calls.h - which collective calls the transfers of a program stand for, kept for writers of
 * traces: a program knows links and bytes, not ranks.
 *
 * Every planned communication has paths of its own (program.h), so a path names the calls. Kept
 * only where OrrWorld.keeps_calls asks for it.
 */
#pragma once

#include "sim/base/ground.h"

/* Equal calls of several groups at the same time. */
typedef struct {
  int op; /* OrrCollectiveOp */
  double bytes;
  guint n_calls, n; /* ranks of each */
  gint64 *gpus;     /* n of the first call, then of the next */
} OrrKeptCalls;

typedef struct OrrWorkCalls {
  GPtrArray *calls; /* of OrrKeptCalls */
  GArray *by_path;  /* of guint32: index + 1; 0: none */
} OrrWorkCalls;

OrrWorkCalls *orr_work_calls_new(void);
void orr_work_calls_free(OrrWorkCalls *calls); /* NULL is fine */
/* @kept's GPUs are copied; the number for orr_work_calls_put. */
guint32 orr_work_calls_add(OrrWorkCalls *calls, const OrrKeptCalls *kept);
void orr_work_calls_put(OrrWorkCalls *calls, guint32 path, guint32 number);
/* NULL: the path is of no call (copies to hosts, storage) */
const OrrKeptCalls *orr_work_calls_of(const OrrWorkCalls *calls, guint32 path);
