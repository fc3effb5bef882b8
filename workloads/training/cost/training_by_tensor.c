/*
 * training_by_tensor - the cost of lists, where weights and gradients travel tensor by tensor
 * (zero-3's by-tensor).
 *
 * A tensor is a weight whose gradient one product by weight of the layer's backward computes. The
 * rest of the layer, embeddings excepted, is norms and biases, which are below the threshold for
 * sharding. A tensor's collective works on a list of n slices, one for each rank. The host goes
 * through the slices (operators times host-launch, for each) while the GPU is idle, and the GPU
 * copies the whole tensor several times. Counted in DeepSpeed v0.3.12 to v0.4.0 and PyTorch 1.8:
 *
 *              operators per slice              copies of the tensor through memory
 *   gather     narrow; select, copy_            torch.zeros 1, copies of the slices 2, norm 1
 *   scatter    view, narrow; select, copy_      into the bucket 2, division 2, copies 2
 *
 * A recomputed layer's weights are gathered for the recomputation. A tensor is gathered once more
 * for its own backward if itself and twice the tensors between have at least reuse-within
 * parameters (PrefetchCoordinator.get_reuse_distance_in_numel).
 */
#include "workloads/training/cost/training_costs.h"

enum { GATHER_OPERATORS = 3, SCATTER_OPERATORS = 4, GATHER_COPIES = 4, SCATTER_COPIES = 6 };

static GArray *backward_of(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrModel *model = job->world->model;
  GArray *operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  if (spec->type == ORR_LAYER_TRANSFORMER)
    orr_transformer_layer_backward(model, spec->kind, orr_job_layer_shard(job, spec), operators);
  if (spec->type == ORR_LAYER_MTP)
    orr_transformer_mtp_backward(model, orr_job_layer_shard(job, spec), operators);
  if (spec->type == ORR_LAYER_MTP_BODY)
    orr_transformer_mtp_body_backward(model, orr_job_layer_shard(job, spec), operators);
  if (spec->type == ORR_LAYER_HEAD) orr_transformer_head_backward(model, &job->shard, operators);
  return operators;
}

GArray *orr_training_by_tensor_sizes(const OrrJob *job, guint index) {
  const OrrLayerSpec *spec = orr_job_spec(job, index);
  const double whole_below = job->sharding.whole_below;
  GArray *tensors = g_array_new(FALSE, FALSE, sizeof(double));
  double rest = orr_job_layer_weights(job, 0, index).dense;
  g_autoptr(GArray) operators = backward_of(job, spec);
  ORR_EACH(const OrrOperator, op, operators) {
    if (op->kind != ORR_OPERATOR_GEMM || op->pass != ORR_PASS_WGRAD) continue;
    /* dw[n, k] of y[m, n] = x[m, k] w[n, k]^T */
    const double parameters = (double)op->gemm.m * (double)op->gemm.n;
    if (parameters > rest) continue;
    if (parameters > whole_below) g_array_append_val(tensors, parameters);
    rest -= parameters;
  }
  if (spec->type == ORR_LAYER_EMBEDDING && rest > whole_below) g_array_append_val(tensors, rest);
  return tensors;
}

GArray *orr_training_by_tensor_regathered(const OrrJob *job, guint spec, const GArray *tensors) {
  GArray *again = g_array_new(FALSE, FALSE, sizeof(double));
  double between = 0; /* of tensors that the forward uses later, and the backward earlier */
  if (!(orr_job_spec(job, spec)->modules & ORR_MODULE_LAYER)) return again;
  ORR_EACH_VALUE(const double, own, tensors) {
    if (own + 2 * between >= job->sharding.reuse_within) g_array_append_val(again, own);
    between += own;
  }
  return again;
}

/* Adds what one collective on each of @tensors takes. */
static void add_lists(const OrrJob *job, const GArray *tensors, double operators, double copies,
                      double element_bytes, double seconds[ORR_N_TIMES]) {
  const double slice_s = operators * orr_cost_host_launch_s(job->world->cost, ORR_KERNELS_MODERN);
  ORR_EACH_VALUE(const double, value, tensors) {
    const double bytes = copies * element_bytes * value;
    const OrrOperator moves =
        orr_operator_memory("list-copies", ORR_PASS_FORWARD, job->shard.dtype, bytes, 0);
    seconds[ORR_TIME_HOST] += (double)job->sharding.ranks * slice_s;
    seconds[ORR_TIME_MEMORY] += orr_cost_operator(job->world->cost, &moves).time_s;
  }
}

OrrListWork orr_list_work_of(const OrrJob *job, guint spec) {
  const double weight_bytes = orr_dtype_bytes(job->shard.dtype);
  g_autoptr(GArray) tensors = orr_training_by_tensor_sizes(job, spec);
  g_autoptr(GArray) again = orr_training_by_tensor_regathered(job, spec, tensors);
  OrrListWork work = {0};
  add_lists(job, tensors, GATHER_OPERATORS, GATHER_COPIES, weight_bytes, work.gather);
  add_lists(job, tensors, GATHER_OPERATORS, GATHER_COPIES, weight_bytes, work.again);
  add_lists(job, again, GATHER_OPERATORS, GATHER_COPIES, weight_bytes, work.again);
  add_lists(job, tensors, SCATTER_OPERATORS, SCATTER_COPIES, job->gradient_bytes_each,
            work.scatter);
  return work;
}
