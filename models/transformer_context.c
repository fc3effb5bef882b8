/*
 * transformer_context.c - the attention core where cp ranks split each sequence.
 *
 * A sequence is cut into 2 cp chunks of c tokens, and rank r has chunks r and 2 cp - 1 - r, so that
 * all ranks have equal work under the causal mask (zig-zag; Brandon et al. 2023, arXiv 2311.09431;
 * Megatron-Core's context parallelism).
 *
 *   p2p          cp steps: keys and values move round a ring while attention runs on those that
 *                have arrived. Step 0: own 2 c queries over own 2 c keys, causal. Later steps: from
 *                a lower rank the first chunk of keys for all queries (2 c over c), from a higher
 *                one all keys for the second chunk of queries (c over 2 c). Both have equal pairs;
 *                the former is modelled. The results of all steps are merged by their log-sum-exp.
 *
 *                    send-recv 1  |  send-recv 2  |  ...
 *                    attention 0  |  attention 1  |  ... |  attention cp - 1  |  merge
 *
 *                Backward: keys and values move round again; their gradients follow one step
 *                behind, for one step more.
 *   all-gather   keys and values of all ranks are gathered first; the queries of the two chunks see
 *                (r + 1) c and (2 cp - r) c keys, whose sum is the same for each rank: rank 0 is
 *                modelled. Backward gathers again and reduce-scatters.
 *   all-to-all   queries, keys and values are exchanged so that a rank has 1 / cp of the heads over
 *                all tokens; the result is sent back (Ulysses). Backward does the same with the
 *                gradients. With fewer key heads than ranks, each is sent to several. The only
 *                one for layers with a window (Transformer Engine, context_parallel.py: "Context
 *                parallelism does not support sliding window attention" with p2p; sinks want it).
 *
 *   gathered-ring  the steps of p2p on keys and values that one all-gather brings first. Backward:
 *                the same, and the gradients of keys and values travel round the ring in fp32. None
 *                overlaps: in a compiled graph a collective is waited for where it is called
 *                (torch/distributed/_functional_collectives.py, _maybe_wrap_tensor). Results are
 *                merged and gradients summed in fp32 (torch/distributed/tensor/experimental/
 *                _attention.py, 2.6: enable_load_balance, convert_to_f32 and rotate_method
 *                ALL_GATHER by default).
 *
 * Bytes count as in nccl-tests: the gathered whole for an all-gather; everything that a rank sends
 * for an all-to-all, its own part included. Only fused attention is supported. Latent attention
 * sends keys and values of all heads, uncompressed, as Megatron does.
 */
#include "models/transformer_private.h"

static OrrOperator attention(const OrrTransformerView *view, OrrPass pass, gint64 queries,
                             gint64 keys, gboolean causal) {
  return orr_operator_attention(
      "attention", pass, view->shard->dtype,
      (OrrAttentionShape){.batch = view->sequences,
                          .q_length = queries,
                          .kv_length = keys,
                          .heads = view->layer.heads,
                          .kv_heads = view->layer.kv_heads,
                          .head_dim = view->layer.head_dim,
                          .causal = causal,
                          .value_dim = view->layer.latent ? view->model->mla.value_dim : 0,
                          .flash = orr_transformer_flash(view)});
}

static void put_attention(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                          gint64 queries, gint64 keys, gboolean causal) {
  ORR_APPEND(operators, OrrOperator, attention(view, pass, queries, keys, causal));
}

/* Keys and values of this rank's tokens. */
static double own_bytes(const OrrTransformerView *view) {
  return view->element_bytes * view->tokens * (view->layer.kv + view->layer.value);
}

static void put_comm(GArray *operators, const char *name, OrrPass pass, OrrOperatorGroup group,
                     OrrOperatorComm comm, double bytes, guint8 n_overlap) {
  OrrOperator op = orr_operator_comm(name, pass, group, comm, bytes);
  op.comm.n_overlap = n_overlap;
  g_array_append_val(operators, op);
}

/* --- p2p --- */

static const char *ring_name(OrrOperatorGroup group) {
  return group == ORR_GROUP_CP ? "cp-send-recv" : "cp-outer-send-recv";
}

static gint64 first_keys(const OrrTransformerView *view) { return MAX(1, view->sequence / 2); }

static void put_ring_step(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                          gint64 step) {
  if (step == 0)
    put_attention(view, operators, pass, view->sequence, view->sequence, TRUE);
  else
    put_attention(view, operators, pass, view->sequence, first_keys(view), FALSE);
}

/* The merge reads each step's result and log-sum-exp and writes the whole once; half of the
 * time, later steps have only half of the queries. */
