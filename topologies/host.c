/*
 * host.c - the fields of a node's host, and the checks that span them.
 */
#include "topologies/cluster.h"

static const char *const path_words[] = {"auto", "apart", "switch", "bridge", NULL};

static const OrrField fields[] = {
    ORR_FIELD_TEXT(OrrHostShape, "cpu", cpu, "", "The host's CPU, for the reader."),
    ORR_FIELD_REAL(OrrHostShape, "cpu-speed", cpu_speed, ORR_UNIT_NONE, "1",
                   "Speed of one core of it, relative to a Xeon Platinum 8480C, on which the host "
                   "times of software stacks are stated.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrHostShape, "launch-speed", launch_speed, ORR_UNIT_NONE, "0",
                   "The same for calls into PyTorch and the driver that launch a kernel or a copy; "
                   "0: cpu-speed.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrHostShape, "cores", cores, "0",
                  "Cores of a node, all sockets together; 0: unknown.", .min = 0, .max = 1e5),
    ORR_FIELD_WORD(
        OrrHostShape, "network-path", network_path, path_words, "auto",
        "Where NICs hang, and so what network traffic crosses inside the node. auto: its NIC, and "
        "its GPU's PCIe (host-link-bandwidth) where the GPU's NICs together reach more than 80 % "
        "of its nominal rate, which then carries 80 %, or host-link-efficiency if that is more; "
        "apart: only its NIC, which is on the device or on a switch of its own; switch: always "
        "also its GPU's PCIe; bridge: its GPU's PCIe, the link of the PCIe switch above it, and "
        "the host bridge."),
    ORR_FIELD_INT(OrrHostShape, "gpus-per-switch", gpus_per_switch, "0",
                  "GPUs that share a PCIe switch and its link to the host; 0: no switches.",
                  .min = 0, .max = 1024),
    ORR_FIELD_REAL(OrrHostShape, "switch-bandwidth", switch_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "0 B/s",
                   "Nominal rate of the switch's link to the host; 0: the rate of a GPU's PCIe.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrHostShape, "gpus-per-bridge", gpus_per_bridge, "0",
                  "GPUs on one host bridge (a CPU socket); 0: all GPUs of the node.", .min = 0,
                  .max = 1024),
    ORR_FIELD_REAL(OrrHostShape, "bridge-bandwidth", bridge_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "0 B/s",
                   "Nominal rate of a host bridge for all its devices together, each direction; 0: "
                   "never a limit.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrHostShape, "socket-bandwidth", socket_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
        "Nominal rate between the host bridges of a node, each direction; 0: never a limit.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrHostShape, "slot-bandwidth", slot_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
        "Nominal rate of a NIC's own PCIe, shared by its ports, each direction; 0: never a limit.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrHostShape, "memory", memory_bytes, ORR_UNIT_BYTES, "0 B",
        "DRAM of a node, all sockets together; 0: unknown, and nothing can be offloaded to it.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrHostShape, "memory-bandwidth", memory_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
        "Nominal rate of all its memory channels, reads and writes together; 0: unknown.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrHostShape, "memory-efficiency", memory_efficiency, ORR_UNIT_FRACTION, "0.8",
                   "Fraction of it that streaming kernels on all cores reach together (STREAM's "
                   "triad: 0.81 to 0.85 on Azure's HBv3, 330 to 350 of 409.6 GB/s, 0.71 to 0.85 on "
                   "HBv4; Microsoft, 2026).",
                   .min = 1e-6, .max = 1),
};

const OrrFieldTable orr_host_shape_table = ORR_FIELD_TABLE(
    "host", "PCIe switches, host bridges and memory of a node.", OrrHostShape, fields);

double orr_host_launch_speed(const OrrHostShape *host) {
  return host->launch_speed > 0 ? host->launch_speed : host->cpu_speed;
}

static void check_divides(const char *key, gint64 n, gint64 gpus, OrrPlace place, OrrDiags *diags) {
  if (n > 0 && gpus % n != 0)
    orr_diags_error(diags, place, "%s is %ld: it must divide the %ld GPUs of a node", key, n, gpus);
}

void orr_host_shape_check(const OrrHostShape *host, gint64 gpus, OrrPlace place, OrrDiags *diags) {
  const gint64 switched = host->gpus_per_switch, bridged = host->gpus_per_bridge;
  check_divides("gpus-per-switch", switched, gpus, place, diags);
  check_divides("gpus-per-bridge", bridged, gpus, place, diags);
  if (switched > 0 && bridged > 0 && bridged % switched != 0)
    orr_diags_error(diags, place,
                    "gpus-per-bridge is %ld: it must be a multiple of the %ld GPUs of a switch",
                    bridged, switched);
  if (host->network_path == ORR_NETWORK_SWITCH && switched == 0)
    orr_diags_error(diags, place,
                    "network-path is switch, but the node has no PCIe switches: set "
                    "gpus-per-switch (or take bridge)");
  if (host->switch_bytes_per_s > 0 && switched == 0)
    orr_diags_error(diags, place,
                    "switch-bandwidth has no meaning without PCIe switches: set gpus-per-switch");
  if (host->socket_bytes_per_s > 0 && (bridged == 0 || bridged == gpus))
    orr_diags_error(diags, place,
                    "socket-bandwidth has no meaning with one host bridge: set gpus-per-bridge");
  if ((host->memory_bytes > 0) != (host->memory_bytes_per_s > 0))
    orr_diags_error(diags, place,
                    "host.memory is %g B and host.memory-bandwidth %g B/s: give both or neither",
                    host->memory_bytes, host->memory_bytes_per_s);
}
