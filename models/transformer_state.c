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
 * Backward: each product of the scan has two gradients, conv and norms 3 and 5 moves. The products
 * are costed as batched GEMMs; the kernels are Triton's. Under context parallelism heads are
 * exchanged for tokens by all-to-alls around the convolution and the scan (Megatron-Core,
 * ssm/mamba_context_parallel.py).
 */
#include "models/transformer_private.h"

static gint64 share(const OrrTransformerView *view, gint64 of) {
  return MAX(of > 0 ? 1 : 0, of / view->tp);
}

OrrTransformerScan orr_transformer_scan(const OrrTransformerView *view) {
  const OrrMamba *mamba = &view->model->mamba;
  const OrrLinear *linear = &view->model->linear;
  if (view->kind.mixer == ORR_MIXER_MAMBA) {
    gint64 heads = share(view, mamba->heads), groups = share(view, mamba->groups);
    gint64 out = heads * mamba->head_dim, conv = out + 2 * groups * mamba->state;
    return (OrrTransformerScan){
        heads, groups, mamba->state, mamba->head_dim, mamba->chunk, out + conv + heads,
        conv,  out,    FALSE};
  }
  gboolean delta = linear->kind == ORR_LINEAR_GATED_DELTA;
  gint64 heads = share(view, linear->value_heads),
         keys = share(view, linear->key_heads) * linear->key_dim;
  gint64 out = heads * linear->value_dim, conv = 2 * keys + out;
  return (OrrTransformerScan){heads,
                              heads,
                              linear->key_dim,
                              linear->value_dim,
                              linear->chunk,
                              conv + out + (delta ? 2 * heads : 0),
                              linear->conv ? conv : 0,
                              out,
                              delta};
}

static void put_products(const OrrTransformerView *view, GArray *operators, const char *name,
                         OrrPass pass, OrrGemmShape shape) {
  OrrOperator op = orr_operator_gemm(name, pass, view->shard->dtype, shape);
  for (int i = 0; i < (pass == ORR_PASS_FORWARD ? 1 : 2); i++) g_array_append_val(operators, op);
}

void orr_transformer_put_scan(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  OrrTransformerScan scan = orr_transformer_scan(view);
  gint64 c = MAX(1, MIN(scan.chunk, view->sequence)), chunks = (view->sequence + c - 1) / c;
  gint64 pieces = view->sequences * chunks, batch = pieces * scan.heads;
  put_products(view, operators, "scan-scores", pass,
               (OrrGemmShape){pieces * scan.groups, c, c, scan.key});
  if (scan.delta) {
    put_products(view, operators, "scan-scores", pass, (OrrGemmShape){batch, c, c, scan.key});
    put_products(view, operators, "scan-system", pass, (OrrGemmShape){batch, c, scan.key, c});
    put_products(view, operators, "scan-system", pass, (OrrGemmShape){batch, c, scan.value, c});
  }
  put_products(view, operators, "scan-inner", pass, (OrrGemmShape){batch, c, scan.value, c});
  put_products(view, operators, "scan-states", pass,
               (OrrGemmShape){batch, scan.key, scan.value, c});
  OrrOperator carry =
      orr_operator_memory("scan-carry", pass, ORR_FP32, 8.0 * batch * scan.key * scan.value, 0);
  g_array_append_val(operators, carry);
  put_products(view, operators, "scan-outer", pass, (OrrGemmShape){batch, c, scan.value, scan.key});
}

/* Tokens for heads, and back. */
static void put_exchange(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                         double width) {
  orr_transformer_put_group_comm(operators, "cp-all-to-all", pass, ORR_GROUP_CP, view->cp,
                                 ORR_COMM_ALL_TO_ALL, view->element_bytes * view->tokens * width);
}

static void put_forward(const OrrTransformerView *view, GArray *operators, const char *in,
                        const char *conv, const char *out) {
  OrrTransformerScan scan = orr_transformer_scan(view);
  orr_transformer_put_linear(view, operators, in, scan.in, view->hidden, ORR_SPLIT_COLUMN);
  put_exchange(view, operators, ORR_PASS_FORWARD, scan.in);
  if (scan.conv)
    orr_transformer_put_memory(view, operators, conv, ORR_PASS_FORWARD,
                               (double)view->tokens * scan.conv, 2, 0);
  orr_transformer_put_scan(view, operators, ORR_PASS_FORWARD);
  put_exchange(view, operators, ORR_PASS_FORWARD, scan.out);
  orr_transformer_put_memory(view, operators, "gated-norm", ORR_PASS_FORWARD,
                             (double)view->tokens * scan.out, 3, 0);
  orr_transformer_put_linear(view, operators, out, view->hidden, scan.out, ORR_SPLIT_ROW);
}

static void put_backward(const OrrTransformerView *view, GArray *operators, const char *in,
                         const char *conv, const char *out) {
  OrrTransformerScan scan = orr_transformer_scan(view);
  orr_transformer_put_linear_backward(view, operators, out, view->hidden, scan.out, ORR_SPLIT_ROW);
  orr_transformer_put_memory(view, operators, "gated-norm", ORR_PASS_DGRAD,
                             (double)view->tokens * scan.out, 5, 0);
  put_exchange(view, operators, ORR_PASS_DGRAD, scan.out);
  orr_transformer_put_scan(view, operators, ORR_PASS_DGRAD);
  if (scan.conv)
    orr_transformer_put_memory(view, operators, conv, ORR_PASS_DGRAD,
                               (double)view->tokens * scan.conv, 3, 0);
  put_exchange(view, operators, ORR_PASS_DGRAD, scan.in);
  orr_transformer_put_linear_backward(view, operators, in, scan.in, view->hidden, ORR_SPLIT_COLUMN);
}

void orr_transformer_put_mamba(const OrrTransformerView *view, GArray *operators) {
  put_forward(view, operators, "mamba-in", "mamba-conv", "mamba-out");
}

void orr_transformer_put_mamba_backward(const OrrTransformerView *view, GArray *operators) {
  put_backward(view, operators, "mamba-in", "mamba-conv", "mamba-out");
}

void orr_transformer_put_linear_attention(const OrrTransformerView *view, GArray *operators) {
  put_forward(view, operators, "linear-in", "linear-conv", "linear-out");
}

void orr_transformer_put_linear_attention_backward(const OrrTransformerView *view,
                                                   GArray *operators) {
  put_backward(view, operators, "linear-in", "linear-conv", "linear-out");
}
