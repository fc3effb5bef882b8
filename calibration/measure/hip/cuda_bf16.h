/* cuda_bf16.h - HIP's brain floats behind CUDA's names, for kernel.cu in a HIP build. */
#include <hip/hip_bf16.h>
#define __nv_bfloat16 __hip_bfloat16
