/*
 * alone.h - a work with the machine to itself, in a process of its own: a process has one SimGrid
 * engine.
 */
#ifndef ORR_ALONE_H
#define ORR_ALONE_H

#include "sim/run/scenario.h"

G_BEGIN_DECLS

typedef struct {
  double end_s;    /* when it ended */
  double answer_s; /* of a live work: how long its users waited for an answer, mean */
} OrrAlone;

/* ORR_FAULT_RESOURCE, or what stopped the work. */
gboolean orr_alone_simulate(const OrrScenario *scenario, OrrWork *work, OrrAlone *ret_alone,
                            GError **error);

G_END_DECLS

#endif
