/*
 * direct.c - send-recv: one GPU's buffer to another (NCCL's ncclSend and ncclRecv; a pipeline's
 * neighbours).
 *
 *   gpus[0] ----------> gpus[1]        time = launch + alpha + S / B
 *
 * alpha is the step constant of that kind of hop plus the route's latency. One phase, with every
 * link of the route once.
 *
 * The only algorithm for send-recv: algorithm: direct
 */
#include "workloads/collectives/collective_private.h"

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  return call->op == ORR_SEND_RECV;
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  orr_collective_flow_fill(&flow, call->bytes, call->bytes);
  double hop_s = orr_collective_flow_edge(&flow, call->gpus[0], call->gpus[1], 0, 1);
  orr_collective_flow_finish(&flow, hop_s, call->bytes, phases);
}

static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  orr_collective_steps_send(ret_steps, call->gpus[0], call->gpus[1], 0, call->bytes, NULL, 0);
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return alpha_s + call->bytes / bytes_per_s;
}

const OrrCollectiveAlgorithm orr_direct = {
    .entry = {.name = "direct", .sentence = "One GPU sends its buffer straight to another."},
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};
