/*
 * absorbed.h - latent attention of decodes, with the up-projections absorbed.
 *
 * Keys are k = Wk c, where c is the cached latent of Rk elements; beside it the cache has r
 * elements with position, common to all heads. As q k = (Wk^T q) c, queries are projected into the
 * latent space instead of keys out of it, and results out of it at the end (DeepSeek-V2, arXiv
 * 2405.04434, section 2.1.2). Attention then has a heads over ONE key head of size Rk + r, whose
 * first Rk elements are also the value; the cache has Rk + r elements per token, a whole copy on
 * each tensor-parallel rank (FlashMLA).
 */
#ifndef ORR_ABSORBED_H
#define ORR_ABSORBED_H

#include "models/model.h"
#include "models/operator.h"

G_BEGIN_DECLS

typedef struct {
  gint64 tp;
  gint64 sequences; /* number of decoding sequences, one token each */
  gint64 context;   /* cached tokens of each, including the new one */
  OrrDtype weights, activations, kv;
  double weight_bytes; /* per stored weight; 0: as `weights` */
} OrrAbsorbedStep;

/* The parts of the block, for engines whose steps have prompts and decodes: all tokens of a step
 * pass `before` and `after`, decodes alone pass `queries` and `values`. */
void orr_absorbed_before(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);
void orr_absorbed_after(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);
/* q-absorb */
void orr_absorbed_queries(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);
/* v-absorb */
void orr_absorbed_values(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);

/* The whole block from its norm to the all-reduce, in order of execution:
 *
 *   norm, qkv-down, latent-norm, q-up, rope, q-absorb (a products of B x Rk over n), attention,
 *   v-absorb (a products of B x v over Rk), projection, tp-all-reduce
 *
 * Both down-projections are one product (vLLM and SGLang: fused_qkv_a_proj; TensorRT-LLM:
 * Fuse_A_GEMM).
 *
 * @model has latent attention, and tp divides its heads. */
void orr_absorbed_attention(const OrrModel *model, const OrrAbsorbedStep *step, GArray *operators);

G_END_DECLS

#endif
