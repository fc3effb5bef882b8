/*
 * transformer_state.c - mixers with a state instead of a cache: Mamba-2, lightning attention, the
 * gated delta rule, Kimi Delta Attention, RWKV-7's time mixing.
 *
 * All work in chunks of C tokens: inside a chunk by products like attention's, between chunks by a
 * state of each head. On one rank, with H heads of width P over state N and G groups (all over tp):
 *
 *   Mamba-2 (Dao, Gu 2024, arXiv 2405.21060, section 6)
 *   mamba-in      GEMM  h -> 2 H P + 2 G N + H        gate, x, B, C, dt; columns
 *   scan-layout   2 T of the width, in and out        sequences first -> batches first, and back
 *   mamba-conv    2 T (H P + 2 G N)
 *   scan-...      the kernels of the tables below
 *   gated-norm    3 T H P
 *   mamba-out     GEMM  H P -> h                      rows
 *
 *   Linear attention: keys of width K, values of V, on value heads
 *   linear-in     GEMM  h -> q, k, v, gate (gated delta: two more a head)
 *   linear-conv   2 T (q + k + v)                     where there is one
 *   scan-...      likewise; gated delta (Yang et al. 2024, arXiv 2412.06464) also solves a
 *                 triangular system of its keys in each chunk
 *   gated-norm, linear-out
 *   Kimi Delta Attention and RWKV-7 also make decays and gates, n results, by low-rank projections:
 *   linear-low    GEMM  h -> R                        whole on each rank, on own tokens
 *   [tp-all-gather                                    sequence parallelism only, T R]
 *   linear-up     n GEMMs  R / n -> V                 columns
 *   RWKV-7 first mixes each token with the one before it, token-shift, 9 T h (put_shift)
 *
 * A kernel of a scan has FLOPs, and bytes in the formats in which its tensors cross memory: 16-bit
 * inputs and results, fp32 scores (mamba_ssm stores C B^T for each group; Flash Linear Attention
 * keeps q k^T in registers), states in fp32 until they have been carried over all chunks, then in
 * 16 bits. The kernels are Triton's and spend their time on decays, masks and casts: the profile's
 * `kernels` has the rate of their FLOPs as a multiple of the CUDA cores' (cost_memory.c).
 *
 * Backward: neither the convolution's result nor the chunks' states are kept, so it first runs
 * conv, scan-scores, scan-states and scan-carry again (mamba_ssm/ops/triton/ssd_combined.py,
 * MambaSplitConv1dScanCombinedFn and _mamba_chunk_scan_combined_bwd; fla/ops/common/chunk_h.py,
 * fla/ops/gated_delta_rule/chunk.py). The convolution moves 3, norms 5.
 *
 * Megatron-Core's tensors have the sequence first, mamba_ssm's kernels the batch: with more than
 * one sequence in a micro-batch all of the first projection's result and of the scan's are copied
 * (ssm/mamba_mixer.py, _ssm_training). There the gate belongs to the scan's last kernel, which
 * writes its result with and without it, and the norm is a kernel of its own: 4 moves forward and
 * 8 backward. Under context parallelism heads are exchanged for tokens by all-to-alls around the
 * convolution and the scan (ssm/mamba_context_parallel.py).
 */
#include "models/transformer_private.h"

/* One kernel of a scan. Products: @c_key of C x C over K for each group, @c_value of C x C x V and
 * @state of K x V x C for each head. Bytes: reads and writes of @keys (16 bits, each group) and
 * @values (each head); bytes for an element of the @scores of each group and chunk, and of the
 * @states of each head and chunk. */
typedef struct {
  const char *name;
  gboolean backward; /* else also a part of the forward that the backward runs again */
  gboolean once;     /* of the forward: not run again */
  guint8 c_key, c_value, state;
  guint8 keys, values, scores, states;
} Kernel;

static const Kernel mamba_kernels[] = {
    {"scan-scores", FALSE, FALSE, 1, 0, 0, 2, 0, 4, 0},
    {"scan-states", FALSE, FALSE, 0, 0, 1, 1, 1, 0, 4},
    {"scan-carry", FALSE, FALSE, 0, 0, 0, 0, 0, 0, 6},
    {"scan-output", FALSE, TRUE, 0, 1, 1, 1, 2, 4, 2},
    {"scan-states", TRUE, FALSE, 0, 0, 1, 1, 1, 0, 4},
    {"scan-carry", TRUE, FALSE, 0, 0, 0, 0, 0, 0, 12},
    {"scan-values", TRUE, FALSE, 0, 1, 1, 1, 3, 4, 2}, /* dx and ddt */
    {"scan-keys", TRUE, FALSE, 0, 0, 1, 3, 1, 0, 2},   /* dB from the states, in fp32 */
    {"scan-keys", TRUE, FALSE, 0, 0, 1, 3, 1, 0, 2},   /* dC */
    {"scan-scores", TRUE, FALSE, 0, 1, 0, 0, 2, 4, 0},
    {"scan-keys", TRUE, FALSE, 1, 0, 0, 4, 0, 4, 0}, /* dB and dC from the scores, added */
    {"scan-keys", TRUE, FALSE, 1, 0, 0, 4, 0, 4, 0},
    {"scan-decays", TRUE, FALSE, 0, 1, 0, 0, 2, 4, 0},
};

