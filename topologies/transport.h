/*
 * transport.h - how the scale-out network carries messages: InfiniBand, RoCE v2, EFA, or a plain
 * transport.
 *
 * node.nic-efficiency is the measured fraction of the NIC's rate that large messages reach, with
 * the headers of 4 KiB packets included. A transport states how this changes with the size of
 * packets, and what else it does to links:
 *
 *   rate        nominal * nic-efficiency * h(mtu, headers) / h(4096 B, 26 B),
 *               h = mtu / (mtu + headers)
 *   message     1 / message-rate on top of a hop's latency: efficiency by size s / (s + B /
 *               message-rate)
 *   hop         a collective's hop over the network takes no less than hop-latency, the profile's
 *               step in it
 *   incast      a NIC that receives from `incast-senders` or more at once in a phase has
 *               incast-efficiency of its rate
 *   adaptive    under routing adaptive, links between switches have adaptive-efficiency of theirs
 *   in-network  whether switches reduce (SHARP): without it `collnet` is not to be had
 *   host work   posting and polling of a step, the profile's network-step (NCCL's proxy thread):
 *               what of it is offloaded to a DPU takes dpu-work there,  step = (1 - offloaded)
 *               network-step + offloaded dpu-work
 *
 * To add one: write topologies/transports/NAME.c with one const OrrEntry whose params are
 * OrrTransport; add a line to the array in transport.c and the file to meson.build.
 */
#ifndef ORR_TRANSPORT_H
#define ORR_TRANSPORT_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  double mtu_bytes, header_bytes;
  double message_rate_per_s; /* 0: no limit */
  double hop_latency_s;      /* minimum time of a collective's hop; 0: its step and route decide */
  gint64 incast_senders;
  double incast_efficiency;
  double adaptive_efficiency;
  gboolean in_network_reduction;
  double offloaded;  /* fraction of a step's host work that a DPU does */
  double dpu_work_s; /* time of all of that work on the DPU */
} OrrTransport;

/* The field table of an entry: the same fields for all, with default texts of its own. */
#define ORR_TRANSPORT_FIELDS(header_, rate_, hop_, senders_, incast_, adaptive_, reduction_,       \
                             offloaded_, dpu_work_)                                                \
  {.name = "mtu",                                                                                  \
   .kind = ORR_FIELD_REAL,                                                                         \
   .offset = offsetof(OrrTransport, mtu_bytes),                                                    \
   .unit = ORR_UNIT_BYTES,                                                                         \
   .fallback = "4096 B",                                                                           \
   .min = 256,                                                                                     \
   .max = 65536,                                                                                   \
   .sentence = "Payload of a packet; 4 KiB is the most that InfiniBand and RoCE define."},         \
      {.name = "headers",                                                                          \
       .kind = ORR_FIELD_REAL,                                                                     \
       .offset = offsetof(OrrTransport, header_bytes),                                             \
       .unit = ORR_UNIT_BYTES,                                                                     \
       .fallback = (header_),                                                                      \
       .flags = ORR_FIELD_UNSIGNED,                                                                \
       .sentence = "Bytes that a packet adds to its payload, with gaps."},                         \
      {.name = "message-rate",                                                                     \
       .kind = ORR_FIELD_REAL,                                                                     \
       .offset = offsetof(OrrTransport, message_rate_per_s),                                       \
       .fallback = (rate_),                                                                        \
       .flags = ORR_FIELD_UNSIGNED,                                                                \
       .sentence = "Messages per second that a NIC handles; 0: no limit."},                        \
      {.name = "hop-latency",                                                                      \
       .kind = ORR_FIELD_REAL,                                                                     \
       .offset = offsetof(OrrTransport, hop_latency_s),                                            \
       .unit = ORR_UNIT_SECONDS,                                                                   \
       .fallback = (hop_),                                                                         \
       .flags = ORR_FIELD_UNSIGNED,                                                                \
       .sentence =                                                                                 \
           "The least that a collective's hop over the network takes, step and route together."},  \
      {.name = "incast-senders",                                                                   \
       .kind = ORR_FIELD_INT,                                                                      \
       .offset = offsetof(OrrTransport, incast_senders),                                           \
       .fallback = (senders_),                                                                     \
       .min = 2,                                                                                   \
       .max = 1e7,                                                                                 \
       .sentence = "Number of senders to one NIC in a phase from which it counts as congested."},  \
      {.name = "incast-efficiency",                                                                \
       .kind = ORR_FIELD_REAL,                                                                     \
       .offset = offsetof(OrrTransport, incast_efficiency),                                        \
       .unit = ORR_UNIT_FRACTION,                                                                  \
       .fallback = (incast_),                                                                      \
       .min = 0.01,                                                                                \
       .max = 1,                                                                                   \
       .sentence = "Fraction of a congested receiver's rate that congestion control leaves."},     \
      {.name = "adaptive-efficiency",                                                              \
       .kind = ORR_FIELD_REAL,                                                                     \
       .offset = offsetof(OrrTransport, adaptive_efficiency),                                      \
       .unit = ORR_UNIT_FRACTION,                                                                  \
       .fallback = (adaptive_),                                                                    \
       .min = 0.01,                                                                                \
       .max = 1,                                                                                   \
       .sentence = "Fraction of the bandwidth between switches that adaptive routing reaches."},   \
      {.name = "in-network-reduction",                                                             \
       .kind = ORR_FIELD_BOOL,                                                                     \
       .offset = offsetof(OrrTransport, in_network_reduction),                                     \
       .fallback = (reduction_),                                                                   \
       .sentence = "Whether switches reduce (SHARP), as the algorithm collnet needs."},            \
      {.name = "offloaded",                                                                        \
       .kind = ORR_FIELD_REAL,                                                                     \
       .offset = offsetof(OrrTransport, offloaded),                                                \
       .unit = ORR_UNIT_FRACTION,                                                                  \
       .fallback = (offloaded_),                                                                   \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .sentence = "Fraction of the host's work for a step (the profile's network-step) that a "   \
                   "DPU does instead."},                                                           \
  {                                                                                                \
    .name = "dpu-work", .kind = ORR_FIELD_REAL, .offset = offsetof(OrrTransport, dpu_work_s),      \
    .unit = ORR_UNIT_SECONDS, .fallback = (dpu_work_), .flags = ORR_FIELD_UNSIGNED,                \
    .sentence = "Time of all of that work on a DPU."                                               \
  }

extern const OrrRegistry orr_transport_registry;

/* Share of nominal * nic-efficiency that the packets leave; may be above 1 for smaller headers. */
double orr_transport_packet_fraction(const OrrTransport *transport);

G_END_DECLS

#endif
