/*
 * transformer_state.c - mixers with a state instead of a cache: Mamba-2, lightning attention, the
 * gated delta rule.
 *
 * All work in chunks of C tokens: inside a chunk by products like attention's, between chunks by a
 * state of each head. On one rank, with H heads of width P over state N and G groups (all over tp):
 *
 *   Mamba-2 (Dao, Gu 2024, arXiv 2405.21060, section 6; five kernels of mamba_ssm)
 *   mamba-in      GEMM  h -> 2 H P + 2 G N + H        gate, x, B, C, dt; columns
 *   mamba-conv    2 T (H P + 2 G N)
 *   scan-scores   GEMM  C x C over N, each group      C B^T
 *   scan-inner    GEMM  C x P over C, each head
 *   scan-states   GEMM  N x P over C, each head
 *   scan-carry    8 bytes of N P, each head and chunk: states in fp32 go from chunk to chunk
 *   scan-outer    GEMM  C x P over N, each head
 *   gated-norm    3 T H P
 *   mamba-out     GEMM  H P -> h                      rows
 *
 *   Linear attention: keys of width K, values of V, on value heads
 *   linear-in     GEMM  h -> q, k, v, gate (gated delta: two more a head)
 *   linear-conv   2 T (q + k + v)                     where there is one
 *   scan-scores   C x C over K;  scan-inner  C x V over C;  scan-states  K x V over C;  scan-outer
 *                 C x V over K
 *   gated delta   its keys' products C x C over K, and both sides of the triangular system, C x K
 *                 and C x V over C
 * (Yang et al. 2024, arXiv 2412.06464) gated-norm, linear-out
 *
 * Backward: each product of the scan has two gradients, conv and norms 3 and 5 moves. Neither the
 * convolution's result nor the chunks' states are kept, so the backward first runs conv,
 * scan-scores, scan-states and scan-carry again (mamba_ssm/ops/triton/ssd_combined.py,
 * MambaSplitConv1dScanCombinedFn and _mamba_chunk_scan_combined_bwd; fla/ops/common/chunk_h.py).
 * The products are costed as batched GEMMs; the kernels are Triton's: chunk_retention of Flash
 * Linear Attention takes 1.2 to 1.3 times as long on GB200, in both directions (its README of
 * 2026-08; 4 x 4,096 tokens, 64 heads of 128: 1.00 and 2.46 ms). Under context parallelism heads
 * are exchanged for tokens by all-to-alls around the convolution and the scan (Megatron-Core,
 * ssm/mamba_context_parallel.py).
 */
#include "models/transformer_private.h"

static void put_products(const OrrTransformerView *view, GArray *operators, const char *name,
                         OrrPass pass, OrrGemmShape shape) {
  OrrOperator op = orr_operator_gemm(name, pass, view->shard->dtype, shape);
  for (int i = 0; i < (pass == ORR_PASS_FORWARD ? 1 : 2); i++) g_array_append_val(operators, op);
}

/* What a scan works on: @c tokens in each of @pieces chunks; @batch: chunks of all heads. */
typedef struct {
  gint64 c, pieces, batch;
} Chunks;

static Chunks chunks_of(const OrrTransformerView *view) {
  const OrrScan scan = view->layer.scan;
  const gint64 c = MAX(1, MIN(scan.chunk, view->sequence)),
               pieces = view->sequences * ((view->sequence + c - 1) / c);
  return (Chunks){c, pieces, pieces * scan.heads};
}

/* The chunks' states, each from its own tokens, and what the chunks before it add. */
static void put_states(const OrrTransformerView *view, GArray *operators, OrrPass product,
                       OrrPass pass) {
  const OrrScan scan = view->layer.scan;
  const Chunks of = chunks_of(view);
  put_products(view, operators, "scan-states", product,
               (OrrGemmShape){of.batch, scan.key, scan.value, of.c});
  OrrOperator carry =
      orr_operator_memory("scan-carry", pass, ORR_FP32, 8.0 * of.batch * scan.key * scan.value, 0);
  g_array_append_val(operators, carry);
}

static void put_scores(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrScan scan = view->layer.scan;
  const Chunks of = chunks_of(view);
  put_products(view, operators, "scan-scores", pass,
               (OrrGemmShape){of.pieces * scan.groups, of.c, of.c, scan.key});
}

void orr_transformer_put_scan(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrScan scan = view->layer.scan;
  const Chunks of = chunks_of(view);
  const gint64 c = of.c, batch = of.batch;
  if (pass != ORR_PASS_FORWARD) { /* what the forward did not keep */
    put_scores(view, operators, ORR_PASS_FORWARD);
    put_states(view, operators, ORR_PASS_FORWARD, ORR_PASS_FORWARD);
  }
  put_scores(view, operators, pass);
  if (scan.delta) {
    put_products(view, operators, "scan-scores", pass, (OrrGemmShape){batch, c, c, scan.key});
    put_products(view, operators, "scan-system", pass, (OrrGemmShape){batch, c, scan.key, c});
    put_products(view, operators, "scan-system", pass, (OrrGemmShape){batch, c, scan.value, c});
  }
  put_products(view, operators, "scan-inner", pass, (OrrGemmShape){batch, c, scan.value, c});
  put_states(view, operators, pass, pass);
  put_products(view, operators, "scan-outer", pass, (OrrGemmShape){batch, c, scan.value, scan.key});
}

/* Tokens for heads, and back. */
static void put_exchange(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                         double width) {
  orr_transformer_put_group_comm(operators, "cp-all-to-all", pass, ORR_GROUP_CP, view->cp,
                                 ORR_COMM_ALL_TO_ALL, view->element_bytes * view->tokens * width);
}

static void put_exchange_in(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  put_exchange(view, operators, pass, view->layer.scan.in);
}

static void put_exchange_out(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  put_exchange(view, operators, pass, view->layer.scan.out);
}

static void put_conv(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const double elements = (double)view->tokens * view->layer.scan.conv;
  const char *name = view->layer.kind.mixer == ORR_MIXER_MAMBA ? "mamba-conv" : "linear-conv";
  if (elements <= 0) return;
  orr_transformer_put_memory(view, operators, name, ORR_PASS_FORWARD, elements, 2, 0);
  if (pass != ORR_PASS_FORWARD)
    orr_transformer_put_memory(view, operators, name, pass, elements, 3, 0);
}

static void put_gated_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  orr_transformer_put_memory(view, operators, "gated-norm", pass,
                             (double)view->tokens * view->layer.scan.out,
                             pass == ORR_PASS_FORWARD ? 3 : 5, 0);
}

/* A layer has the matrices of one of both mixers. */
static const OrrTransformerStep steps[] = {
    {.matrix = "mamba-in"},
    {.matrix = "linear-in"},
    {put_exchange_in},
    {put_conv},
    {orr_transformer_put_scan, .modules = ORR_MODULE_CORE_ATTN},
    {put_exchange_out},
    {put_gated_norm},
    {.matrix = "mamba-out"},
    {.matrix = "linear-out"},
};
const OrrTransformerBlock orr_transformer_state = {steps, G_N_ELEMENTS(steps), TRUE, TRUE};
