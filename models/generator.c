/*
 * generator.c - the fields of a generator's document, their checks, and its weights.
 */
#include "models/generator.h"

const char *const orr_guidance_words[] = {"none", "batched", "sequential", NULL};
static const char *const block_words[] = {"transformer", "double", "single",
                                          "resnet",      "conv",   NULL};

#define SIZE(name_, member_, fallback_, least_, most_, sentence_)                                  \
  ORR_FIELD_INT(OrrBlock, name_, member_, fallback_, sentence_, .min = least_, .max = most_)
#define FLAG(name_, member_, sentence_) ORR_FIELD_BOOL(OrrBlock, name_, member_, "false", sentence_)

static const OrrFieldTable block_table = ORR_FIELDS(
    "block", "Equal blocks of a generator.", OrrBlock,
    ORR_FIELD_WORD(OrrBlock, "kind", kind, block_words, NULL, "What the block is."),
    SIZE("count", count, "1", 1, 1e4, "How many equal blocks follow one another."),
    SIZE("width", width, NULL, 1, 1e6, "Width of its stream, or channels that it gives."),
    SIZE("heads", heads, "0", 0, 1e5, "Attention heads; 0: it has no attention."),
    SIZE("kv-heads", kv_heads, "0", 0, 1e5, "Key and value heads; 0: as heads."),
    SIZE("head-dim", head_dim, "0", 0, 1e5, "Width of a head; 0: width / heads."),
    SIZE("ffn", ffn, "0", 0, 1e7, "Inner width of the feed-forward; 0: none."),
    FLAG("gated", gated, "Whether the feed-forward has a gate, a third matrix."),
    SIZE("cross", cross, "0", 0, 1e6,
         "Width of the text that cross-attention reads; 0: no cross-attention."),
    SIZE("text-width", text_width, "0", 0, 1e6,
         "Width of the text's stream in a double block, whose feed-forward is narrower in "
         "proportion; 0: the same as width."),
    SIZE("tokens", tokens, "0", 0, 1e7, "Tokens of text that it works on; 0: the picture."),
    FLAG("joint", joint, "Whether a transformer works on the text's tokens and the picture's."),
    FLAG("dual", dual, "Whether a double block has a second attention over the picture."),
    FLAG("modulated", modulated, "Whether time and text scale, shift and gate its streams."),
    FLAG("no-shift", no_shift, "Whether they scale and gate alone: a third of the vectors less."),
    FLAG("qk-norm", qk_norm, "Whether each head's query and key are normed."),
    FLAG("rope", rope, "Whether queries and keys are rotated."),
    SIZE("scale", scale, "1", 1, 1e4, "Pixels per position, on each side."),
    SIZE("every", every, "1", 1, 1e4, "Frames per position."),
    SIZE("in", in, "0", 0, 1e6, "Channels that a convolution reads; 0: as width."),
    SIZE("kernel", kernel, "3", 1, 64, "Taps of a convolution on each side."),
    SIZE("depth", depth, "1", 1, 64, "Taps of a convolution in time."));

#define PICTURE(name_, member_, fallback_, sentence_)                                              \
  ORR_FIELD_INT(OrrGenerator, name_, member_, fallback_, sentence_, .min = 1, .max = 1e6)
#define BLOCKS(name_, member_, fallback_, sentence_)                                               \
  ORR_FIELD_SECTIONS(OrrGenerator, name_, member_, &block_table, fallback_, sentence_)

const OrrFieldTable orr_generator_table = ORR_FIELDS(
    "generator", "A model that makes pictures or videos.", OrrGenerator,
    ORR_FIELD_TEXT(OrrGenerator, "name", name, NULL, "Name of the generator in results."),
    ORR_FIELD_TEXT(OrrGenerator, "source", source, NULL, "Source of the sizes."),
    PICTURE("height", height, "1024", "Pixels down, unless the workload gives another number."),
    PICTURE("width", width, "1024", "Pixels across, likewise."),
    PICTURE("frames", frames, "1", "Frames, likewise; 1: a picture."),
    PICTURE("steps", steps, NULL, "Steps of the sampler, likewise."),
    ORR_FIELD_WORD(
        OrrGenerator, "guidance", guidance, orr_guidance_words, "none",
        "Classifier-free guidance: none (one pass per step), batched (two pictures in one pass) "
        "or sequential (two passes)."),
    PICTURE("text-tokens", text_tokens, "1", "Tokens of text that the backbone reads."),
    PICTURE("latent-channels", latent_channels, "16", "Channels of the latent picture."),
    BLOCKS("text", text, "[]", "Text encoders, which run once."),
    BLOCKS("backbone", backbone, NULL, "What runs in every step."),
    BLOCKS("decoder", decoder, "[]", "The VAE's decoder, which runs once."),
    ORR_FIELD_WORD(OrrGenerator, "decoder-format", decoder_format, orr_dtype_names, "bf16",
                   "Number format of the decoder; fp32: its products are in tf32."),
    ORR_UNSIGNED_REAL(
        OrrGenerator, "parameters", parameters, ORR_UNIT_NONE, "0",
        "Published parameters of the backbone, against which its sizes are checked; 0: "
        "not given."));

/* Of one attention, from a stream of @width: queries, keys, values, the result. */
static double attention_weights(const OrrBlock *block, double from) {
  const double heads = (double)block->heads * block->head_dim;
  const double kv = (double)block->kv_heads * block->head_dim;
  return block->width * 2 * heads + from * 2 * kv;
}

