/*
 * fake_driver.c - libcuda on the fake machine, as far as the doctor asks.
 */
#include "tests/calibration/fake_gpu/fake_gpu.h"

enum { NOT_INITIALIZED = 3, INVALID_VALUE = 1, DMA_BUF_SUPPORTED = 124 };

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetAttribute(int *value, int what, int device);

static gboolean is_open;

int cuInit(unsigned flags) {
  is_open = flags == 0;
  return is_open ? 0 : INVALID_VALUE;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return is_open ? 0 : NOT_INITIALIZED;
}

int cuDeviceGetAttribute(int *value, int what, int device) {
  if (what != DMA_BUF_SUPPORTED || device >= fake_n_gpus()) return INVALID_VALUE;
  *value = !fake_faults()->no_dma_buf;
  return 0;
}
