/*
 * transformer_moe.c - a feed-forward of experts: router, dispatch, grouped products, combine;
 * shared experts.
 *
 * Each of the ep etp ranks that share the experts of a layer routes its own t tokens (t = T under
 * data parallelism, T / tp under sequence parallelism), each to k experts. w is the width experts
 * work in: h, or the latent width.
 *
 *   router        GEMM  t x E over h
 *   [router-cast  in the backward, 16 t h bytes: where it multiplies in fp32]
 *   router-topk   softmax or sigmoid in fp32 and the choice: 3 t E of 4 bytes
 *   [latent-down  GEMM  t x w over h]
 *   shared experts, on all tokens as an MLP: fc1, activation, fc2 (between their own gather and sum
 *                 under tp)
 *   permute       reads t w, writes t k w
 *   [ep-dispatch  all-to-all over EP, t k w elements of a rank]
 *   [etp-all-gather  what etp ranks received: etp t k w elements]
 *   [expert-sort  what came by rank, put by expert: reads and writes it]
 *   experts       grouped GEMMs of the rank's experts with the activation between them: MOE
 *   [routing-map, routing-map-scan before a dispatch that gathers all ranks' routes]
 *   [experts-clamp (listed before them), experts-bias    kernels of their own, where the framework
 *                 does not fuse them]
 *   [experts-pad, experts-unpad    copies of what experts read and write, to and from the multiples
 *                 of 16 to 128 rows that narrow products need]
 *   [expert-unsort  back]
 *   [etp-reduce-scatter, ep-combine]    the same sizes, back
 *   unpermute     reads t k w, writes t w: the weighted sum
 *   [latent-up    GEMM  t x h over w]
 *   shared-add    3 t h, where there are shared experts
 *
 * Where tokens spread unevenly (shard.fullest) the rank modelled is the fullest: its link, its
 * products, what it keeps. With a capacity factor C experts take C t k / E tokens each: dispatch
 * and products are of C t k pairs, padded. Without sequence parallelism all tp ranks have the same
 * tokens: each does its own experts' share and an all-reduce sums (as vLLM does; ep etp = tp). The
 * activation is part of MOE. Backward, mirrored: each all-to-all goes the other way, experts have
 * dgrad and wgrad.
 *
 * Overlapped, shared experts run during the dispatch (Megatron-Core's moe-shared-expert-overlap; tp
 * = 1).
 *
 * Sources: Megatron-Core,
 * megatron/core/transformer/moe/{router,token_dispatcher,experts,shared_experts}.py; bytes of an
 * all-to-all are nccl-tests', what a rank sends, its own part included.
 */
#include "models/transformer_private.h"

OrrTransformerRouting orr_transformer_routing(const OrrTransformerView *view) {
  const OrrMoe *moe = &view->model->moe;
  gint64 ep = MAX(1, view->shard->ep), etp = MAX(1, view->shard->etp);
  gboolean replicated = view->tp > 1 && !view->sequence_parallel;
  double tokens = replicated ? (double)view->tokens : view->own_tokens;
  double capacity = view->shard->capacity > 0 ? view->shard->capacity : 1,
         pairs = tokens * moe->topk * capacity;
  double fullest = view->shard->fullest > 0 ? view->shard->fullest : 1;
  return (OrrTransformerRouting){
      .tokens = tokens,
      .pairs = pairs,
      .exchanged = pairs * fullest,
      .local = (replicated ? pairs / ep : pairs * etp) * fullest,
      .group = (replicated ? tokens : tokens * ep * etp) * capacity * fullest,
      .ep = ep,
      .etp = etp,
      .width = moe->latent ? moe->latent : view->layer.hidden,
      .ffn = moe->ffn ? moe->ffn : view->model->ffn,
      .shared = (moe->shared_ffn + view->tp - 1) / view->tp,
      .replicated = replicated,
  };
}

static gint64 whole(double tokens) { return MAX(1, (gint64)(tokens + 0.5)); }

/* --- collectives --- */

static void put_exchange(const OrrTransformerView *view, GArray *operators, const char *name,
                         OrrPass pass, double element_bytes) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  OrrOperator op = orr_operator_comm(name, pass, ORR_GROUP_EP, ORR_COMM_ALL_TO_ALL,
                                     element_bytes * r.exchanged * r.width);
  op.comm.tokens = whole(r.tokens);
  op.comm.hidden = r.width;
  op.comm.topk = view->model->moe.topk;
  op.comm.experts = view->model->moe.experts;
  if (r.ep > 1 && !r.replicated) g_array_append_val(operators, op);
}

