/*
 * userbuffers - Transformer Engine's (Megatron's tp-comm-overlap): collectives in slices that
 * overlap with their products.
 *
 * By default, inputs are gathered by ring exchange over t slices (qkv, fc1; backward projection,
 * fc2) and results are scattered in a pipeline of 4 (projection, fc2). The rest of the backward,
 * the input's second gather and the gradient's scatter, runs whole and overlaps with the products
 * by data and by weight: "bulk", which is async-tp-all-reduce here
 * (transformer_engine/pytorch/module/base.py, initialize_ub: methods, num_splits = 4). It requires
 * NVLink and sequence parallelism (Megatron-LM, arguments.py).
 *
 * The slices of one product run on three streams (comm_gemm_overlap.h,
 * NVTE_COMM_OVERLAP_MAX_STREAMS), so that the next slice fills the SMs that the last tiles of one
 * leave idle, and one call of the module launches them all from C++.
 *
 * With `aggregate` gathers multiply two slices at once: neighbours exchange one slice first, then
 * pairs go round, in half as many steps (comm_gemm_overlap.cpp, split_overlap_ag). With
 * `fp8-scatter` a pipelined scatter sends its results in 8 bits (fp8_buf) and sums them in 16.
 *
 * Before each slice the GPU waits for the flag of the neighbour's copy, an event of another stream
 * and a launch: `step`, part of g.
 *
 * (t - 1) max(g, c) + g for a gather, in pairs c + (t / 2 - 1) 2 max(g, c) + 2 g;
 * g + (k - 1) max(g, c) + c for a scatter in k slices.
 *
 *   parallel:
 *     tp: 8
 *     sequence-parallel: true
 *     tp-comm-overlap: {kind: userbuffers, reduce-scatter: ring-exchange}
 */
#include "workloads/training/tp_overlaps/tp_overlap.h"

enum { RING, PIPELINED, WHOLE };
static const char *const gather_words[] = {"ring-exchange", "none", NULL};
static const char *const scatter_words[] = {"ring-exchange", "pipelined", "none", NULL};

typedef struct {
  int gather, scatter;
  gboolean aggregates, scatters_fp8;
  gint64 slices;
  double step_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "userbuffers", "Parameters of Transformer Engine's userbuffers.", Params,
    ORR_FIELD_WORD(Params, "all-gather", gather, gather_words, "ring-exchange",
                   "How inputs are gathered: ring-exchange, or whole (none)."),
    ORR_FIELD_WORD(Params, "reduce-scatter", scatter, scatter_words, "pipelined",
                   "How results are scattered: pipelined, ring-exchange, or whole (none)."),
    ORR_FIELD_BOOL(Params, "aggregate", aggregates, "false",
                   "Whether a ring exchange of an even number of ranks gathers and multiplies two "
                   "slices at once (aggregate)."),
    ORR_FIELD_BOOL(Params, "fp8-scatter", scatters_fp8, "false",
                   "Whether a pipelined scatter of 16-bit results sends 8 bits (fp8_buf)."),
    ORR_FIELD_INT(Params, "pieces", slices, "4", "Slices of a pipelined scatter (num_splits).",
                  .min = 1, .max = 64),
    ORR_UNSIGNED_REAL(Params, "step", step_s, ORR_UNIT_SECONDS, "0 s",
                      "Time between two slices in which nothing is multiplied: flags, events and "
                      "launches of three streams."));

static gboolean is_paired(const Params *params, gint64 ranks) {
  return params->aggregates && ranks % 2 == 0;
}

static gboolean gather(const void *params, const OrrTpOverlapCall *call, GArray *operators) {
  const Params *p = params;
  OrrTpOverlapCall stepped = *call;
  if (p->gather != RING) return FALSE;
  stepped.step_s = p->step_s;
  if (is_paired(p, call->ranks))
    orr_tp_overlap_paired_gather(&stepped, operators);
  else
    orr_tp_overlap_ring_gather(&stepped, operators);
  return TRUE;
}

static gboolean scatter(const void *params, const OrrTpOverlapCall *call, GArray *operators) {
  const Params *p = params;
  OrrTpOverlapCall stepped = *call;
  if (p->scatter == WHOLE) return FALSE;
  stepped.step_s = p->step_s;
  if (p->scatter == RING) {
    orr_tp_overlap_ring_scatter(&stepped, operators);
    return TRUE;
  }
  stepped.sent = p->scatters_fp8 ? 0.5 : 1;
  orr_tp_overlap_pipelined_scatter(&stepped, p->slices, operators);
  return TRUE;
}

static double gather_s(const void *params, gint64 ranks, double product_s, double comm_s) {
  const Params *p = params;
  return is_paired(p, ranks) ? orr_tp_overlap_paired_s(ranks, 2 * product_s + p->step_s, 2 * comm_s)
                             : orr_tp_overlap_ring_s(ranks, product_s + p->step_s, comm_s);
}

static double scatter_s(const void *params, gint64 ranks, double product_s, double comm_s) {
  const Params *p = params;
  const double slice_s = product_s + p->step_s;
  return p->scatter == RING ? orr_tp_overlap_ring_s(ranks, slice_s, comm_s)
                            : orr_tp_overlap_pipelined_s(p->slices, slice_s, comm_s);
}

const OrrTpOverlapKind orr_tp_overlap_userbuffers = {
    .entry = {"userbuffers",
              "Transformer Engine's: gathers by ring exchange, scatters in a pipeline.", &table},
    .one_dispatch = TRUE,
    .gather = gather,
    .scatter = scatter,
    .gather_s = gather_s,
    .scatter_s = scatter_s,
};
