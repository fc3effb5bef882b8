/*
 * text_workload.h - layers of a training step as text: the workloads of ASTRA-sim 1, of its
 * converter, and of SimAI (AICB).
 *
 *   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 all_gpus: 32
 *   2                                                                     layers that follow
 *   attention -1 556000 ALLREDUCE 16777216 1000 ALLREDUCE 16777216 1000 NONE 0 1
 *   mlp       -1 556000 NONE 0             1000 NONE 0             1000 ALLREDUCE 33554432 1
 *
 * A layer has a name, a number that ASTRA-sim ignores, and three times a duration in nanoseconds, a
 * collective and its bytes: of the forward pass, of the gradient of its input, of the gradient of
 * its weights; at last the duration of its update. The first line is the policy, which says who
 * takes part, and what it needs for that:
 *
 *   policy                                   forward, input    weights
 *   DATA, MODEL, HYBRID_DLRM, MICRO          all ranks         all ranks
 *   HYBRID_TRANSFORMER, .._FWD_IN_BCKWD      the model group   the ranks at its place in the others
 *
 * A model group is model_parallel_NPU_group neighbours. Ends of a collective's name change its
 * group: _EP the `ep` next ranks at that place, _DP_EP the ranks at that place in the other groups
 * of experts.
 *
 *   forward   layer 1, its collective, layer 2, its collective ...
 *   backward  last layer: input, its collective; weights; the layer before it: input ...
 *                                                  \ collective of weights \ update
 *
 * The collective of weights and the update run next to the layers before; nothing waits for them
 * but the end. ASTRA-sim counts what a rank gives into an all-gather, SimAI (a line with
 * all_gpus) what it has at the end.
 *
 * Not replayed, so refused: pipelines (pp above 1), HYBRID_CUSTOMIZED and HYBRID_DLRM_ENHANCED;
 * noted: layers that are computed again in the backward pass (checkpoints).
 *
 * Source: astra-sim/astra-sim 1.0, workload/Workload.cc and the inputs of its repository;
 * aliyun/SimAI, docs/Tutorial.md; aliyun/aicb.
 */
#pragma once

#include "workloads/trace/work_graph.h"

/* The graph of a file's text, not matched, of @ranks (0: the all_gpus of the text, which must
 * then be there); messages name @file with line and column. NULL with @error. */
OrrWorkGraph *orr_text_workload_read(const char *text, gsize length, const char *file, gint64 ranks,
                                     GError **error);

/* A matched graph as text: what rank 0 does, which all others are taken to do (text_write.c).
 * Newly allocated; NULL with ORR_FAULT_DOCUMENT for what layers cannot say: pipelines, groups that
 * are neither neighbours nor their counterparts, kernels that wait for data-parallel ranks where
 * there are model groups, too (FSDP with tensor parallelism). */
char *orr_text_workload_write(const OrrWorkGraph *graph, GError **error);