static const Kernel linear_kernels[] = {
    {"scan-states", FALSE, FALSE, 0, 0, 1, 1, 1, 0, 2},
    {"scan-output", FALSE, TRUE, 1, 1, 1, 2, 2, 0, 2},
    {"scan-states", TRUE, FALSE, 0, 0, 1, 1, 1, 0, 2},
    {"scan-keys", TRUE, FALSE, 3, 1, 2, 4, 2, 0, 4}, /* dq and dk */
    {"scan-values", TRUE, FALSE, 1, 1, 1, 2, 2, 0, 2},
};

/* RWKV-7 (fla/ops/generalized_delta_rule/dplr): what a state forgets and what it learns have keys
 * of their own, so there are four kinds of scores and one product with states more. */
static const Kernel rwkv_kernels[] = {
    {"scan-scores", FALSE, TRUE, 4, 0, 0, 4, 0, 4 * 4, 0},
    {"scan-system", FALSE, TRUE, 0, 0, 0, 0, 0, 6, 0}, /* its inverse */
    {"scan-system", FALSE, FALSE, 1, 2, 0, 2, 2, 2 + 4, 0},
    {"scan-states", FALSE, FALSE, 0, 0, 3, 3, 3, 0, 2},
    {"scan-output", FALSE, TRUE, 0, 2, 1, 1, 3, 2 * 4, 2},
    {"scan-values", TRUE, FALSE, 0, 2, 1, 2, 3, 2 * 4, 2},
    {"scan-states", TRUE, FALSE, 0, 0, 4, 4, 3, 0, 2},
    {"scan-keys", TRUE, FALSE, 8, 2, 4, 8, 4, 4 * 4, 4}, /* dr, dk, da, db */
    {"scan-system", TRUE, FALSE, 5, 2, 0, 3, 4, 2, 0},
};

static const Kernel delta_kernels[] = {
    {"scan-scores", FALSE, TRUE, 1, 0, 0, 1, 0, 4, 0},
    {"scan-system", FALSE, TRUE, 0, 0, 0, 0, 0, 6, 0}, /* its inverse */
    {"scan-system", FALSE, FALSE, 1, 1, 0, 2, 2, 2, 0},
    {"scan-states", FALSE, FALSE, 0, 0, 2, 2, 2, 0, 2},
    {"scan-output", FALSE, TRUE, 1, 1, 1, 2, 2, 0, 2},
    {"scan-values", TRUE, FALSE, 1, 1, 0, 2, 2, 0, 0},
    {"scan-states", TRUE, FALSE, 0, 0, 3, 3, 3, 0, 2},
    {"scan-keys", TRUE, FALSE, 3, 1, 3, 6, 3, 0, 4}, /* dq, dk, dw */
    {"scan-system", TRUE, FALSE, 5, 2, 0, 3, 4, 2, 0},
};

/* Scores keep their format when they are computed again; carried states stay in fp32 then. */
static double states_bytes(const Kernel *kernel, gboolean again) {
  return kernel->states == 6 && again ? 8 : kernel->states;
}

static void put_kernel(const OrrTransformerView *view, const Kernel *kernel, OrrPass pass,
                       GArray *operators) {
  const OrrScan scan = view->layer.scan;
  const double c = (double)MAX(1, MIN(scan.chunk, view->sequence)), tokens = (double)view->tokens;
  const double key = (double)scan.key, value = (double)scan.value;
  const double groups = tokens * (double)scan.groups, heads = tokens * (double)scan.heads;
  /* who reads keys reads their channels' decays too, in fp32 */
  const double decays =
      orr_scan_has_channels(&scan) && kernel->keys > 0 ? 4 / view->element_bytes : 0;
  const double flops = 2 * (groups * kernel->c_key * c * key + heads * kernel->c_value * c * value +
                            heads * kernel->state * key * value);
  const gboolean again = pass != ORR_PASS_FORWARD && !kernel->backward;
  const double bytes =
      view->element_bytes *
          (groups * (kernel->keys + decays) * key + heads * kernel->values * value) +
      groups * kernel->scores * c + heads * states_bytes(kernel, again) * key * value / c;
  ORR_APPEND(operators, OrrOperator,
             orr_operator_memory(kernel->name, again ? ORR_PASS_FORWARD : pass, view->shard->dtype,
                                 bytes, flops));
}

