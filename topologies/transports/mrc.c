/*
 * mrc.c - mrc: RDMA whose packets are sprayed over all paths and all planes of a multi-port NIC,
 * with loss instead of pauses (Multipath Reliable Connection; OpenAI, Microsoft, AMD, NVIDIA,
 * Broadcom, May 2026; figures from notes of others: weak).
 *
 *   efficiency            96 % of the NIC's peak: 770 of 800 Gb/s between two hosts, within a leaf
 *                         and across spines alike (same source), which is nic-efficiency's default,
 *                         headers included; spraying takes nothing more: adaptive-efficiency 1
 *   headers               26 B: of what nic-efficiency was measured with, so the rate stays 96 %
 *   protocols             LL and LL128 put flags beside the data and need 8 or 128 bytes in order.
 *                         Whether a NIC keeps them inside a packet is not published: all are
 *                         allowed, and `protocols: simple` is the careful choice
 *   message-rate, incast  not published: no limit, no loss
 *   in-network-reduction  none
 *
 *   transport: {kind: mrc, protocols: simple}
 *   routing: adaptive                            with node.ports: separate and fabric.planes
 */
#include "topologies/transport.h"

static const OrrFieldTable params_table =
    ORR_FIELDS("mrc", "Parameters of the transport mrc.", OrrTransport,
               ORR_TRANSPORT_FIELDS("26 B", "0", "0 s", "2", "1", "1", "false", "0", "0 s"));

const OrrEntry orr_mrc = {
    .name = "mrc",
    .sentence = "Multipath RDMA: packets sprayed over all planes, loss instead of pauses.",
    .params = &params_table,
};
