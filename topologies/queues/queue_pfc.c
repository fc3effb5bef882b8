/*
 * queue_pfc.c - pfc: a lossless network without congestion control. Every sender sends at the rate
 * of its NIC, and switches pause the links that bring more than they can pass on (IEEE 802.1Qbb).
 *
 *   n senders, one receiver of rate C:   a pause takes (n-1)/n of each sender's time; the longest
 *                                        queue holds n xoff, and what comes while a pause travels
 *   a link that leads to a full switch   has the same share as each other link that leads there,
 *                                        however many flows it carries
 *   a stranger on that link              gets no more than the blocked flows next to it
 *
 * Measured (Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015,
 * figures 3 and 4; figures from memory: weak), 40 Gb/s everywhere: of four senders to one receiver
 * the one that has a port of the last switch to itself gets 20 Gb/s; a flow that shares an uplink
 * with four senders to a far receiver falls from 20 to 10 Gb/s, and to 4.5 when two more join
 * elsewhere. tests/topologies/test_queue.c computes 20, 10 and 5.
 *
 * InfiniBand's link-level credits block the same way: a switch sends only what the next one has
 * room for. xoff is then a virtual lane's buffer.
 *
 *   xoff, xon   256 and 128 KiB: an order of magnitude (12 MB shared by 32 ports of a Trident II,
 *               the same paper); no vendor publishes what a cluster has set
 *
 *   queues: {kind: pfc, xoff: 96 KiB}
 */
#include "topologies/queue_model.h"

static const OrrFieldTable table =
    ORR_FIELDS("pfc", "Parameters of the queues pfc.", OrrQueueParams, ORR_QUEUE_PAUSE_FIELDS);

const OrrQueueKind orr_queue_pfc = {
    .entry = {"pfc", "Pauses alone: senders at full rate, blocked links block strangers.", &table},
    .has_queues = TRUE,
};
