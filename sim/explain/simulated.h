/*
 * simulated.h - a run as a time line of kernels, so that a trace and a simulation are counted in
 * the same way.
 *
 * Training and collectives: the spans of one rank class (run with spans). A span of computation
 * consists of several kinds (OrrWork.label_seconds), and each kind of families, in the proportion
 * of the costs of its operators: these follow one another in it. Launches that the GPU waits for,
 * bubbles and storage are gaps. A collective begins when its rank reaches it, as NCCL's kernel
 * does; what is sent between stages, when the computation before it is done, too.
 *
 * Serving: no time line is kept. One step of the median length, divided by the whole run's
 * fractions of attention and communication; the rest counts as gemm.
 */
#ifndef ORR_SIMULATED_H
#define ORR_SIMULATED_H

#include "sim/explain/timeline.h"
#include "sim/run/answer/outcome.h"

G_BEGIN_DECLS

/* Sorted; the device of an event is its lane. @lane: -1 for all lanes. NULL with ORR_FAULT_USAGE:
 * there is no such lane, or the run kept no spans. */
OrrTimeline *orr_simulated_timeline(const OrrOutcome *outcome, gint64 lane, GError **error);

/* Whether only attention, communication and the rest can be distinguished. */
gboolean orr_simulated_is_coarse(const OrrOutcome *outcome);

G_END_DECLS

#endif
