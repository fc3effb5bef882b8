/*
 * queue_dcqcn.c - dcqcn: RoCE's congestion control. Queues mark packets, receivers answer marks by
 * notifications, senders reduce their rate and raise it again; pauses remain the last resort.
 *
 * Marks, by the length q of a queue (RED on the instantaneous length):
 *
 *   p(q) = 0 up to kmin;  pmax (q - kmin) / (kmax - kmin) up to kmax;  1 above
 *
 * Rates (Zhu et al., SIGCOMM 2015, equations 5 to 9; R in packets/s, tau the least time between
 * notifications, T the timer, B the byte counter, F = 5 the steps of fast recovery):
 *
 *   alpha' = g / tau (1 - (1-p)^(tau R_C) - alpha)
 *   R_T'   = -(R_T - R_C) / tau (1 - (1-p)^(tau R_C))
 *            + R_AI R_C (1-p)^(F B) p / ((1-p)^-B - 1)
 *            + R_AI R_C (1-p)^(F T R_C) p / ((1-p)^-(T R_C) - 1)
 *   R_C'   = -R_C alpha / (2 tau) (1 - (1-p)^(tau R_C))
 *            + (R_T - R_C)/2 R_C p / ((1-p)^-B - 1) + (R_T - R_C)/2 R_C p / ((1-p)^-(T R_C) - 1)
 *
 * The rates then settle at the fair share C/N, with a queue that grows with N: setting all three to
 * zero and expanding in p gives, to first order (Zhu, Ghobadi, Misra, Padhye, "ECN or Delay",
 * 2016, theorem 1),
 *
 *   p^3 = R_AI N^2 / (tau C^2) (1/B + N/(T C))^2,   q = kmin + p / pmax (kmax - kmin)
 *
 * Defaults: the values of the first paper for 40 Gb/s (kmin 5 kB, kmax 200 kB, pmax 1 %, g 1/256,
 * timer 55 us, counter 10 MB, notifications 50 us, R_AI 40 Mb/s), with kmin, kmax and R_AI scaled
 * by the rate to 400 Gb/s, an assumption; a cluster's own values are the operator's.
 *
 *   queues: {kind: dcqcn, kmin: 5 kB, kmax: 200 kB, increase: 40 Mb/s}
 */
#include "topologies/queue_model.h"

#define RECOVERY_STEPS 5.0 /* F */

static const OrrFieldTable table = ORR_FIELDS(
    "dcqcn", "Parameters of the queues dcqcn.", OrrQueueParams, ORR_QUEUE_PAUSE_FIELDS,
    ORR_FIELD_REAL(OrrQueueParams, "kmin", kmin_bytes, ORR_UNIT_BYTES, "50 kB",
                   "Length from which on a queue marks.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrQueueParams, "kmax", kmax_bytes, ORR_UNIT_BYTES, "2 MB",
                   "Length from which on it marks every packet.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrQueueParams, "pmax", pmax, ORR_UNIT_FRACTION, "1 %",
                   "Fraction of packets that it marks just below kmax.", .min = 1e-6, .max = 1),
    ORR_FIELD_REAL(OrrQueueParams, "gain", gain, ORR_UNIT_NONE, "0.00390625",
                   "g: weight of the newest interval in the mean of marks.", .min = 1e-6, .max = 1),
    ORR_FIELD_REAL(OrrQueueParams, "cnp-interval", cnp_s, ORR_UNIT_SECONDS, "50 us",
                   "Least time between two notifications of one flow.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrQueueParams, "timer", timer_s, ORR_UNIT_SECONDS, "55 us",
                   "Time between two increases.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrQueueParams, "counter", counter_bytes, ORR_UNIT_BYTES, "10 MB",
                   "Bytes between two increases.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrQueueParams, "increase", increase_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "400 Mb/s", "R_AI: additive increase of the target rate.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrQueueParams, "rtt", rtt_s, ORR_UNIT_SECONDS, "8 us",
                   "From a mark to the sender that reacts to it.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrQueueParams, "packet", mtu_bytes, ORR_UNIT_BYTES, "4096 B",
                   "Packets are marked, so rates count in them.", .min = 64, .max = 65536));

/* p / ((1-p)^-n - 1): its limit for small p is 1/n. */
static double between_marks(double log_unmarked, double p, double n) {
  const double grown = expm1(-n * log_unmarked);
  return grown > 0 ? p / grown : 1 / n;
}

static void adapt(const OrrQueueParams *params, const OrrQueueSignal *signal,
                  OrrQueueSender *sender) {
  const double packet = params->mtu_bytes, p = MIN(signal->marked, 1 - 1e-12), dt = signal->step_s;
  const double log_unmarked = log1p(-p);
  const double rate = sender->rate / packet, target = sender->target / packet;
  const double counter = params->counter_bytes / packet, timer = MAX(params->timer_s * rate, 1);
  const double notified = -expm1(params->cnp_s * rate * log_unmarked);
  const double by_counter = rate * between_marks(log_unmarked, p, counter),
               by_timer = rate * between_marks(log_unmarked, p, timer);
  const double more = params->increase_bytes_per_s / packet;
  const double raised = more * exp(RECOVERY_STEPS * counter * log_unmarked) * by_counter +
                        more * exp(RECOVERY_STEPS * timer * log_unmarked) * by_timer;
  const double new_target = target + dt * (-(target - rate) / params->cnp_s * notified + raised);
  const double new_rate = rate + dt * (-rate * sender->alpha / (2 * params->cnp_s) * notified +
                                       (target - rate) / 2 * (by_counter + by_timer));
  sender->alpha += dt * params->gain / params->cnp_s * (notified - sender->alpha);
  sender->target = CLAMP(new_target * packet, packet, sender->line_bytes_per_s);
  sender->rate = CLAMP(new_rate * packet, packet, sender->line_bytes_per_s);
}

const OrrQueueKind orr_queue_dcqcn = {
    .entry = {"dcqcn", "RoCE's marks and notifications, with pauses behind them.", &table},
    .has_queues = TRUE,
    .adapt = adapt,
};
