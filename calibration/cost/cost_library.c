/*
 * cost_library.c - kernels of libraries other than NCCL: custom all-reduces of vLLM and
 * TensorRT-LLM, and the exchanges of experts' tokens by DeepEP and TensorRT-LLM.
 *
 * A row is one (library, operation, ranks, format, shape of experts) over an axis of sizes: bytes
 * of an all-reduce, or tokens T of a rank in an exchange. A shape that has rows is interpolated
 * between their sizes (the curve of cost_collective.c). Another shape is interpolated from the
 * three most similar ones, each read at the number of tokens that moves the same bytes:
 *
 *   bytes of a token   u = hidden * d
 *   copies             d = R (1 - C(E - E/R, k) / C(E, k))     once to each rank that holds one of
 *                                                              its k experts
 *                      d = k                                   low-latency: once to each expert
 *   log t = sum w log t_i(T u / u_i) / sum w,   w = 1 / (distance + 0.05)^2        (Shepard 1968)
 *
 * with R ranks and E experts, of which a token draws k uniformly. Low-latency dispatch uses one SM
 * per expert: with fewer experts than SMs, d counts SMs / E times. The distance is over the
 * logarithms of hidden, d, ranks (weight 1) and experts (weight 1/10; low-latency 1/2, since it
 * sends one message per expert). Rows with the same number of ranks are used where there are any:
 * others cross another network, so that answers from them are flagged as outside. Rows
 * `measured-on` another device stand in where the bottleneck is the same, the network cards of
 * several nodes; they count as carried over. Errors: docs/modelling/collectives.md.
 */
#include <math.h>
#include <string.h>

#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "calibration/profile/profile_nccl.h"
#include "sim/base/fault.h"

enum { NEIGHBOURS = 3 };
static const double expert_weight = 0.1, message_weight = 0.5, softening = 0.05;

typedef struct {
  double hidden, copies, ranks, experts;
  double expert_weight;
} Shape;

typedef struct {
  const OrrProfileLibrary *row;
  GArray *size, *us; /* of double */
  Shape shape;       /* of experts */
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

/* --- shapes --- */

double orr_cost_library_copies(const char *library, gint64 n_ranks, gint64 topk, gint64 experts) {
  gint64 here = experts / MAX(n_ranks, 1); /* experts per rank */
  double none = 1; /* probability that a rank holds none of the k: C(E - here, k) / C(E, k) */
  if (g_str_has_suffix(library, "-low-latency") || here < 1) return (double)MAX(topk, 1);
  for (gint64 i = 0; i < topk && none > 0; i++)
    none *= MAX((double)(experts - here - i) / (double)(experts - i), 0);
  return (double)n_ranks * (1 - none);
}

/* The copies count more where the kernel leaves SMs idle. */
static Shape shape_of(const OrrCostModel *model, const OrrLibraryCall *call) {
  double copies = orr_cost_library_copies(call->library, call->n_ranks, call->topk, call->experts);
  double experts = (double)MAX(call->experts, 1), sms = (double)model->measured_on->sms;
  gboolean by_expert =
      g_str_has_suffix(call->library, "-low-latency") && strcmp(call->op, "dispatch") == 0;
  return (Shape){.hidden = (double)call->hidden,
                 .copies = by_expert ? copies * fmax(sms / experts, 1) : copies,
                 .ranks = (double)call->n_ranks,
                 .experts = experts,
                 .expert_weight = g_str_has_suffix(call->library, "-low-latency") ? message_weight
                                                                                  : expert_weight};
}

static Shape shape_of_row(const OrrCostModel *model, const OrrProfileLibrary *row) {
  const OrrLibraryCall call = {row->library, row->op,   row->ranks,   0,
                               row->hidden,  row->topk, row->experts, NULL};
  return shape_of(model, &call);
}

gboolean orr_cost_library_build(OrrCostModel *model, const GPtrArray *rows, GError **error) {
  model->libraries = g_ptr_array_new_with_free_func(library_free);
  for (guint i = 0; rows && i < rows->len; i++) {
    OrrCostLibrary *library = g_new0(OrrCostLibrary, 1);
    g_ptr_array_add(model->libraries, library);
    const OrrProfileLibrary *row = library->row = rows->pdata[i];
    library->size = orr_profile_numbers(row->size, FALSE, error);
    library->us = library->size ? orr_profile_numbers(row->us, FALSE, error) : NULL;
    if (!library->us) return FALSE;
    library->shape = shape_of_row(model, row);
    if (library->us->len == library->size->len && rises(library->size)) continue;
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "library %s, %s: as many sizes, rising, as latencies are needed", row->library,
                row->op);
    return FALSE;
  }
  return TRUE;
}

static double distance(const Shape *a, const Shape *b) {
  double hidden = log(a->hidden / b->hidden), copies = log(a->copies / b->copies),
         ranks = log(a->ranks / b->ranks);
  double experts = a->expert_weight * log(a->experts / b->experts);
  return sqrt(hidden * hidden + copies * copies + ranks * ranks + experts * experts);
}

