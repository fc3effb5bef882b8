/*
 * training_memory - bytes a GPU of each stage holds at the step's peak.
 *
 *   weights      parameters * 2 (fp16, bf16)
 *   gradients    parameters * 2 or 4, as data-parallel.gradients says
 *   optimizer    parameters * 12: fp32 master weights and Adam's two moments; / dp with a distributed optimizer
 *                (2 + 2 + 12 is ZeRO's (2 + 2 + K) with K = 12; Rajbhandari et al. 2020, section 3)
 *   activations  what the schedule keeps alive on the stage (orr_pipeline_peak chunk activations of chunk_layers
 * layers), plus, under full recomputation, one layer's working set while it is replayed; the embedding's and the head's
 * extras (Korthikanti et al. 2022, section 4)
 */
#include "workloads/training_private.h"

static double stage_activations(const OrrJob *job, gint64 stage) {
  const OrrModel *model = job->world->model;
  const guint modules = orr_recompute_modules(job->params->recompute);
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  job->schedule->steps(&job->shape, stage, steps);
  const double alive = (double)orr_pipeline_peak(steps);
  double bytes = alive * job->chunk_layers * orr_transformer_layer_activation_bytes(model, 0, &job->shard, modules);
  if (modules & ORR_MODULE_LAYER)
    bytes += orr_transformer_layer_activation_bytes(model, 0, &job->shard, 0);
  if (stage == 0) bytes += alive / job->shape.chunks * orr_transformer_embedding_activation_bytes(model, &job->shard);
  if (stage == job->pp - 1) bytes += orr_transformer_head_activation_bytes(model, &job->shard);
  return bytes;
}

void orr_training_memory(const OrrJob *job, GArray *memory) {
  const gboolean sharded = job->params->optimizer.sharding == ORR_SHARDING_DISTRIBUTED;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const double parameters = orr_job_stage_parameters(job, stage);
    const OrrStageMemory row = {
        .stage = stage,
        .weights = parameters * orr_dtype_bytes(job->shard.dtype),
        .gradients = parameters * job->gradient_bytes_each,
        .optimizer = parameters * 12 / (sharded ? job->dp : 1),
        .activations = stage_activations(job, stage),
    };
    g_array_append_val(memory, row);
  }
}
