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
 *   hop         a collective's hop in LL, route and NCCL's step together, takes no less than
 *               hop-latency; what Simple and LL128 do beyond LL's step is on top of it
 *   flush       Simple on GPUs before Hopper: the receiver flushes the NIC's writes before the GPU
 *               may read them
 *   rendezvous  a message of more than eager-limit goes when its receiver has said where to: one
 *               trip more, at each hop where sends and receives are matched by the library, once a
 *               call where receivers announce buffers ahead
 *   protocols   NCCL's LL and LL128 put flags beside the data, so bytes must arrive in order: 8 of
 *               them, or 128
 *   incast      a NIC that receives from `incast-senders` or more at once in a phase has
 *               incast-efficiency of its rate
 *   adaptive    under routing adaptive, links between switches have adaptive-efficiency of theirs
 *   in-network  whether switches reduce (SHARP): without it `collnet` is not to be had
 *   host work   posting and polling of a step, the profile's network-step (NCCL's proxy thread):
 *               what of it is offloaded to a DPU takes dpu-work there,  step = (1 - offloaded)
 *               network-step + offloaded dpu-work
 *
 * To add one: write topologies/transports/NAME.c with one const OrrEntry whose params are
 * OrrTransport; its line is in that folder's meson.build.
 */
#pragma once

#include "sim/base/field.h"

typedef enum {
  ORR_TRANSPORT_ALL_PROTOCOLS,
  ORR_TRANSPORT_NO_LL128,
  ORR_TRANSPORT_SIMPLE_ONLY,
} OrrTransportProtocols;

extern const char *const orr_transport_protocols_words[]; /* "all", "no-ll128", "simple", NULL */

typedef enum { ORR_RENDEZVOUS_PER_HOP, ORR_RENDEZVOUS_PER_CALL } OrrRendezvous;

extern const char *const orr_transport_rendezvous_words[]; /* "hop", "call", NULL */

typedef struct {
  double mtu_bytes, header_bytes;
  double message_rate_per_s; /* 0: no limit */
  double hop_latency_s;      /* minimum of a hop in LL; 0: its step and route decide */
  double flush_s, rendezvous_s, eager_limit_bytes;
  int rendezvous_per; /* OrrRendezvous */
  int protocols;      /* OrrTransportProtocols: what NCCL may choose over the network */
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
  ORR_FIELD_REAL(OrrTransport, "mtu", mtu_bytes, ORR_UNIT_BYTES, "4096 B",                         \
                 "Payload of a packet; 4 KiB is the most that InfiniBand and RoCE define.",        \
                 .min = 256, .max = 65536),                                                        \
      ORR_FIELD_REAL(OrrTransport, "headers", header_bytes, ORR_UNIT_BYTES, header_,               \
                     "Bytes that a packet adds to its payload, with gaps.",                        \
                     .flags = ORR_FIELD_UNSIGNED),                                                 \
      ORR_FIELD_REAL(OrrTransport, "message-rate", message_rate_per_s, ORR_UNIT_NONE, rate_,       \
                     "Messages per second that a NIC handles; 0: no limit.",                       \
                     .flags = ORR_FIELD_UNSIGNED),                                                 \
      ORR_FIELD_REAL(                                                                              \
          OrrTransport, "hop-latency", hop_latency_s, ORR_UNIT_SECONDS, hop_,                      \
          "The least that a collective's hop over the network takes in LL, step and route "        \
          "together; other protocols add what their step is longer.",                              \
          .flags = ORR_FIELD_UNSIGNED),                                                            \
      ORR_FIELD_REAL(OrrTransport, "flush", flush_s, ORR_UNIT_SECONDS, "0 s",                      \
                     "A hop in Simple takes this longer: the receiver flushes the NIC's writes "   \
                     "(GPUs before Hopper).",                                                      \
                     .flags = ORR_FIELD_UNSIGNED),                                                 \
      ORR_FIELD_REAL(                                                                              \
          OrrTransport, "rendezvous", rendezvous_s, ORR_UNIT_SECONDS, "0 s",                       \
          "How long a message of more than eager-limit waits for its receiver's buffer.",          \
          .flags = ORR_FIELD_UNSIGNED),                                                            \
      ORR_FIELD_WORD(OrrTransport, "rendezvous-per", rendezvous_per,                               \
                     orr_transport_rendezvous_words, "hop",                                        \
                     "hop: each hop waits; call: the first one alone, since receivers announce "   \
                     "their buffers ahead."),                                                      \
      ORR_FIELD_REAL(OrrTransport, "eager-limit", eager_limit_bytes, ORR_UNIT_BYTES, "8 KiB",      \
                     "Largest message that is sent without a rendezvous.",                         \
                     .flags = ORR_FIELD_UNSIGNED),                                                 \
      ORR_FIELD_WORD(OrrTransport, "protocols", protocols, orr_transport_protocols_words, "all",   \
                     "Protocols that NCCL chooses from over the network: all, all but ll128, or "  \
                     "simple alone, as where bytes do not arrive in order."),                      \
      ORR_FIELD_INT(OrrTransport, "incast-senders", incast_senders, senders_,                      \
                    "Number of senders to one NIC in a phase from which it counts as congested.",  \
                    .min = 2, .max = 1e7),                                                         \
      ORR_FIELD_REAL(OrrTransport, "incast-efficiency", incast_efficiency, ORR_UNIT_FRACTION,      \
                     incast_,                                                                      \
                     "Fraction of a congested receiver's rate that congestion control leaves.",    \
                     .min = 0.01, .max = 1),                                                       \
      ORR_FIELD_REAL(OrrTransport, "adaptive-efficiency", adaptive_efficiency, ORR_UNIT_FRACTION,  \
                     adaptive_,                                                                    \
                     "Fraction of the bandwidth between switches that adaptive routing reaches.",  \
                     .min = 0.01, .max = 1),                                                       \
      ORR_FIELD_BOOL(OrrTransport, "in-network-reduction", in_network_reduction, reduction_,       \
                     "Whether switches reduce (SHARP), as the algorithm collnet needs."),          \
      ORR_FIELD_REAL(OrrTransport, "offloaded", offloaded, ORR_UNIT_FRACTION, offloaded_,          \
                     "Fraction of the host's work for a step (the profile's network-step) that a " \
                     "DPU does instead.",                                                          \
                     .min = 0, .max = 1),                                                          \
      ORR_FIELD_REAL(OrrTransport, "dpu-work", dpu_work_s, ORR_UNIT_SECONDS, dpu_work_,            \
                     "Time of all of that work on a DPU.", .flags = ORR_FIELD_UNSIGNED)

extern const OrrRegistry orr_transport_registry;

/* Share of nominal * nic-efficiency that the packets leave; may be above 1 for smaller headers. */
double orr_transport_packet_fraction(const OrrTransport *transport);
