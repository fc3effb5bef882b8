/*
 * collective_phases.h - collectives as phases of a work's program, for workloads that put their own
 * streams (diffusion, steps). The training of transformers has a planner of its own
 * (workloads/training/comm).
 */
#pragma once

#include "workloads/collectives/collective.h"
#include "workloads/workload.h"

typedef struct {
  OrrCollectiveContext context;
  const OrrWorld *world;
  OrrWork *work;          /* its program and `links` grow */
  guint32 *program_links; /* by fabric link: program link + 1; 0: not used yet */
} OrrCollectivePhases;

/* @world, @work and @nccl must outlive it. */
void orr_collective_phases_init(OrrCollectivePhases *phases, const OrrWorld *world, OrrWork *work,
                                const OrrNccl *nccl);
void orr_collective_phases_clear(OrrCollectivePhases *phases);

/* Adds the links of @phase to @uses (of OrrLinkUse), equal ones together. */
void orr_collective_phases_use(OrrCollectivePhases *phases, GArray *uses,
                               const OrrCollectivePhase *phase);
/* Appends a phase over @uses to @ret_phases (of OrrPhase). */
void orr_collective_phases_append(OrrCollectivePhases *phases, GArray *ret_phases, double latency_s,
                                  double bytes, GArray *uses);
/* Appends the phases of @call. FALSE with @error: no algorithm does it. */
gboolean orr_collective_phases_plan(OrrCollectivePhases *phases, const OrrCollectiveCall *call,
                                    GArray *ret_phases, GError **error);

/* The label of compute with these seconds by kind of time, which label_seconds of @work holds: work
 * of equal seconds shares a label. */
guint32 orr_collective_phases_label(OrrWork *work, const char *name,
                                    const double seconds[ORR_N_TIMES]);
