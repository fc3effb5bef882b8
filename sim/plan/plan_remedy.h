/*
 * plan_remedy.h - what would make a training job fit that does not, each with its step time.
 */
#ifndef ORR_PLAN_REMEDY_H
#define ORR_PLAN_REMEDY_H

#include "sim/plan/plan.h"

G_BEGIN_DECLS

typedef struct {
  char **settings; /* "workload.recompute=full": strv, for --set */
  double iteration_s, memory_bytes;
} OrrPlanRemedy;

/* Tries recomputation, smaller micro-batches, sharding, offload of the optimizer, more tensor,
 * pipeline and context parallelism, and some of them together: each that passes the checks is
 * replayed, folded, on the engine `fair`. @tree: the scenario's document, @scenario: what was read
 * from it. Returns those that fit, fastest first, of OrrPlanRemedy *; @ret_n_tried: how many were
 * replayed. The caller owns it. */
GPtrArray *orr_plan_remedy_list(OrrLibrary *library, const OrrNode *tree,
                                const OrrScenario *scenario, guint *ret_n_tried);

/* "tp 8, recompute full": the settings without their paths. Newly allocated. */
char *orr_plan_remedy_text(const OrrPlanRemedy *remedy);

G_END_DECLS

#endif
