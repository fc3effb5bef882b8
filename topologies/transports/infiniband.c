/*
 * infiniband.c - infiniband: reliable connections over a lossless, credit-based network.
 *
 *   headers               LRH 8 + BTH 12 + ICRC 4 + VCRC 2 = 26 bytes a packet (InfiniBand
 *                         Architecture Specification, vol. 1; RETH's 16 are on a message's first
 *                         packet alone)
 *   message-rate          215 million per second: ConnectX-6 product brief, 200 Gb/s (2020)
 *   incast                credits: a switch sends only what the next one has room for, so nothing
 *                         is lost. A congested receiver keeps its rate; who else waits behind it is
 *                         not modelled
 *   adaptive-efficiency   0.96 of the bisection on Summit's EDR network (Vazhkudai et al., SC18;
 *                         figure from memory: weak)
 *   in-network-reduction  SHARP (Graham et al., COMHPC 2016)
 *
 *   transport: {kind: infiniband, mtu: 2048 B}
 */
#include "topologies/transport.h"

static const OrrFieldTable params_table =
    ORR_FIELDS("infiniband", "Parameters of the transport infiniband.", OrrTransport,
               ORR_TRANSPORT_FIELDS("26 B", "215e6", "0 s", "4", "1", "0.96", "true", "0", "0 s"));

const OrrEntry orr_infiniband = {
    .name = "infiniband",
    .sentence = "InfiniBand: credits, small headers, reduction in the switches.",
    .params = &params_table,
};
