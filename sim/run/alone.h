/*
 * alone.h - a work with the machine to itself: the baseline that jobs and faults are compared with.
 */
#ifndef ORR_ALONE_H
#define ORR_ALONE_H

#include "sim/run/scenario.h"

G_BEGIN_DECLS

typedef struct {
  double end_s;    /* when the work ended */
  double answer_s; /* for a live work: mean time that its users wait for an answer */
} OrrAlone;

/* Replays @work in a child process, because a process has one SimGrid engine and the caller needs
 * it. Fails with ORR_FAULT_RESOURCE, or with the error that stopped the work. */
gboolean orr_alone_simulate(const OrrScenario *scenario, OrrWork *work, OrrAlone *ret_alone,
                            GError **error);

G_END_DECLS

#endif
