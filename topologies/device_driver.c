/*
 * device_driver.c - names that nvidia-smi prints and NVML returns.
 */
#include "topologies/device_driver.h"

static const struct {
  const char *driver, *device;
} names[] = {
    {"NVIDIA A100-SXM4-40GB", "a100-40gb-sxm"},
    {"NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"},
    {"NVIDIA B200", "b200"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA L40S", "l40s"},
};

const char *orr_device_driver_device(const char *driver_name) {
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(names[i].driver, driver_name) == 0) return names[i].device;
  return NULL;
}

gboolean orr_device_driver_names(const char *device) {
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(names[i].device, device) == 0) return TRUE;
  return FALSE;
}
