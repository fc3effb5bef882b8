/*
 * roce_v2.c - roce-v2: RDMA over UDP on Ethernet, with PFC against loss and ECN (DCQCN) against
 * congestion.
 *
 *   headers               preamble and gap 20 + Ethernet 14 + FCS 4 + IPv4 20 + UDP 8 + BTH 12 +
 *                         ICRC 4 = 82 bytes a packet (IEEE 802.3; InfiniBand Architecture
 *                         Specification, annex A17)
 *   message-rate          ConnectX-6's, as for infiniband: the same adapter
 *   incast                DCQCN leaves 39 of 40 Gb/s of a receiver that 2 to 20 senders share (Zhu
 *                         et al., "Congestion control for large-scale RDMA deployments", SIGCOMM
 *                         2015, section 6; figure from memory: weak). From 4 senders on: a tree's
 *                         NIC has three neighbours, and is not what was measured there. Victims of
 *                         PFC's pauses elsewhere are not modelled
 *   adaptive-efficiency   0.95, NVIDIA's claim for Spectrum-X (white paper, 2023: 95 % effective
 *                         bandwidth)
 *   in-network-reduction  none
 *
 *   transport: roce-v2
 */
#include "topologies/transport.h"

static const OrrFieldTable params_table = ORR_FIELDS(
    "roce-v2", "Parameters of the transport roce-v2.", OrrTransport,
    ORR_TRANSPORT_FIELDS("82 B", "215e6", "0 s", "4", "0.975", "0.95", "false", "0", "0 s"));

const OrrEntry orr_roce_v2 = {
    .name = "roce-v2",
    .sentence = "RoCE v2: RDMA over UDP with PFC and ECN, no reduction in the switches.",
    .params = &params_table,
};
