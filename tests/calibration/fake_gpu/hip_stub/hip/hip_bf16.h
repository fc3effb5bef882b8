/* hip_bf16.h - declarations for HIP's brain floats, for checks by clang (hip_runtime.h). */
#pragma once
#include <hip/hip_runtime.h>
struct __hip_bfloat16 {
  unsigned short bits;
};
__device__ float __bfloat162float(__hip_bfloat16 x);
__device__ __hip_bfloat16 __float2bfloat16(float x);
