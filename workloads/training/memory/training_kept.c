/*
 * training_kept - activations of one layer.
 *
 *   kept      what the schedule keeps from forward to backward (Korthikanti et al. 2022, section
 *             4); of layers that are recomputed whole in groups, one per group keeps the input of
 *             all
 *   working   in addition while a backward runs: what it replays of one layer, less what was kept,
 *             and the gradients of activations; for the loss, the gradients of the logits
 */
#include "workloads/training/memory/training_memory.h"

#include "workloads/training/job/training_offload.h"

/* How many layers are recomputed whole, together, from one input. */
static gint64 layers_together(const OrrJob *job) {
  const gboolean uniform = job->params->recompute_method == ORR_RECOMPUTE_UNIFORM;
  return uniform ? MAX(1, job->params->recompute_layers) : 1;
}

/* What a layer keeps that is the first of those recomputed together. */
static double kept_bytes(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrModel *model = job->world->model;
  switch (spec->type) {
  case ORR_LAYER_EMBEDDING:
    return orr_transformer_embedding_activation_bytes(model, &job->shard);
  case ORR_LAYER_TRANSFORMER:
    return orr_transformer_layer_activation_bytes(model, spec->kind, orr_job_layer_shard(job, spec),
                                                  spec->modules);
  case ORR_LAYER_MTP:
    return orr_transformer_mtp_activation_bytes(model, orr_job_layer_shard(job, spec),
                                                spec->modules);
  case ORR_LAYER_MTP_BODY:
    return orr_transformer_mtp_body_activation_bytes(model, orr_job_layer_shard(job, spec),
                                                     spec->modules);
  case ORR_LAYER_HEAD:
  case ORR_LAYER_MTP_HEAD:
    return orr_transformer_head_activation_bytes(model, &job->shard);
  }
  g_return_val_if_reached(0);
}

/* Of the body of a layer of multi-token prediction: the gradients of its transformer layer. */
static double mtp_body_bytes(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrModel *model = job->world->model;
  return orr_transformer_layer_gradient_bytes(model, orr_model_layer_kind(model, model->layers - 1),
                                              orr_job_layer_shard(job, spec));
}

static gboolean has_logits(const OrrLayerSpec *spec) {
  return spec->type == ORR_LAYER_HEAD || spec->type == ORR_LAYER_MTP ||
         spec->type == ORR_LAYER_MTP_HEAD;
}

/* In addition to what it keeps, while its backward runs. */
static double backward_bytes(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrModel *model = job->world->model;
  if (has_logits(spec)) return orr_transformer_head_gradient_bytes(model, &job->shard);
  if (spec->type == ORR_LAYER_MTP_BODY) return mtp_body_bytes(job, spec);
  if (spec->type != ORR_LAYER_TRANSFORMER) return 0;
  const double all =
      orr_transformer_layer_activation_bytes(model, spec->kind, orr_job_layer_shard(job, spec), 0);
  const double kept = orr_transformer_layer_activation_bytes(
      model, spec->kind, orr_job_layer_shard(job, spec), spec->modules);
  const double together = (spec->modules & ORR_MODULE_LAYER) ? (double)layers_together(job) : 1;
  return MAX(0, together * all - kept) +
         orr_transformer_layer_gradient_bytes(model, spec->kind, orr_job_layer_shard(job, spec));
}

/* What the largest product reads and writes, or the logits. */
static double forward_bytes(const OrrJob *job, const OrrLayerSpec *spec) {
  const OrrModel *model = job->world->model;
  if (has_logits(spec)) return orr_transformer_head_activation_bytes(model, &job->shard);
  if (spec->type == ORR_LAYER_MTP_BODY) return mtp_body_bytes(job, spec);
  return spec->type == ORR_LAYER_TRANSFORMER
             ? orr_transformer_layer_gradient_bytes(model, spec->kind,
                                                    orr_job_layer_shard(job, spec))
             : 0;
}

/* Computed once per spec: a job has hundreds of layers and few specs. */
static double bytes_of(const OrrJob *job, guint spec, OrrLayerBytes what) {
  static double (*const compute[])(const OrrJob *, const OrrLayerSpec *) = {
      [ORR_LAYER_KEPT] = kept_bytes,
      [ORR_LAYER_BACKWARD_WORKING] = backward_bytes,
      [ORR_LAYER_FORWARD_WORKING] = forward_bytes,
  };
  double *bytes = &job->layer_bytes[spec * ORR_N_LAYER_BYTES + what];
  if (*bytes < 0) *bytes = compute[what](job, orr_job_spec(job, spec));
  return *bytes;
}

double orr_training_kept_bytes(const OrrJob *job, const GArray *layers, gint64 layer) {
  const guint spec = g_array_index(layers, guint, layer);
  const gint64 together = layers_together(job);
  gint64 whole = 0; /* layers before this one that are recomputed whole */
  if (orr_job_spec(job, spec)->type == ORR_LAYER_TRANSFORMER && together > 1 &&
      (orr_job_spec(job, spec)->modules & ORR_MODULE_LAYER))
    for (gint64 i = 0; i < layer; i++)
      whole +=
          (orr_job_spec(job, g_array_index(layers, guint, i))->modules & ORR_MODULE_LAYER) != 0;
  return whole % together != 0 ? 0 : bytes_of(job, spec, ORR_LAYER_KEPT);
}

double orr_training_kept_by_block(const OrrJob *job, const GArray *layers, gboolean in_host) {
  double bytes = 0;
  for (guint i = 0; i < layers->len; i++)
    if (orr_training_offload_takes(job, layers, i) == in_host)
      bytes += orr_training_kept_bytes(job, layers, i);
  return bytes;
}

static double most_of(const OrrJob *job, const GArray *layers, OrrLayerBytes what) {
  double most = 0;
  ORR_EACH_VALUE(const guint, value, layers) most = MAX(most, bytes_of(job, value, what));
  return most;
}

double orr_training_kept_backward_working(const OrrJob *job, const GArray *layers) {
  return most_of(job, layers, ORR_LAYER_BACKWARD_WORKING);
}

double orr_training_kept_forward_working(const OrrJob *job, const GArray *layers) {
  return most_of(job, layers, ORR_LAYER_FORWARD_WORKING);
}
