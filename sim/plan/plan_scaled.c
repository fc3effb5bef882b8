/*
 * plan_scaled.c - a model of other size and the same shape, for plans that choose the size.
 */
#include "models/model.h"
#include "sim/plan/plan.h"

/* NULL, or what a larger or smaller one would not follow from (static). */
static const char *what_else(const OrrModel *model) {
  if (model->moe.experts > 1) return "experts, which the scaling laws here do not know";
  if (model->mla.kv_rank > 0) return "latent attention";
  if (model->encoder.layers > 0) return "an encoder";
  return orr_model_n_layer_kinds(model) > 1 ? "layers of several kinds" : NULL;
}

/* Depth and width grow by @factor alike; heads keep their size and stay a multiple of the heads of
 * keys and values. */
static void scale(OrrModel *model, double factor) {
  const gint64 kv = MAX(model->kv_heads, 1), heads = model->heads;
  const gint64 unit = kv < heads ? kv : 1;
  model->heads = MAX((gint64)round((double)heads * factor / (double)unit), 1) * unit;
  const double ratio = (double)model->heads / (double)heads;
  if (kv == heads) model->kv_heads = model->heads;
  model->hidden = (gint64)round((double)model->hidden * ratio);
  model->ffn = MAX((gint64)round((double)model->ffn * ratio / 64), 1) * 64;
  model->layers = MAX((gint64)round((double)model->layers * factor), 1);
  model->parameters = 0;
}

char *orr_plan_scaled_model(OrrLibrary *library, const char *base, double factor,
                            double *ret_parameters, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {.file = "--model"};
  g_autoptr(OrrNode) tree = orr_library_load(library, "model", base, place, diags);
  OrrModel model = {0};
  char *text = NULL;
  const gboolean is_read = tree && orr_field_read(&orr_model_table, tree, library, diags, &model);
  if (is_read) orr_model_settle(&model, place, diags);
  if (orr_diags_check(diags, error)) {
    const char *other = what_else(&model);
    scale(&model, factor);
    *ret_parameters = orr_model_parameters(&model);
    if (other)
      orr_fault_set(error, ORR_FAULT_USAGE, "--model %s has %s: its shape is not scaled", base,
                    other);
    else
      text = g_strdup_printf("{base: %s, name: \"%s x %.4g\", layers: %ld, hidden: %ld, heads: "
                             "%ld, kv-heads: %ld, head-dim: %ld, ffn: %ld, parameters: %.0f}",
                             base, model.name, factor, model.layers, model.hidden, model.heads,
                             model.kv_heads, model.head_dim, model.ffn, *ret_parameters);
  }
  if (is_read) orr_field_clear(&orr_model_table, &model);
  return text;
}
