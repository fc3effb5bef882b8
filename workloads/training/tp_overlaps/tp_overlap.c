/*
 * tp_overlap.c - the three methods of splitting that entries choose from.
 */
#include "workloads/training/tp_overlaps/tp_overlap.h"

/* Piece @i of @n: rows that do not divide are spread as evenly as they can be. */
static void put_product(const OrrTpOverlapCall *call, gint64 i, gint64 n, GArray *operators) {
  const OrrOperator *whole = &call->product;
  const gint64 rows = whole->gemm.m * (i + 1) / n - whole->gemm.m * i / n;
  const OrrOperator plain =
      orr_operator_gemm(whole->name, whole->pass, whole->dtype,
                        (OrrGemmShape){whole->gemm.batch, rows, whole->gemm.n, whole->gemm.k});
  OrrOperator slice =
      *whole; /* with all that was set since it was made: casts apart, power of a fleet */
  slice.gemm.m = rows;
  slice.flops = plain.flops;
  slice.bytes = plain.bytes;
  slice.gemm.whole_m = i + 1 < n ? whole->gemm.m : 0;
  slice.wait_s = call->step_s;
  if (rows > 0) g_array_append_val(operators, slice);
}

static void put_comm(const OrrTpOverlapCall *call, const char *name, OrrOperatorComm comm,
                     double fraction, guint8 n_overlap, GArray *operators) {
  OrrOperator slice =
      orr_operator_comm(name, call->comm.pass, call->comm.comm.group, comm,
                        call->comm.bytes * fraction * (call->sent > 0 ? call->sent : 1));
  slice.comm.n_overlap = n_overlap;
  g_array_append_val(operators, slice);
}

void orr_tp_overlap_ring_gather(const OrrTpOverlapCall *call, GArray *operators) {
  for (gint64 i = 0; i < call->ranks; i++) {
    if (i + 1 < call->ranks)
      put_comm(call, "tp-send-recv", ORR_COMM_SEND_RECV, 1.0 / (double)call->ranks, 1, operators);
    put_product(call, i, call->ranks, operators);
  }
}

void orr_tp_overlap_paired_gather(const OrrTpOverlapCall *call, GArray *operators) {
  const gint64 pairs = call->ranks / 2;
  const double slice = 1.0 / (double)call->ranks;
  put_comm(call, "tp-send-recv", ORR_COMM_SEND_RECV, slice, 0, operators);
  for (gint64 i = 0; i < pairs; i++) {
    if (i + 1 < pairs) put_comm(call, "tp-send-recv", ORR_COMM_SEND_RECV, 2 * slice, 1, operators);
    put_product(call, i, pairs, operators);
  }
}

void orr_tp_overlap_ring_scatter(const OrrTpOverlapCall *call, GArray *operators) {
  const double t = (double)call->ranks;
  for (gint64 i = 0; i < call->ranks; i++) {
    if (i > 0) put_comm(call, "tp-send-recv", ORR_COMM_SEND_RECV, 1 / t, 1, operators);
    put_product(call, i, call->ranks, operators);
  }
  const OrrOperator sum =
      orr_operator_memory("partial-sum", call->product.pass, call->product.dtype,
                          call->comm.bytes * (t + 1) / t, 0); /* reads t parts, writes one */
  g_array_append_val(operators, sum);
}

void orr_tp_overlap_pipelined_scatter(const OrrTpOverlapCall *call, gint64 slices,
                                      GArray *operators) {
  for (gint64 i = 0; i <= slices; i++) {
    if (i > 0)
      put_comm(call, "tp-reduce-scatter", ORR_COMM_REDUCE_SCATTER, 1.0 / (double)slices, i < slices,
               operators);
    if (i < slices) put_product(call, i, slices, operators);
  }
}

double orr_tp_overlap_ring_s(gint64 ranks, double product_s, double comm_s) {
  return product_s + (double)(ranks - 1) * fmax(product_s, comm_s);
}

double orr_tp_overlap_paired_s(gint64 ranks, double product_s, double comm_s) {
  return comm_s / 2 + orr_tp_overlap_ring_s(ranks / 2, product_s, comm_s);
}

double orr_tp_overlap_pipelined_s(gint64 slices, double product_s, double comm_s) {
  return product_s + (double)(slices - 1) * fmax(product_s, comm_s) + comm_s;
}
