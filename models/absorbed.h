/*
 * absorbed.h - latent attention as it decodes: with its up-projections absorbed.
 *
 * Keys are k = Wk c, with c the cached latent of Rk and, beside it, the r values with position that
 * all heads share. As q k = (Wk^T q) c, queries are taken into the latent space instead of keys out
 * of it, and results out of it at the end (DeepSeek-V2, arXiv 2405.04434, section 2.1.2): attention
 * then is of a heads over ONE key head of Rk + r, whose first Rk are also the value; the cache
 * holds Rk + r elements a token, whole on each tensor-parallel rank (FlashMLA).
 */
#ifndef ORR_ABSORBED_H
#define ORR_ABSORBED_H

#include "models/model.h"
#include "models/operator.h"

G_BEGIN_DECLS

typedef struct {
  gint64 tp;
  gint64 sequences; /* that decode, one token each */
  gint64 context;   /* tokens each has cached, its new one among them */
  OrrDtype weights, activations, kv;
  double weight_bytes; /* of a weight as stored; 0: as `weights` */
} OrrAbsorbedStep;

/* Its parts, for engines whose steps hold prompts beside decodes: what all tokens of a step go
 * through before and after the core, and what those alone that decode do. */
void orr_absorbed_before(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);
void orr_absorbed_after(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);
/* q-absorb */
void orr_absorbed_queries(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);
/* v-absorb */
void orr_absorbed_values(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);

/* The block from its norm to the all-reduce, in order of execution:
 *
 *   norm, qkv-down, latent-norm, q-up, rope, q-absorb (a products of B x Rk over n), attention, v-absorb (a products of
 *   B x v over Rk), projection, tp-all-reduce
 *
 * Both projections down are one product (vLLM and SGLang: fused_qkv_a_proj; TensorRT-LLM:
 * Fuse_A_GEMM).
 *
 * @model has latent attention; tp divides its heads. */
void orr_absorbed_attention(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);

G_END_DECLS

#endif