static double feed_weights(const OrrBlock *block) {
  return (block->gated ? 3.0 : 2.0) * (double)block->width * block->ffn;
}

static double convolution_weights(const OrrBlock *block, double in) {
  return in * block->width * block->kernel * block->kernel * block->depth;
}

OrrBlock orr_generator_text_block(const OrrBlock *block) {
  OrrBlock text = *block;
  if (block->text_width == 0) return text;
  text.width = block->text_width;
  text.ffn = block->ffn * block->text_width / block->width;
  return text;
}

static double double_weights(const OrrBlock *block) {
  const OrrBlock text = orr_generator_text_block(block);
  const double w = (double)block->width, t = (double)text.width;
  const double attention = attention_weights(block, w);
  const double vectors = (double)orr_generator_vectors(block);
  return attention + feed_weights(block) + attention_weights(&text, t) + feed_weights(&text) +
         (block->dual ? attention + vectors * w * w : 0) +
         (block->modulated ? 2 * vectors * w * (w + t) : 0);
}

/* The modulation of a stream is a matrix from the picture's width to 6 vectors (9 with a second
 * attention, 3 where attention and feed-forward share it); without a shift to 4 (6, 2). */
double orr_generator_block_parameters(const OrrBlock *block) {
  const double w = (double)block->width, in = (double)(block->in ? block->in : block->width);
  const double attention = block->heads ? attention_weights(block, w) : 0;
  switch (block->kind) {
  case ORR_BLOCK_DOUBLE:
    return double_weights(block);
  case ORR_BLOCK_SINGLE:
    return attention + feed_weights(block) +
           (block->modulated ? (double)orr_generator_vectors(block) * w * w : 0);
  case ORR_BLOCK_RESNET:
    return convolution_weights(block, in) + convolution_weights(block, w) + (in != w ? in * w : 0);
  case ORR_BLOCK_CONV:
    return convolution_weights(block, in);
  default:
    return attention + feed_weights(block) +
           (block->cross ? attention_weights(block, (double)block->cross) : 0);
  }
}

double orr_generator_parameters(const GPtrArray *blocks) {
  double sum = 0;
  ORR_EACH_POINTER(const OrrBlock, block, blocks)
    sum += (double)block->count * orr_generator_block_parameters(block);
  return sum;
}

static void settle_block(OrrBlock *block, const char *list, guint i, OrrPlace place,
                         OrrDiags *diags) {
  const gboolean attends = block->kind <= ORR_BLOCK_SINGLE;
  if (attends && block->heads == 0)
    orr_diags_error(diags, place, "%s block %u (%s) has attention: give 'heads'", list, i + 1,
                    block_words[block->kind]);
  if (!attends && block->heads > 0)
    orr_diags_error(diags, place, "%s block %u (%s) has no attention: leave out 'heads'", list,
                    i + 1, block_words[block->kind]);
  if (block->heads == 0) return;
  if (block->head_dim == 0 && block->width % block->heads)
    orr_diags_error(diags, place,
                    "%s block %u: width %ld is not a multiple of heads %ld: give 'head-dim'", list,
                    i + 1, block->width, block->heads);
  if (block->head_dim == 0) block->head_dim = MAX(1, block->width / block->heads);
  if (block->kv_heads == 0) block->kv_heads = block->heads;
}

/* Published counts have embeddings, norms and biases too, and modulations that blocks share. */
#define COUNT_TOLERANCE 0.15

void orr_generator_settle(const OrrGenerator *generator, OrrPlace place, OrrDiags *diags) {
  const struct {
    const char *name;
    const GPtrArray *blocks;
  } lists[] = {{"text", generator->text},
               {"backbone", generator->backbone},
               {"decoder", generator->decoder}};
  for (guint l = 0; l < G_N_ELEMENTS(lists); l++)
    for (guint i = 0; i < lists[l].blocks->len; i++)
      settle_block(lists[l].blocks->pdata[i], lists[l].name, i, place, diags);
  if (generator->backbone->len == 0) orr_diags_error(diags, place, "the backbone has no blocks");
  const double count = orr_generator_parameters(generator->backbone);
  if (generator->parameters > 0 &&
      fabs(count - generator->parameters) > COUNT_TOLERANCE * generator->parameters)
    orr_diags_warning(diags, place,
                      "the backbone's blocks have %.4g parameters, but 'parameters' is %.4g", count,
                      generator->parameters);
}

/* Double and single blocks join the text to the picture. */
static gboolean reads_text(const OrrGenerator *generator) {
  ORR_EACH_POINTER(const OrrBlock, block, generator->backbone)
    if (block->cross > 0 || block->joint || block->kind == ORR_BLOCK_DOUBLE ||
        block->kind == ORR_BLOCK_SINGLE)
      return TRUE;
  return FALSE;
}

void orr_generator_check_size(const OrrGenerator *generator, gint64 frames, gint64 text_tokens,
                              OrrPlace place, OrrDiags *diags) {
  if (frames > 1 && generator->frames <= 1)
    orr_diags_error(diags, place, "frames is %ld, but %s makes single pictures", frames,
                    generator->name);
  if (text_tokens > 0 && !reads_text(generator))
    orr_diags_error(diags, place, "text-tokens is %ld, but the backbone of %s reads no text",
                    text_tokens, generator->name);
}
