/*
 * tp_overlap.h - tensor-parallel communication, cut into slices that overlap with their products.
 *
 * Under sequence parallelism a column-parallel layer gathers its input and then multiplies; a
 * row-parallel layer multiplies and then scatters its sum. As whole operations, one waits for the
 * other. Cut by rows into slices, one slice is sent while another is multiplied. With g and c the
 * seconds of one slice's product and communication:
 *
 *   gather, ring exchange     send 0   send 1   ...             t slices: (t - 1) max(g, c) + g
 *                             x0 w     x1 w     ...  x(t-1) w
 *   gather, in pairs          send 0   send 1,2 ...             t / 2 pairs of slices:
 *                                      x0,1 w   x2,3 w ...      c + (t / 2 - 1) 2 max(g, c) + 2 g
 *   scatter, ring exchange             send 0   ...             t slices: g + (t - 1) max(g, c),
 *                             x0 w     x1 w     ...  x(t-1) w   and the sum of partial results
 *   scatter, pipelined                 scatter 0  ...  scatter  k slices: g + (k - 1) max(g, c) + c
 *                             x0 w     x1 w       ...
 *
 * Slices run on several streams: the tiles of the next slice fill the SMs that the last tiles of
 * one leave idle, so g is the slice's fraction of the whole product. Nothing fills the SMs that the
 * last slice leaves: its g is the cost of its own shape, a product of few rows. Each kind states
 * which collectives it slices, and into how many slices; the others wait, or overlap with the
 * weight gradients as usual.
 *
 * To add one: write workloads/training/tp_overlaps/NAME.c with one `const OrrTpOverlapKind` and its
 * line in meson.build. The family's test compares its slices with its oracle.
 */
#pragma once

#include "models/operator.h"
#include "sim/base/field.h"

/* A product, with the all-gather of its rows before it or the reduce-scatter of its result after
 * it. */
typedef struct {
  OrrOperator product, comm;
  gint64 ranks;  /* t: ranks of the tensor-parallel group, two or more */
  double step_s; /* what a slice of the product waits for flags, events and its launch */
  double sent;   /* bytes on the links over the collective's own; 0: 1 */
} OrrTpOverlapCall;

typedef struct {
  OrrEntry entry;
  /* Both can be NULL. Each appends the call's slices (OrrOperator) in order; a communication's
   * `n_overlap` is how many of the next operators it overlaps. NULL, or FALSE: not split. */
  gboolean (*gather)(const void *params, const OrrTpOverlapCall *call, GArray *operators);
  gboolean (*scatter)(const void *params, const OrrTpOverlapCall *call, GArray *operators);
  /* one operator of the framework launches all slices; otherwise each slice is an operator */
  gboolean one_dispatch;
  /* also slices the scatters of input gradients, instead of overlapping them with the products
   * by weight */
  gboolean scatters_gradients;
  /* Closed forms of the slices' time, without the sum of partial results. */
  double (*gather_s)(const void *params, gint64 ranks, double product_s, double comm_s);
  double (*scatter_s)(const void *params, gint64 ranks, double product_s, double comm_s);
} OrrTpOverlapKind;

extern const OrrRegistry orr_tp_overlap_registry;

/* The pictures above. In pairs the number of ranks must be even. */
void orr_tp_overlap_ring_gather(const OrrTpOverlapCall *call, GArray *operators);
void orr_tp_overlap_paired_gather(const OrrTpOverlapCall *call, GArray *operators);
void orr_tp_overlap_ring_scatter(const OrrTpOverlapCall *call, GArray *operators);
void orr_tp_overlap_pipelined_scatter(const OrrTpOverlapCall *call, gint64 slices,
                                      GArray *operators);
double orr_tp_overlap_ring_s(gint64 ranks, double product_s, double comm_s);
/* @product_s and @comm_s of a pair of slices; the first exchange is of one. */
double orr_tp_overlap_paired_s(gint64 ranks, double product_s, double comm_s);
double orr_tp_overlap_pipelined_s(gint64 slices, double product_s, double comm_s);
