/*
 * device_power.c - the fields of a device's power model.
 */
#include "topologies/device.h"

const OrrFieldTable orr_device_power_table = ORR_FIELDS(
    "power", "What an accelerator draws.", OrrDevicePower,
    ORR_COLUMN_TEXT(OrrDevicePower, "source", source, "Source of the numbers."),
    ORR_FIELD_REAL(OrrDevicePower, "idle", idle_w, ORR_UNIT_WATTS, "0 W",
                   "Power of a board on which nothing has run for some seconds; 0: unknown.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "static", static_w, ORR_UNIT_WATTS, "0 W",
                   "Power of a board whose job keeps clocks and voltage up, without the power that "
                   "kernels add: leakage, clock trees, memory refresh; 0: no power model.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "active", active_w, ORR_UNIT_WATTS, "0 W",
                   "Power that a running kernel adds whatever it computes.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "simt", simt_w, ORR_UNIT_WATTS, "0 W",
                   "Power that multiprocessors add, on top of active, while all of them run "
                   "instructions other than tensor products, as a sort does.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "tensor", tensor_w, ORR_UNIT_WATTS, "0 W",
                   "Power that the tensor cores add at the peak rate of their format and at full "
                   "clock; 0: unknown, and the board's limit slows no kernel.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "memory", memory_j_per_byte, ORR_UNIT_J_PER_BYTE, "0 pJ/B",
                   "Energy of a byte of device memory, read or written, up to the controllers; 0: "
                   "no power model.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "on-chip", on_chip_j_per_byte, ORR_UNIT_J_PER_BYTE, "0 pJ/B",
                   "Energy of such a byte between the controllers and the registers: caches, "
                   "crossbar, and the instructions that move it, at full clock.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "scale-up", scale_up_j_per_byte, ORR_UNIT_J_PER_BYTE, "0 pJ/B",
                   "Energy of a byte that leaves over NVLink, at both ends.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrDevicePower, "cap", cap_w, ORR_UNIT_WATTS, "0 W",
        "Cap that the operator sets on the board's power (nvidia-smi -pl); it needs static, "
        "tensor and memory. 0: none.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrDevicePower, "clock", clock, ORR_UNIT_FRACTION, "1",
                   "Clocks locked at this fraction of the full clock (nvidia-smi -lgc); 1: not "
                   "locked. The model holds down to half the clock.",
                   .min = 0.5, .max = 1),
    ORR_FIELD_REAL(OrrDevicePower, "voltage-floor", voltage_floor, ORR_UNIT_FRACTION, "0",
                   "Clock, as a fraction of the full one, below which the voltage no longer falls; "
                   "0: it falls with the clock all the way.",
                   .max = 1));

double orr_device_power_link_j(const OrrDevicePower *power, double bytes, double time_s) {
  if (!orr_device_power_is_known(power)) return 0;
  const double clock = power->clock > 0 ? power->clock : 1;
  const double voltage = orr_device_power_voltage(power, clock), square = voltage * voltage;
  return power->active_w * square * clock * time_s +
         (power->scale_up_j_per_byte + 2 * power->memory_j_per_byte +
          2 * power->on_chip_j_per_byte * square) *
             bytes;
}

double orr_device_power_limit_w(const OrrDevicePower *power, double tdp_watts) {
  if (!(power->cap_w > 0)) return tdp_watts;
  return tdp_watts > 0 ? fmin(power->cap_w, tdp_watts) : power->cap_w;
}

double orr_device_power_voltage(const OrrDevicePower *power, double clock) {
  return fmin(fmax(clock, power->voltage_floor), 1);
}

double orr_device_power_clock_at(const OrrDevicePower *power, double fraction) {
  const double lowest = power->voltage_floor;
  if (fraction >= lowest * lowest * lowest) return fmin(cbrt(fraction), 1);
  return fraction / (lowest * lowest);
}

double orr_device_power_static_at_w(const OrrDevicePower *power, double clock) {
  if (!(power->idle_w > 0 && clock > 0 && clock < 1)) return power->static_w;
  const double voltage = orr_device_power_voltage(power, clock);
  return power->idle_w + (power->static_w - power->idle_w) * clock * voltage * voltage;
}

double orr_device_power_static_w(const OrrDevicePower *power) {
  return orr_device_power_static_at_w(power, power->clock);
}

gboolean orr_device_power_is_known(const OrrDevicePower *power) {
  return power->static_w > 0 && power->tensor_w > 0 && power->memory_j_per_byte > 0;
}
