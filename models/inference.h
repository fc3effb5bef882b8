/*
 * inference.h - decomposes one step of a serving engine into the operators of one GPU.
 *
 * A step computes `tokens` tokens: chunks of prompts, and one token of each decoding sequence.
 * Everything but the attention core depends on their number only, not on their sequences. Kernels
 * are as in a compiled engine (vLLM, SGLang, TensorRT-LLM): a norm adds the residual, the gate and
 * up projections are one product, biases are part of products, writing the cache is part of
 * attention. Tensor parallelism is Megatron's, with an all-reduce after attention and one after the
 * feed-forward; ranks beyond the number of key-value heads have copies of one.
 *
 * Experts are placed on the tensor-parallel group: all its ranks have all tokens, each computes its
 * part of the experts (split into ep groups of whole experts, each expert over tp / ep ranks), and
 * the all-reduce after the feed-forward sums the results, as vLLM does without data parallelism.
 * Under attention data parallelism (dp > 1) they are placed on all tp dp ranks: each rank's tokens
 * go to their experts and back (dispatch and combine: all-to-alls of the group ep), and the experts
 * compute all ranks' tokens.
 *
 * Attention and feed-forwards may be on GPUs of their own (MegaScale-Infer, arXiv 2504.02263;
 * Step-3, arXiv 2507.19427). A shard then computes one part of each layer: the mixer with both
 * norms, the router and the cache; or the dense feed-forward, routed and shared experts. Tokens go
 * from one part to the other and back in each layer, which is an operator of neither. Ranks of a
 * tensor-parallel group send a share of its tokens each, and gather the results.
 *
 * Functions of their own cover what differs between prompts and decodes: latent attention expands
 * keys and values for prompts and absorbs the projections for decodes; layers with a state scan
 * prompts and update the state of decodes.
 *
 * Each MEMORY operator has its tokens in `memory.rows` and its width in `memory.width`, by which a
 * profile's token-kernels are looked up.
 */
#pragma once

#include "models/lora.h"
#include "models/model.h"
#include "models/operator.h"
#include "models/quantization.h"

/* What a shard computes of each layer. */
typedef enum {
  ORR_PART_WHOLE,
  ORR_PART_MIXER, /* attention or state, norms, router; the ends of the model */
  ORR_PART_FEED   /* dense feed-forwards, routed and shared experts: tp ranks share each of dp = ep
                   * groups of whole experts */
} OrrInferencePart;

typedef struct {
  OrrInferencePart part;
  gint64 tp;
  gint64 dp; /* groups of attention data parallelism, tp ranks each; 0 as 1 */
  gint64 ep; /* number of groups of the tp * dp ranks that have whole experts; the ranks of a
              * group split each; 0 as 1 */
  gboolean gathered;            /* each rank gets all tokens, not only its experts' */
  double imbalance;             /* see operator.h */
  double fullest;               /* the same */
  gint64 redundant;             /* copies of experts beyond one of each, over all ranks */
  gint64 experts_at_once;       /* tokens for which the experts' kernels have room; 0: all */
  gint64 pad_hidden, pad_inner; /* multiples to which experts are padded in memory; 0: none */
  OrrDtype weights;             /* of the layers' products: bf16, fp8, fp4 ... */
  OrrDtype activations; /* between kernels, and of the embedding and the head: bf16 or fp16 */
  OrrDtype kv;          /* of the cache */
  /* replaces `weights`: the format of each part (NULL: as activations), and the layers at the ends
   * that stay as activations; see orr_inference_quantize */
  gboolean is_quantized;
  const OrrQuantized *formats[ORR_N_QUANTIZED_PARTS];
  gint64 plain_first, plain_last;
} OrrInferenceShard;

/* The attention core of one rank. */
typedef struct {
  gint64 heads, kv_heads, head_dim;
  gint64 value_dim; /* 0: head_dim */
  gint64 window;    /* most keys that a token sees; 0: all */
  gboolean latent;  /* see operator.h */
} OrrInferenceHeads;

/* Sets the formats of @shard's weights. */
void orr_inference_quantize(OrrInferenceShard *shard, OrrQuantization quantization,
                            const OrrWeightFormats *formats);
/* Whether layer @layer of @model is one of those at the ends that stay in 16 bits; @shard with all
 * parts so. */
gboolean orr_inference_is_plain(const OrrModel *model, const OrrInferenceShard *shard,
                                gint64 layer);
OrrInferenceShard orr_inference_plain(const OrrInferenceShard *shard);

/* Checks that @model can be split this way; findings at @place. */
void orr_inference_check(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place,
                         OrrDiags *diags);

