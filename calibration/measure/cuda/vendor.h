/*
 * vendor.h - what differs between CUDA and HIP in the layer of real GPUs, beyond the names that
 * calibration/measure/hip maps. ORR_HIP is defined in a HIP build.
 *
 *                      CUDA                          HIP
 *   grouped products   cublasGemmGroupedBatchedEx    one product for each expert
 *   fp8 sums           fast or exact, as set         the library's
 *   mxfp8, nvfp4       cuBLAS 12.8 on                not measured
 *   fp8                e4m3 and e5m2 of OCP          the same: from gfx950 on, since older devices
 *                                                    have other numbers (FNUZ)
 *   attention          cuDNN                         not measured
 *   power, clocks      NVML                          not read
 */
#pragma once

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#ifdef ORR_HIP

#define ORR_VENDOR_NAMES                                                                           \
  { "HIP", "hipBLASLt", "cuDNN", "RCCL", FALSE }
#define ORR_VENDOR_MAKER "AMD"
#define ORR_VENDOR_LIBRARIES "/opt/rocm/lib"
#define ORR_VENDOR_SETS_SUMS 0 /* whether fp8 products accumulate as we say (accumulation.h) */
#define ORR_VENDOR_TOOL "rocm-smi"
#define ORR_VENDOR_CCL_FILES "librccl.so.1", NULL
#define ORR_VENDOR_BLAS_FILES "libhipblaslt.so.1", "libhipblaslt.so.0", NULL

/* 1000 times the major and 10 times the minor number, as CUDA counts; HIP: 10^7 and 10^5. */
static inline int orr_vendor_release(int version) {
  return version / 10000000 * 1000 + version % 10000000 / 100000 * 10;
}

/* 0x942 of "gfx942:sramecc+:xnack-". */
static inline int orr_vendor_architecture(const struct cudaDeviceProp *properties) {
  const char *name = properties->gcnArchName;
  return strncmp(name, "gfx", 3) == 0 ? (int)strtol(name + 3, NULL, 16) : 0;
}

#else

#define ORR_VENDOR_NAMES                                                                           \
  { "CUDA", "cuBLASLt", "cuDNN", "NCCL", TRUE }
#define ORR_VENDOR_MAKER "NVIDIA"
#define ORR_VENDOR_LIBRARIES ORR_CUDA_LIBRARIES
#define ORR_VENDOR_SETS_SUMS 1
#define ORR_VENDOR_TOOL "nvidia-smi"
#define ORR_VENDOR_CCL_FILES "libnccl.so.2", NULL
#define ORR_VENDOR_BLAS_FILES "libcublasLt.so." G_STRINGIFY(CUBLAS_VER_MAJOR), NULL

static inline int orr_vendor_release(int version) { return version; }

static inline int orr_vendor_architecture(const struct cudaDeviceProp *properties) {
  return 10 * properties->major + properties->minor;
}

#endif
