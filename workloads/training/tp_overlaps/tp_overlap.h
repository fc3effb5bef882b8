/*
 * tp_overlap.h - tensor-parallel communication in pieces beside the products that it belongs to.
 *
 * Under sequence parallelism a column-parallel layer gathers its input and multiplies, a
 * row-parallel one multiplies and scatters its sum. Whole, one waits for the other. Cut by rows
 * into pieces, the next piece travels while one is multiplied. With g and c seconds of one piece's
 * product and communication:
 *
 *   gather, ring exchange     send 0   send 1   ...             t pieces: (t - 1) max(g, c) + g
 *                             x0 w     x1 w     ...  x(t-1) w
 *   scatter, ring exchange             send 0   ...             t pieces: g + (t - 1) max(g, c), and the sum
 *                             x0 w     x1 w     ...  x(t-1) w   sum of t partial results
 *   scatter, pipelined                 scatter 0  ...  scatter  k pieces: g + (k - 1) max(g, c) + c
 *                             x0 w     x1 w       ...
 *
 * Pieces run on several streams: the next one's tiles fill the SMs that the last tiles of one
 * leave, so that g is the piece's share of the whole product. Nothing fills what the last piece
 * leaves: its g is the cost of its own shape, a product of few rows. Each kind says which
 * collectives it takes, and in how many pieces; what it does not take waits, or runs beside the
 * weight gradients as ever.
 *
 * To add one: write workloads/training/tp_overlaps/NAME.c with one `const OrrTpOverlapKind`, add it
 * to the array in tp_overlap.c and to meson.build. The family's test holds its pieces against its
 * oracle.
 */
#ifndef ORR_TP_OVERLAP_H
#define ORR_TP_OVERLAP_H

#include "models/operator.h"
#include "sim/base/field.h"

G_BEGIN_DECLS

/* A product, and the all-gather of its rows before it or the reduce-scatter of its result after
 * it. */
typedef struct {
  OrrOperator product, comm;
  gint64 ranks; /* t: of the tensor-parallel group, two or more */
} OrrTpOverlapCall;

typedef struct {
  OrrEntry entry;
  /* Append the call's pieces (OrrOperator) in order; a communication says by `beside` what runs
   * while it does. NULL, or FALSE: not taken. */
  gboolean (*gather)(const void *params, const OrrTpOverlapCall *call, GArray *operators);
  gboolean (*scatter)(const void *params, const OrrTpOverlapCall *call, GArray *operators);
  /* one operator of the framework launches all pieces; else each is an operator */
  gboolean one_dispatch;
  /* also those of inputs' gradients, not beside the products by weight */
  gboolean scatters_gradients;
  /* Closed forms of the pieces' time, the sum of partial results left out. */
  double (*gather_s)(const void *params, gint64 ranks, double product_s, double comm_s);
  double (*scatter_s)(const void *params, gint64 ranks, double product_s, double comm_s);
} OrrTpOverlapKind;

extern const OrrRegistry orr_tp_overlap_registry;
extern const OrrTpOverlapKind orr_tp_overlap_none, orr_tp_overlap_async_tp,
    orr_tp_overlap_userbuffers;

/* The three pictures above. */
void orr_tp_overlap_ring_gather(const OrrTpOverlapCall *call, GArray *operators);
void orr_tp_overlap_ring_scatter(const OrrTpOverlapCall *call, GArray *operators);
void orr_tp_overlap_pipelined_scatter(const OrrTpOverlapCall *call, gint64 pieces,
                                      GArray *operators);
double orr_tp_overlap_ring_s(gint64 ranks, double product_s, double comm_s);
double orr_tp_overlap_pipelined_s(gint64 pieces, double product_s, double comm_s);

G_END_DECLS

#endif
