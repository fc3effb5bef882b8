/*
 * cost_module_layer.c - describes a model's layer as the tables of sparse and linear attention
 * describe theirs: by widths, whatever the model is called.
 */
#include "calibration/cost/cost_module.h"

#include "calibration/cost/cost_private.h"
#include "models/layer.h"

/* Sums the weights of the mixer's matrices: whole ones, and per head. */
static void add_weights(const OrrLayer *layer, OrrProfileModuleLayer *into) {
  for (guint i = 0; i < layer->n_matrices; i++) {
    const OrrMatrix *matrix = &layer->matrices[i];
    const double weights = orr_matrix_weights(matrix, 1);
    if (matrix->part != ORR_QUANTIZED_MIXER) continue;
    if (g_str_has_prefix(matrix->name, "index-"))
      into->index_weights += weights;
    else if (matrix->split == ORR_SPLIT_NONE)
      into->weights += weights;
    else
      into->head_weights += weights / (double)layer->heads;
  }
}

/* A head's channels can be a third of a number, which profiles round. */
static gboolean is_equal(const OrrProfileModuleLayer *a, const OrrProfileModuleLayer *b) {
  return a->hidden == b->hidden && a->key_width == b->key_width && a->topk == b->topk &&
         a->ratio == b->ratio && a->state == b->state && a->state_bytes == b->state_bytes &&
         fabs(a->channels - b->channels) < 1e-6 && a->index_heads == b->index_heads;
}

static void set_name(const OrrCostModel *cost, OrrProfileModuleLayer *layer) {
  const GPtrArray *known = cost->profile ? orr_profile_modules(cost->profile)->layers : NULL;
  for (guint i = 0; i < orr_profile_length(known) && !layer->name; i++) {
    const OrrProfileModuleLayer *other = known->pdata[i];
    OrrProfileModuleLayer compared = *layer;
    /* without an indexer of its own, a layer runs the same attention over another's choice */
    if (layer->index_heads == 0 && layer->ratio == 1) compared.index_heads = other->index_heads;
    if (is_equal(&compared, other)) layer->name = other->name;
  }
}

/* Widths of a head, whatever their number: its part of the convolution, its state, its output. */
static OrrProfileModuleLayer scan_layer(const OrrCostModel *cost, const OrrScan *scan) {
  const double heads = (double)scan->heads;
  OrrProfileModuleLayer of = {.ratio = 1,
                              .channels = (double)scan->conv / heads,
                              .state = (double)(scan->key * scan->value),
                              .output = (double)scan->out / heads};
  set_name(cost, &of);
  return of;
}

OrrProfileModuleLayer orr_cost_module_layer(const OrrCostModel *cost, const OrrModel *model,
                                            guint kind) {
  const OrrLayer layer = orr_layer(model, kind, 1, 1, 1);
  const int mixer = layer.kind.mixer;
  if (layer.scan.heads > 0) return scan_layer(cost, &layer.scan);
  OrrProfileModuleLayer of = {.hidden = (double)layer.hidden,
                              .ratio = orr_model_entry_tokens(model, kind)};
  add_weights(&layer, &of);
  of.key_width =
      (double)(layer.compressed ? layer.head_dim : model->mla.kv_rank + model->mla.rope_dim);
  of.value_width = (double)(layer.compressed ? layer.head_dim : model->mla.kv_rank);
  if (mixer != ORR_MIXER_HCA) of.topk = (double)model->sparse.topk;
  if (layer.compressed) of.window = (double)model->window.size;
  if (orr_layer_matrix(&layer, "index-q")) {
    of.index_heads = (double)model->sparse.index_heads;
    of.index_width = (double)model->sparse.index_dim;
  }
  set_name(cost, &of);
  return of;
}
