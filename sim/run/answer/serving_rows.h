/*
 * serving_rows.h - the rows of a serving run, and the definitions of its latencies.
 *
 * Percentiles come from latencies.h, which both tools below use. Requests that arrive during the
 * warm-up are not counted. The duration runs from the first counted arrival to the last token; the
 * tools' runs from their start, one mean interval earlier with a rate. A request's clock starts
 * when its client sends it: waiting for a place of max-concurrency is not in it. With window:
 * steady the window's length is the duration.
 *
 *                vLLM (`vllm bench serve`)                      AIPerf (NVIDIA)
 *   TTFT         first token - sending                          the same
 *   TPOT         (e2e - ttft) / (output - 1), output > 1        its inter-token latency, the same
 *   ITL          gaps between tokens, all requests in one pool  a request's mean gap: TPOT
 *   goodput      requests within all objectives / duration      the same
 */
#ifndef ORR_SERVING_ROWS_H
#define ORR_SERVING_ROWS_H

#include "sim/run/answer/replayed.h"
#include "sim/run/answer/run_kind.h"

G_BEGIN_DECLS

void orr_serving_rows(const OrrReplayed *replayed, OrrOutcome *outcome);

/* "batch 12.3, busy 61 %, ..., kv 43 %": what explains the answer. Newly allocated. */
char *orr_serving_rows_explain(const OrrOutcome *outcome);

G_END_DECLS

#endif
