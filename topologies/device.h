/*
 * device.h - one accelerator, as its vendor's datasheet gives it.
 *
 * Documents: topologies/devices/NAME.yaml (`schema: device/1`). Peak rates are dense (no sparsity);
 * 0 means that the device lacks the format. The device states its scale-up link (NVLink); the
 * cluster states how many devices the link joins.
 */
#pragma once

#include "sim/base/dtype.h"
#include "sim/base/field.h"

/* What an accelerator draws, as constants of its board.
 *
 *   P = static + active b + simt s + tensor u p^3
 *       + sum over memory, chip and links of bytes/s * joules per byte
 *
 * b is the fraction of time in which a kernel is on the board, s that in which all multiprocessors
 * run instructions other than products, u the fraction of the format's peak rate that the tensor
 * cores reach at full clock, p the clock relative to it (cost_power.c, cost_energy.c of
 * calibration/cost). A board on which nothing has run for some seconds lowers its clocks and draws
 * `idle`.
 *
 * Dynamic power is clock times voltage squared. The voltage falls in proportion to the clock down
 * to `voltage-floor`, and stays there below it: p^3 above the floor f, p f^2 below. Locked clocks
 * lower the static power towards `idle` in the same way, which is what clock trees take.
 *
 * `cap` and `clock` are what an operator sets (nvidia-smi -pl and -lgc), not what the board is.
 *
 * Section `power` of a device document. A device without it has no power model: its energy is NULL
 * in results, and its power limit slows no kernel. */

typedef struct {
  char *source;
  double idle_w;             /* no kernel for seconds: clocks and voltage are low */
  double static_w;           /* a job is on it: clocks and voltage are high */
  double active_w;           /* a kernel runs, on top of static_w */
  double simt_w;             /* all multiprocessors busy without tensor cores, on top of active_w */
  double tensor_w;           /* tensor cores at a format's peak rate, on top of static_w */
  double memory_j_per_byte;  /* device memory, read or written */
  double on_chip_j_per_byte; /* of device memory, between its controllers and the registers */
  double scale_up_j_per_byte; /* sent over NVLink, both ends */
  double cap_w;               /* the operator's limit, below the board's own; 0: none */
  double clock;               /* clocks locked at this fraction of the full clock; 1: not locked */
  double voltage_floor;       /* the voltage does not fall below this clock, a fraction; 0: none */
} OrrDevicePower;

extern const OrrFieldTable orr_device_power_table;

/* Whether energy can be computed: the section states the static and the tensor power, and what a
 * byte of memory takes. */
gboolean orr_device_power_is_known(const OrrDevicePower *power);

/* The voltage at @clock, both as fractions of the full ones; its square is what a FLOP, or a byte
 * on the chip, takes of its energy at full clock. */
double orr_device_power_voltage(const OrrDevicePower *power, double clock);

/* The clock, a fraction of the full one, at which dynamic power is @fraction of that at full
 * clock. */
double orr_device_power_clock_at(const OrrDevicePower *power, double fraction);

/* The static power at @clock, a fraction of the full one; and at the locked clock. */
double orr_device_power_static_at_w(const OrrDevicePower *power, double clock);
double orr_device_power_static_w(const OrrDevicePower *power);

/* What a collective's kernel takes on top of static power, for @bytes sent in @time_s: each byte is
 * read from device memory and written by the peer. 0 without a power model. */
double orr_device_power_link_j(const OrrDevicePower *power, double bytes, double time_s);

/* The limit in force: the lower of the cap and the board's own @tdp_watts; 0: none is known. */
double orr_device_power_limit_w(const OrrDevicePower *power, double tdp_watts);

typedef struct {
  char *name;
  char *architecture; /* "ampere" */
  char *platform;     /* "cuda": the stacks that run on it name it (workloads/stack.h) */
  char *noun;         /* what texts call one: "GPU", "chip", "NPU" */
  /* profile document with the kernels measured on it; NULL: the one of the device's own name */
  char *profile;
  char *source;
  gint64 sms;
  int compute_partition, memory_partition; /* of a device of several dies; 0: one device */
  gint64 sparse_cores; /* that read tables of vectors next to the matrix units (TPU); 0: none */
  gint64 matrix_unit;  /* rows and columns of a systolic array; 0: tensor cores of SMs */
  double memory_bytes;
  double memory_bytes_per_s;
  double l2_bytes;
  double fp32_flops, tf32_flops, fp16_flops, bf16_flops, fp8_flops, fp4_flops, int8_flops;
  double scale_up_bytes_per_s; /* NVLink or xGMI, one direction, all links of the device */
  /* fraction of it that NCCL reaches with large messages: measured, see source */
  double scale_up_efficiency;
  gint64 scale_up_links;        /* of a mesh, one to each other GPU; 0: switched */
  double host_link_bytes_per_s; /* PCIe or C2C, one direction */
  double tdp_watts;             /* the board's power limit */
  OrrDevicePower power;
} OrrDevice;

extern const OrrFieldTable orr_device_table;

/* Refuses modes in which the software sees one die, or one part of the memory, as a device. */
void orr_device_check(const OrrDevice *device, OrrPlace place, OrrDiags *diags);

/* Peak dense rate in FLOP/s; 0 if the device lacks the format. */
double orr_device_peak_flops(const OrrDevice *device, OrrDtype dtype);
