/*
 * inference.h - one step of a serving engine broken into the operators of one GPU.
 *
 * A step computes `tokens` tokens: chunks of prompts and one token of each sequence that decodes.
 * All but the attention core depends on how many there are, not on whose they are. Kernels are
 * those of a compiled engine (vLLM, SGLang, TensorRT-LLM): a norm adds the residual, the gate and
 * up projections are one product, biases are part of products, writing the cache is part of
 * attention. Tensor parallelism as Megatron's, an all-reduce after attention and after the
 * feed-forward; ranks beyond the key-value heads hold copies of one.
 *
 * Experts live on the tensor-parallel group: all its ranks have all tokens, each does its share of
 * the experts (ep of them whole, tp / ep splitting each), and the all-reduce after the feed-forward
 * sums, as vLLM does without data parallelism. Under attention data parallelism (dp > 1) they live
 * on all tp dp ranks: each rank's tokens go to their experts and back (dispatch, combine:
 * all-to-alls of the group ep), and the experts work on those of all ranks.
 *
 * What depends on whose tokens they are is apart: latent attention expands keys and values of
 * prompts, and absorbs those of decodes; layers with a state scan prompts, and update the state of
 * decodes.
 *
 * Each MEMORY operator carries its tokens in `m` and its width in `n`, so that a profile's
 * token-kernels can answer.
 */
#ifndef ORR_INFERENCE_H
#define ORR_INFERENCE_H

#include "models/lora.h"
#include "models/model.h"
#include "models/operator.h"
#include "models/quantization.h"

G_BEGIN_DECLS

typedef struct {
  gint64 tp;
  gint64 dp; /* ranks of attention data parallelism, of tp each; 0 as 1 */
  gint64 ep; /* of tp * dp ranks, those that share out whole experts; the rest split each; 0 as 1 */
  double imbalance;     /* see OrrOperator */
  OrrDtype weights;     /* of the layers' products: bf16, fp8, fp4 ... */
  OrrDtype activations; /* between kernels, and of the embedding and the head: bf16 or fp16 */
  OrrDtype kv;          /* of the cache */
  const OrrQuantized *quantized; /* instead of `weights`; NULL: those */
} OrrInferenceShard;

/* The attention core of one rank. */
typedef struct {
  gint64 heads, kv_heads, head_dim;
  gint64 value_dim; /* 0: head_dim */
  gint64 window;    /* keys that a token sees at most; 0: all */
  gboolean latent;  /* see OrrOperator */
} OrrInferenceHeads;

/* Whether @model can be split so; findings at @place. */
void orr_inference_check(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place,
                         OrrDiags *diags);

/* A layer of @kind over @tokens tokens of this rank, without its attention core and its experts.
 * Appends OrrOperator. */
void orr_inference_layer(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                         gint64 tokens, GArray *operators);
/* The routed experts, over @tokens of all dp ranks together, with dispatch and combine. Nothing
 * where there are none.
 */
void orr_inference_experts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, GArray *operators);
/* The shared experts, over @tokens tokens of this rank, where there are any. */
void orr_inference_shared_experts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                                  gint64 tokens, GArray *operators);
/* What @tokens tokens of prompts need beside that, whose attention sees @keys tokens, and
 * @tokens that decode. */
void orr_inference_prompts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, gint64 keys, GArray *operators);
void orr_inference_decodes(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, GArray *operators);
/* prompts' */
OrrInferenceHeads orr_inference_heads(const OrrModel *model, guint kind,
                                      const OrrInferenceShard *shard);
OrrInferenceHeads orr_inference_decode_heads(const OrrModel *model, guint kind,
                                             const OrrInferenceShard *shard);
/* whether it has a core, and a cache */
gboolean orr_inference_attends(const OrrModel *model, guint kind);

/* Low-rank adapters beside a layer, @adapters of them among @tokens tokens; and the bytes of one
 * adapter on one rank (inference_lora.c). */
void orr_inference_adapters(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                            const OrrLora *lora, gint64 tokens, gint64 adapters, GArray *operators);
double orr_inference_adapter_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                   const OrrLora *lora, gint64 first, gint64 n_layers);

/* @images of a prompt through the encoder and its projector; nothing where there is none. */
void orr_inference_encoder(const OrrModel *model, const OrrInferenceShard *shard, gint64 images,
                           GArray *operators);

/* What comes before the first layer, over tokens. */
void orr_inference_embedding(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                             GArray *operators);
/* After the last one: the final norm over all tokens, logits and sampling for @sequences of
 * them. */
void orr_inference_final_norm(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                              GArray *operators);
void orr_inference_head(const OrrModel *model, const OrrInferenceShard *shard, gint64 sequences,
                        GArray *operators);
/* The best of @sequences logits with their log-probabilities and ranks, as beam search asks for:
 * log-softmax reads and writes the vocabulary in fp32, top-k reads it, and so does counting
 * ranks (vLLM, vllm/v1/sample/sampler.py). */
void orr_inference_candidates(const OrrModel *model, const OrrInferenceShard *shard,
                              gint64 sequences, GArray *operators);

/* Bytes that one rank holds of layers [first, first + n): of the cache for a token; of that, in
 * layers with a window; of the state of a sequence; and of the weights. */
double orr_inference_kv_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first,
                              gint64 n_layers);
double orr_inference_window_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers);
double orr_inference_state_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                 gint64 first, gint64 n_layers);
double orr_inference_weight_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers, gboolean has_embedding,
                                  gboolean has_head);
/* The most that a step of @tokens tokens and @sequences sequences holds between kernels: the
 * widest of a layer's tensors beside its input and residual, and the logits in fp32. */
double orr_inference_activation_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                      gint64 tokens, gint64 sequences);

G_END_DECLS

#endif
