/*
 * cuda_power.c - board power, clocks and state through NVML, opened at run time. Types are declared
 * here after NVML's ABI (nvml.h of the driver; stable since version 2 of its calls).
 *
 * Power comes from the energy counter over a window (power_window.h). Without a counter it is the
 * mean of field 186, NVML_FI_DEV_POWER_INSTANT, if the driver has it (530 on), or else of
 * nvmlDeviceGetPowerUsage, which from Ampere on (except GA100) is the mean of the last second
 * (nvml.h).
 */
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

enum {
  POWER_INSTANT = 186,
  CLOCK_SM = 1,
  CLOCK_MEMORY = 2,
  TEMPERATURE_GPU = 0,
  INSUFFICIENT_SIZE = 7
};

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
  /* NULL if the driver has no such call. */
  int (*energy)(NvmlDevice device, unsigned long long *ret_millijoules);
  int (*temperature)(NvmlDevice device, int sensor, unsigned *ret_celsius);
  int (*throttle)(NvmlDevice device, unsigned long long *ret_reasons);
  int (*persistence)(NvmlDevice device, int *ret_is_on);
  int (*ecc)(NvmlDevice device, int *ret_is_on, int *ret_will_be_on);
  int (*processes)(NvmlDevice device, unsigned *n, void *ret_infos);
  NvmlDevice device;
};

static const OrrCudaSymbol symbols[] = {
    {"nvmlInit_v2", offsetof(OrrNvml, init), FALSE},
    {"nvmlShutdown", offsetof(OrrNvml, shutdown), FALSE},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(OrrNvml, by_bus), FALSE},
    {"nvmlSystemGetDriverVersion", offsetof(OrrNvml, driver), FALSE},
    {"nvmlDeviceGetPowerUsage", offsetof(OrrNvml, power), FALSE},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(OrrNvml, limit), FALSE},
    {"nvmlDeviceGetClockInfo", offsetof(OrrNvml, clock), FALSE},
    {"nvmlDeviceGetMaxClockInfo", offsetof(OrrNvml, max_clock), FALSE},
    {"nvmlDeviceGetFieldValues", offsetof(OrrNvml, fields), FALSE},
    {"nvmlDeviceGetTotalEnergyConsumption", offsetof(OrrNvml, energy), TRUE},
    {"nvmlDeviceGetTemperature", offsetof(OrrNvml, temperature), TRUE},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(OrrNvml, throttle), TRUE},
    {"nvmlDeviceGetPersistenceMode", offsetof(OrrNvml, persistence), TRUE},
    {"nvmlDeviceGetEccMode", offsetof(OrrNvml, ecc), TRUE},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(OrrNvml, processes), TRUE},
};

OrrNvml *orr_nvml_open(const char *pci_bus_id) {
  static const char *const files[] = {"libnvidia-ml.so.1", NULL};
  OrrNvml *nvml = g_new0(OrrNvml, 1);
  gboolean is_open = FALSE;
  if (orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), nvml, NULL) &&
      (is_open = nvml->init() == 0) && nvml->by_bus(pci_bus_id, &nvml->device) == 0)
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

/* --- Readings --- */

