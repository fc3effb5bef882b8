/*
 * kernel.cu - simple kernels at memory bandwidth: 16-byte loads where rows allow them, one block
 * per row for reductions, accumulation in fp32. Frameworks run kernels of this kind; none is tuned
 * to a device.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#if !defined(ORR_HIP) && __has_include(<cuda_fp4.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* of its host functions */
#include <cuda_fp4.h>
#pragma GCC diagnostic pop
#define HAS_FP4 1
#endif
#include <cuda_runtime.h>

#include "calibration/measure/cuda/kernel.h"

namespace {

enum { BLOCK = 256 };

template <typename T> struct Pack { T at[16 / sizeof(T)]; }; /* 16 bytes */
template <typename T> constexpr int pack_size = 16 / sizeof(T);

__device__ float to_float(float x) { return x; }
__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T> __device__ T from_float(float x);
template <> __device__ float from_float<float>(float x) { return x; }
template <> __device__ __half from_float<__half>(float x) { return __float2half(x); }
template <> __device__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

template <typename T> __device__ Pack<T> load(const T *at) {
  union {
    uint4 word;
    Pack<T> pack;
  } both;
  both.word = *reinterpret_cast<const uint4 *>(at);
  return both.pack;
}

template <typename T> __device__ void store(T *at, const Pack<T> &pack) {
  union {
    Pack<T> pack;
    uint4 word;
  } both;
  both.pack = pack;
  *reinterpret_cast<uint4 *>(at) = both.word;
}

/* The sum over the block, returned to all its threads. */
__device__ float block_sum(float value) {
  __shared__ float parts[BLOCK / 32];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < BLOCK / 32; i++) sum += parts[i];
  return sum;
}

__device__ float block_max(float value) {
  __shared__ float parts[BLOCK / 32];
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float max = parts[0];
  for (int i = 1; i < BLOCK / 32; i++) max = fmaxf(max, parts[i]);
  return max;
}

/* --- Filling --- */

__device__ uint64_t mix(uint64_t x) { /* SplitMix64 (Steele, Lea, Flood 2014) */
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__device__ float uniform(uint64_t seed, size_t index) {
  return (float)(mix(seed ^ mix(index)) >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

template <typename T>
__global__ void fill(T *out, size_t n, uint64_t seed, float value, bool is_random) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = from_float<T>(is_random ? uniform(seed, i) : value);
}

template <typename T> __global__ void fill_narrow(T *out, size_t n, uint64_t seed) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = T(uniform(seed, i));
}

__global__ void fill_bytes(uint8_t *out, size_t n,
                           uint64_t seed) { /* every nibble is an e2m1 number */
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = (uint8_t)mix(seed ^ mix(i));
}

__global__ void nothing() {}

__device__ uint64_t timer_ns() {
  uint64_t ns;
#ifdef ORR_HIP
  ns = 10 * (uint64_t)wall_clock64(); /* at 100 MHz on gfx9 */
#else
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
#endif
  return ns;
}

__global__ void hold(uint64_t ns) {
  const uint64_t begin = timer_ns();
  while (timer_ns() - begin < ns) {
  }
}

/* --- Elementwise, 16 bytes a thread --- */

template <typename T> __global__ void copy(const T *in, T *out, size_t n_packs) {
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i < n_packs) store(out + i * pack_size<T>, load(in + i * pack_size<T>));
}

template <typename T>
__global__ void bias_gelu(const T *in, const T *bias, T *out, size_t n_packs, size_t row_packs) {
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n_packs) return;
  Pack<T> x = load(in + i * pack_size<T>), b = load(bias + i % row_packs * pack_size<T>);
  for (int j = 0; j < pack_size<T>; j++) {
    const float v = to_float(x.at[j]) + to_float(b.at[j]);
    x.at[j] = from_float<T>(0.5f * v * (1.0f + erff(v * 0.70710678f)));
  }
  store(out + i * pack_size<T>, x);
}

template <typename T>
__global__ void swiglu(const T *in, T *out, size_t n_packs, size_t row_packs) {
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n_packs) return;
  const size_t row = i / row_packs, column = i % row_packs;
  Pack<T> gate = load(in + (2 * row * row_packs + column) * pack_size<T>);
  const Pack<T> up = load(in + ((2 * row + 1) * row_packs + column) * pack_size<T>);
  for (int j = 0; j < pack_size<T>; j++) {
    const float g = to_float(gate.at[j]);
    gate.at[j] = from_float<T>(g / (1.0f + __expf(-g)) * to_float(up.at[j]));
  }
  store(out + i * pack_size<T>, gate);
}

