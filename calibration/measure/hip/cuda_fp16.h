/* cuda_fp16.h - HIP's halves, for kernel.cu in a HIP build. */
#include <hip/hip_fp16.h>