static gboolean is_kernel(const OrrProfileLibrary *row, const OrrLibraryCall *call) {
  return strcmp(row->library, call->library) == 0 && strcmp(row->op, call->op) == 0 &&
         (!call->dtype || strcmp(row->dtype, call->dtype) == 0) &&
         (row->hidden > 0) == (call->hidden > 0);
}

static gboolean is_shape(const OrrProfileLibrary *row, const OrrLibraryCall *call) {
  return row->ranks == call->n_ranks && row->hidden == call->hidden && row->topk == call->topk &&
         row->experts == call->experts;
}

static const OrrCostLibrary *find_rows(const OrrCostModel *model, const OrrLibraryCall *call) {
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrCostLibrary *library = model->libraries->pdata[i];
    if (is_kernel(library->row, call) && is_shape(library->row, call)) return library;
  }
  return NULL;
}

gint64 orr_cost_library_ranks(const OrrCostModel *model, const OrrLibraryCall *call) {
  gint64 nearest = 0;
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrProfileLibrary *row = ((const OrrCostLibrary *)model->libraries->pdata[i])->row;
    if (!is_kernel(row, call)) continue;
    if (row->ranks == call->n_ranks) return row->ranks;
    if (nearest == 0 || row->ranks < nearest) nearest = row->ranks;
  }
  return nearest;
}

/* --- similar shapes --- */

typedef struct {
  const OrrCostLibrary *library;
  double distance;
} Neighbour;

static void keep_nearest(Neighbour *nearest, Neighbour other) {
  for (guint i = 0; i < NEIGHBOURS; i++) {
    if (nearest[i].library && nearest[i].distance <= other.distance) continue;
    Neighbour pushed = nearest[i];
    nearest[i] = other;
    other = pushed;
    if (!other.library) return;
  }
}

static gboolean find_nearest(const OrrCostModel *model, const OrrLibraryCall *call,
                             gboolean same_ranks, Neighbour *nearest) {
  const Shape queried = shape_of(model, call);
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrCostLibrary *library = model->libraries->pdata[i];
    if (!is_kernel(library->row, call) || (same_ranks && library->row->ranks != call->n_ranks))
      continue;
    keep_nearest(nearest, (Neighbour){library, distance(&queried, &library->shape)});
  }
  return nearest[0].library != NULL;
}

static double last_of(const GArray *axis) { return g_array_index(axis, double, axis->len - 1); }

static OrrCost blend(const OrrCostModel *model, const OrrLibraryCall *call,
                     const Neighbour *nearest) {
  const Shape queried = shape_of(model, call);
  double weights = 0, sum = 0;
  const char *from = NULL;
  gboolean is_inside = FALSE;
  for (guint i = 0; i < NEIGHBOURS && nearest[i].library; i++) {
    const OrrCostLibrary *library = nearest[i].library;
    double tokens = call->size * queried.hidden * queried.copies /
                    (library->shape.hidden * library->shape.copies);
    double weight = 1 / pow(nearest[i].distance + softening, 2);
    sum += weight * log(orr_cost_collective_between(library->size, library->us, tokens).time_s);
    weights += weight;
    if (!from) from = library->row->measured_on;
    is_inside |= call->size >= g_array_index(library->size, double, 0) &&
                 call->size <= last_of(library->size);
  }
  gboolean same_ranks = nearest[0].library->row->ranks == call->n_ranks;
  const OrrHow inside = from ? ORR_HOW_CARRIED : ORR_HOW_INTERPOLATED;
  return (OrrCost){exp(sum / weights), same_ranks && is_inside ? inside : ORR_HOW_OUTSIDE, from};
}

/* A row of another device does not count as measured on this one. */
static OrrCost read_row(const OrrCostLibrary *library, double size) {
  OrrCost cost = orr_cost_collective_between(library->size, library->us, size);
  cost.from = library->row->measured_on;
  if (cost.from) cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  return cost;
}

gboolean orr_cost_library(const OrrCostModel *model, const OrrLibraryCall *call,
                          OrrCost *ret_cost) {
  const OrrCostLibrary *own = find_rows(model, call);
  Neighbour nearest[NEIGHBOURS] = {{NULL, 0}};
  if (!own && (call->hidden <= 0 || !(find_nearest(model, call, TRUE, nearest) ||
                                      find_nearest(model, call, FALSE, nearest))))
    return FALSE;
  if (call->size <= 0)
    *ret_cost = (OrrCost){0, ORR_HOW_MODELLED};
  else
    *ret_cost =
        orr_cost_over_links(model, own ? read_row(own, call->size) : blend(model, call, nearest));
  return TRUE;
}

OrrCost orr_cost_library_modelled(const OrrCostModel *model, const OrrLibraryCall *call) {
  double copies = orr_cost_library_copies(call->library, call->n_ranks, call->topk, call->experts);
  gboolean is_fp8 =
      strcmp(call->op, "dispatch") == 0 && g_str_has_suffix(call->library, "-low-latency");
  double bytes = call->size * (double)call->hidden * copies * (is_fp8 ? 1 : 2);
  return orr_cost_collective_ring(model, "alltoall", call->n_ranks, bytes);
}
