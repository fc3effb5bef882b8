/*
 * cuda_runtime.h - HIP's kernel language, for kernel.cu in a HIP build.
 *
 * A wavefront of AMD's accelerators has 64 lanes; shuffles stay within groups of 32, as kernel.cu
 * has them.
 */
#ifndef ORR_HIP_CUDA_RUNTIME_H
#define ORR_HIP_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>
#include <hip/hip_runtime.h>

#define __shfl_xor_sync(mask_, value_, offset_) __shfl_xor(value_, offset_, 32)

#endif
