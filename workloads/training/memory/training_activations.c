/*
 * training_activations - lists a stage's activations by operator: what each kind keeps, what is
 * replayed instead, and for how many micro-batches at the stage's peak.
 *
 *   bytes at the peak = sum over chunks of
 *       micro-batches under way * sum over layers of what their operators keep
 *
 * Invariant: summed over a stage's rows this is OrrStageMemory.activations, to the byte: both count
 * the same layers.
 */
#include "workloads/training/memory/training_memory.h"

#include "workloads/training/job/training_offload.h"

static const char *const type_names[] = {
    [ORR_LAYER_EMBEDDING] = "embedding",
    [ORR_LAYER_TRANSFORMER] = "layer",
    [ORR_LAYER_MTP] = "mtp",
    [ORR_LAYER_HEAD] = "head",
    [ORR_LAYER_MTP_BODY] = "mtp",
    [ORR_LAYER_MTP_HEAD] = "mtp-head",
};

/* Appends what a layer of @spec keeps (OrrKeptBytes) with @modules recomputed. */
static void append_kept(const OrrJob *job, const OrrLayerSpec *spec, guint modules, GArray *kept) {
  const OrrModel *model = job->world->model;
  switch (spec->type) {
  case ORR_LAYER_EMBEDDING:
    orr_transformer_embedding_kept(model, &job->shard, kept);
    break;
  case ORR_LAYER_TRANSFORMER:
    orr_transformer_layer_kept(model, spec->kind, orr_job_layer_shard(job, spec), modules, kept);
    break;
  case ORR_LAYER_MTP:
    orr_transformer_mtp_kept(model, orr_job_layer_shard(job, spec), modules, kept);
    break;
  case ORR_LAYER_MTP_BODY:
    orr_transformer_mtp_body_kept(model, orr_job_layer_shard(job, spec), modules, kept);
    break;
  case ORR_LAYER_HEAD:
  case ORR_LAYER_MTP_HEAD:
    orr_transformer_head_kept(model, &job->shard, kept);
    break;
  }
}

static double bytes_of(const GArray *kept, const char *operator) {
  for (guint i = 0; i < kept->len; i++)
    if (g_str_equal(g_array_index(kept, OrrKeptBytes, i).operator, operator))
      return g_array_index(kept, OrrKeptBytes, i).bytes;
  return 0;
}

/* Finds or adds, from @from on, the row of @like's chunk, type of layer and operator. */
static OrrActivationRow *row_of(GArray *rows, guint from, const OrrActivationRow *like) {
  for (guint i = from; i < rows->len; i++) {
    OrrActivationRow *row = &g_array_index(rows, OrrActivationRow, i);
    if (row->chunk == like->chunk && g_str_equal(row->unit, like->unit) &&
        g_str_equal(row->operator, like->operator))
      return row;
  }
  g_array_append_val(rows, *like);
  return &g_array_index(rows, OrrActivationRow, rows->len - 1);
}

/* One layer of a block: what it keeps with its recomputation, and what it would keep without. */
static void add_layer(const OrrJob *job, const GArray *layers, gint64 layer,
                      const OrrActivationRow *at, GArray *rows, guint from) {
  const OrrLayerSpec *spec = orr_job_spec(job, g_array_index(layers, guint, layer));
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  if (orr_training_kept_bytes(job, layers, layer) > 0) append_kept(job, spec, spec->modules, kept);
  append_kept(job, spec, 0, all);
  for (int again = 0; again <= 1; again++) {
    const GArray *list = again ? all : kept;
    ORR_EACH(const OrrKeptBytes, one, list) {
      const double there = bytes_of(kept, one->operator);
      if (again && one->bytes <= there) continue;
      OrrActivationRow like = *at;
      like.unit = (char *)type_names[spec->type];
      like.operator=(char *) one->operator;
      OrrActivationRow *row = row_of(rows, from, &like);
      row->units += !again || there == 0;
      if (again)
        row->replayed_bytes += one->bytes - there;
      else if (orr_training_offload_takes(job, layers, layer))
        row->host_bytes += one->bytes;
      else
        row->kept_bytes += one->bytes;
      row->peak_bytes = row->kept_bytes * (double)row->micro_batches;
    }
  }
}

/* How many passes of each chunk are under way during step @peak of the stage. */
static gint64 *passes_at(const OrrJob *job, gint64 stage, guint peak) {
  gint64 *passes = g_new0(gint64, job->shape.chunks);
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  orr_job_steps(job, stage, steps);
  for (guint i = 0; i <= peak && i < steps->len; i++) {
    const OrrPipelineStep *step = &g_array_index(steps, OrrPipelineStep, i);
    if (orr_step_begins(step)) passes[step->chunk]++;
    if (orr_step_ends(step) && i < peak)
      passes[step->kind == ORR_STEP_BOTH ? step->back_chunk : step->chunk]--;
  }
  return passes;
}

void orr_training_activations(const OrrJob *job, gint64 stage, guint peak, GArray *rows) {
  if (job->params->evaluation) return;
  g_autofree gint64 *passes = passes_at(job, stage, peak);
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
    const GArray *layers = orr_job_layers(job, stage, chunk);
    const guint from = rows->len;
    const OrrActivationRow at = {.stage = stage, .chunk = chunk, .micro_batches = passes[chunk]};
    for (guint i = 0; i < layers->len; i++) add_layer(job, layers, i, &at, rows, from);
  }
}
