/*
 * serving_stages.c - the sends of activations between an engine's pipeline stages.
 *
 * For each token a stage sends `tensors` vectors of the model's width to the next one: the hidden
 * state, and apart from it the residual where a kernel adds the two in the next norm (vLLM's
 * IntermediateTensors; TensorRT-LLM's PyTorch backend). Rank i sends to rank i of the next stage,
 * all ranks at once:
 *
 *   stage k     0   1  ..  t-1        sliced: 1/t of each tensor, which the ranks of stage k + 1
 *               |   |       |         then gather (vLLM, SGLang: send_tensor_dict with
 *   stage k+1   t  t+1 .. 2t-1        all_gather_group); otherwise all of it (TensorRT-LLM)
 *
 *   send = latency + bytes of a rank * max over links (senders on the link / bandwidth)
 *
 * Sends and receives are in order with a stage's kernels. A batch therefore waits for all of its
 * sends, and a stage is occupied by the gather and the send before it, and by the send after it:
 *
 *   all      (p - 1) (send + gather)
 *   stage    gather + send, twice the send where p > 2
 */
#include "workloads/serving/cost/serving_cost_private.h"

OrrServingStages orr_serving_stages(const OrrServingCostParams *params) {
  const gint64 n = params->shard.tp * MAX(params->shard.dp, 1);
  const OrrCollectiveContext context = {
      .fabric = params->world->fabric, .cost = params->world->cost, .nccl = &params->nccl};
  OrrServingStages stages = {0};
  for (gint64 k = 0; k + 1 < params->pp; k++) {
    const gint64 first = params->first_gpu + k * n;
    const OrrManyToManyTime time =
        orr_many_to_many(&context, &(OrrManyToMany){first, n, first + n, n, .in_pairs = TRUE});
    stages.all.latency_s += time.latency_s;
    stages.all.per_byte_s += time.per_byte_s;
    stages.slowest.latency_s = fmax(stages.slowest.latency_s, time.latency_s);
    stages.slowest.per_byte_s = fmax(stages.slowest.per_byte_s, time.per_byte_s);
  }
  return stages;
}

void orr_serving_stages_gather(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                               GArray *operators) {
  const double bytes = (double)(tokens * model->hidden) * orr_dtype_bytes(shard->activations);
  const OrrOperator gather =
      orr_operator_comm("stage-gather", ORR_PASS_FORWARD, ORR_GROUP_TP, ORR_COMM_ALL_GATHER, bytes);
  if (shard->tp > 1) g_array_append_val(operators, gather);
}

static double send_seconds(const OrrManyToManyTime *time, double bytes) {
  return time->latency_s + bytes * time->per_byte_s;
}

double orr_serving_stages_add(const OrrServingStages *stages, const OrrServingCostParams *params,
                              gint64 tokens, double gather_s, OrrStepTime *time) {
  const double tensors = (double)params->stage_tensors, pp = (double)params->pp;
  const double bytes = tensors * (double)(tokens * params->world->model->hidden) *
                       orr_dtype_bytes(params->shard.activations) /
                       (params->stage_slices ? (double)params->shard.tp : 1);
  const double sends_s = send_seconds(&stages->all, bytes);
  time->sends_s = sends_s + (pp - 1) * tensors * gather_s;
  time->stage_sends_s =
      (pp > 2 ? 2 : 1) * send_seconds(&stages->slowest, bytes) + tensors * gather_s;
  time->gpu_s += time->sends_s;
  time->comm_s += time->sends_s;
  orr_joules_add(&time->joules,
                 orr_cost_energy_link(params->world->cost, (pp - 1) * bytes, sends_s), 1);
  return sends_s;
}
