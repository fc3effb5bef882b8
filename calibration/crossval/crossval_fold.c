/*
 * crossval_fold.c - what the families of cross-validation share: dealing shapes into folds, a
 * profile without one fold, and the region of a point.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/crossval/crossval_private.h"

enum { BOUND_BY_LATENCY, BOUND_BY_MEMORY, BOUND_BY_COMPUTE, OUTSIDE };
const char *const orr_crossval_bounds[] = {[BOUND_BY_LATENCY] = "latency",
                                           [BOUND_BY_MEMORY] = "memory",
                                           [BOUND_BY_COMPUTE] = "compute",
                                           [OUTSIDE] = "outside",
                                           NULL};

guint orr_crossval_bound(const OrrCostModel *model, OrrDtype dtype, double flops, double bytes) {
  const double overhead_s = model->constants->kernel_overhead_s;
  const double compute_s = flops / model->peak_flops[dtype];
  const double memory_s = bytes / model->device->memory_bytes_per_s;
  if (fmax(compute_s, memory_s) <= overhead_s) return BOUND_BY_LATENCY;
  return memory_s >= compute_s ? BOUND_BY_MEMORY : BOUND_BY_COMPUTE;
}

guint orr_crossval_fold_of(guint shape) {
  guint32 mixed = (shape + 1) * 2654435769u; /* Knuth's multiplicative hash, its upper bits */
  return (mixed >> 16) % ORR_CROSSVAL_FOLDS;
}

gpointer orr_crossval_own(OrrCrossvalFold *fold, gconstpointer data, gsize size) {
  gpointer copy = g_memdup2(data, size);
  g_ptr_array_add(fold->owned, copy);
  return copy;
}

char *orr_crossval_own_text(OrrCrossvalFold *fold, char *text) {
  g_ptr_array_add(fold->owned, text);
  return text;
}

GPtrArray *orr_crossval_own_array(OrrCrossvalFold *fold, const GPtrArray *array) {
  GPtrArray view = {
      .pdata =
          array->len ? orr_crossval_own(fold, array->pdata, array->len * sizeof(gpointer)) : NULL,
      .len = array->len};
  return orr_crossval_own(fold, &view, sizeof view);
}

GPtrArray *orr_crossval_own_list(OrrCrossvalFold *fold, gpointer only) {
  return orr_crossval_own_array(fold, &(GPtrArray){.pdata = &only, .len = 1});
}

GPtrArray *orr_crossval_rest(const GPtrArray *rows, guint fold, OrrCrossvalFold *into) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  for (guint i = 0; i < rows->len; i++)
    if (orr_crossval_fold_of(i) != fold) g_ptr_array_add(rest, rows->pdata[i]);
  return orr_crossval_own_array(into, rest);
}

void orr_crossval_fold_init(OrrCrossvalFold *fold, const OrrProfile *profile) {
  fold->rest = *profile;
  fold->rest.gemm = fold->rest.library_gemm = fold->rest.attention = fold->rest.collectives =
      fold->rest.moe = fold->rest.libraries = NULL;
  fold->rest.modules = *orr_profile_modules(profile);
  fold->rest.modules.tables = NULL;
  fold->rest.library = NULL; /* or it would have the tables of `modules-of` */
  fold->owned = g_ptr_array_new_with_free_func(g_free);
  fold->left_out = g_array_new(FALSE, FALSE, sizeof(OrrCrossvalPoint));
}

void orr_crossval_fold_clear(OrrCrossvalFold *fold) {
  g_ptr_array_unref(fold->owned);
  g_array_unref(fold->left_out);
}
