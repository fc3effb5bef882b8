/*
 * quantization.c - the table of the words of serving engines.
 *
 * Bytes per weight: its bits, and a scale (with a zero point) of s bytes per group of g weights, s
 * / g.
 *
 *   int8          1                a scale a channel: nothing beside thousands of weights
 *                                  (SmoothQuant, Xiao et al. 2022, arXiv 2211.10438;
 *                                  compressed-tensors w8a8)
 *   fp8           1                a scale a tensor or channel (llm-compressor FP8, FP8_DYNAMIC)
 *   fp8-block     1 + 4 / 128^2    a scale in fp32 for 128 x 128 (DeepSeek-V3, arXiv 2412.19437,
 *                                  section 3.3)
 *   fp8-weights   1                the same weights, products in 16 bits (vLLM's fallback where
 *                                  there is no fp8)
 *   gptq          1/2 + 2 / 128    16-bit scales of groups of 128, symmetric (Frantar et al. 2022,
 *                                  arXiv 2210.17323)
 *   awq           1/2 + 2.5 / 128  and 4-bit zero points (Lin et al. 2023, arXiv 2306.00978)
 *   int4-32       1/2 + 2 / 32     16-bit scales of groups of 32, symmetric (compressed-tensors,
 *                                  pack-quantized)
 *   int4-experts  1/2 + 2 / 32     16-bit scales of groups of 32; experts alone, products in 16
 *                                  bits: Kimi K2 Thinking and K2.5 (their config.json,
 *                                  compressed-tensors)
 *   int8-weights  1 + 2 / 128      16-bit scales of groups of 128, products in 16 bits (GPTQ of 8
 *                                  bits; compressed-tensors w8a16)
 *   mxfp4         1/2 + 1 / 32     a scale of 8 bits for 32 (OCP Microscaling 1.0); experts alone,
 *                                  products in 16 bits: gpt-oss as vLLM runs it
 *   mxfp4-w4a4    the same         of all layers, products in fp4: AMD's checkpoints by Quark
 *   nf4           1/2 + 1 / 64     and 4 / 16384: an 8-bit scale for 64, an fp32 one for 256 of
 *                                  those (bitsandbytes; Dettmers et al. 2023, arXiv 2305.14314);
 *                                  only a product of one row reads it: for more, matmul_4bit
 *                                  expands the matrix to 16 bits in memory and calls the product
 *                                  of those (bitsandbytes/autograd/_functions.py), and vLLM's
 *                                  BitsAndBytesMoEMethod expands all experts of a rank at every
 *                                  step; from memory, November 2026
 *   nvfp4         1/2 + 1 / 16     a scale of 8 bits for 16, products in fp4 (NVIDIA ModelOpt)
 *   nvfp4-mlp     the same         of feed-forwards and experts alone, attention's products in 16
 *                                  bits: NVIDIA's checkpoints of DeepSeek and Kimi (TensorRT-LLM
 *                                  tech blog 1, "Precision Strategy")
 *   nvfp4-weights the same         products in 16 bits (compressed-tensors nvfp4a16)
 */
#include "models/quantization.h"

/* By OrrQuantization. */
#define WORDS                                                                                      \
  "none", "awq", "fp8", "fp8-block", "fp8-weights", "gptq", "int4-32", "int4-experts", "int8",     \
      "int8-weights", "mxfp4", "mxfp4-w4a4", "nf4", "nvfp4", "nvfp4-mlp", "nvfp4-weights", NULL

const char *const orr_quantization_words[] = {WORDS};
static const char *const part_words[] = {"same", WORDS};
G_STATIC_ASSERT(G_N_ELEMENTS(orr_quantization_words) == ORR_N_QUANTIZATIONS + 1);

const char *const orr_quantized_part_words[] = {"attention", "feed-forward", "shared-experts",
                                                "experts", NULL};

