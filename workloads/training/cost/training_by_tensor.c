/*
 * training_by_tensor - what lists cost where weights and gradients travel tensor by tensor
 * (zero-3's by-tensor).
 *
 * A tensor is what one product by weight of the unit's backward makes the gradient of; the rest of
 * the unit, embeddings apart, is norms and biases, below the threshold. Its collective works on a
 * list of n parts. The host goes through them (operators times host-launch, each) while the GPU has
 * nothing to do, and the GPU makes passes over the whole tensor. Counted in DeepSpeed v0.3.12 to
 * v0.4.0 and PyTorch 1.8:
 *
 *              operators a part                                       passes of the tensor through memory
 *   gather     narrow; select, copy_                                  torch.zeros 1, copies of the parts 2, norm 1
 *   scatter    view, narrow; select, copy_                            into the bucket 2, division 2, copies 2
 *
 * A part whose layer is recomputed has its weights gathered for that, and once more for its own
 * backward if the tensors between, there and back, and itself have reuse-within parameters together
 * (PrefetchCoordinator.get_reuse_distance_in_numel).
 */
#include "workloads/training/training_private.h"

enum { GATHER_OPERATORS = 3, SCATTER_OPERATORS = 4, GATHER_PASSES = 4, SCATTER_PASSES = 6 };

static GArray *backward_of(const OrrJob *job, const OrrPart *part) {
  const OrrModel *model = job->world->model;
  GArray *operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  if (part->unit == ORR_UNIT_LAYER)
    orr_transformer_layer_backward(model, part->kind, &job->shard, operators);
  if (part->unit == ORR_UNIT_MTP) orr_transformer_mtp_backward(model, &job->shard, operators);
  if (part->unit == ORR_UNIT_HEAD) orr_transformer_head_backward(model, &job->shard, operators);
  return operators;
}

GArray *orr_training_tensors(const OrrJob *job, guint index) {
  const OrrPart *part = orr_job_part(job, index);
  const double whole_below = job->sharding.whole_below;
  GArray *tensors = g_array_new(FALSE, FALSE, sizeof(double));
  double rest = orr_job_part_weights(job, 0, index).dense;
  g_autoptr(GArray) operators = backward_of(job, part);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind != ORR_OPERATOR_GEMM || op->pass != ORR_PASS_WGRAD) continue;
    const double parameters =
        (double)op->gemm.m * (double)op->gemm.n; /* dw[n, k] of y[m, n] = x[m, k] w[n, k]^T */
    if (parameters > rest) continue;
    if (parameters > whole_below) g_array_append_val(tensors, parameters);
    rest -= parameters;
  }
  if (part->unit == ORR_UNIT_EMBEDDING && rest > whole_below) g_array_append_val(tensors, rest);
  return tensors;
}

GArray *orr_training_regathered(const OrrJob *job, guint part, const GArray *tensors) {
  GArray *again = g_array_new(FALSE, FALSE, sizeof(double));
  double between = 0; /* those that the forward uses after it, which the backward uses before it */
  if (!(orr_job_part(job, part)->modules & ORR_MODULE_LAYER)) return again;
  for (guint i = 0; i < tensors->len; i++) {
    const double own = g_array_index(tensors, double, i);
    if (own + 2 * between >= job->sharding.reuse_within) g_array_append_val(again, own);
    between += own;
  }
  return again;
}

/* Adds one collective of each of @tensors. */
static void add_lists(const OrrJob *job, const GArray *tensors, double operators, double passes,
                      double element_bytes, double seconds[ORR_N_TIMES]) {
  const double part_s = operators * orr_cost_host_launch_s(job->world->cost, ORR_KERNELS_MODERN);
  for (guint i = 0; i < tensors->len; i++) {
    const double bytes = passes * element_bytes * g_array_index(tensors, double, i);
    const OrrOperator moves =
        orr_operator_memory("list-copies", ORR_PASS_FORWARD, job->shard.dtype, bytes, 0);
    seconds[ORR_TIME_HOST] += (double)job->sharding.ranks * part_s;
    seconds[ORR_TIME_MEMORY] += orr_cost_operator(job->world->cost, &moves).time_s;
  }
}

OrrListWork orr_training_list_work(const OrrJob *job, guint part) {
  const double weight_bytes = orr_dtype_bytes(job->shard.dtype);
  g_autoptr(GArray) tensors = orr_training_tensors(job, part);
  g_autoptr(GArray) again = orr_training_regathered(job, part, tensors);
  OrrListWork work = {0};
  add_lists(job, tensors, GATHER_OPERATORS, GATHER_PASSES, weight_bytes, work.gather);
  add_lists(job, tensors, GATHER_OPERATORS, GATHER_PASSES, weight_bytes, work.again);
  add_lists(job, again, GATHER_OPERATORS, GATHER_PASSES, weight_bytes, work.again);
  add_lists(job, tensors, SCATTER_OPERATORS, SCATTER_PASSES, job->gradient_bytes_each,
            work.scatter);
  return work;
}
