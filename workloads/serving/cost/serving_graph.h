/*
 * serving_graph.h - which steps run as CUDA graphs, and how many tokens those compute.
 *
 * An engine captures a graph for each of some sizes; a step takes the next one, and computes that
 * many. vLLM counts tokens (vllm/config, cudagraph_capture_sizes): a decode with k drafts counts
 * 1 + k, and uniform decodes take sizes that are multiples of it. TensorRT-LLM and SGLang count
 * the sequences of a step that decodes alone (cuda_graph_runner.py of both: a graph for each batch
 * size, of as many tokens per sequence as it checks). Above 128, TensorRT-LLM captures powers of
 * two (llm_args.py, _generate_cuda_graph_batch_sizes), the others multiples of 16 from 256 on.
 */
#ifndef ORR_SERVING_GRAPH_H
#define ORR_SERVING_GRAPH_H

#include "workloads/serving/cost/serving_cost.h"

G_BEGIN_DECLS

/* Whether a step of @shape is a graph. */
gboolean orr_serving_graph_holds(const OrrServingCostParams *params, const OrrStepShape *shape);
/* The tokens that a step of @shape computes: its own, or its graph's where steps are padded
 * to the captured sizes (1, 2, 4, 8, 16, 24 ...). */
gint64 orr_serving_graph_tokens(const OrrServingCostParams *params, const OrrStepShape *shape);

G_END_DECLS

#endif
