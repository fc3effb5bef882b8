/* hip_fp16.h - declarations for HIP's halves, for checks by clang (hip_runtime.h). */
#pragma once
#include <hip/hip_runtime.h>
struct __half {
  unsigned short bits;
};
__device__ float __half2float(__half x);
__device__ __half __float2half(float x);
