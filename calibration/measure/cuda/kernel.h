/*
 * kernel.h - the CUDA kernels of kernel.cu as plain C functions. Each launches on a stream and
 * returns cudaGetLastError() of it as an int. Element formats are OrrFormat's: fp32, fp16, bf16 (0,
 * 1, 2) unless said otherwise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef ORR_HIP
typedef struct ihipStream_t *OrrStream; /* hipStream_t */
#else
typedef struct CUstream_st *OrrStream; /* cudaStream_t */
#endif

/* @n elements of @out, of any OrrFormat, uniform in [-1, 1) by a hash of @seed and the index. */
int orr_kernel_fill(void *out, int format, size_t n, uint64_t seed, OrrStream stream);
/* The same constant; format e4m3 too. */
int orr_kernel_fill_constant(void *out, int format, size_t n, float value, OrrStream stream);
int orr_kernel_nothing(OrrStream stream);
/* Waits for @ns, by the GPU's own timer. */
int orr_kernel_hold(uint64_t ns, OrrStream stream);

/* The operations of family_memory.c. Tensors are [rows, width] row-major; weights and biases
 * [width]. */
int orr_kernel_copy(const void *in, void *out, int format, size_t rows, size_t width,
                    OrrStream stream);
int orr_kernel_bias_gelu(const void *in, const void *bias, void *out, int format, size_t rows,
                         size_t width, OrrStream stream);
/* @in: [rows, 2 width], gate and up side by side in each row. */
int orr_kernel_swiglu(const void *in, void *out, int format, size_t rows, size_t width,
                      OrrStream stream);
/* The same of bf16, quantised with a scale of 1: @format e4m3 (3) or e2m1 (4). Returns
 * cudaErrorNotSupported where the toolkit has no such format. */
int orr_kernel_swiglu_narrow(const void *in, void *out, int format, size_t rows, size_t width,
                             OrrStream stream);
/* @bias NULL: RMSNorm, else LayerNorm. */
int orr_kernel_norm(const void *in, const void *weight, const void *bias, void *out, int format,
                    size_t rows, size_t width, OrrStream stream);
/* Two kernels. @d_bias NULL: RMSNorm. @stats: 8 bytes per row, written. Adds to the sums
 * @d_weight and @d_bias. */
int orr_kernel_norm_backward(const void *in, const void *weight, const void *d_out, void *d_in,
                             void *stats, float *d_weight, float *d_bias, int format, size_t rows,
                             size_t width, OrrStream stream);
/* Replaces @logits by its gradient; @losses: one number per row. */
int orr_kernel_cross_entropy(void *logits, const int32_t *targets, float *losses, int format,
                             size_t rows, size_t width, OrrStream stream);
/* Row i of @out is row index[i] of @table: embedding and permute. */
int orr_kernel_gather(const void *table, const int32_t *index, void *out, int format, size_t rows,
                      size_t width, OrrStream stream);
/* Adam with decoupled weight decay 0.01, betas 0.9 and 0.95, eps 1e-8, rate 1e-4, of step @step. */
int orr_kernel_adam(const void *gradient, void *weight, float *master, float *m, float *v, int step,
                    int format, size_t rows, size_t width, OrrStream stream);
/* out[i] = sum over j < topk of in[index[i topk + j]] * scale[i topk + j]; index -1: not on this
 * rank. */
int orr_kernel_combine(const void *in, const int32_t *index, const float *scale, int topk,
                       void *out, int format, size_t rows, size_t width, OrrStream stream);

#ifdef __cplusplus
}
#endif
