/*
 * quantization.h - the formats in which a served model's weights are stored and multiplied, by the
 * words of serving engines.
 *
 * A word sets the format in which linear layers multiply (for weights and input: W8A8, W4A4). Where
 * only weights are narrow (W4A16, W8A16), products stay in 16 bits: the kernel reads narrow weights
 * and widens them on the way to the tensor cores (Marlin, Frantar et al. 2024, arXiv 2408.11743),
 * which saves reading. Embedding, head, router, norms and attention stay in 16 bits, as in vLLM.
 * A checkpoint may keep parts of its layers, or its first and last layers, in 16 bits or in another
 * format: OrrWeightFormats.
 * Casts of activations count as fused with the norm or activation before them (vLLM's
 * fuse_norm_quant, fuse_act_quant).
 */
#pragma once

#include "sim/base/dtype.h"
#include "sim/base/field.h"

typedef enum {
  ORR_QUANTIZATION_NONE,
  ORR_QUANTIZATION_AWQ,
  ORR_QUANTIZATION_FP8,
  ORR_QUANTIZATION_FP8_BLOCK,
  ORR_QUANTIZATION_FP8_WEIGHTS,
  ORR_QUANTIZATION_GPTQ,
  ORR_QUANTIZATION_INT4_32,
  ORR_QUANTIZATION_INT4_EXPERTS,
  ORR_QUANTIZATION_INT8,
  ORR_QUANTIZATION_INT8_WEIGHTS,
  ORR_QUANTIZATION_MXFP4,
  ORR_QUANTIZATION_MXFP4_W4A4,
  ORR_QUANTIZATION_NF4,
  ORR_QUANTIZATION_NVFP4,
  ORR_QUANTIZATION_NVFP4_MLP,
  ORR_QUANTIZATION_NVFP4_WEIGHTS,
  ORR_N_QUANTIZATIONS
} OrrQuantization;

/* "none", "awq", "fp8", ..., NULL, by OrrQuantization */
extern const char *const orr_quantization_words[];

/* Parts of a layer; a word that narrows one narrows those after it too. */
typedef enum {
  ORR_QUANTIZED_MIXER,
  ORR_QUANTIZED_FEED,
  ORR_QUANTIZED_SHARED, /* shared experts */
  ORR_QUANTIZED_EXPERTS,
  ORR_N_QUANTIZED_PARTS
} OrrQuantizedPart;

enum { ORR_QUANTIZED_BLOCK = 128 }; /* rows and columns of weights that share a scale in blocks */

typedef struct {
  const char *sentence;  /* what it is and its source */
  OrrDtype products;     /* of linear layers; ORR_N_DTYPES: as activations */
  double weight_bytes;   /* per stored weight, including its scales */
  OrrQuantizedPart from; /* the first part that is narrow */
  gboolean blocks;       /* a scale for each block of weights, which products apply as they sum */
  gboolean expands;      /* each step writes the weights out in 16 bits, products read those */
} OrrQuantized;

/* NULL for none. */
const OrrQuantized *orr_quantized(OrrQuantization quantization);
/* Its word. @quantized may not be NULL. */
const char *orr_quantized_word(const OrrQuantized *quantized);

/* Where a checkpoint's weights differ from its word: the section `weights`. */
typedef struct {
  int parts[ORR_N_QUANTIZED_PARTS]; /* 0: as the word says; else an OrrQuantization plus 1 */
  gint64 plain_first, plain_last;   /* layers at the ends whose parts all stay in 16 bits */
} OrrWeightFormats;

extern const OrrFieldTable orr_weight_formats_table;
/* The keys of its parts ("attention", ...), by OrrQuantizedPart. */
extern const char *const orr_quantized_part_words[];

/* The format in which the checkpoint of a model is published: the section `checkpoint`. */
typedef struct {
  char *source;     /* NULL: none given */
  int quantization; /* OrrQuantization */
  OrrWeightFormats weights;
} OrrReleased;

extern const OrrFieldTable orr_released_table;

/* The format of @part by @quantization and @formats; NULL: 16 bits. */
const OrrQuantized *orr_quantized_part(OrrQuantization quantization,
                                       const OrrWeightFormats *formats, OrrQuantizedPart part);
