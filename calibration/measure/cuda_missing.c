/*
 * cuda_missing.c - replaces cuda/ in an Orrery that was built without CUDA and ROCm.
 */
#include "calibration/measure/device_layer.h"

const OrrDeviceLayer *orr_device_layer_find(GError **error) {
  return orr_fault_null(
      error, ORR_FAULT_RESOURCE,
      "this Orrery was built without CUDA (%s), so it cannot measure GPUs. Install the CUDA "
      "toolkit (nvcc, cuBLAS), then: meson setup --reconfigure build -Dcuda=enabled && ninja -C "
      "build. For AMD's GPUs: ROCm and -Dhip=enabled",
      ORR_CUDA_MISSING);
}
