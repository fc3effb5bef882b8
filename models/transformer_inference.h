/*
 * transformer_inference.h - one step of a serving engine broken into the operators of one GPU.
 *
 * A step computes `tokens` tokens: chunks of prompts and one token of each sequence that decodes. All but the attention
 * core depends on how many there are, not on whose they are. Kernels are those of a compiled engine (vLLM, SGLang,
 * TensorRT-LLM): a norm adds the residual, the gate and up projections are one product, biases are part of products,
 * writing the cache is part of attention. Tensor parallelism as Megatron's, an all-reduce after attention and after the
 * feed-forward; ranks beyond the key-value heads hold copies of one.
 *
 * Experts live on the tensor-parallel group: all its ranks have all tokens, each does its share of the experts (ep of
 * them whole, tp / ep splitting each), and the all-reduce after the feed-forward sums, as vLLM does without data
 * parallelism. Latent attention, state spaces, linear attention and encoders are refused.
 *
 * Each MEMORY operator carries its tokens in `m` and its width in `n`, so that a profile's token-kernels can answer.
 */
#ifndef ORR_TRANSFORMER_INFERENCE_H
#define ORR_TRANSFORMER_INFERENCE_H

#include "models/model.h"
#include "models/operator.h"

G_BEGIN_DECLS

typedef struct {
  gint64 tp;
  gint64 ep;        /* ranks of the tensor-parallel group that share out whole experts; the rest split each; 0 as 1 */
  double imbalance; /* see OrrOperator */
  OrrDtype weights; /* of the layers' products: bf16, fp8, fp4 ... */
  OrrDtype activations; /* between kernels, and of the embedding and the head: bf16 or fp16 */
  OrrDtype kv;          /* of the cache */
} OrrInferenceShard;

/* The attention core of one rank. */
typedef struct {
  gint64 heads, kv_heads, head_dim;
  gint64 window; /* keys that a token sees at most; 0: all */
} OrrInferenceHeads;

/* Whether @model can be split so; findings at @place. */
void orr_inference_check(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place, OrrDiags *diags);

/* A layer of @kind without its attention core, over @tokens tokens. Appends OrrOperator. */
void orr_inference_layer(const OrrModel *model, guint kind, const OrrInferenceShard *shard, gint64 tokens,
                         GArray *operators);
OrrInferenceHeads orr_inference_heads(const OrrModel *model, guint kind, const OrrInferenceShard *shard);

/* What comes before the first layer, over tokens. */
void orr_inference_embedding(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators);
/* After the last one: the final norm over all tokens, logits and sampling for @sequences of them. */
void orr_inference_final_norm(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators);
void orr_inference_head(const OrrModel *model, const OrrInferenceShard *shard, gint64 sequences, GArray *operators);

/* Bytes that one rank holds: of the cache for a token, in all layers of @kind together with the others (one token of a
 * sequence takes this much in layers [first, first + n)); of the weights. */
double orr_inference_kv_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first, gint64 n_layers);
double orr_inference_weight_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first, gint64 n_layers,
                                  gboolean has_embedding, gboolean has_head);
/* The most that a step of @tokens tokens and @sequences sequences holds between kernels: the widest of a layer's
 * tensors beside its input and residual, and the logits in fp32. */
double orr_inference_activation_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                                      gint64 sequences);

G_END_DECLS

#endif