static void put_expert_tp(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                          gboolean gathers) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  if (r.replicated) return;
  orr_transformer_put_group_comm(operators, gathers ? "etp-all-gather" : "etp-reduce-scatter", pass,
                                 ORR_GROUP_ETP, r.etp,
                                 gathers ? ORR_COMM_ALL_GATHER : ORR_COMM_REDUCE_SCATTER,
                                 view->element_bytes * r.local * r.width);
}

/* Tokens to their experts: also what the gradients of the experts' results do. */
static void put_to_experts(const OrrTransformerView *view, GArray *operators, const char *name,
                           OrrPass pass, double element_bytes) {
  put_exchange(view, operators, name, pass, element_bytes);
  put_expert_tp(view, operators, pass, TRUE);
}

static void put_from_experts(const OrrTransformerView *view, GArray *operators, const char *name,
                             OrrPass pass) {
  put_expert_tp(view, operators, pass, FALSE);
  put_exchange(view, operators, name, pass, view->element_bytes);
}

static double dispatch_bytes(const OrrTransformerView *view) {
  return orr_precision_casts(view->shard->recipe) ? view->shard->recipe->dispatch_bytes
                                                  : view->element_bytes;
}

/* --- experts --- */

static void put_experts(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrMoe *moe = &view->model->moe;
  const OrrPrecisionRecipe *recipe = view->shard->recipe;
  OrrTransformerRouting r = orr_transformer_routing(view);
  OrrDtype dtype = view->shard->dtype;
  if (orr_precision_casts(recipe))
    dtype = pass == ORR_PASS_FORWARD ? recipe->forward
            : pass == ORR_PASS_DGRAD ? recipe->dgrad
                                     : recipe->wgrad;
  OrrOperator op = orr_operator_moe(
      "experts", pass, dtype,
      (OrrMoeShape){.tokens = whole(r.group),
                    .hidden = r.width,
                    .inter = r.ffn,
                    .topk = moe->topk,
                    .experts = moe->experts,
                    .tp = r.etp,
                    .ep = r.ep,
                    .projections = orr_activation_is_gated(view->layer.activation) ? 3 : 2,
                    .imbalance = view->shard->imbalance});
  op.moe.stored.cast_apart = orr_precision_casts(recipe);
  if (pass == ORR_PASS_WGRAD) orr_transformer_settle_wgrad(view, &op);
  g_array_append_val(operators, op);
}

/* What frameworks do not fuse into the products. Per element, in Megatron-Core:
 *
 *   clamp  of each inner element (2 of them, gate and up, are cut, clamped, put together):
 *          forward 16 bytes, backward 20   (megatron/core/fusions/fused_bias_geglu.py,
 *          weighted_bias_quick_geglu_impl: chunk, clamp, cat)
 *   bias   of each result, weighted by the token's probability, in fp32: forward 28 bytes (product,
 *          sum, cat, cast), backward 36
 *          (megatron/core/transformer/moe/experts.py, TEGroupedMLP._apply_bias) */
static void put_apart(const OrrTransformerView *view, GArray *operators, const char *name,
                      OrrPass pass, double bytes) {
  ORR_APPEND(operators, OrrOperator, orr_operator_memory(name, pass, view->shard->dtype, bytes, 0));
}

static void put_clamp(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrTransformerRouting r = orr_transformer_routing(view);
  const double each = pass == ORR_PASS_FORWARD ? 16 : 20;
  if (view->shard->clamp_apart)
    put_apart(view, operators, "experts-clamp", pass, each * r.local * r.ffn / r.etp);
}

static void put_bias(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrTransformerRouting r = orr_transformer_routing(view);
  const double each = pass == ORR_PASS_FORWARD ? 28 : 36;
  if (view->shard->bias_apart && view->model->bias)
    put_apart(view, operators, "experts-bias", pass, each * r.local * r.width);
}

/* A copy of all rows, forward and backward (megatron/core/transformer/moe/experts.py, TEGroupedMLP:
 * quantization_padding, quantization_unpadding). */
static void put_padding(const OrrTransformerView *view, GArray *operators, const char *name,
                        OrrPass pass) {
  const OrrTransformerRouting r = orr_transformer_routing(view);
  if (view->shard->padding_apart && orr_precision_casts(view->shard->recipe))
    orr_transformer_put_memory(view, operators, name, pass, r.local * r.width, 2, 0);
}

/* Inputs of both products, or their results' gradients. */
static void put_cast(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  double elements = r.local * (r.width + (double)r.ffn / r.etp);
  orr_transformer_put_cast(view, operators, pass, elements);
}

void orr_transformer_put_moe_activation(const OrrTransformerView *view, GArray *operators) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  put_clamp(view, operators, ORR_PASS_FORWARD);
  orr_transformer_put_activation(view, operators, ORR_PASS_FORWARD, r.local * r.ffn / r.etp);
}