static double watts_now(const OrrNvml *nvml) {
  unsigned milliwatts = 0;
  NvmlField field = {.field = POWER_INSTANT};
  if (nvml->fields(nvml->device, 1, &field) == 0 && field.result == 0 && field.value.small > 0)
    return field.value.small / 1e3;
  return nvml->power(nvml->device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN;
}

static double energy_now(const OrrNvml *nvml) {
  unsigned long long millijoules = 0;
  return nvml->energy && nvml->energy(nvml->device, &millijoules) == 0 ? (double)millijoules / 1e3
                                                                       : NAN;
}

static double clock_now(const OrrNvml *nvml, int kind) {
  unsigned mhz = 0;
  return nvml->clock(nvml->device, kind, &mhz) == 0 ? mhz * 1e6 : NAN;
}

static gint64 reasons_now(const OrrNvml *nvml) {
  unsigned long long reasons = 0;
  return nvml->throttle && nvml->throttle(nvml->device, &reasons) == 0 ? (gint64)reasons : -1;
}

void orr_nvml_clocks(const OrrNvml *nvml, OrrTiming *timing) {
  if (!nvml) return;
  timing->sm_clock_hz = clock_now(nvml, CLOCK_SM);
  timing->memory_clock_hz = clock_now(nvml, CLOCK_MEMORY);
  timing->throttle = reasons_now(nvml);
}

static OrrPowerReading read_now(const OrrNvml *nvml, gint64 begin_us) {
  OrrPowerReading reading = {.energy_j = energy_now(nvml),
                             .watts = NAN,
                             .sm_clock_hz = clock_now(nvml, CLOCK_SM),
                             .memory_clock_hz = clock_now(nvml, CLOCK_MEMORY)};
  if (isnan(reading.energy_j)) reading.watts = watts_now(nvml);
  reading.at_s = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
  return reading;
}

void orr_nvml_read_into(const OrrNvml *nvml, gint64 begin_us, OrrPowerWindow *window) {
  if (!nvml) return;
  const OrrPowerReading reading = read_now(nvml, begin_us);
  orr_power_window_add(window, &reading);
}

/* Keeps two rounds in flight, so that the board is not idle while the host reads NVML. */
gboolean orr_nvml_watch(const OrrNvml *nvml, const OrrTimingRule *rule,
                        gboolean (*work)(gpointer user, GError **error),
                        gboolean (*wait)(gpointer user, GError **error), gpointer user,
                        OrrTiming *timing, GError **error) {
  const gint64 begin_us = g_get_monotonic_time();
  OrrPowerWindow window = orr_power_window_new(rule->settle_s, rule->watch_s);
  gboolean wants_more = nvml && rule->watch_s > 0;
  gint64 settled_us = 0, n_rounds = 0, reasons = 0;
  double memory_hz;
  if (!wants_more) return TRUE;
  while (wants_more) {
    const gint64 now_us = g_get_monotonic_time();
    if (!settled_us && (double)(now_us - begin_us) >= rule->settle_s * 1e6) settled_us = now_us;
    if (!work(user, error) || !work(user, error)) return FALSE;
    const OrrPowerReading reading = read_now(nvml, begin_us);
    wants_more = orr_power_window_add(&window, &reading);
    if (settled_us && reasons >= 0)
      reasons = reasons_now(nvml) < 0 ? -1 : reasons | reasons_now(nvml);
    if (!wait(user, error)) return FALSE;
    if (settled_us) n_rounds += 2;
  }
  orr_power_window_result(&window, &timing->watts, &timing->sustained_sm_clock_hz, &memory_hz);
  timing->sustained_throttle = n_rounds ? reasons : -1;
  if (n_rounds)
    timing->sustained_us =
        (double)(g_get_monotonic_time() - settled_us) / (double)(n_rounds * timing->calls);
  return TRUE;
}

/* --- State and limits --- */

static gint64 count_processes(const OrrNvml *nvml) {
  unsigned n = 0; /* queried for none, NVML returns their number */
  const int code = nvml->processes ? nvml->processes(nvml->device, &n, NULL) : -1;
  return code == 0 || code == INSUFFICIENT_SIZE ? (gint64)n : -1;
}

OrrBenchState orr_nvml_state(const OrrNvml *nvml) {
  OrrBenchState state = {NAN, NAN, NAN, NAN, -1, -1, -1, -1};
  unsigned celsius = 0;
  int is_on = 0, pending = 0;
  if (!nvml) return state;
  state.watts = watts_now(nvml);
  state.sm_clock_hz = clock_now(nvml, CLOCK_SM);
  state.memory_clock_hz = clock_now(nvml, CLOCK_MEMORY);
  state.n_processes = count_processes(nvml);
  if (nvml->temperature && nvml->temperature(nvml->device, TEMPERATURE_GPU, &celsius) == 0)
    state.celsius = celsius;
  state.throttle = reasons_now(nvml);
  if (nvml->persistence && nvml->persistence(nvml->device, &is_on) == 0) state.persistence = is_on;
  if (nvml->ecc && nvml->ecc(nvml->device, &is_on, &pending) == 0) state.ecc = is_on;
  return state;
}

double orr_nvml_power_limit(const OrrNvml *nvml) {
  unsigned milliwatts = 0;
  return nvml && nvml->limit(nvml->device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN;
}

static double max_clock(const OrrNvml *nvml, int kind) {
  unsigned mhz = 0;
  return nvml && nvml->max_clock(nvml->device, kind, &mhz) == 0 ? mhz * 1e6 : NAN;
}

double orr_nvml_max_sm_hz(const OrrNvml *nvml) { return max_clock(nvml, CLOCK_SM); }

double orr_nvml_max_memory_hz(const OrrNvml *nvml) { return max_clock(nvml, CLOCK_MEMORY); }
