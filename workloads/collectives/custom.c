/*
 * custom.c - the small all-reduces that serving engines bring: vLLM's custom_all_reduce and
 * TensorRT-LLM's.
 *
 *   one-shot    every rank reads the buffers of all others and sums: (n-1) S each way, one step
 *   two-shot    reduce-scatter and all-gather by direct reads:       2(n-1)/n S, two steps
 *
 *   all-reduce  launch + alpha + (n-1) S/B    or    launch + 2 alpha + 2(n-1)/n S/B
 *
 * vLLM uses one-shot for 2 ranks, and up to 512 KiB for 4 ranks and 256 KiB for more
 * (csrc/custom_all_reduce.cuh). TensorRT-LLM has its own tables; the same rule stands in for them.
 * If the profile has rows of the library (`libraries`), the measured time replaces the model, as
 * for NCCL; otherwise the profile's constants apply.
 *
 * Without NVLink they run on two GPUs of a node; on more, both engines leave the call to NCCL
 * (vllm/distributed/device_communicators/custom_all_reduce.py).
 *
 * Only used if forced, because the engine decides which library reduces. algorithm: custom-vllm
 */
#include "workloads/collectives/collective_private.h"

enum { ONE_SHOT_FEW = 512 * 1024, ONE_SHOT_MANY = 256 * 1024 };

static gboolean is_one_shot(const OrrCollectiveCall *call) {
  return call->n == 2 || call->bytes <= (call->n <= 4 ? ONE_SHOT_FEW : ONE_SHOT_MANY);
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  if (orr_collective_reduces_inside(context, call)) return TRUE;
  return call->op == ORR_ALL_REDUCE && call->n == 2 &&
         orr_collective_are_peers(context->fabric, call->gpus, call->n);
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  double dearest_s = 0;
  for (guint i = 0; i < call->n; i++)
    for (guint r = 1; r < call->n; r++) {
      double hop_s =
          orr_collective_flow_edge(&flow, call->gpus[i], call->gpus[(i + r) % call->n], 0, 1);
      dearest_s = MAX(dearest_s, hop_s);
    }
  guint steps = is_one_shot(call) ? 1 : 2;
  orr_collective_flow_finish(&flow, steps * dearest_s,
                             steps == 1 ? call->bytes : 2 * call->bytes / call->n, phases);
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  if (is_one_shot(call)) return alpha_s + (call->n - 1) * call->bytes / bytes_per_s;
  return 2 * alpha_s + 2 * (call->n - 1.0) / call->n * call->bytes / bytes_per_s;
}

const OrrCollectiveAlgorithm orr_custom_trtllm = {
    .entry = {.name = "custom-trtllm",
              .sentence = "TensorRT-LLM's own all-reduce inside a node: one-shot or two-shot."},
    .chosen = ORR_CHOSEN_NEVER,
    .library = "trtllm",
    .needs = "a group inside one scale-up domain, or two GPUs of a node",
    .supports = supports,
    .plan = plan,
    .oracle = oracle,
};

const OrrCollectiveAlgorithm orr_custom_vllm = {
    .entry = {.name = "custom-vllm",
              .sentence = "vLLM's own all-reduce inside a node: one-shot or two-shot."},
    .chosen = ORR_CHOSEN_NEVER,
    .library = "vllm",
    .needs = "a group inside one scale-up domain, or two GPUs of a node",
    .supports = supports,
    .plan = plan,
    .oracle = oracle,
};
