/*
 * efa.c - efa: Amazon's Elastic Fabric Adapter, Scalable Reliable Datagrams over Ethernet and UDP,
 * whose packets are sprayed over many paths and delivered in any order (Shalev et al., "A
 * cloud-optimized transport protocol for elastic and scalable HPC", IEEE Micro 40(6), 2020).
 *
 *   hop-latency           one hop in LL: 20 us on p5, 18 us on p5en, which Amazon's plugin for NCCL
 *                         puts in the place of NCCL's own network latencies (aws-ofi-nccl 39397b3,
 *                         src/tuner/nccl_ofi_model.cpp; the 75 and 35 us of src/platform-aws.cpp
 *                         made NCCL choose well and are not latencies). What NCCL's step in Simple
 *                         and LL128 does beyond LL's comes on top. p4d: 35 us, from one figure (64
 *                         bytes over 4 p4d in LL take 164 us, NVIDIA/nccl issue 527, 2022-07; its
 *                         other LL rows alone say 35 to 40).
 *                         Checked, not fitted: 16 bytes over 16 p5en 167 us, answered 166
 *                         (aws-samples, NCCL 2.27.7); 16 to 128 bytes over 2 p5 69 us, answered 62
 *                         (aws-k8s-tester 585); over 2 p6-b200 51 to 57 us, answered 58
 *                         (dstack 3961); LL on p4d, 1 to 8 KiB, 175 to 210 us, answered 166 to 194
 *                         (issue 527)
 *   flush                 NCCL flushes what a NIC wrote before a GPU older than Hopper reads it, a
 *                         read of the NIC to itself (NCCL_NET_FORCE_FLUSH; src/platform-aws.cpp
 *                         switches it off on p5 and later): on p4d 10 us, from one figure (8 bytes
 *                         over 2 p4de in Simple take 164 us): weak
 *   rendezvous            one trip more. p4d uses libfabric's SENDRECV, where a message beyond one
 *                         packet announces itself and is read by the receiver, at each hop.
 *                         Checked, not fitted: 32 and 256 KiB over 4 p4d 392 and 414 us, answered
 *                         402 and 428, 265 and 290 without it (issue 527). From p5 on the plugin
 *                         writes into buffers that receivers announce ahead (its RDMA protocol): a
 *                         call waits for the first of them alone
 *   eager-limit           8 KiB: OFI_NCCL_EAGER_MAX_SIZE of the releases up to 1.13 (later ones
 *                         send nothing without a rendezvous), and about a packet of EFA
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