/* Two results per thread. */
__device__ float2 swiglu_pair(const __nv_bfloat16 *in, size_t pair, size_t row_pairs) {
  const size_t row = pair / row_pairs, column = pair % row_pairs * 2;
  const __nv_bfloat16 *gate = in + 4 * row * row_pairs + column, *up = gate + 2 * row_pairs;
  const float g0 = to_float(gate[0]), g1 = to_float(gate[1]);
  return make_float2(g0 / (1.0f + __expf(-g0)) * to_float(up[0]),
                     g1 / (1.0f + __expf(-g1)) * to_float(up[1]));
}

__global__ void swiglu_e4m3(const __nv_bfloat16 *in, __nv_fp8x2_storage_t *out, size_t n_pairs,
                            size_t row_pairs) {
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i < n_pairs)
    out[i] = __nv_cvt_float2_to_fp8x2(swiglu_pair(in, i, row_pairs), __NV_SATFINITE, __NV_E4M3);
}

#ifdef HAS_FP4
__global__ void swiglu_e2m1(const __nv_bfloat16 *in, __nv_fp4x2_storage_t *out, size_t n_pairs,
                            size_t row_pairs) {
  const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i < n_pairs)
    out[i] = __nv_cvt_float2_to_fp4x2(swiglu_pair(in, i, row_pairs), __NV_E2M1, cudaRoundNearest);
}
#endif

template <typename T>
__global__ void adam(const T *gradient, T *weight, float *master, float *m, float *v, float first,
                     float second, size_t n) {
  const size_t step = (size_t)gridDim.x * BLOCK;
  for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < n; i += step) {
    const float g = to_float(gradient[i]);
    const float mi = m[i] = 0.9f * m[i] + 0.1f * g;
    const float vi = v[i] = 0.95f * v[i] + 0.05f * g * g;
    const float w =
        master[i] - 1e-4f * (mi / first / (sqrtf(vi / second) + 1e-8f) + 0.01f * master[i]);
    master[i] = w;
    weight[i] = from_float<T>(w);
  }
}

/* --- A block a row --- */

template <typename T>
__global__ void norm(const T *in, const T *weight, const T *bias, T *out, size_t width) {
  const T *x = in + blockIdx.x * width;
  float sum = 0, squares = 0;
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    const Pack<T> pack = load(x + i);
    for (int j = 0; j < pack_size<T>; j++)
      sum += to_float(pack.at[j]), squares += to_float(pack.at[j]) * to_float(pack.at[j]);
  }
  const float mean = bias ? block_sum(sum) / width : 0;
  const float r = rsqrtf(block_sum(squares) / width - mean * mean + 1e-5f);
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    Pack<T> pack = load(x + i);
    const Pack<T> w = load(weight + i), b = load((bias ? bias : weight) + i);
    for (int j = 0; j < pack_size<T>; j++)
      pack.at[j] = from_float<T>((to_float(pack.at[j]) - mean) * r * to_float(w.at[j]) +
                                 (bias ? to_float(b.at[j]) : 0));
    store(out + blockIdx.x * width + i, pack);
  }
}

/* d_in, and each row's mean and 1/sd for the weights' gradients. */
template <typename T>
__global__ void norm_backward(const T *in, const T *weight, const T *d_out, T *d_in, float2 *stats,
                              size_t width, bool is_layer) {
  const size_t row = blockIdx.x;
  const T *x = in + row * width, *dy = d_out + row * width;
  float sum = 0, squares = 0, g_sum = 0, gx_sum = 0;
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    const Pack<T> xs = load(x + i), dys = load(dy + i), ws = load(weight + i);
    for (int j = 0; j < pack_size<T>; j++) {
      const float xi = to_float(xs.at[j]), g = to_float(dys.at[j]) * to_float(ws.at[j]);
      sum += xi, squares += xi * xi, g_sum += g, gx_sum += g * xi;
    }
  }
  const float mean = is_layer ? block_sum(sum) / width : 0;
  const float r = rsqrtf(block_sum(squares) / width - mean * mean + 1e-5f);
  const float g_all = block_sum(g_sum) / width, g_mean = is_layer ? g_all : 0;
  const float gh_mean = (block_sum(gx_sum) / width - mean * g_all) * r;
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    Pack<T> xs = load(x + i);
    const Pack<T> dys = load(dy + i), ws = load(weight + i);
    for (int j = 0; j < pack_size<T>; j++) {
      const float h = (to_float(xs.at[j]) - mean) * r, g = to_float(dys.at[j]) * to_float(ws.at[j]);
      xs.at[j] = from_float<T>(r * (g - g_mean - h * gh_mean));
    }
    store(d_in + row * width + i, xs);
  }
  if (threadIdx.x == 0) stats[row] = make_float2(mean, r);
}

