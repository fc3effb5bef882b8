/*
 * generator.h - the document of a model that makes pictures or videos, and its operators.
 *
 * Documents: models/generators/NAME.yaml (`schema: generator/1`). A generator is three lists of
 * blocks: text encoders, which run once; the backbone, which runs in every step; the decoder (the
 * VAE's), which runs once. A block stands for `count` equal ones:
 *
 *   transformer  attention, cross-attention to the text where `cross` is given, feed-forward.
 *                `tokens`: over that number of tokens of text. `joint`: over text and picture
 *                together
 *   double       picture and text have weights of their own and meet in one attention (MM-DiT);
 *                `dual`: a second attention over the picture alone (Stable Diffusion 3.5 medium);
 *                `text-width`: the text's stream and feed-forward are narrower (Mochi)
 *   single       attention and feed-forward read one norm, over text and picture (Flux)
 *   resnet       two convolutions with norms, from `in` to `width` channels
 *   conv         one convolution
 *
 * A block sees one position for `scale` x `scale` pixels and `every` frames:
 *
 *   positions = ceil(height / scale) ceil(width / scale) ((frames - 1) / every + 1)
 *
 * HunyuanVideo at 720 x 1280 x 129, scale 16, every 4: 45 * 80 * 33 = 118,800.
 *
 * A convolution is an implicit GEMM: m positions, n width, k in * kernel^2 * depth.
 */
#pragma once

#include "models/operator.h"
#include "sim/base/field.h"

typedef enum {
  ORR_BLOCK_TRANSFORMER,
  ORR_BLOCK_DOUBLE,
  ORR_BLOCK_SINGLE,
  ORR_BLOCK_RESNET,
  ORR_BLOCK_CONV
} OrrBlockKind;

typedef enum { ORR_GUIDANCE_NONE, ORR_GUIDANCE_BATCHED, ORR_GUIDANCE_SEQUENTIAL } OrrGuidance;
extern const char *const orr_guidance_words[]; /* "none", "batched", "sequential", NULL */

typedef struct {
  int kind;                                       /* OrrBlockKind */
  gint64 count, width, heads, kv_heads, head_dim; /* kv-heads 0: heads; head-dim 0: width / heads */
  gint64 ffn;                                     /* inner width; 0: no feed-forward */
  gboolean gated;                                 /* the feed-forward has a gate (GEGLU, SwiGLU) */
  gint64 cross;                                   /* width of the text it reads; 0: none */
  gint64 text_width;                              /* of a double block's text; 0: width */
  gint64 tokens;                                  /* of text; 0: positions of the picture */
  gboolean joint, dual, modulated, no_shift, qk_norm, rope;
  gint64 scale, every;      /* pixels and frames per position */
  gint64 in, kernel, depth; /* of convolutions; in 0: width; depth: taps in time */
} OrrBlock;

typedef struct {
  char *name, *source;
  gint64 height, width, frames, steps; /* what its page recommends */
  int guidance;                        /* OrrGuidance */
  int decoder_format;                  /* OrrDtype */
  gint64 text_tokens;                  /* that the backbone reads */
  gint64 latent_channels;
  GPtrArray *text, *backbone, *decoder; /* of OrrBlock */
  double parameters;                    /* published, of the backbone; 0: not given */
} OrrGenerator;

extern const OrrFieldTable orr_generator_table;

/* Findings at @place: block sizes that do not go together, a count of parameters far from the
 * published one. */
void orr_generator_settle(const OrrGenerator *generator, OrrPlace place, OrrDiags *diags);
/* Findings at @place: @frames of a generator of single pictures, @text_tokens of one whose backbone
 * reads no text. 0: the generator's own. */
void orr_generator_check_size(const OrrGenerator *generator, gint64 frames, gint64 text_tokens,
                              OrrPlace place, OrrDiags *diags);
/* Weights of a list of blocks, without biases and norms. */
double orr_generator_parameters(const GPtrArray *blocks);
double orr_generator_block_parameters(const OrrBlock *block); /* of one of its `count` */
/* Vectors that modulate each of a stream's norms and its result: shift, scale, gate. */
static inline gint64 orr_generator_vectors(const OrrBlock *block) {
  return block->no_shift ? 2 : 3;
}
/* A double block as its text's stream sees it. */
OrrBlock orr_generator_text_block(const OrrBlock *block);

/* What one call of the backbone makes, and its share of it on one GPU. */
typedef struct {
  gint64 batch; /* pictures, both of a guided pair counted */
  gint64 height, width, frames, text_tokens;
  gint64 ulysses, ring, tp; /* attention by heads; by a ring over positions; matrices by columns */
  gint64 shards;            /* GPUs that share the decoder's positions */
  gint64 patches;           /* of the picture; a call computes one; 0: all of it */
  gint64 displaced;         /* GPUs with a patch each, who give it to the others; 0: one */
  OrrDtype dtype;           /* of the matrices */
  guint8 flash;             /* OrrFlash */
  gboolean compiled;        /* pointwise kernels are fused */
  gboolean fused_heads;     /* so are norms of heads and rotations, in eager software */
} OrrGeneratorShape;

/* An operator of a block, `times` times. A COMM of group cp-outer comes before the attention that
 * it overlaps: the attention is one of `ring` parts. */
typedef struct {
  OrrOperator op;
  double times;
  double dispatches; /* what the host does for all of them, in operators of the framework */
} OrrBlockOperator;

double orr_generator_positions(const OrrBlock *block, const OrrGeneratorShape *shape);
/* Appends the operators of one block (of OrrBlockOperator). */
void orr_generator_operators(const OrrBlock *block, const OrrGeneratorShape *shape,
                             GArray *operators);

/* Training (generator_backward.c). Appends the backward of the operators @forward, both of
 * OrrBlockOperator. */
void orr_generator_backward(const GArray *forward, GArray *backward);
/* The product that makes a block's scales and shifts of the picture's time and text: little work,
 * and a quarter of Flux's weights. FALSE: the block has none of its own. Serving leaves it out. */
gboolean orr_generator_modulation(const OrrBlock *block, const OrrGeneratorShape *shape,
                                  OrrOperator *ret_op);
