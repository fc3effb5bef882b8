/*
 * queue_model.h - what max-min flows leave out where senders meet: queues, marks, pauses, and how
 * senders react.
 *
 * A cluster's `queues` names a model. `none`, the default, is max-min sharing alone: a link that is
 * full divides at once, nobody waits behind a stranger. The others are integrated as fluids
 * (queue_fluid.c): bytes are a continuous amount that waits before each link.
 *
 *   sender --R--> [NIC] --> [ queue | link ] --> [ queue | link ] --> receiver
 *            ^                 |  marks p(q)        above xoff: pause the link that feeds it
 *            +--- one RTT -----+
 *
 *   pfc     senders send at the rate of their NIC until a switch pauses it. A pause stops all that
 *           the paused link carries, also flows that go elsewhere (head-of-line blocking), and
 *           spreads from switch to switch. InfiniBand's credits act alike
 *   dcqcn   the same, and senders slow down by the marks of the queues that they pass
 *   credit  the same, and receivers divide their NIC among their senders
 *
 * To add one: write topologies/queues/queue_NAME.c with one const OrrQueueKind whose params are
 * OrrQueueParams; its line is in that folder's meson.build.
 */
#pragma once

#include "sim/base/field.h"

typedef struct {
  double xoff_bytes, xon_bytes; /* bytes of one ingress port at which a switch pauses, resumes it */
  double rtt_s;                 /* from a mark to the sender's reaction */
  double kmin_bytes, kmax_bytes; /* a queue marks from here on, and with `pmax` there */
  double pmax;
  double gain;    /* g of DCQCN's alpha */
  double cnp_s;   /* least time between two notifications */
  double timer_s; /* between two increases, and the bytes between two */
  double counter_bytes;
  double increase_bytes_per_s; /* R_AI */
  double mtu_bytes;
  double credit_fraction;   /* of a receiver's rate that it grants */
  double unsolicited_bytes; /* that a sender sends before its first credit */
} OrrQueueParams;

/* One sender. */
typedef struct {
  double line_bytes_per_s;    /* of its NIC */
  double rate, target, alpha; /* bytes/s; DCQCN's R_C, R_T, alpha */
  double sent_bytes;
} OrrQueueSender;

/* What a sender learns in a step. */
typedef struct {
  double step_s;
  double marked;               /* fraction of its packets that were marked one RTT ago */
  double receiver_bytes_per_s; /* rate of the receiver's link, and how many send to it */
  guint n_senders;
} OrrQueueSignal;

typedef struct {
  OrrEntry entry;
  gboolean has_queues; /* FALSE: max-min flows alone */
  /* Sets the sender's rate for the next step. NULL: the NIC's. */
  void (*adapt)(const OrrQueueParams *params, const OrrQueueSignal *signal, OrrQueueSender *sender);
} OrrQueueKind;

extern const OrrRegistry orr_queue_registry;

typedef struct {
  const guint32 *links; /* in the order of the route; the first is the sender's */
  guint n_links;
  double bytes, start_s;
} OrrQueueFlow;

typedef struct {
  double peak_bytes; /* the longest queue before the link */
  double paused_s;   /* for which the link was paused by the switch behind it */
  double marked_bytes, bytes;
} OrrQueueLink;

/* What came of a set of flows. */
typedef struct {
  double *finish_s; /* by flow, of its last byte; without latencies */
  guint n_flows;
  double last_s;
  GArray *links;       /* of guint32: all links of the flows, in the order of first use */
  OrrQueueLink *facts; /* by place in `links` */
  gboolean is_rough;   /* many flows: leaps went on while a tenth of them ended */
  gboolean is_stuck;   /* pauses wait for each other in a circle: no rate is known */
} OrrQueueResult;

typedef double (*OrrQueueBandwidth)(gconstpointer fabric, guint32 link); /* bytes/s */

/* Integrates @flows under @choice of orr_queue_registry (not `none`). Free the result. */
OrrQueueResult *orr_queue_model_solve(const OrrChoice *choice, const OrrQueueFlow *flows,
                                      guint n_flows, OrrQueueBandwidth bandwidth,
                                      gconstpointer fabric);
void orr_queue_result_free(OrrQueueResult *result); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrQueueResult, orr_queue_result_free)

/* What a run's queues came to, added up over the phases of its collectives. */
typedef struct {
  gint64 phases, slowed, left_out; /* solved; that took longer than max-min; too large to solve */
  gint64 rough, stuck;
  double added_s;    /* by queues, over all phases as planned */
  double worst;      /* the largest ratio of a phase's time to max-min's */
  double peak_bytes; /* the longest queue, and its link */
  guint32 peak_link;
  double paused; /* the largest fraction of a phase for which a link was paused, and that link */
  guint32 paused_link;
  double marked; /* of all bytes on links, the marked */
} OrrQueueUse;

/* Field tables of the entries: all share the pauses. */
#define ORR_QUEUE_PAUSE_FIELDS                                                                     \
  ORR_FIELD_REAL(OrrQueueParams, "xoff", xoff_bytes, ORR_UNIT_BYTES, "256 KiB",                    \
                 "Bytes of one ingress port, in all queues of its switch, at which the switch "    \
                 "pauses it.",                                                                     \
                 .flags = ORR_FIELD_POSITIVE),                                                     \
      ORR_FIELD_REAL(OrrQueueParams, "xon", xon_bytes, ORR_UNIT_BYTES, "128 KiB",                  \
                     "Bytes at which the switch lets it send again.", .flags = ORR_FIELD_UNSIGNED)
