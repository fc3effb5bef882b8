/*
 * queue_credit.c - credit: receiver-driven transports. A receiver grants its link's rate to those
 * who send to it, in equal parts, so queues hold what senders sent unasked, and nobody is paused
 * (NDP, Handley et al., SIGCOMM 2017; Homa, Montazeri et al., SIGCOMM 2018; ExpressPass, Cho et
 * al., SIGCOMM 2017; Ultra Ethernet's receiver credits).
 *
 *   rate of each of n senders   credit C / n
 *   longest queue               n unsolicited - C t, at most (n-1) unsolicited
 *   fabric links                not seen by credits: where those are full, pauses act as in pfc
 *
 *   credit        98 %: NDP's incasts reach 98 % of the receiver's link (its figure, from memory:
 *                 weak); ExpressPass' own credits take 5 % (84 of 1,622 bytes)
 *   unsolicited   one bandwidth-delay product, 400 Gb/s in 8 us
 *
 *   queues: {kind: credit, credit: 95 %, unsolicited: 0 B}
 */
#include "topologies/queue_model.h"

static const OrrFieldTable table = ORR_FIELDS(
    "credit", "Parameters of the queues credit.", OrrQueueParams, ORR_QUEUE_PAUSE_FIELDS,
    ORR_FIELD_REAL(OrrQueueParams, "credit", credit_fraction, ORR_UNIT_FRACTION, "98 %",
                   "Fraction of its link's rate that a receiver grants.", .min = 0.01, .max = 1),
    ORR_FIELD_REAL(OrrQueueParams, "unsolicited", unsolicited_bytes, ORR_UNIT_BYTES, "400 kB",
                   "Bytes that a sender sends at full rate before its first credit.",
                   .flags = ORR_FIELD_UNSIGNED));

static void adapt(const OrrQueueParams *params, const OrrQueueSignal *signal,
                  OrrQueueSender *sender) {
  const double granted = params->credit_fraction * signal->receiver_bytes_per_s / signal->n_senders;
  const gboolean unasked = sender->sent_bytes < params->unsolicited_bytes;
  sender->rate = unasked ? sender->line_bytes_per_s : MIN(granted, sender->line_bytes_per_s);
}

const OrrQueueKind orr_queue_credit = {
    .entry = {"credit", "Receivers grant their rate to their senders: short queues.", &table},
    .has_queues = TRUE,
    .adapt = adapt,
};
