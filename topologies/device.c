/*
 * device.c - the field table of devices.
 */
#include "topologies/device.h"

#define RATE(member_, name_, sentence_)                                                            \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrDevice, member_),               \
    .unit = ORR_UNIT_FLOP_PER_S, .fallback = "0 FLOP/s", .flags = ORR_FIELD_UNSIGNED,              \
    .sentence = (sentence_)                                                                        \
  }

static const OrrField fields[] = {
    {.name = "name",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrDevice, name),
     .sentence = "The vendor's name in kebab-case; results use it."},
    {.name = "architecture",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrDevice, architecture),
     .sentence = "The family, e.g. ampere, hopper, blackwell."},
    {.name = "profile",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrDevice, profile),
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "The profile with the kernels measured on it; by default the one with the "
                 "device's own name."},
    {.name = "source",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrDevice, source),
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "Source of the numbers."},
    {.name = "sms",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrDevice, sms),
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Streaming multiprocessors (or compute units) in use."},
    {.name = "memory",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, memory_bytes),
     .unit = ORR_UNIT_BYTES,
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Device memory."},
    {.name = "memory-bandwidth",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, memory_bytes_per_s),
     .unit = ORR_UNIT_BYTES_PER_S,
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "Nominal bandwidth of device memory."},
    {.name = "l2",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, l2_bytes),
     .unit = ORR_UNIT_BYTES,
     .fallback = "0 B",
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "Second-level cache; 0: unknown."},
    RATE(fp32_flops, "fp32",
         "Peak dense FP32 rate; 0 if the device lacks the format, as for the rates below."),
    RATE(tf32_flops, "tf32", "Peak dense TF32 rate on tensor cores."),
    RATE(fp16_flops, "fp16", "Peak dense FP16 rate on tensor cores."),
    RATE(bf16_flops, "bf16", "Peak dense BF16 rate on tensor cores."),
    RATE(fp8_flops, "fp8", "Peak dense FP8 rate on tensor cores."),
    RATE(fp4_flops, "fp4", "Peak dense FP4 rate on tensor cores."),
    RATE(int8_flops, "int8", "Peak dense INT8 rate on tensor cores, operations counted as FLOPs."),
    {.name = "scale-up-bandwidth",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, scale_up_bytes_per_s),
     .unit = ORR_UNIT_BYTES_PER_S,
     .fallback = "0 B/s",
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "NVLink, one direction, all links of the device together; 0: no NVLink."},
    {.name = "scale-up-efficiency",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, scale_up_efficiency),
     .unit = ORR_UNIT_FRACTION,
     .fallback = "1",
     .flags = ORR_FIELD_POSITIVE,
     .min = 1e-6,
     .max = 1,
     .sentence = "Fraction of scale-up-bandwidth that large NCCL messages reach without in-network "
                 "reduction: measured."},
    {.name = "host-link-bandwidth",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, host_link_bytes_per_s),
     .unit = ORR_UNIT_BYTES_PER_S,
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "PCIe or C2C to the host, one direction."},
    {.name = "tdp",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDevice, tdp_watts),
     .unit = ORR_UNIT_WATTS,
     .fallback = "0 W",
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "Thermal design power; 0: unknown."},
};

const OrrFieldTable orr_device_table = ORR_FIELD_TABLE(
    "device", "One accelerator, as its vendor's datasheet gives it.", OrrDevice, fields);

double orr_device_peak_flops(const OrrDevice *device, OrrDtype dtype) {
  switch (dtype) {
  case ORR_FP32:
    return device->fp32_flops;
  case ORR_TF32:
    return device->tf32_flops;
  case ORR_FP16:
    return device->fp16_flops;
  case ORR_BF16:
    return device->bf16_flops;
  case ORR_FP8:
    return device->fp8_flops;
  case ORR_FP4:
    return device->fp4_flops;
  case ORR_INT8:
    return device->int8_flops;
  case ORR_N_DTYPES:
    break;
  }
  return 0;
}