/* Appends the OrrOperators of a layer of @kind over @tokens tokens of this rank, without its
 * attention core and its experts. */
void orr_inference_layer(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                         gint64 tokens, GArray *operators);
/* The routed experts over @tokens of all dp groups together, with dispatch and combine. Nothing
 * for a layer without experts. */
void orr_inference_experts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, GArray *operators);
/* The shared experts over @tokens tokens of this rank, if there are any. */
void orr_inference_shared_experts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                                  gint64 tokens, GArray *operators);
/* Further operators of @tokens tokens of prompts, whose attention sees @keys tokens, and of
 * @tokens that decode. */
void orr_inference_prompts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, gint64 keys, GArray *operators);
void orr_inference_decodes(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, GArray *operators);
/* The keys and values that a layer of cross-attention makes of an encoder's results, for @sequences
 * that begin; nothing for any other layer. */
void orr_inference_cross(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                         gint64 sequences, GArray *operators);
/* Tokens that each query of a layer sees, whatever its sequence: of cross-attention; else 0. */
gint64 orr_inference_source(const OrrModel *model, guint kind);
/* Of a layer whose queries see a choice of keys or a compressed cache: its projections, indexer and
 * norms over @tokens, without the norm before it and the all-reduce; and the whole module's name in
 * calibration/cost/cost_module.h, NULL for any other layer. */
void orr_inference_module(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                          gint64 tokens, GArray *operators);
const char *orr_inference_module_op(const OrrModel *model, guint kind, gboolean decodes);
/* prompts' */
OrrInferenceHeads orr_inference_heads(const OrrModel *model, guint kind,
                                      const OrrInferenceShard *shard);
OrrInferenceHeads orr_inference_decode_heads(const OrrModel *model, guint kind,
                                             const OrrInferenceShard *shard);
/* Fraction of the tokens of a layer of @kind that go to one of @groups groups of feed-forwards: a
 * token goes to each group that has one of its experts, 1 - C(E - E / groups, k) / C(E, k); to one
 * group where the layer is dense; 0 without a feed-forward. */
double orr_inference_met(const OrrModel *model, guint kind, gint64 groups);
/* The format in which tokens are sent to experts: the products' where they are gathered, fp8 where
 * products are narrower than the activations otherwise. */
OrrDtype orr_inference_sent(const OrrInferenceShard *shard);
/* Whether a layer of @kind has an attention core and a cache. */
gboolean orr_inference_attends(const OrrModel *model, guint kind);

/* The low-rank adapters of a layer, @adapters different ones among @tokens tokens; and the bytes
 * of one adapter on one rank (inference_lora.c). */
void orr_inference_adapters(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                            const OrrLora *lora, gint64 tokens, gint64 adapters, GArray *operators);
double orr_inference_adapter_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                   const OrrLora *lora, gint64 first, gint64 n_layers);

/* The encoder and its projector over @images of a prompt; nothing without an encoder. */
void orr_inference_encoder(const OrrModel *model, const OrrInferenceShard *shard, gint64 images,
                           GArray *operators);

/* The operators before the first layer. */
void orr_inference_embedding(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                             GArray *operators);
/* The operators after the last layer: the final norm over all tokens; logits and sampling for
 * @sequences of them. */
void orr_inference_final_norm(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                              GArray *operators);
void orr_inference_head(const OrrModel *model, const OrrInferenceShard *shard, gint64 sequences,
                        GArray *operators);
/* The best candidates of @sequences with their log-probabilities and ranks, for beam search:
 * log-softmax reads and writes the vocabulary in fp32, top-k reads it, and so does counting
 * ranks (vLLM, vllm/v1/sample/sampler.py). */
void orr_inference_candidates(const OrrModel *model, const OrrInferenceShard *shard,
                              gint64 sequences, GArray *operators);

/* Bytes on one rank for layers [first, first + n): of the cache per token; of that, in layers
 * with a window; of the last tokens that compressed attention sees one by one, in a ring per
 * sequence; of the state per sequence; and of the weights. */
double orr_inference_kv_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first,
                              gint64 n_layers);
double orr_inference_window_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers);
double orr_inference_ring_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first,
                                gint64 n_layers);
double orr_inference_state_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                 gint64 first, gint64 n_layers);
double orr_inference_weight_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers, gboolean has_embedding,
                                  gboolean has_head);
/* The most bytes that the layers of a step of @tokens tokens keep between kernels: a layer's input
 * and residual, and the widest of what its parts hold at once (inference_memory.c). */
double orr_inference_activation_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                      gint64 tokens);
/* The part of it that the experts' products read and write between them; 0: no experts. */
double orr_inference_workspace_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                     gint64 tokens);
