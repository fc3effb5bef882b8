/*
 * cuda_power.c - board power and clocks through NVML, opened at run time. Types are declared here after NVML's ABI
 * (nvml.h of the driver; stable since version 2 of its calls).
 *
 * Power is field 186, NVML_FI_DEV_POWER_INSTANT, where the driver has it (530 on); else nvmlDeviceGetPowerUsage, which
 * from Ampere on is the mean of the last second and so lags behind a burst of a tenth of one.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/cuda/cuda_private.h"

typedef struct nvmlDevice_st *NvmlDevice;

typedef struct { /* nvmlFieldValue_t */
  unsigned field, scope;
  long long timestamp, latency_us;
  int value_type, result;
  union {
    double number;
    unsigned small;
    unsigned long long large;
  } value;
} NvmlField;

enum { POWER_INSTANT = 186, CLOCK_SM = 1, CLOCK_MEMORY = 2 };

struct OrrNvml {
  int (*init)(void);
  int (*shutdown)(void);
  int (*by_bus)(const char *bus, NvmlDevice *ret_device);
  int (*driver)(char *ret_text, unsigned length);
  int (*power)(NvmlDevice device, unsigned *ret_milliwatts);
  int (*limit)(NvmlDevice device, unsigned *ret_milliwatts);
  int (*clock)(NvmlDevice device, int kind, unsigned *ret_mhz);
  int (*max_clock)(NvmlDevice device, int kind, unsigned *ret_mhz);
  int (*fields)(NvmlDevice device, int n, NvmlField *fields);
  NvmlDevice device;
};

static const OrrCudaSymbol symbols[] = {
    {"nvmlInit_v2", offsetof(OrrNvml, init)},
    {"nvmlShutdown", offsetof(OrrNvml, shutdown)},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(OrrNvml, by_bus)},
    {"nvmlSystemGetDriverVersion", offsetof(OrrNvml, driver)},
    {"nvmlDeviceGetPowerUsage", offsetof(OrrNvml, power)},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(OrrNvml, limit)},
    {"nvmlDeviceGetClockInfo", offsetof(OrrNvml, clock)},
    {"nvmlDeviceGetMaxClockInfo", offsetof(OrrNvml, max_clock)},
    {"nvmlDeviceGetFieldValues", offsetof(OrrNvml, fields)},
};

OrrNvml *orr_nvml_open(const char *pci_bus_id) {
  static const char *const files[] = {"libnvidia-ml.so.1", NULL};
  OrrNvml *nvml = g_new0(OrrNvml, 1);
  gboolean is_open = FALSE;
  if (orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), nvml, NULL) && (is_open = nvml->init() == 0) &&
      nvml->by_bus(pci_bus_id, &nvml->device) == 0)
    return nvml;
  if (is_open) nvml->shutdown();
  g_free(nvml);
  return NULL;
}

void orr_nvml_free(OrrNvml *nvml) {
  if (!nvml) return;
  nvml->shutdown();
  g_free(nvml);
}

char *orr_nvml_driver(const OrrNvml *nvml) {
  char text[96] = "";
  return nvml && nvml->driver(text, sizeof text) == 0 ? g_strdup(text) : NULL;
}

static double watts_now(const OrrNvml *nvml) {
  unsigned milliwatts = 0;
  NvmlField field = {.field = POWER_INSTANT};
  if (nvml->fields(nvml->device, 1, &field) == 0 && field.result == 0 && field.value.small > 0)
    return field.value.small / 1e3;
  return nvml->power(nvml->device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN;
}

static double clock_now(const OrrNvml *nvml, int kind) {
  unsigned mhz = 0;
  return nvml->clock(nvml->device, kind, &mhz) == 0 ? mhz * 1e6 : NAN;
}

void orr_nvml_sample(const OrrNvml *nvml, double *ret_watts, double *ret_sm_hz, double *ret_memory_hz) {
  *ret_watts = nvml ? watts_now(nvml) : NAN;
  *ret_sm_hz = nvml ? clock_now(nvml, CLOCK_SM) : NAN;
  *ret_memory_hz = nvml ? clock_now(nvml, CLOCK_MEMORY) : NAN;
}

gboolean orr_nvml_sample_under(const OrrNvml *nvml, gboolean (*work)(gpointer user, GError **error),
                               gboolean (*wait)(gpointer user, GError **error), gpointer user, OrrTiming *timing,
                               GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)(ORR_POWER_SETTLES_S * G_USEC_PER_SEC);
  gboolean is_settled;
  timing->watts = timing->sm_clock_hz = timing->memory_clock_hz = NAN;
  if (!nvml) return TRUE;
  do {
    is_settled = g_get_monotonic_time() >= until_us;
    if (!work(user, error)) return FALSE;
    if (is_settled) orr_nvml_sample(nvml, &timing->watts, &timing->sm_clock_hz, &timing->memory_clock_hz);
    if (!wait(user, error)) return FALSE;
  } while (!is_settled);
  return TRUE;
}

double orr_nvml_power_limit(const OrrNvml *nvml) {
  unsigned milliwatts = 0;
  return nvml && nvml->limit(nvml->device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN;
}

double orr_nvml_max_sm_hz(const OrrNvml *nvml) {
  unsigned mhz = 0;
  return nvml && nvml->max_clock(nvml->device, CLOCK_SM, &mhz) == 0 ? mhz * 1e6 : NAN;
}