static const OrrQuantized table[ORR_N_QUANTIZATIONS] = {
    [ORR_QUANTIZATION_AWQ] = {"W4A16, groups of 128 with zero points.", ORR_N_DTYPES,
                              0.5 + 2.5 / 128, ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_FP8] = {"W8A8 in fp8, a scale per tensor or channel.", ORR_FP8, 1,
                              ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_FP8_BLOCK] = {"W8A8 in fp8, a scale per 128 x 128.", ORR_FP8,
                                    1 + 4.0 / (128 * 128), ORR_QUANTIZED_MIXER, TRUE},
    [ORR_QUANTIZATION_FP8_WEIGHTS] = {"W8A16: fp8 weights, products in 16 bits.", ORR_N_DTYPES, 1,
                                      ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_GPTQ] = {"W4A16, groups of 128.", ORR_N_DTYPES, 0.5 + 2.0 / 128,
                               ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_INT4_32] = {"W4A16, groups of 32.", ORR_N_DTYPES, 0.5 + 2.0 / 32,
                                  ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_INT4_EXPERTS] = {"W4A16 for experts in int4, groups of 32.", ORR_N_DTYPES,
                                       0.5 + 2.0 / 32, ORR_QUANTIZED_EXPERTS},
    [ORR_QUANTIZATION_INT8] = {"W8A8 in int8, a scale per channel.", ORR_INT8, 1,
                               ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_INT8_WEIGHTS] = {"W8A16: int8 weights, products in 16 bits.", ORR_N_DTYPES,
                                       1 + 2.0 / 128, ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_MXFP4] = {"W4A16 for experts, groups of 32.", ORR_N_DTYPES, 0.5 + 1.0 / 32,
                                ORR_QUANTIZED_EXPERTS},
    [ORR_QUANTIZATION_MXFP4_W4A4] = {"W4A4 in mxfp4, groups of 32.", ORR_FP4, 0.5 + 1.0 / 32,
                                     ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_NF4] = {"W4A16 in NF4, a scale per 64 in 8 bits.", ORR_N_DTYPES,
                              0.5 + 1.0 / 64 + 4.0 / (64 * 256), ORR_QUANTIZED_MIXER,
                              .expands = TRUE},
    [ORR_QUANTIZATION_NVFP4] = {"W4A4 in fp4, groups of 16.", ORR_FP4, 0.5 + 1.0 / 16,
                                ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_NVFP4_MLP] = {"W4A4 in fp4 for feed-forwards and experts.", ORR_FP4,
                                    0.5 + 1.0 / 16, ORR_QUANTIZED_FEED},
    [ORR_QUANTIZATION_NVFP4_WEIGHTS] = {"W4A16: nvfp4 weights, products in 16 bits.", ORR_N_DTYPES,
                                        0.5 + 1.0 / 16, ORR_QUANTIZED_MIXER},
};

const OrrQuantized *orr_quantized(OrrQuantization quantization) {
  g_return_val_if_fail((guint)quantization < ORR_N_QUANTIZATIONS, NULL);
  return quantization == ORR_QUANTIZATION_NONE ? NULL : &table[quantization];
}

const char *orr_quantized_word(const OrrQuantized *quantized) {
  return orr_quantization_words[quantized - table];
}

const OrrQuantized *orr_quantized_part(OrrQuantization quantization,
                                       const OrrWeightFormats *formats, OrrQuantizedPart part) {
  const int own = formats->parts[part];
  if (own > 0) return orr_quantized((OrrQuantization)(own - 1));
  const OrrQuantized *all = orr_quantized(quantization);
  return all && part >= all->from ? all : NULL;
}

#define PART(key_, part_, sentence_)                                                               \
  ORR_FIELD_WORD(OrrWeightFormats, key_, parts[part_], part_words, "same", sentence_)
const OrrFieldTable orr_weight_formats_table = ORR_FIELDS(
    "weight-formats", "Parts whose weights have another format than the others.", OrrWeightFormats,
    PART("attention", ORR_QUANTIZED_MIXER,
         "Format of attention's projections, and of layers with a state; same: as quantization "
         "says; none: 16 bits."),
    PART("feed-forward", ORR_QUANTIZED_FEED, "Format of the feed-forwards of dense layers."),
    PART("shared-experts", ORR_QUANTIZED_SHARED, "Format of shared experts."),
    PART("experts", ORR_QUANTIZED_EXPERTS, "Format of routed experts."),
    ORR_FIELD_INT(OrrWeightFormats, "plain-first", plain_first, "0",
                  "Number of first layers whose weights all stay in 16 bits.", .min = 0,
                  .max = 100000),
    ORR_FIELD_INT(OrrWeightFormats, "plain-last", plain_last, "0",
                  "Number of last layers whose weights all stay in 16 bits.", .min = 0,
                  .max = 100000));

const OrrFieldTable orr_released_table = ORR_FIELDS(
    "released-checkpoint", "The format in which a model's checkpoint is published.", OrrReleased,
    ORR_COLUMN_TEXT(OrrReleased, "source", source, "Source of the format."),
    ORR_FIELD_WORD(OrrReleased, "quantization", quantization, orr_quantization_words, "none",
                   "How the layers' weights are stored and multiplied; none: in 16 bits."),
    ORR_FIELD_SECTION(OrrReleased, "weights", weights, &orr_weight_formats_table, "{}",
                      "Parts in another format."));
