/*
 * cost_library.c - kernels of libraries beside NCCL: custom all-reduces of vLLM and TensorRT-LLM, DeepEP.
 *
 * A row is one (library, operation, ranks, shape of experts) over an axis of sizes, asked as collectives are. DeepEP
 * moves tokens * topk * hidden elements out of a rank: a shape without rows is asked of the nearest, at the number of
 * tokens that is as many bytes.
 */
#include <math.h>
#include <string.h>

#include "calibration/cost_private.h"
#include "calibration/profile_nccl.h"
#include "sim/base/fault.h"

typedef struct {
  const OrrProfileLibrary *row;
  GArray *size, *us; /* of double */
} OrrCostLibrary;

static void library_free(gpointer data) {
  OrrCostLibrary *library = data;
  g_clear_pointer(&library->size, g_array_unref);
  g_clear_pointer(&library->us, g_array_unref);
  g_free(library);
}

static gboolean rises(const GArray *axis) {
  for (guint i = 1; i < axis->len; i++)
    if (g_array_index(axis, double, i) <= g_array_index(axis, double, i - 1)) return FALSE;
  return axis->len > 0;
}

gboolean orr_cost_library_build(OrrCostModel *model, const GPtrArray *rows, GError **error) {
  model->libraries = g_ptr_array_new_with_free_func(library_free);
  for (guint i = 0; rows && i < rows->len; i++) {
    OrrCostLibrary *library = g_new0(OrrCostLibrary, 1);
    g_ptr_array_add(model->libraries, library);
    library->row = rows->pdata[i];
    library->size = orr_profile_numbers(library->row->size, FALSE, error);
    library->us = library->size ? orr_profile_numbers(library->row->us, FALSE, error) : NULL;
    if (!library->us) return FALSE;
    if (library->us->len == library->size->len && rises(library->size)) continue;
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "library %s, %s: as many sizes, rising, as latencies are needed",
                library->row->library, library->row->op);
    return FALSE;
  }
  return TRUE;
}

static double bytes_of_token(gint64 hidden, gint64 topk) { return (double)MAX(hidden, 1) * (double)MAX(topk, 1); }

/* How far a row's shape is from the one asked for; 0: equal. Bytes of a token first. */
static double distance(const OrrProfileLibrary *row, const OrrLibraryCall *call) {
  double bytes = fabs(log(bytes_of_token(row->hidden, row->topk) / bytes_of_token(call->hidden, call->topk)));
  double experts = fabs(log((double)MAX(row->experts, 1) / (double)MAX(call->experts, 1)));
  return bytes + 1e-3 * experts + (row->hidden != call->hidden ? 1e-6 : 0);
}

static const OrrCostLibrary *nearest(const OrrCostModel *model, const OrrLibraryCall *call) {
  const OrrCostLibrary *best = NULL;
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrCostLibrary *library = model->libraries->pdata[i];
    const OrrProfileLibrary *row = library->row;
    if (row->ranks != call->n_ranks || strcmp(row->library, call->library) != 0 || strcmp(row->op, call->op) != 0 ||
        (row->hidden > 0) != (call->hidden > 0))
      continue;
    if (!best || distance(row, call) < distance(best->row, call)) best = library;
  }
  return best;
}

gboolean orr_cost_library(const OrrCostModel *model, const OrrLibraryCall *call, OrrCost *ret_cost) {
  const OrrCostLibrary *library = nearest(model, call);
  if (!library) return FALSE;
  double scale = bytes_of_token(call->hidden, call->topk) / bytes_of_token(library->row->hidden, library->row->topk);
  *ret_cost = call->size > 0 ? orr_cost_collective_between(library->size, library->us, call->size * scale)
                             : (OrrCost){0, ORR_HOW_MODELLED};
  if (distance(library->row, call) > 0) ret_cost->how = ORR_HOW_OUTSIDE;
  return TRUE;
}
