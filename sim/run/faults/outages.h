/*
 * outages.h - outages as changes of a program: links lose bandwidth, lanes slow down or are lost,
 * communications take other paths.
 */
#ifndef ORR_OUTAGES_H
#define ORR_OUTAGES_H

#include "sim/engine/program_merge.h"
#include "sim/run/faults/detours.h"

G_BEGIN_DECLS

/* A job whose program is part of the program that outages change. */
typedef struct {
  const OrrWork *work;
  const gint64 *gpus; /* the machine's number of each of its GPUs; NULL: the same numbers */
  gint64 n_gpus;
  OrrProgramOffset offset;
  gint64 gpus_per_node;
} OrrOutageJob;

/* Marks for OrrWorld on the links that outages affect and on the links of the job's GPUs; NULL
 * where outages affect nodes alone. */
OrrMarks *orr_outages_marks(const GPtrArray *outages, const gint64 *gpus, gint64 n_gpus);
void orr_outages_free_marks(OrrMarks *marks); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrMarks, orr_outages_free_marks)

/* Applies @outages to @program, which is not sealed and consists of the programs of @jobs, in that
 * order. @works[d * n_jobs + j] is job j compiled for detour d; NULL: its own work, as built.
 * @detours may be NULL. */
void orr_outages_apply(OrrProgram *program, const OrrOutageJob *jobs, guint n_jobs,
                       const GPtrArray *outages, const GArray *detours, OrrWork *const *works);

/* The first outage that takes a node of @job, which stops there; NULL: none, or the job is live and
 * goes on. */
const OrrOutage *orr_outages_loss(const GPtrArray *outages, const OrrOutageJob *job);

/* What happens to the GPUs of a live @job: array of OrrGpuChange, by date; owned. */
GArray *orr_outages_gpu_changes(const GPtrArray *outages, const OrrOutageJob *job);

G_END_DECLS

#endif
