/* cuda_fp8.h - HIP's 8-bit floats (OCP's, ROCm 6.3 on) behind CUDA's names, for kernel.cu. */
#include <hip/hip_fp8.h>
#define __NV_E4M3 __HIP_E4M3
#define __NV_SATFINITE __HIP_SATFINITE
#define __nv_cvt_float2_to_fp8x2 __hip_cvt_float2_to_fp8x2
#define __nv_fp8_e4m3 __hip_fp8_e4m3
#define __nv_fp8_e5m2 __hip_fp8_e5m2
#define __nv_fp8x2_storage_t __hip_fp8x2_storage_t
