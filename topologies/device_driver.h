/*
 * device_driver.h - what drivers call the devices of topologies/devices/.
 */
#pragma once

#include "sim/base/ground.h"

/* "h200-sxm" of "NVIDIA H200"; NULL: no shipped device is known to have that name. Static. */
const char *orr_device_driver_device(const char *driver_name);

/* Whether the table names @device, so that a driver name that stands for another is a mismatch. */
gboolean orr_device_driver_names(const char *device);
