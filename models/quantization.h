/*
 * quantization.h - the formats in which a served model's weights are stored and multiplied, by the
 * words of serving engines.
 *
 * A word sets the format in which linear layers multiply (for weights and input: W8A8, W4A4). Where
 * only weights are narrow (W4A16, W8A16), products stay in 16 bits: the kernel reads narrow weights
 * and widens them on the way to the tensor cores (Marlin, Frantar et al. 2024, arXiv 2408.11743),
 * which saves reading. Embedding, head, router, norms and attention stay in 16 bits, as in vLLM.
 * Casts of activations count as fused with the norm or activation before them (vLLM's
 * fuse_norm_quant, fuse_act_quant).
 */
#ifndef ORR_QUANTIZATION_H
#define ORR_QUANTIZATION_H

#include "sim/base/dtype.h"

G_BEGIN_DECLS

typedef enum {
  ORR_QUANTIZATION_NONE,
  ORR_QUANTIZATION_AWQ,
  ORR_QUANTIZATION_FP8,
  ORR_QUANTIZATION_FP8_BLOCK,
  ORR_QUANTIZATION_FP8_WEIGHTS,
  ORR_QUANTIZATION_GPTQ,
  ORR_QUANTIZATION_INT4_EXPERTS,
  ORR_QUANTIZATION_INT8,
  ORR_QUANTIZATION_MXFP4,
  ORR_QUANTIZATION_NVFP4,
  ORR_QUANTIZATION_NVFP4_MLP,
  ORR_N_QUANTIZATIONS
} OrrQuantization;

/* "none", "awq", "fp8", ..., NULL, by OrrQuantization */
extern const char *const orr_quantization_words[];

/* Parts of a layer; a word that narrows one narrows those after it too. */
typedef enum { ORR_QUANTIZED_MIXER, ORR_QUANTIZED_FEED, ORR_QUANTIZED_EXPERTS } OrrQuantizedPart;

typedef struct {
  const char *sentence;  /* what it is and its source */
  OrrDtype products;     /* of linear layers; ORR_N_DTYPES: as activations */
  double weight_bytes;   /* per stored weight, including its scales */
  OrrQuantizedPart from; /* the first part that is narrow */
  gboolean blocks;       /* a scale for each block of weights, which products apply as they sum */
} OrrQuantized;

/* NULL for none. */
const OrrQuantized *orr_quantized(OrrQuantization quantization);

G_END_DECLS

#endif