void orr_transformer_put_scan(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  static const struct {
    const Kernel *kernels;
    guint n;
  } scans[] = {[ORR_LINEAR_LIGHTNING] = {linear_kernels, G_N_ELEMENTS(linear_kernels)},
               [ORR_LINEAR_GATED_DELTA] = {delta_kernels, G_N_ELEMENTS(delta_kernels)},
               [ORR_LINEAR_KIMI_DELTA] = {delta_kernels, G_N_ELEMENTS(delta_kernels)},
               [ORR_LINEAR_RWKV_7] = {rwkv_kernels, G_N_ELEMENTS(rwkv_kernels)}};
  const gboolean mamba = view->layer.kind.mixer == ORR_MIXER_MAMBA;
  const Kernel *kernels = mamba ? mamba_kernels : scans[view->layer.scan.kind].kernels;
  const guint n = mamba ? G_N_ELEMENTS(mamba_kernels) : scans[view->layer.scan.kind].n;
  for (guint i = 0; i < n; i++)
    if (pass == ORR_PASS_FORWARD ? !kernels[i].backward : !kernels[i].once)
      put_kernel(view, &kernels[i], pass, operators);
}

/* Tokens for heads, and back. */
static void put_exchange(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                         double width) {
  orr_transformer_put_group_comm(operators, "cp-all-to-all", pass, ORR_GROUP_CP, view->cp,
                                 ORR_COMM_ALL_TO_ALL, view->element_bytes * view->tokens * width);
}

static void put_exchange_in(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrScan *scan = &view->layer.scan;
  put_exchange(view, operators, pass, (double)(scan->in + scan->ups * scan->out));
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

/* A token is mixed with the one before it, once for each of the mixer's six inputs and once for the
 * feed-forward's. Backward: gradients of all seven are read, the stream's is written. */
static void put_shift(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (view->layer.scan.shift > 0)
    orr_transformer_put_memory(view, operators, "token-shift", pass,
                               (double)view->tokens * (double)view->layer.hidden,
                               ORR_SHIFT_MOVES + (pass != ORR_PASS_FORWARD), 0);
}

static void put_low_gather(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (pass == ORR_PASS_FORWARD && view->layer.scan.ups > 0)
    orr_transformer_put_gather(view, operators, (double)view->model->linear.low_rank);
}

/* Whether tensors have the sequence first, as Megatron-Core's. */
static gboolean is_sequence_first(const OrrTransformerView *view) {
  return view->shard->layers == ORR_LAYERS_MEGATRON && view->layer.kind.mixer == ORR_MIXER_MAMBA;
}

static void put_layout(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                       gint64 width) {
  if (is_sequence_first(view) && view->sequences > 1)
    orr_transformer_put_memory(view, operators, "scan-layout", pass,
                               (double)view->tokens * (double)width, 2, 0);
}

static void put_layout_in(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  put_layout(view, operators, pass, view->layer.scan.in);
}

static void put_layout_out(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  put_layout(view, operators, pass, view->layer.scan.out);
}

static void put_gated_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  static const double moves[2][2] = {{3, 5}, {4, 8}};
  orr_transformer_put_memory(view, operators, "gated-norm", pass,
                             (double)view->tokens * view->layer.scan.out,
                             moves[is_sequence_first(view)][pass != ORR_PASS_FORWARD], 0);
}

/* A layer has the matrices of one of both mixers. */
static const OrrTransformerStep steps[] = {
    {put_shift},
    {.matrix = "mamba-in"},
    {.matrix = "linear-in"},
    {.matrix = "linear-low"},
    {put_low_gather},
    {.matrix = "linear-up"},
    {put_exchange_in},
    {put_layout_in},
    {put_conv},
    {orr_transformer_put_scan, .modules = ORR_MODULE_CORE_ATTN},
    {put_layout_out},
    {put_exchange_out},
    {put_gated_norm},
    {.matrix = "mamba-out"},
    {.matrix = "linear-out"},
};
const OrrTransformerBlock orr_transformer_state = {steps, G_N_ELEMENTS(steps), TRUE, TRUE};
