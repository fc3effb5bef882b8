/*
 * training_kept - activations of one layer.
 *
 *   kept      what the schedule keeps from forward to backward (Korthikanti et al. 2022, section
 *             4); of layers that are recomputed whole in groups, one per group keeps the input of
 *             all
 *   working   in addition while a backward runs: what it replays of one layer, less what was kept,
 *             and the gradients of activations; for the loss, the gradients of the logits
 */
#include "workloads/training/memory/training_kept.h"

#include "workloads/training/job/training_offload.h"

/* How many layers are recomputed whole, together, from one input. */
static gint64 layers_together(const OrrJob *job) {
  const gboolean uniform = job->params->recompute_method == ORR_RECOMPUTE_UNIFORM;
  return uniform ? MAX(1, job->params->recompute_layers) : 1;
}

double orr_training_kept_bytes(const OrrJob *job, const GArray *layers, gint64 layer) {
  const OrrModel *model = job->world->model;
  const OrrLayerSpec *spec = orr_job_spec(job, g_array_index(layers, guint, layer));
  gint64 whole = 0; /* layers before this one that are recomputed whole */
  for (gint64 i = 0; i < layer; i++)
    whole += (orr_job_spec(job, g_array_index(layers, guint, i))->modules & ORR_MODULE_LAYER) != 0;
  switch (spec->type) {
  case ORR_LAYER_EMBEDDING:
    return orr_transformer_embedding_activation_bytes(model, &job->shard);
  case ORR_LAYER_TRANSFORMER:
    if ((spec->modules & ORR_MODULE_LAYER) && whole % layers_together(job) != 0) return 0;
    return orr_transformer_layer_activation_bytes(model, spec->kind, &job->shard, spec->modules);
  case ORR_LAYER_MTP:
    return orr_transformer_mtp_activation_bytes(model, &job->shard, spec->modules);
  case ORR_LAYER_HEAD:
    return orr_transformer_head_activation_bytes(model, &job->shard);
  }
  g_return_val_if_reached(0);
}

double orr_training_kept_by_block(const OrrJob *job, const GArray *layers, gboolean in_host) {
  double bytes = 0;
  for (guint i = 0; i < layers->len; i++)
    if (orr_training_offload_takes(job, layers, i) == in_host)
      bytes += orr_training_kept_bytes(job, layers, i);
  return bytes;
}

/* In addition to what it keeps, while its backward runs. */
static double layer_working_bytes(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrModel *model = job->world->model;
  const double all = orr_transformer_layer_activation_bytes(model, spec->kind, &job->shard, 0);
  const double kept =
      orr_transformer_layer_activation_bytes(model, spec->kind, &job->shard, spec->modules);
  const double together = (spec->modules & ORR_MODULE_LAYER) ? (double)layers_together(job) : 1;
  return MAX(0, together * all - kept) +
         orr_transformer_layer_gradient_bytes(model, spec->kind, &job->shard);
}

double orr_training_kept_backward_working(const OrrJob *job, const GArray *layers) {
  const OrrModel *model = job->world->model;
  double most = 0;
  for (guint i = 0; i < layers->len; i++) {
    const OrrLayerSpec *spec = orr_job_spec(job, g_array_index(layers, guint, i));
    if (spec->type == ORR_LAYER_TRANSFORMER) most = MAX(most, layer_working_bytes(job, spec));
    if (spec->type == ORR_LAYER_HEAD || spec->type == ORR_LAYER_MTP)
      most = MAX(most, orr_transformer_head_gradient_bytes(model, &job->shard));
  }
  return most;
}

/* What the largest product reads and writes, or the logits. */
double orr_training_kept_forward_working(const OrrJob *job, const GArray *layers) {
  const OrrModel *model = job->world->model;
  double most = 0;
  for (guint i = 0; i < layers->len; i++) {
    const OrrLayerSpec *spec = orr_job_spec(job, g_array_index(layers, guint, i));
    if (spec->type == ORR_LAYER_TRANSFORMER)
      most = MAX(most, orr_transformer_layer_gradient_bytes(model, spec->kind, &job->shard));
    if (spec->type == ORR_LAYER_HEAD || spec->type == ORR_LAYER_MTP)
      most = MAX(most, orr_transformer_head_activation_bytes(model, &job->shard));
  }
  return most;
}