static void put_ring(const OrrTransformerView *view, GArray *operators, OrrOperatorGroup group) {
  for (gint64 step = 0; step < view->cp; step++) {
    if (step + 1 < view->cp)
      put_comm(operators, ring_name(group), ORR_PASS_FORWARD, group, ORR_COMM_SEND_RECV,
               own_bytes(view), 1);
    put_ring_step(view, operators, ORR_PASS_FORWARD, step);
  }
  orr_transformer_put_memory(view, operators, "attention-merge", ORR_PASS_FORWARD,
                             (double)view->tokens * view->layer.context,
                             1 + 1 + 0.75 * (view->cp - 1), 0);
}

/* Step i computes on the keys that arrived after i hops; their gradient follows them, and needs
 * one more hop to return. */
static void put_ring_backward(const OrrTransformerView *view, GArray *operators,
                              OrrOperatorGroup group) {
  for (gint64 step = 0; step < view->cp; step++) {
    double bytes = (step + 1 < view->cp ? own_bytes(view) : 0) + (step > 0 ? own_bytes(view) : 0);
    put_comm(operators, ring_name(group), ORR_PASS_DGRAD, group, ORR_COMM_SEND_RECV, bytes, 1);
    put_ring_step(view, operators, ORR_PASS_DGRAD, step);
  }
  put_comm(operators, ring_name(group), ORR_PASS_DGRAD, group, ORR_COMM_SEND_RECV, own_bytes(view),
           0);
  orr_transformer_put_memory(view, operators, "attention-grad-merge", ORR_PASS_DGRAD,
                             (double)view->tokens *
                                 (view->layer.q + view->layer.kv + view->layer.value),
                             3 * (view->cp - 1), 0);
}

/* --- all-gather --- */

static void put_chunks(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  gint64 chunk = first_keys(view);
  put_attention(view, operators, pass, chunk, chunk, TRUE);
  put_attention(view, operators, pass, chunk, view->sequence * view->cp, TRUE);
}

static void put_gathered(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  double whole = own_bytes(view) * view->cp;
  put_comm(operators, "cp-all-gather", pass, ORR_GROUP_CP, ORR_COMM_ALL_GATHER, whole, 0);
  put_chunks(view, operators, pass);
  if (pass != ORR_PASS_FORWARD)
    put_comm(operators, "cp-reduce-scatter", pass, ORR_GROUP_CP, ORR_COMM_REDUCE_SCATTER, whole, 0);
}

/* --- all-to-all --- */

/* Bytes of queries, keys and values to send among @ranks. */
static double exchanged_bytes(const OrrTransformerView *view, gint64 ranks) {
  double copies = (double)MAX(1, ranks / MAX(1, view->layer.kv_heads));
  return view->element_bytes * view->tokens *
         (view->layer.q + copies * (view->layer.kv + view->layer.value));
}

static double result_bytes(const OrrTransformerView *view) {
  return view->element_bytes * view->tokens * view->layer.context;
}

/* After the exchange: all tokens of @ranks, and 1 / @ranks of the heads. */
static OrrTransformerView exchanged(const OrrTransformerView *view, gint64 ranks) {
  OrrTransformerView shared = *view;
  shared.sequence *= ranks;
  shared.tokens *= ranks;
  shared.layer.heads = MAX(1, view->layer.heads / ranks);
  shared.layer.kv_heads = MAX(1, view->layer.kv_heads / ranks);
  shared.layer.q = view->layer.q / ranks;
  shared.layer.context = view->layer.context / ranks;
  shared.layer.kv = view->layer.kv / MAX(1, view->layer.kv_heads) * shared.layer.kv_heads;
  shared.layer.value = view->layer.value / MAX(1, view->layer.kv_heads) * shared.layer.kv_heads;
  shared.cp = view->cp / ranks;
  return shared;
}

static void put_exchange(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  double result = result_bytes(view), inputs = exchanged_bytes(view, view->cp);
  gboolean forward = pass == ORR_PASS_FORWARD;
  OrrTransformerView shared = exchanged(view, view->cp);
  put_comm(operators, "cp-all-to-all", pass, ORR_GROUP_CP, ORR_COMM_ALL_TO_ALL,
           forward ? inputs : result, 0);
  orr_transformer_put_fused(&shared, operators, pass);
  put_comm(operators, "cp-all-to-all", pass, ORR_GROUP_CP, ORR_COMM_ALL_TO_ALL,
           forward ? result : inputs, 0);
}

/* --- hierarchical --- */

