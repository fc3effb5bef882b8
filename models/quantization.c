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
 *   int4-experts  1/2 + 2 / 32     16-bit scales of groups of 32; experts alone, products in 16
 *                                  bits: Kimi K2 Thinking and K2.5 (their config.json,
 *                                  compressed-tensors)
 *   mxfp4         1/2 + 1 / 32     a scale of 8 bits for 32 (OCP Microscaling 1.0); experts alone,
 *                                  products in 16 bits: gpt-oss as vLLM runs it
 *   nvfp4         1/2 + 1 / 16     a scale of 8 bits for 16, products in fp4 (NVIDIA ModelOpt)
 *   nvfp4-mlp     the same         of feed-forwards and experts alone, attention's products in 16
 *                                  bits: NVIDIA's checkpoints of DeepSeek and Kimi (TensorRT-LLM
 *                                  tech blog 1, "Precision Strategy")
 */
#include "models/quantization.h"

const char *const orr_quantization_words[] = {
    [ORR_QUANTIZATION_NONE] = "none",
    [ORR_QUANTIZATION_AWQ] = "awq",
    [ORR_QUANTIZATION_FP8] = "fp8",
    [ORR_QUANTIZATION_FP8_BLOCK] = "fp8-block",
    [ORR_QUANTIZATION_FP8_WEIGHTS] = "fp8-weights",
    [ORR_QUANTIZATION_GPTQ] = "gptq",
    [ORR_QUANTIZATION_INT4_EXPERTS] = "int4-experts",
    [ORR_QUANTIZATION_INT8] = "int8",
    [ORR_QUANTIZATION_MXFP4] = "mxfp4",
    [ORR_QUANTIZATION_NVFP4] = "nvfp4",
    [ORR_QUANTIZATION_NVFP4_MLP] = "nvfp4-mlp",
    [ORR_N_QUANTIZATIONS] = NULL,
};

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
    [ORR_QUANTIZATION_INT4_EXPERTS] = {"W4A16 for experts in int4, groups of 32.", ORR_N_DTYPES,
                                       0.5 + 2.0 / 32, ORR_QUANTIZED_EXPERTS},
    [ORR_QUANTIZATION_INT8] = {"W8A8 in int8, a scale per channel.", ORR_INT8, 1,
                               ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_MXFP4] = {"W4A16 for experts, groups of 32.", ORR_N_DTYPES, 0.5 + 1.0 / 32,
                                ORR_QUANTIZED_EXPERTS},
    [ORR_QUANTIZATION_NVFP4] = {"W4A4 in fp4, groups of 16.", ORR_FP4, 0.5 + 1.0 / 16,
                                ORR_QUANTIZED_MIXER},
    [ORR_QUANTIZATION_NVFP4_MLP] = {"W4A4 in fp4 for feed-forwards and experts.", ORR_FP4,
                                    0.5 + 1.0 / 16, ORR_QUANTIZED_FEED},
};

const OrrQuantized *orr_quantized(OrrQuantization quantization) {
  g_return_val_if_fail((guint)quantization < ORR_N_QUANTIZATIONS, NULL);
  return quantization == ORR_QUANTIZATION_NONE ? NULL : &table[quantization];
}