/* --- shared experts --- */

void orr_transformer_put_shared_experts(const OrrTransformerView *view, GArray *operators,
                                        OrrPass pass) {
  const gint64 shared = orr_transformer_routing(view).shared;
  const gboolean forward = pass == ORR_PASS_FORWARD;
  if (!shared) return;
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", pass, ORR_COMM_ALL_GATHER,
                             view->layer.hidden);
  orr_transformer_put_linear(view, operators, forward ? "shared-fc1" : "shared-fc2", pass);
  orr_transformer_put_activation(view, operators, pass, (double)view->tokens * shared);
  orr_transformer_put_linear(view, operators, forward ? "shared-fc2" : "shared-fc1", pass);
  if (forward && view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-reduce-scatter", pass, ORR_COMM_REDUCE_SCATTER,
                             view->layer.hidden);
}

/* Runs @part's operators concurrently with the all-to-all that is the last operator, where there is
 * one and nothing in @part communicates with other ranks. */
static void put_overlapped(const OrrTransformerView *view, GArray *operators,
                           OrrTransformerPart part, OrrPass pass) {
  guint before = operators->len;
  part(view, operators, pass);
  if (before == 0 || view->tp > 1) return;
  OrrOperator *last = &g_array_index(operators, OrrOperator, before - 1);
  if (last->kind == ORR_OPERATOR_COMM && last->comm.group == ORR_GROUP_EP)
    last->comm.n_overlap = (guint8)(operators->len - before);
}

static gboolean overlaps_shared(const OrrTransformerView *view) {
  return view->shard->shared_expert_overlap && view->tp == 1 && MAX(1, view->shard->etp) == 1;
}

/* --- the block --- */

/* A matrix in the storage format over the tokens that this rank routes. */
static void put_plain(const OrrTransformerView *view, GArray *operators, const char *name,
                      OrrPass pass) {
  const OrrMatrix *matrix = orr_layer_matrix(&view->layer, name);
  const gint64 tokens = whole(orr_transformer_routing(view).tokens);
  if (matrix)
    orr_transformer_put_plain(view, operators, name, pass,
                              (OrrGemmShape){1, tokens, matrix->out, matrix->in});
}

/* Under moe-router-dtype fp32 Megatron-Core's backward copies the input to fp32 (6 bytes), reads
 * that copy, writes the input's gradient in fp32 (2 more each) and copies it back (6)
 * (megatron/core/transformer/moe/moe_utils.py, RouterGatingLinearFunction). */
static void put_router(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  OrrOperator topk = orr_operator_memory(
      "router-topk", pass, ORR_FP32,
      3 * 4 * r.tokens * (view->model->moe.experts + view->model->moe.zero_experts), 0);
  if (pass == ORR_PASS_FORWARD) put_plain(view, operators, "router", pass);
  g_array_append_val(operators, topk);
  if (pass != ORR_PASS_FORWARD) put_plain(view, operators, "router", pass);
  if (pass != ORR_PASS_FORWARD && view->shard->router_fp32)
    put_apart(view, operators, "router-cast", pass, 16 * r.tokens * (double)view->layer.hidden);
}

/* Before an all-to-all, and after its way back, a rank's tokens lie once for each of their experts.
 * DeepEP and HybridEP read and write them where they are, once for each rank; their receivers copy
 * them for each expert (deep_ep's fused_a2a.py; Megatron-LM, token_dispatcher.py,
 * _DeepepManager.get_permuted_hidden_states_by_experts). */
static void put_permute(const OrrTransformerView *view, GArray *operators, const char *name,
                        OrrPass pass) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  if (view->shard->sends_tokens && r.ep > 1) return;
  orr_transformer_put_memory(view, operators, name, pass, (r.tokens + r.pairs) * r.width, 1, 0);
}

/* Tokens arrive by rank: a rank with several experts sorts them by expert, and back
 * (Megatron-Core, sort_chunks_by_idxs of the all-to-all dispatcher; DeepEP's permute after
 * the dispatch). */
static void put_sort(const OrrTransformerView *view, GArray *operators, const char *name,
                     OrrPass pass) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  if (r.ep > 1 && view->model->moe.experts > r.ep)
    orr_transformer_put_memory(view, operators, name, pass, r.local * r.width, 2, 0);
}

static void put_sum(const OrrTransformerView *view, GArray *operators, const char *name,
                    OrrPass pass) {
  if (view->model->moe.shared_ffn)
    orr_transformer_put_memory(view, operators, name, pass, orr_transformer_own_elements(view), 3,
                               0);
}

