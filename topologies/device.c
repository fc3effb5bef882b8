/*
 * device.c - the field table of devices.
 */
#include "topologies/device.h"

static const char *const compute_partitions[] = {"spx", "dpx", "tpx", "qpx", "cpx", NULL};
static const char *const memory_partitions[] = {"nps1", "nps2", "nps4", "nps8", NULL};

static const OrrField fields[] = {
    ORR_FIELD_TEXT(OrrDevice, "name", name, NULL,
                   "The vendor's name in kebab-case; results use it."),
    ORR_FIELD_TEXT(OrrDevice, "architecture", architecture, NULL,
                   "The family, e.g. ampere, hopper, blackwell."),
    ORR_FIELD_TEXT(
        OrrDevice, "platform", platform, "cuda",
        "The software platform that programs it: cuda, rocm, cann, hpu, neuron or xla. Stacks "
        "name the platforms that they run on."),
    ORR_FIELD_TEXT(OrrDevice, "noun", noun, "GPU",
                   "The word for one device in summaries: GPU, chip, NPU, accelerator."),
    ORR_FIELD_WORD(OrrDevice, "compute-partition", compute_partition, compute_partitions, "spx",
                   "How the dies of a package appear to software (AMD): spx is one device. The "
                   "others, which make each die or group of dies a device, are refused."),
    ORR_FIELD_WORD(OrrDevice, "memory-partition", memory_partition, memory_partitions, "nps1",
                   "How addresses are spread over a package's memory (AMD): nps1 is over all of "
                   "it. The others are refused."),
    ORR_FIELD_INT(OrrDevice, "sparse-cores", sparse_cores, "0",
                  "Cores that look up, sum and update rows of tables next to the matrix units, and "
                  "exchange them (a TPU's SparseCores). 0: none.",
                  .flags = ORR_FIELD_UNSIGNED, .max = 1024),
    ORR_COLUMN_TEXT(OrrDevice, "profile", profile,
                    "The profile with the kernels measured on it; by default the one with the "
                    "device's own name."),
    ORR_COLUMN_TEXT(OrrDevice, "source", source, "Source of the numbers."),
    ORR_FIELD_INT(OrrDevice, "sms", sms, NULL,
                  "Streaming multiprocessors (or compute units) in use.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(
        OrrDevice, "matrix-unit", matrix_unit, "0",
        "Rows and columns of a systolic array (TPU): matrix products are padded to it. 0: none.",
        .flags = ORR_FIELD_UNSIGNED, .max = 4096),
    ORR_FIELD_REAL(OrrDevice, "memory", memory_bytes, ORR_UNIT_BYTES, NULL, "Device memory.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrDevice, "memory-bandwidth", memory_bytes_per_s, ORR_UNIT_BYTES_PER_S, NULL,
                   "Nominal bandwidth of device memory.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrDevice, "l2", l2_bytes, ORR_UNIT_BYTES, "0 B",
                   "Second-level cache; 0: unknown.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrDevice, "fp32", fp32_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
        "Peak dense FP32 rate; 0 if the device lacks the format, as for the rates below.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "tf32", tf32_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
                   "Peak dense TF32 rate on tensor cores.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "fp16", fp16_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
                   "Peak dense FP16 rate on tensor cores.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "bf16", bf16_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
                   "Peak dense BF16 rate on tensor cores.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "fp8", fp8_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
                   "Peak dense FP8 rate on tensor cores.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "fp4", fp4_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
                   "Peak dense FP4 rate on tensor cores.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "int8", int8_flops, ORR_UNIT_FLOP_PER_S, "0 FLOP/s",
                   "Peak dense INT8 rate on tensor cores, operations counted as FLOPs.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "scale-up-bandwidth", scale_up_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "0 B/s",
                   "NVLink or xGMI, one direction, all links of the device together; 0: none.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevice, "scale-up-efficiency", scale_up_efficiency, ORR_UNIT_FRACTION, "1",
                   "Fraction of scale-up-bandwidth that large NCCL messages reach without "
                   "in-network reduction: measured.",
                   .flags = ORR_FIELD_POSITIVE, .min = 1e-6, .max = 1),
    ORR_FIELD_INT(OrrDevice, "scale-up-links", scale_up_links, "0",
                  "Links of a mesh without a switch, one to each other GPU of the domain (xGMI): a "
                  "transfer to one GPU has one of them. 0: a switch gives it all of "
                  "scale-up-bandwidth.",
                  .flags = ORR_FIELD_UNSIGNED, .max = 1023),
    ORR_FIELD_REAL(OrrDevice, "host-link-bandwidth", host_link_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   NULL, "PCIe or C2C to the host, one direction.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrDevice, "tdp", tdp_watts, ORR_UNIT_WATTS, "0 W",
                   "Thermal design power; 0: unknown.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_SECTION(OrrDevice, "power", power, &orr_device_power_table, "{}",
                      "Power of the board; none: no power model."),
};

const OrrFieldTable orr_device_table = ORR_FIELD_TABLE(
    "device", "One accelerator, as its vendor's datasheet gives it.", OrrDevice, fields);

void orr_device_check(const OrrDevice *device, OrrPlace place, OrrDiags *diags) {
  const char *const words[] = {compute_partitions[device->compute_partition],
                               memory_partitions[device->memory_partition]};
  if (device->compute_partition == 0 && device->memory_partition == 0) return;
  orr_diags_error(diags, place,
                  "device %s in mode %s, %s: parts of a package as devices of their own are not "
                  "modelled (allowed: spx with nps1); for one part alone, describe it as a device "
                  "with its share of units, memory and bandwidth",
                  device->name ? device->name : "?", words[0], words[1]);
}

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
