/*
 * efa.c - efa: Amazon's Elastic Fabric Adapter, Scalable Reliable Datagrams over Ethernet and UDP,
 * whose packets are sprayed over many paths and delivered in any order (Shalev et al., "A
 * cloud-optimized transport protocol for elastic and scalable HPC", IEEE Micro 40(6), 2020).
 *
 *   hop-latency           20 us for one hop of a collective on p5, 18 us on p5en, under whichever
 *                         protocol: what Amazon's plugin for NCCL puts in the place of NCCL's own
 *                         network latencies of 2.7 to 14 us (aws-ofi-nccl 39397b3,
 *                         src/tuner/nccl_ofi_model.cpp; the plugin's other number, 75 us on p4d and
 *                         p5, is one that made NCCL choose well and no latency). Where NCCL's step
 *                         takes longer than that already, it stays. Checked, not fitted: 16 bytes
 *                         over 16 nodes of p5en, 4 levels of a tree, take 167 us (aws-samples, NCCL
 *                         2.27.7); answered 163, and 90 with InfiniBand's steps. The first
 *                         generation, p4d, sends by libfabric's SENDRECV: 52 us, from one figure
 *                         (8 bytes over 2 p4de take 164 us, 60 of them outside the two hops): weak
 *   protocols             LL and LL128 need bytes that arrive in order. On p4d they do not, and the
 *                         plugin sets NCCL_PROTO=simple (src/platform-aws.cpp); on p5 LL128 is off;
 *                         on p5en the plugin skips the check. The clusters' documents say which
 *   headers               preamble and gap 20 + Ethernet 14 + FCS 4 + IPv4 20 + UDP 8 = 66 bytes a
 *                         packet; SRD's own header is not published and left out
 *   message-rate          the clusters' documents: streams of messages of 8 KB to 4 MB over p5
 *                         (UCCL, ep/bench/alltoall/efa_alltoall_results.md) reach s / (s / B + t)
 *                         with B = 44.7 GB/s and t = 0.41 us per GPU, 3.6 % off; with each size
 *                         left out 4 %, 8 and 32 KB 20 %. 4 NICs share that: 610,000 messages per
 *                         second and NIC
 *   incast,               not published: no loss. SRD's congestion control keeps queues short,
 *   adaptive-efficiency   which is what it was made for (the same paper)
 *   in-network-reduction  none
 *
 *   transport: efa
 */
#include "topologies/transport.h"

static const OrrFieldTable params_table =
    ORR_FIELDS("efa", "Parameters of the transport efa.", OrrTransport,
               ORR_TRANSPORT_FIELDS("66 B", "0", "20 us", "2", "1", "1", "false", "0", "0 s"));

const OrrEntry orr_efa = {
    .name = "efa",
    .sentence = "AWS EFA: packets sprayed over Ethernet, a long hop, no reduction in the switches.",
    .params = &params_table,
};