/* HybridEP gathers the routing map of all ranks, a byte for each token and expert, and scans it
 * (README_Hybrid-EP.md of DeepEP's branch hybrid-ep; the backward keeps the result). */
static void put_map(const OrrTransformerView *view, GArray *operators) {
  const OrrTransformerRouting r = orr_transformer_routing(view);
  const double bytes = r.tokens * (double)view->model->moe.experts * (double)r.ep;
  if (!view->shard->map_gathered || r.ep == 1 || r.replicated) return;
  orr_transformer_put_group_comm(operators, "routing-map", ORR_PASS_FORWARD, ORR_GROUP_EP, r.ep,
                                 ORR_COMM_ALL_GATHER, bytes);
  put_apart(view, operators, "routing-map-scan", ORR_PASS_FORWARD, bytes);
}

static void put_forward(const OrrTransformerView *view, GArray *operators) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  put_router(view, operators, ORR_PASS_FORWARD);
  put_plain(view, operators, "latent-down", ORR_PASS_FORWARD);
  if (!overlaps_shared(view)) orr_transformer_put_shared_experts(view, operators, ORR_PASS_FORWARD);
  put_permute(view, operators, "permute", ORR_PASS_FORWARD);
  put_map(view, operators);
  put_to_experts(view, operators, "ep-dispatch", ORR_PASS_FORWARD, dispatch_bytes(view));
  if (overlaps_shared(view))
    put_overlapped(view, operators, orr_transformer_put_shared_experts, ORR_PASS_FORWARD);
  put_sort(view, operators, "expert-sort", ORR_PASS_FORWARD);
  put_padding(view, operators, "experts-pad", ORR_PASS_FORWARD);
  put_cast(view, operators, ORR_PASS_FORWARD);
  put_clamp(view, operators, ORR_PASS_FORWARD);
  put_experts(view, operators, ORR_PASS_FORWARD);
  put_padding(view, operators, "experts-unpad", ORR_PASS_FORWARD);
  put_bias(view, operators, ORR_PASS_FORWARD);
  put_sort(view, operators, "expert-unsort", ORR_PASS_FORWARD);
  put_from_experts(view, operators, "ep-combine", ORR_PASS_FORWARD);
  put_permute(view, operators, "unpermute", ORR_PASS_FORWARD);
  put_plain(view, operators, "latent-up", ORR_PASS_FORWARD);
  put_sum(view, operators, "shared-add", ORR_PASS_FORWARD);
  if (r.replicated)
    orr_transformer_put_comm(view, operators, "tp-all-reduce", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_REDUCE, view->layer.hidden);
}

static void put_backward(const OrrTransformerView *view, GArray *operators) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  put_plain(view, operators, "latent-up", ORR_PASS_DGRAD);
  put_permute(view, operators, "unpermute", ORR_PASS_DGRAD);
  put_to_experts(view, operators, "ep-combine", ORR_PASS_DGRAD, view->element_bytes);
  if (overlaps_shared(view))
    put_overlapped(view, operators, orr_transformer_put_shared_experts, ORR_PASS_DGRAD);
  put_sort(view, operators, "expert-unsort", ORR_PASS_DGRAD);
  put_bias(view, operators, ORR_PASS_DGRAD);
  put_padding(view, operators, "experts-unpad", ORR_PASS_DGRAD);
  put_cast(view, operators, ORR_PASS_DGRAD);
  put_experts(view, operators, ORR_PASS_DGRAD);
  put_clamp(view, operators, ORR_PASS_DGRAD);
  if (!orr_transformer_is_frozen(view)) put_experts(view, operators, ORR_PASS_WGRAD);
  put_padding(view, operators, "experts-pad", ORR_PASS_DGRAD);
  put_sort(view, operators, "expert-sort", ORR_PASS_DGRAD);
  put_from_experts(view, operators, "ep-dispatch", ORR_PASS_DGRAD);
  put_permute(view, operators, "permute", ORR_PASS_DGRAD);
  if (!overlaps_shared(view)) orr_transformer_put_shared_experts(view, operators, ORR_PASS_DGRAD);
  put_plain(view, operators, "latent-down", ORR_PASS_DGRAD);
  put_router(view, operators, ORR_PASS_DGRAD);
  put_sum(view, operators, "shared-grad-add", ORR_PASS_DGRAD);
  if (r.replicated)
    orr_transformer_put_comm(view, operators, "tp-all-reduce", ORR_PASS_DGRAD, ORR_COMM_ALL_REDUCE,
                             view->layer.hidden);
}

void orr_transformer_put_moe(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  (pass == ORR_PASS_FORWARD ? put_forward : put_backward)(view, operators);
}
