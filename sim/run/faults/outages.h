/*
 * outages.h - outages as changes of a program: links that fail, lanes that slow down or are lost,
 * other ways.
 */
#ifndef ORR_OUTAGES_H
#define ORR_OUTAGES_H

#include "sim/engine/program_merge.h"
#include "sim/run/faults/faults.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

/* A job whose program is part of the one that outages change. */
typedef struct {
  const OrrWork *work;
  const gint64 *gpus; /* the machine's number of each of its GPUs; NULL: the same */
  gint64 n_gpus;
  OrrProgramOffset offset;
  gint64 gpus_per_node;
} OrrOutageJob;

/* The marks of a job's GPUs and of links, for OrrWorld; NULL where nothing of it is harmed but
 * nodes. */
OrrMarks *orr_outages_marks(const GPtrArray *outages, const gint64 *gpus, gint64 n_gpus);
void orr_outages_free_marks(OrrMarks *marks); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrMarks, orr_outages_free_marks)

/* A stretch of time in which links are dead that routes may do without. */
typedef struct {
  double at_s;
  GHashTable *dead; /* fabric link -> anything; NULL: none */
} OrrDetour;

/* The stretches, by their begin; none where nothing can be done without. Array of OrrDetour,
 * owned. */
GArray *orr_outages_detours(const GPtrArray *outages, const OrrFabric *fabric);

/* Puts @outages into @program, not sealed: @jobs' programs side by side in that order. @works[d
 * * n_jobs + j] is job j compiled for detour d, NULL where that is its own work; @detours may be
 * NULL. */
void orr_outages_apply(OrrProgram *program, const OrrOutageJob *jobs, guint n_jobs,
                       const GPtrArray *outages, const GArray *detours, OrrWork *const *works);

/* When and how @job is lost: the first outage that takes a node of it; NULL: none, or it is live
 * and goes on. */
const OrrOutage *orr_outages_loss(const GPtrArray *outages, const OrrOutageJob *job);

/* What happens to the GPUs of a live @job: array of OrrGpuChange, by date; owned. */
GArray *orr_outages_gpu_changes(const GPtrArray *outages, const OrrOutageJob *job);

G_END_DECLS

#endif
