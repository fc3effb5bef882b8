/*
 * training_activations - activations of a stage by operator: what each kind keeps, what is replayed
 * instead, and of how many micro-batches it is there when the stage holds most.
 *
 *   bytes at the peak = sum over chunks of   micro-batches under way * sum over units of what its operators keep
 *
 * Invariant: over a stage's rows that sum is OrrStageMemory.activations, to the byte: both count
 * the same units.
 */
#include "workloads/training/training_private.h"

static const char *const unit_names[] = {
    [ORR_UNIT_EMBEDDING] = "embedding",
    [ORR_UNIT_LAYER] = "layer",
    [ORR_UNIT_MTP] = "mtp",
    [ORR_UNIT_HEAD] = "head",
};

/* By a unit of @part with @modules recomputed. */
static void append_kept(const OrrJob *job, const OrrPart *part, guint modules, GArray *kept) {
  const OrrModel *model = job->world->model;
  switch (part->unit) {
  case ORR_UNIT_EMBEDDING:
    orr_transformer_embedding_kept(model, &job->shard, kept);
    break;
  case ORR_UNIT_LAYER:
    orr_transformer_layer_kept(model, part->kind, &job->shard, modules, kept);
    break;
  case ORR_UNIT_MTP:
    orr_transformer_mtp_kept(model, &job->shard, modules, kept);
    break;
  case ORR_UNIT_HEAD:
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

/* The row of @like's stage, chunk, unit and operator, from @from on. */
static OrrKeptActivation *row_of(GArray *rows, guint from, const OrrKeptActivation *like) {
  for (guint i = from; i < rows->len; i++) {
    OrrKeptActivation *row = &g_array_index(rows, OrrKeptActivation, i);
    if (row->chunk == like->chunk && g_str_equal(row->unit, like->unit) &&
        g_str_equal(row->operator, like->operator))
      return row;
  }
  g_array_append_val(rows, *like);
  return &g_array_index(rows, OrrKeptActivation, rows->len - 1);
}

/* One unit of a block: what it keeps under its recomputation, and what it would keep without. */
static void add_unit(const OrrJob *job, const GArray *units, gint64 unit,
                     const OrrKeptActivation *at, GArray *rows, guint from) {
  const OrrPart *part = orr_job_part(job, g_array_index(units, guint, unit));
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  if (orr_training_kept_bytes(job, units, unit) > 0) append_kept(job, part, part->modules, kept);
  append_kept(job, part, 0, all);
  for (int again = 0; again <= 1; again++) {
    const GArray *list = again ? all : kept;
    for (guint i = 0; i < list->len; i++) {
      const OrrKeptBytes *one = &g_array_index(list, OrrKeptBytes, i);
      const double there = bytes_of(kept, one->operator);
      if (again && one->bytes <= there) continue;
      OrrKeptActivation like = *at;
      like.unit = unit_names[part->unit];
      like.operator= one->operator;
      OrrKeptActivation *row = row_of(rows, from, &like);
      row->units += !again || there == 0;
      if (again)
        row->replayed += one->bytes - there;
      else if (orr_offload_takes(job, units, unit))
        row->in_host += one->bytes;
      else
        row->kept += one->bytes;
    }
  }
}

/* Passes of each chunk that are under way while step @peak of the stage runs. */
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
    const GArray *units = orr_job_units(job, stage, chunk);
    const guint from = rows->len;
    const OrrKeptActivation at = {.stage = stage, .chunk = chunk, .micro_batches = passes[chunk]};
    for (guint i = 0; i < units->len; i++) add_unit(job, units, i, &at, rows, from);
  }
}
