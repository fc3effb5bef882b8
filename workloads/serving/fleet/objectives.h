/*
 * objectives.h - whether the objectives that a scenario sets can be met.
 */
#ifndef ORR_OBJECTIVES_H
#define ORR_OBJECTIVES_H

#include "workloads/serving/replica/serving_run.h"

G_BEGIN_DECLS

/* ORR_FAULT_DOCUMENT for an objective below the time of an empty engine. The cost models must be
 * open. */
gboolean orr_objectives_check(const OrrServingRun *run, GError **error);

G_END_DECLS

#endif
