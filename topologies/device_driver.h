/*
 * device_driver.h - what drivers call the devices of topologies/devices/.
 */
#ifndef ORR_DEVICE_DRIVER_H
#define ORR_DEVICE_DRIVER_H

#include <glib.h>

G_BEGIN_DECLS

/* "h200-sxm" of "NVIDIA H200"; NULL: no shipped device is known to have that name. Static. */
const char *orr_device_driver_device(const char *driver_name);

/* Whether the table names @device, so that a driver name that stands for another is a mismatch. */
gboolean orr_device_driver_names(const char *device);

G_END_DECLS

#endif