/* The weights' gradients: one thread per column; a block handles ROWS rows. */
enum { ROWS = 128 };
template <typename T>
__global__ void norm_weights(const T *in, const T *d_out, const float2 *stats, float *d_weight,
                             float *d_bias, size_t rows, size_t width) {
  const size_t column = (size_t)blockIdx.x * BLOCK + threadIdx.x, begin = (size_t)blockIdx.y * ROWS;
  if (column >= width) return;
  float w = 0, b = 0;
  for (size_t row = begin; row < begin + ROWS && row < rows; row++) {
    const float dy = to_float(d_out[row * width + column]);
    w += dy * (to_float(in[row * width + column]) - stats[row].x) * stats[row].y;
    b += dy;
  }
  atomicAdd(d_weight + column, w);
  if (d_bias) atomicAdd(d_bias + column, b);
}

template <typename T>
__global__ void cross_entropy(T *logits, const int32_t *targets, float *losses, size_t width) {
  T *x = logits + blockIdx.x * width;
  const int target = targets[blockIdx.x];
  const float wanted = to_float(x[target]);
  float max = -INFINITY,
        sum = 0; /* online softmax (Milakov, Gimelshein 2018): one pass over the logits */
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    const Pack<T> pack = load(x + i);
    for (int j = 0; j < pack_size<T>; j++) {
      const float value = to_float(pack.at[j]), higher = fmaxf(max, value);
      sum = sum * __expf(max - higher) + __expf(value - higher);
      max = higher;
    }
  }
  const float top = block_max(max);
  const float all = block_sum(max == -INFINITY ? 0 : sum * __expf(max - top));
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    Pack<T> pack = load(x + i);
    for (int j = 0; j < pack_size<T>; j++)
      pack.at[j] = from_float<T>(__expf(to_float(pack.at[j]) - top) / all -
                                 (i + j == (size_t)target ? 1.0f : 0.0f));
    store(x + i, pack);
  }
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(all) + top - wanted;
}

template <typename T>
__global__ void gather(const T *table, const int32_t *index, T *out, size_t width) {
  const T *row = table + (size_t)index[blockIdx.x] * width;
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>)
    store(out + blockIdx.x * width + i, load(row + i));
}

template <typename T>
__global__ void combine(const T *in, const int32_t *index, const float *scale, int topk, T *out,
                        size_t width) {
  for (size_t i = threadIdx.x * pack_size<T>; i < width; i += BLOCK * pack_size<T>) {
    float sums[pack_size<T>] = {0};
    for (int k = 0; k < topk; k++) {
      const int32_t row = index[blockIdx.x * topk + k];
      if (row < 0) continue;
      const Pack<T> pack = load(in + (size_t)row * width + i);
      for (int j = 0; j < pack_size<T>; j++)
        sums[j] += scale[blockIdx.x * topk + k] * to_float(pack.at[j]);
    }
    Pack<T> pack;
    for (int j = 0; j < pack_size<T>; j++) pack.at[j] = from_float<T>(sums[j]);
    store(out + blockIdx.x * width + i, pack);
  }
}

unsigned blocks_for(size_t n) { return (unsigned)((n + BLOCK - 1) / BLOCK); }

} // namespace

/* Calls a template for the element type that @format names. */
#define FOR_FORMAT(call)                                                                           \
  do {                                                                                             \
    if (format == 0) {                                                                             \
      typedef float T;                                                                             \
      call;                                                                                        \
    } else if (format == 1) {                                                                      \
      typedef __half T;                                                                            \
      call;                                                                                        \
    } else {                                                                                       \
      typedef __nv_bfloat16 T;                                                                     \
      call;                                                                                        \
    }                                                                                              \
    return (int)cudaGetLastError();                                                                \
  } while (0)

