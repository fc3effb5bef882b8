/*
 * fake_nvml.c - libnvidia-ml on the fake machine: power, clocks and state follow the load.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/calibration/fake_gpu/fake_gpu.h"

enum { CLOCK_SM = 1, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, READING_US = 15 };

typedef struct { /* nvmlProcessInfo_t */
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
} Process;

/* A handle is the device's number and 1. */
static int device_of(const void *handle) { return GPOINTER_TO_INT(handle) - 1; }

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
int nvmlSystemGetDriverVersion(char *text, unsigned length);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts);
int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned *milliwatts);
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *mhz);
int nvmlDeviceGetFieldValues(void *device, int n, void *fields);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetPersistenceMode(void *device, int *is_on);
int nvmlDeviceGetEccMode(void *device, int *is_on, int *will_be_on);
int nvmlDeviceGetMigMode(void *device, unsigned *is_on, unsigned *will_be_on);
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *is_on);
int nvmlDeviceGetApplicationsClock(void *device, int kind, unsigned *mhz);
int nvmlDeviceGetDefaultApplicationsClock(void *device, int kind, unsigned *mhz);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *infos);

int nvmlInit_v2(void) { return fake_faults()->no_nvml ? NOT_SUPPORTED : 0; }

int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  *device = GINT_TO_POINTER((int)strtol(bus + 5, NULL, 16));
  return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  snprintf(text, length, "580.00.01");
  return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
  *milliwatts = (unsigned)(fake_watts(device_of(device)) * 1e3);
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) {
  (void)device;
  *milliwatts = (unsigned)(FAKE_POWER_LIMIT_WATTS * 1e3);
  return 0;
}

int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned *milliwatts) {
  (void)device;
  *milliwatts = (unsigned)(FAKE_POWER_LIMIT_WATTS * 1e3) + (fake_faults()->low_cap ? 100000 : 0);
  return 0;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz) {
  fake_spend_us(READING_US);
  *mhz = kind == CLOCK_SM ? (unsigned)(FAKE_SM_HZ * fake_clock_ratio(device_of(device)) / 1e6 + 0.5)
                          : (unsigned)(FAKE_MEMORY_HZ / 1e6);
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *mhz) {
  (void)device;
  *mhz = (unsigned)((kind == CLOCK_SM ? FAKE_SM_HZ : FAKE_MEMORY_HZ) / 1e6);
  return 0;
}

int nvmlDeviceGetApplicationsClock(void *device, int kind, unsigned *mhz) {
  nvmlDeviceGetMaxClockInfo(device, kind, mhz);
  if (fake_faults()->old_clock && kind == CLOCK_SM) *mhz = 1200;
  return 0;
}

int nvmlDeviceGetDefaultApplicationsClock(void *device, int kind, unsigned *mhz) {
  return nvmlDeviceGetMaxClockInfo(device, kind, mhz);
}

int nvmlDeviceGetFieldValues(void *device, int n, void *fields) {
  (void)device, (void)n, (void)fields;
  return NOT_SUPPORTED;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  fake_spend_us(READING_US);
  *millijoules = (unsigned long long)(fake_energy_j(device_of(device)) * 1e3);
  return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
  (void)sensor;
  *celsius = (fake_faults()->hot ? 75 : 30) + (unsigned)(fake_watts(device_of(device)) / 20);
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
  *reasons = fake_throttle_reasons(device_of(device));
  return 0;
}

int nvmlDeviceGetPersistenceMode(void *device, int *is_on) {
  (void)device;
  *is_on = !fake_faults()->persistence_off;
  return 0;
}

int nvmlDeviceGetEccMode(void *device, int *is_on, int *will_be_on) {
  (void)device;
  *is_on = *will_be_on = !fake_faults()->ecc_off;
  return 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *is_on, unsigned *will_be_on) {
  (void)device;
  *is_on = *will_be_on = (unsigned)fake_faults()->mig;
  return 0;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *is_on) {
  (void)device;
  *is_on = link < 18 && !(fake_faults()->no_nvlink && link == 3);
  return link < 18 ? 0 : 2;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *infos) {
  Process *processes = infos;
  const unsigned room = *n;
  (void)device;
  *n = 1 + (unsigned)fake_faults()->other_processes;
  if (room < *n) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < *n; i++) processes[i] = (Process){.pid = (unsigned)getpid() + i};
  return 0;
}
