/*
 * hip_runtime.h - as much of HIP's kernel language as kernel.cu needs, for clang to check its HIP
 * build without ROCm (tests/calibration/test_hip_kernels.sh). Nothing is compiled to code.
 */
#ifndef HIP_STUB_HIP_RUNTIME_H
#define HIP_STUB_HIP_RUNTIME_H

#include <hip/hip_runtime_api.h>
#pragma clang force_cuda_host_device begin
#include <math.h>
#pragma clang force_cuda_host_device end
#include <stddef.h>
#include <stdint.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
__device__ extern const dim3 threadIdx, blockIdx, blockDim, gridDim;

extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                                 hipStream_t stream = nullptr);
extern "C" hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                                      size_t shared, hipStream_t stream);

__host__ __device__ inline float2 make_float2(float x, float y) { return float2{x, y}; }
__device__ void __syncthreads();
__device__ float __shfl_xor(float value, int offset, int width);
__device__ long long wall_clock64();
__device__ float rsqrtf(float x);
__device__ float atomicAdd(float *at, float value);

#endif