extern "C" {

int orr_kernel_fill(void *out, int format, size_t n, uint64_t seed, OrrStream stream) {
  if (format == 3)
    fill_narrow<<<4096, BLOCK, 0, stream>>>((__nv_fp8_e4m3 *)out, n, seed);
  else if (format == 5)
    fill_narrow<<<4096, BLOCK, 0, stream>>>((__nv_fp8_e5m2 *)out, n, seed);
  else if (format == 4)
    fill_bytes<<<4096, BLOCK, 0, stream>>>((uint8_t *)out, (n + 1) / 2, seed);
  else
    FOR_FORMAT((fill<T><<<4096, BLOCK, 0, stream>>>((T *)out, n, seed, 0.0f, true)));
  return (int)cudaGetLastError();
}

int orr_kernel_fill_constant(void *out, int format, size_t n, float value, OrrStream stream) {
  if (format == 3) {
    const __nv_fp8_e4m3 narrow(value);
    return (int)cudaMemsetAsync(out, narrow.__x, n, stream);
  }
  FOR_FORMAT((fill<T><<<4096, BLOCK, 0, stream>>>((T *)out, n, 0, value, false)));
}

int orr_kernel_nothing(OrrStream stream) {
  nothing<<<1, 32, 0, stream>>>();
  return (int)cudaGetLastError();
}

int orr_kernel_hold(uint64_t ns, OrrStream stream) {
  hold<<<1, 1, 0, stream>>>(ns);
  return (int)cudaGetLastError();
}

int orr_kernel_copy(const void *in, void *out, int format, size_t rows, size_t width,
                    OrrStream stream) {
  FOR_FORMAT((copy<T><<<blocks_for(rows * width / pack_size<T>), BLOCK, 0, stream>>>(
      (const T *)in, (T *)out, rows * width / pack_size<T>)));
}

int orr_kernel_bias_gelu(const void *in, const void *bias, void *out, int format, size_t rows,
                         size_t width, OrrStream stream) {
  FOR_FORMAT((bias_gelu<T><<<blocks_for(rows * width / pack_size<T>), BLOCK, 0, stream>>>(
      (const T *)in, (const T *)bias, (T *)out, rows * width / pack_size<T>,
      width / pack_size<T>)));
}

int orr_kernel_swiglu(const void *in, void *out, int format, size_t rows, size_t width,
                      OrrStream stream) {
  FOR_FORMAT((swiglu<T><<<blocks_for(rows * width / pack_size<T>), BLOCK, 0, stream>>>(
      (const T *)in, (T *)out, rows * width / pack_size<T>, width / pack_size<T>)));
}

int orr_kernel_swiglu_narrow(const void *in, void *out, int format, size_t rows, size_t width,
                             OrrStream stream) {
  const size_t n = rows * width / 2;
  const unsigned blocks = blocks_for(n);
  if (format == 3)
    swiglu_e4m3<<<blocks, BLOCK, 0, stream>>>((const __nv_bfloat16 *)in,
                                              (__nv_fp8x2_storage_t *)out, n, width / 2);
  else
#ifdef HAS_FP4
    swiglu_e2m1<<<blocks, BLOCK, 0, stream>>>((const __nv_bfloat16 *)in,
                                              (__nv_fp4x2_storage_t *)out, n, width / 2);
#else
    return (int)cudaErrorNotSupported;
#endif
  return (int)cudaGetLastError();
}

int orr_kernel_norm(const void *in, const void *weight, const void *bias, void *out, int format,
                    size_t rows, size_t width, OrrStream stream) {
  FOR_FORMAT((norm<T><<<(unsigned)rows, BLOCK, 0, stream>>>((const T *)in, (const T *)weight,
                                                            (const T *)bias, (T *)out, width)));
}

int orr_kernel_norm_backward(const void *in, const void *weight, const void *d_out, void *d_in,
                             void *stats, float *d_weight, float *d_bias, int format, size_t rows,
                             size_t width, OrrStream stream) {
  const dim3 grid(blocks_for(width), (unsigned)((rows + ROWS - 1) / ROWS));
  FOR_FORMAT(
      (norm_backward<T>
       <<<(unsigned)rows, BLOCK, 0, stream>>>((const T *)in, (const T *)weight, (const T *)d_out,
                                              (T *)d_in, (float2 *)stats, width, d_bias != nullptr),
       norm_weights<T><<<grid, BLOCK, 0, stream>>>(
           (const T *)in, (const T *)d_out, (const float2 *)stats, d_weight, d_bias, rows, width)));
}

int orr_kernel_cross_entropy(void *logits, const int32_t *targets, float *losses, int format,
                             size_t rows, size_t width, OrrStream stream) {
  FOR_FORMAT((cross_entropy<T>
              <<<(unsigned)rows, BLOCK, 0, stream>>>((T *)logits, targets, losses, width)));
}

int orr_kernel_gather(const void *table, const int32_t *index, void *out, int format, size_t rows,
                      size_t width, OrrStream stream) {
  FOR_FORMAT(
      (gather<T><<<(unsigned)rows, BLOCK, 0, stream>>>((const T *)table, index, (T *)out, width)));
}

int orr_kernel_adam(const void *gradient, void *weight, float *master, float *m, float *v, int step,
                    int format, size_t rows, size_t width, OrrStream stream) {
  const float first = 1.0f - powf(0.9f, (float)step), second = 1.0f - powf(0.95f, (float)step);
  const size_t n = rows * width;
  const unsigned blocks = blocks_for(n) < 65536 ? blocks_for(n) : 65536;
  FOR_FORMAT((adam<T><<<blocks, BLOCK, 0, stream>>>((const T *)gradient, (T *)weight, master, m, v,
                                                    first, second, n)));
}

int orr_kernel_combine(const void *in, const int32_t *index, const float *scale, int topk,
                       void *out, int format, size_t rows, size_t width, OrrStream stream) {
  FOR_FORMAT((combine<T><<<(unsigned)rows, BLOCK, 0, stream>>>((const T *)in, index, scale, topk,
                                                               (T *)out, width)));
}
}
