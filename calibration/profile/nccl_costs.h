/*
 * nccl_costs.h - the terms of what one algorithm of NCCL costs under one of its protocols.
 *
 * The terms come from NCCL's own tuning model (NVIDIA/nccl, src/graph/tuning.cc: baseLat, hwLat,
 * the bandwidth caps) and two that it leaves out and measurements show (chunks). Where s bytes go
 * through a step of a link of bandwidth B, the step takes
 *
 *   step + c s / (s + c ramp) / B      c: the chunk; the pipeline fills with up to about one chunk
 *
 * and the call takes base + the steps on its longest path + bytes / (efficiency B) on its busiest
 * link.
 */
#pragma once

#include "sim/base/ground.h"

/* NCCL's protocols. AUTO is not a protocol: it stands for whichever is fastest. */
typedef enum {
  ORR_PROTOCOL_AUTO,
  ORR_PROTOCOL_LL,
  ORR_PROTOCOL_LL128,
  ORR_PROTOCOL_SIMPLE,
  ORR_N_PROTOCOLS
} OrrProtocol;
extern const char *const orr_protocol_words[]; /* "auto", "ll", "ll128", "simple", NULL */

typedef struct {
  double base_s;
  double scale_up_step_s, host_step_s, scale_out_step_s;
  double scale_up_efficiency, scale_out_efficiency;
  double scale_up_chunk_bytes, scale_out_chunk_bytes, chunk_ramp;
  /* Shortest step inside a domain of a call that crosses the network (proxies post and poll). */
  double network_step_s;
  double plateau; /* factor on the latency of an all-reduce that crosses the network */
  /* Fraction of all links that NCCL's tuning counts on when it chooses; 0: what the row reaches */
  double tuning_efficiency;
  /* Settled for a call (workloads/collectives/collective.c). What the protocol's step over the
   * network takes beyond LL's; a flush at each hop; the bytes up to which data stays on one channel
   * and is one message. */
  double beyond_wire_s, flush_s, whole_bytes;
} OrrNcclCosts;
