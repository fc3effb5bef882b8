/*
 * host.h - the links inside a node between GPUs, NICs and memory: PCIe switches and host bridges,
 * where they can limit transfers.
 *
 *             memory ------ memory               a bridge a CPU socket: what its devices move to
 *                                                and from it,
 *               |              |                 in and out
 *            bridge0 -socket- bridge1            UPI, xGMI
 *            /     \          /     \
 *        switch0  switch1   ...                  a switch's link to its bridge, up and down
 *        /  |  \                                 each GPU's own PCIe: node.host-link-bandwidth
 *     gpu0 gpu1 nic0                             a NIC's own slot, for all of its ports
 *
 * Rates are nominal, for one direction, and are multiplied by node.host-link-efficiency; 0 means
 * that the link never limits. Depending on network-path, a GPU's network traffic crosses these
 * links and shares them with copies between GPU and host (checkpoints, offload) and with traffic
 * between GPUs of the node that communicate over PCIe:
 *
 *   auto     NIC, and the GPU's PCIe where that is slower    the default: what NICs reach was
 *                                                            measured with all of the path, but a
 *                                                            GPU's link bounds what its NICs carry
 *   apart    NIC                                             NICs on the device itself, or on a
 *                                                            switch of its own (TPUs, Gaudi)
 *   switch   GPU's PCIe, NIC's slot, NIC                     NICs and GPUs on PCIe switches (DGX
 *                                                            A100, H100)
 *   bridge   GPU's PCIe, switch up, bridge, slot, NIC        NICs on the CPU (Grace's), or no
 *                                                            GPUDirect RDMA
 *
 * Example, a DGX A100: two GPUs and two NICs on each of 4 PCIe switches, Gen4 x16, two switches per
 * socket (NVIDIA DGX A100 user guide, 2020, system topology):
 *
 *   node: {host: {network-path: switch, gpus-per-switch: 2, gpus-per-bridge: 4}}
 *
 * The memory of all sockets counts as one: data that is offloaded to it and data that CPU cores
 * stream through it share its rate.
 *
 *   node: {host: {memory: 2 TB, memory-bandwidth: 409.6 GB/s}}
 *
 * What software does on one core takes its time on a Xeon Platinum 8480C (DGX H100), divided by
 * cpu-speed. Grace: 13.48 us there for the forward of torch.nn.Linear, 37.08 us on a GB200 and
 * 33.17 us on a GH200 (NVIDIA/TransformerEngine, issue 2053, August 2025): 0.36 and 0.41.
 *
 *   node: {host: {cpu: Grace, cpu-speed: 0.36}}
 */
#ifndef ORR_HOST_H
#define ORR_HOST_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef enum {
  ORR_NETWORK_AUTO,
  ORR_NETWORK_APART,
  ORR_NETWORK_SWITCH,
  ORR_NETWORK_BRIDGE
} OrrNetworkPath;

typedef struct {
  char *cpu;
  double cpu_speed;       /* of one core; a Xeon Platinum 8480C's is 1 */
  gint64 cores;           /* of all sockets; 0: unknown */
  int network_path;       /* OrrNetworkPath */
  gint64 gpus_per_switch; /* 0: no PCIe switches are modelled */
  double switch_bytes_per_s;
  gint64 gpus_per_bridge; /* 0: one bridge for all */
  double bridge_bytes_per_s, socket_bytes_per_s, slot_bytes_per_s;
  double memory_bytes;       /* DRAM of the node; 0: unknown, and nothing can be offloaded to it */
  double memory_bytes_per_s; /* of all channels together, reads and writes, nominal */
  double memory_efficiency;  /* fraction of it that streaming kernels on all cores reach */
} OrrHostShape;

extern const OrrFieldTable orr_host_shape_table;

/* Checks rules that span fields, for a node of @gpus GPUs. Adds findings at @place. */
void orr_host_shape_check(const OrrHostShape *host, gint64 gpus, OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif
