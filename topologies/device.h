/*
 * device.h - one accelerator, as its vendor's datasheet gives it.
 *
 * Documents: topologies/devices/NAME.yaml (`schema: device/1`). Peak rates are dense (no sparsity);
 * 0 means that the device lacks the format. The device states its scale-up link (NVLink); the
 * cluster states how many devices the link joins.
 */
#ifndef ORR_DEVICE_H
#define ORR_DEVICE_H

#include "sim/base/dtype.h"
#include "sim/base/field.h"
#include "topologies/device_power.h"

G_BEGIN_DECLS

typedef struct {
  char *name;
  char *architecture; /* "ampere" */
  /* profile document with the kernels measured on it; NULL: the one of the device's own name */
  char *profile;
  char *source;
  gint64 sms;
  double memory_bytes;
  double memory_bytes_per_s;
  double l2_bytes;
  double fp32_flops, tf32_flops, fp16_flops, bf16_flops, fp8_flops, fp4_flops, int8_flops;
  double scale_up_bytes_per_s; /* NVLink, one direction, all links of the device */
  /* fraction of it that NCCL reaches with large messages: measured, see source */
  double scale_up_efficiency;
  double host_link_bytes_per_s; /* PCIe or C2C, one direction */
  double tdp_watts;             /* the board's power limit */
  OrrDevicePower power;
} OrrDevice;

extern const OrrFieldTable orr_device_table;

/* Peak dense rate in FLOP/s; 0 if the device lacks the format. */
double orr_device_peak_flops(const OrrDevice *device, OrrDtype dtype);

G_END_DECLS

#endif
