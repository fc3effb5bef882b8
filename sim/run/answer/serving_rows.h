/*
 * serving_rows.h - a serving run as rows.
 *
 * Definitions. Percentiles are linear between the two nearest ranks (numpy's default, which both
 * tools use). Requests that arrive in the warm-up are left out; the duration is from the first one
 * counted to the last token.
 *
 *                vLLM (`vllm bench serve`)                      AIPerf (NVIDIA)
 *   TTFT         first token - arrival                          the same
 *   TPOT         (e2e - ttft) / (output - 1), output > 1        its inter-token latency, the same
 *   ITL          gaps between tokens, all requests in one pool  a request's mean gap: TPOT
 *   goodput      requests within all objectives / duration      the same
 */
#ifndef ORR_SERVING_ROWS_H
#define ORR_SERVING_ROWS_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

extern const OrrResultGroup orr_serving_groups[];

void orr_serving_rows(const OrrScenario *scenario, const OrrReplayed *replayed,
                      OrrOutcome *outcome);

/* "decode 61 %, ..., kv 43 %, batch 12.3": what made the answer. Newly allocated. */
char *orr_serving_rows_explain(const OrrOutcome *outcome);

/* Of sorted values: linear between the nearest ranks. @share in [0, 1]. 0 where there is none. */
double orr_serving_rows_percentile(const double *sorted, guint n, double share);

G_END_DECLS

#endif