static void put_hierarchical(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  static const char *const name = "cp-inner-all-to-all";
  gint64 inner = MAX(1, view->shard->cp_inner);
  double result = result_bytes(view), inputs = exchanged_bytes(view, inner);
  gboolean forward = pass == ORR_PASS_FORWARD;
  OrrTransformerView shared = exchanged(view, inner);
  put_comm(operators, name, pass, ORR_GROUP_CP_INNER, ORR_COMM_ALL_TO_ALL,
           forward ? inputs : result, 0);
  if (forward)
    put_ring(&shared, operators, ORR_GROUP_CP_OUTER);
  else
    put_ring_backward(&shared, operators, ORR_GROUP_CP_OUTER);
  put_comm(operators, name, pass, ORR_GROUP_CP_INNER, ORR_COMM_ALL_TO_ALL,
           forward ? result : inputs, 0);
}

/* --- gathered ring --- */

/* Bytes per element to merge a later step's result into the whole in fp32, by log-sum-exp: out -
 * sigmoid(lse' - lse) (out - out'). Half of the steps have half of the queries; torch.cat then
 * copies the whole (_partial_update). Compiled, one kernel: 4 + 2 + 4, or the whole 4 + 4 and the
 * half's 2. Without the compiler each operator is one: to fp32 2 + 4, difference 4 + 4 + 4, by the
 * sigmoid 4 + 4, difference 4 + 4 + 4; of half of them half, and the copy. */
static double merge_bytes(const OrrTransformerView *view) {
  const double apart = 2 + 4 + 12 + 8 + 12;
  return view->shard->uncompiled ? (apart + apart / 2 + 4 + 4) / 2
                                 : (4 + 2 + 4 + 4 + 4 + 0.5 * 2) / 2;
}

/* The first step's result becomes fp32, 2 + 4; the last one 16 bits again, 4 + 2. */
static void put_gathered_ring(const OrrTransformerView *view, GArray *operators) {
  const double merge = 2 + 4 + merge_bytes(view) * (double)(view->cp - 1) + 4 + 2;
  put_comm(operators, "cp-all-gather", ORR_PASS_FORWARD, ORR_GROUP_CP, ORR_COMM_ALL_GATHER,
           own_bytes(view) * view->cp, 0);
  for (gint64 step = 0; step < view->cp; step++)
    put_ring_step(view, operators, ORR_PASS_FORWARD, step);
  orr_transformer_put_memory(view, operators, "attention-merge", ORR_PASS_FORWARD,
                             (double)view->tokens * view->layer.context,
                             merge / view->element_bytes, 0);
}

/* Each step adds its gradients in fp32, of queries 4 + 2 + 4 bytes an element, of keys and values
 * the same and a copy of 4 + 4 to send them on, in fp32. Without the compiler: to fp32 2 + 4, sum 4
 * + 4 + 4; of half of the steps half, and the copy of the whole. */
static void put_gathered_ring_backward(const OrrTransformerView *view, GArray *operators) {
  const double apart = 2 + 4 + 4 + 4 + 4;
  const double sum = view->shard->uncompiled ? (apart + apart / 2 + 4 + 4) / 2 : 4 + 2 + 4;
  const double copy = 4 + 4, wide = 4 / view->element_bytes;
  put_comm(operators, "cp-all-gather", ORR_PASS_DGRAD, ORR_GROUP_CP, ORR_COMM_ALL_GATHER,
           own_bytes(view) * view->cp, 0);
  for (gint64 step = 0; step < view->cp; step++) {
    put_ring_step(view, operators, ORR_PASS_DGRAD, step);
    put_comm(operators, "cp-send-recv", ORR_PASS_DGRAD, ORR_GROUP_CP, ORR_COMM_SEND_RECV,
             own_bytes(view) * wide, 0);
  }
  orr_transformer_put_memory(
      view, operators, "attention-grad-merge", ORR_PASS_DGRAD,
      (double)view->tokens *
          (sum * view->layer.q + (sum + copy) * (view->layer.kv + view->layer.value)),
      (double)view->cp / view->element_bytes, 0);
}

/* --- any --- */

void orr_transformer_put_context(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const gboolean forward = pass == ORR_PASS_FORWARD;
  switch (view->shard->context) {
  case ORR_CONTEXT_P2P:
    (forward ? put_ring : put_ring_backward)(view, operators, ORR_GROUP_CP);
    break;
  case ORR_CONTEXT_ALL_GATHER:
    put_gathered(view, operators, pass);
    break;
  case ORR_CONTEXT_ALL_TO_ALL:
    put_exchange(view, operators, pass);
    break;
  case ORR_CONTEXT_HIERARCHICAL:
    put_hierarchical(view, operators, pass);
    break;
  case ORR_CONTEXT_GATHERED_RING:
    (forward ? put_gathered_ring : put_gathered_ring_backward)(view, operators);
    break;
  }
}
