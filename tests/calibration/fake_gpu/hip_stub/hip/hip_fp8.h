/* hip_fp8.h - declarations for HIP's 8-bit floats, for checks by clang (hip_runtime.h). */
#pragma once
#include <hip/hip_runtime.h>
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned char __hip_fp8_storage_t;
enum __hip_saturation_t { __HIP_NOSAT, __HIP_SATFINITE };
enum __hip_fp8_interpretation_t { __HIP_E4M3, __HIP_E5M2 };
struct __hip_fp8_e4m3 {
  __hip_fp8_storage_t __x;
  __hip_fp8_e4m3() = default;
  __host__ __device__ explicit __hip_fp8_e4m3(float x);
};
struct __hip_fp8_e5m2 {
  __hip_fp8_storage_t __x;
  __hip_fp8_e5m2() = default;
  __host__ __device__ explicit __hip_fp8_e5m2(float x);
};
__host__ __device__ __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t s,
                                                                    __hip_fp8_interpretation_t i);
