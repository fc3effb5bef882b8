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
 *                      d = k                                   low-latency, pplx-garden: once to
 *                                                              each expert
 *   log t = sum w log t_i(T u / u_i) / sum w,   w = 1 / (distance + 0.05)^2        (Shepard 1968)
 *
 * with R ranks and E experts; a token draws k of them uniformly. Across N nodes (`gpus-per-node`)
 * the NICs bind, and d counts the copies that leave the node: a kernel sends a token once to each
 * other node that holds one of its experts, which forwards it over NVLink:
 *
 *                           d = (N - 1) (1 - C(E - E/N, k) / C(E, k))
 *                           d = k (N - 1) / N               low-latency
 *
 * (H200, low-latency combine, 256 tokens over 2, 4, 8 nodes: 675, 667, 662 us per (N - 1) / N).
 * In a mesh of l links each of R ranks has R - 1 of them, over which (R - 1) / R of the copies go:
 * d counts l / R times.
 * Low-latency dispatch uses one SM per expert: with fewer experts than SMs, d counts SMs / E times.
 * The distance is over the logarithms of hidden, d, ranks (weight 1) and experts (weight 1/10;
 * low-latency 1/2, since it sends one message per expert). Rows with the same number of ranks are
 * used where there are any, else rows on the same side of the node's border; both are flagged as
 * outside. Rows `measured-on` another device stand in where the bottleneck is the same, the network
 * cards of several nodes; they count as carried over. Errors: docs/modelling/collectives.md.
 *
 * Rows that contradict the others of their kernel are excluded (judge.c): rows of one shape over
 * several numbers of nodes are compared with one another, and each curve with itself. An estimate
 * takes the row's place: from the curve's other rows on both sides of it, else from other shapes.
 */
#include "calibration/cost/cost_library.h"
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "calibration/profile/profile_nccl.h"

enum { NEIGHBOURS = 3 };
static const double expert_weight = 0.1, message_weight = 0.5, softening = 0.05;

typedef struct {
  double hidden, copies, ranks, nodes, experts;
  double expert_weight;
} Shape;

typedef struct {
  const OrrProfileLibrary *row;
  GArray *size, *us; /* of double */
  GArray *asides;    /* of OrrAside; NULL: none */
  Shape shape;       /* of experts */
} OrrCostLibrary;

static void library_free(gpointer data) {
  OrrCostLibrary *library = data;
  g_clear_pointer(&library->size, g_array_unref);
  g_clear_pointer(&library->us, g_array_unref);
  g_clear_pointer(&library->asides, g_array_unref);
  g_free(library);
}

static gboolean rises(const GArray *axis) {
  for (guint i = 1; i < axis->len; i++)
    if (g_array_index(axis, double, i) <= g_array_index(axis, double, i - 1)) return FALSE;
  return axis->len > 0;
}

/* --- shapes --- */

gboolean orr_cost_library_is_direct(const char *library) {
  return g_str_has_suffix(library, "-low-latency") || g_str_equal(library, "pplx-garden");
}

double orr_cost_library_copies(const char *library, gint64 n_ranks, gint64 topk, gint64 experts) {
  gint64 here = experts / MAX(n_ranks, 1); /* experts per rank */
  double none = 1; /* probability that a rank holds none of the k: C(E - here, k) / C(E, k) */
  if (orr_cost_library_is_direct(library) || here < 1) return (double)MAX(topk, 1);
  for (gint64 i = 0; i < topk && none > 0; i++)
    none *= MAX((double)(experts - here - i) / (double)(experts - i), 0);
  return (double)n_ranks * (1 - none);
}

static gboolean is_kernel(const OrrProfileLibrary *row, const OrrLibraryCall *call) {
  return strcmp(row->library, call->library) == 0 && strcmp(row->op, call->op) == 0 &&
         (!call->dtype || strcmp(row->dtype, call->dtype) == 0) &&
         (row->hidden > 0) == (call->hidden > 0);
}

/* Over how many nodes the call runs, by the machine on which its kernel's rows over several were
 * measured; 1: inside a node, or unknown. */
static double nodes_of(const OrrCostModel *model, const OrrLibraryCall *call) {
  gint64 gpus = 0;
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrProfileLibrary *row = ((const OrrCostLibrary *)model->libraries->pdata[i])->row;
    if (is_kernel(row, call)) gpus = MAX(gpus, row->gpus_per_node);
  }
  return gpus > 0 && call->n_ranks > gpus ? (double)call->n_ranks / (double)gpus : 1;
}

/* Copies of a token that pass the bottleneck; they count more where the kernel leaves SMs idle. */
static double copies_of(const OrrCostModel *model, const OrrLibraryCall *call, double nodes) {
  const gboolean per_expert = g_str_has_suffix(call->library, "-low-latency");
  const double sms = (double)model->measured_on->sms, experts = (double)MAX(call->experts, 1);
  const double idle = per_expert && strcmp(call->op, "dispatch") == 0 ? fmax(sms / experts, 1) : 1;
  const gint64 receivers = nodes > 1 ? (gint64)ceil(nodes) : call->n_ranks;
  const double copies =
      orr_cost_library_copies(call->library, receivers, call->topk, call->experts);
  const double links = (double)model->measured_on->scale_up_links;
  const double mesh = links > 0 ? links / (double)call->n_ranks : 1;
  return idle * copies * (nodes > 1 ? (nodes - 1) / nodes : mesh);
}

static Shape shape_of(const OrrCostModel *model, const OrrLibraryCall *call) {
  const double nodes = nodes_of(model, call);
  return (Shape){.hidden = (double)call->hidden,
                 .copies = copies_of(model, call, nodes),
                 .ranks = (double)call->n_ranks,
                 .nodes = nodes,
                 .experts = (double)MAX(call->experts, 1),
                 .expert_weight = g_str_has_suffix(call->library, "-low-latency") ? message_weight
                                                                                  : expert_weight};
}

static OrrLibraryCall call_of(const OrrProfileLibrary *row, double size) {
  return (OrrLibraryCall){row->library, row->op,   row->ranks,   size,
                          row->hidden,  row->topk, row->experts, row->dtype};
}

static double distance(const Shape *a, const Shape *b) {
  double hidden = log(a->hidden / b->hidden), copies = log(a->copies / b->copies),
         ranks = log(a->ranks / b->ranks);
  double experts = a->expert_weight * log(a->experts / b->experts);
  return sqrt(hidden * hidden + copies * copies + ranks * ranks + experts * experts);
}

static gboolean is_shape(const OrrProfileLibrary *row, const OrrLibraryCall *call) {
  return row->ranks == call->n_ranks && row->hidden == call->hidden && row->topk == call->topk &&
         row->experts == call->experts;
}

static const OrrCostLibrary *find_rows(const OrrCostModel *model, const OrrLibraryCall *call) {
  ORR_EACH_POINTER(const OrrCostLibrary, library, model->libraries)
    if (is_kernel(library->row, call) && is_shape(library->row, call)) return library;
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

gboolean orr_cost_library_nearest(const OrrCostModel *model, const OrrLibraryCall *call,
                                  OrrLibraryRows *ret_rows) {
  OrrLibraryRows best = {0, 0, 0};
  double best_ratio = INFINITY;
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrProfileLibrary *row = ((const OrrCostLibrary *)model->libraries->pdata[i])->row;
    const double ratio = fabs(log((double)row->ranks / (double)call->n_ranks));
    const gboolean crosses = row->gpus_per_node > 0, best_crosses = best.gpus_per_node > 0;
    if (!is_kernel(row, call) || (crosses && row->nic_bytes_per_s <= 0) ||
        (crosses == best_crosses ? ratio >= best_ratio : best_crosses))
      continue;
    best = (OrrLibraryRows){row->ranks, row->gpus_per_node, row->nic_bytes_per_s};
    best_ratio = ratio;
  }
  if (best.ranks > 0) *ret_rows = best;
  return best.ranks > 0;
}

double orr_cost_library_nic(const OrrCostModel *model, const OrrLibraryCall *call) {
  double rate = 0;
  for (guint i = 0; model->libraries && i < model->libraries->len; i++) {
    const OrrProfileLibrary *row = ((const OrrCostLibrary *)model->libraries->pdata[i])->row;
    if (is_kernel(row, call)) rate = fmax(rate, row->nic_bytes_per_s);
  }
  return rate;
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

/* How alike a neighbour must be. */
typedef enum { SAME_RANKS, SAME_NETWORK, ANY_NETWORK, N_LIKENESSES } Likeness;

static gboolean is_like(const Shape *a, const Shape *b, Likeness likeness) {
  return likeness == ANY_NETWORK || (a->nodes > 1) == (b->nodes > 1)
             ? likeness != SAME_RANKS || a->ranks == b->ranks
             : FALSE;
}

/* The most similar shapes that have rows, @except left out; FALSE where the kernel has none. */
static gboolean find_nearest(const OrrCostModel *model, const OrrLibraryCall *call,
                             const OrrCostLibrary *except, Neighbour *nearest) {
  const Shape queried = shape_of(model, call);
  for (int likeness = 0; likeness < N_LIKENESSES && !nearest[0].library; likeness++)
    ORR_EACH_POINTER(const OrrCostLibrary, library, model->libraries) {
      if (library != except && library->size->len > 0 && is_kernel(library->row, call) &&
          is_like(&queried, &library->shape, (Likeness)likeness))
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
  const OrrAside *aside = orr_judge_near(library->asides, library->size, size);
  if (aside) cost = (OrrCost){cost.time_s, MAX(cost.how, aside->how), .aside = aside->why};
  cost.from = library->row->measured_on;
  if (cost.from) cost.how = MAX(cost.how, ORR_HOW_CARRIED);
  return cost;
}

gboolean orr_cost_library(const OrrCostModel *model, const OrrLibraryCall *call,
                          OrrCost *ret_cost) {
  const OrrCostLibrary *own = find_rows(model, call);
  Neighbour nearest[NEIGHBOURS] = {{NULL, 0}};
  if (!orr_cost_has_links_of_rows(model)) return FALSE;
  if (!own && (call->hidden <= 0 || !find_nearest(model, call, NULL, nearest))) return FALSE;
  if (call->size <= 0)
    *ret_cost = (OrrCost){0, ORR_HOW_MODELLED};
  else
    *ret_cost =
        orr_cost_over_links(model, own ? read_row(own, call->size) : blend(model, call, nearest));
  return TRUE;
}

void orr_cost_library_count(const OrrCostModel *model, guint at, guint *ret_asides,
                            guint *ret_rows) {
  const OrrCostLibrary *library = model->libraries->pdata[at];
  *ret_asides = library->asides ? library->asides->len : 0;
  *ret_rows = library->size->len;
}

OrrCost orr_cost_library_modelled(const OrrCostModel *model, const OrrLibraryCall *call) {
  double copies = orr_cost_library_copies(call->library, call->n_ranks, call->topk, call->experts);
  gboolean is_fp8 =
      strcmp(call->op, "dispatch") == 0 && g_str_has_suffix(call->library, "-low-latency");
  double bytes = call->size * (double)call->hidden * copies * (is_fp8 ? 1 : 2);
  return orr_cost_collective_ring(model, "alltoall", call->n_ranks, bytes);
}

/* --- building --- */

/* A point that was excluded, while its curve lacks it. */
typedef struct {
  OrrCostLibrary *library;
  double size, us;
  OrrAside aside;
} Removed;

/* The first row of the same kernel; over several nodes also of the same shape of experts. */
static guint first_like(const OrrCostModel *model, guint at, gboolean same_experts) {
  const OrrProfileLibrary *row = ((const OrrCostLibrary *)model->libraries->pdata[at])->row;
  const OrrLibraryCall call = call_of(row, 0);
  for (guint i = 0; i < at; i++) {
    const OrrCostLibrary *other = model->libraries->pdata[i];
    const gboolean is_match = other->shape.nodes > 1 && other->row->hidden == row->hidden &&
                              other->row->topk == row->topk && other->row->experts == row->experts;
    if (is_kernel(other->row, &call) && (is_match || !same_experts)) return i;
  }
  return at;
}

/* The rows of the kernel whose first curve is @first. Curves over several nodes are of one
 * kind if their experts are the same; any other curve is of its own. */
static GArray *rows_of_kernel(const OrrCostModel *model, guint first) {
  GArray *rows = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
  for (guint i = first; i < model->libraries->len; i++) {
    const OrrCostLibrary *library = model->libraries->pdata[i];
    if (first_like(model, i, FALSE) != first) continue;
    const gboolean crosses = library->shape.nodes > 1;
    for (guint k = 0; k < library->size->len; k++)
      ORR_APPEND(rows, OrrJudgedRow,
                 {.curve = i,
                  .kind = crosses ? first_like(model, i, TRUE) : i,
                  .size = g_array_index(library->size, double, k),
                  .volume = crosses ? library->shape.copies : 1,
                  .is_bytes = library->row->hidden == 0,
                  .time_s = g_array_index(library->us, double, k) * 1e-6});
  }
  return rows;
}

static OrrAside aside_of(const OrrCostModel *model, const GArray *rows, guint at) {
  const OrrJudgedRow *row = &g_array_index(rows, OrrJudgedRow, at),
                     *other = &g_array_index(rows, OrrJudgedRow, row->witness);
  const OrrProfileLibrary *of =
      ((const OrrCostLibrary *)model->libraries->pdata[other->curve])->row;
  g_autofree char *witness = g_strdup_printf("%ld ranks, %.0f %s", of->ranks, other->size,
                                             of->hidden > 0 ? "tokens" : "bytes");
  return orr_judge_aside(rows, at, witness);
}

/* Takes the excluded rows of one kernel out of their curves. */
static void remove_rows(const OrrCostModel *model, guint first, GArray *removed) {
  g_autoptr(GArray) rows = rows_of_kernel(model, first);
  if (orr_judge_rows(rows) == 0) return;
  for (guint i = rows->len; i-- > 0;) {
    const OrrJudgedRow *row = &g_array_index(rows, OrrJudgedRow, i);
    if (!row->is_aside) continue;
    OrrCostLibrary *library = model->libraries->pdata[row->curve];
    guint at = 0;
    while (g_array_index(library->size, double, at) < row->size) at++;
    g_array_remove_index(library->size, at);
    g_array_remove_index(library->us, at);
    ORR_APPEND(removed, Removed, {library, row->size, NAN, aside_of(model, rows, i)});
  }
}

/* What takes the place of a removed row. */
static void estimate(const OrrCostModel *model, Removed *one) {
  const OrrCostLibrary *library = one->library;
  const OrrLibraryCall call = call_of(library->row, one->size);
  Neighbour nearest[NEIGHBOURS] = {{NULL, 0}};
  const gboolean is_inside = library->size->len > 0 &&
                             one->size > g_array_index(library->size, double, 0) &&
                             one->size < last_of(library->size);
  one->aside.how = is_inside ? ORR_HOW_INTERPOLATED : ORR_HOW_OUTSIDE;
  if (is_inside || !call.hidden || !find_nearest(model, &call, library, nearest))
    one->us = orr_cost_collective_between(library->size, library->us, one->size).time_s * 1e6;
  else
    one->us = blend(model, &call, nearest).time_s * 1e6;
}

/* @removed falls within a curve, so that the place of a point is final once it is inserted. */
static void insert(Removed *one) {
  OrrCostLibrary *library = one->library;
  guint at = 0;
  while (at < library->size->len && g_array_index(library->size, double, at) < one->size) at++;
  if (at > 0) one->us = fmax(one->us, g_array_index(library->us, double, at - 1));
  g_array_insert_val(library->size, at, one->size);
  g_array_insert_val(library->us, at, one->us);
  one->aside.at = at;
  if (!library->asides) library->asides = orr_judge_asides_new();
  g_array_append_val(library->asides, one->aside);
}

static void judge(const OrrCostModel *model) {
  g_autoptr(GArray) removed = g_array_new(FALSE, FALSE, sizeof(Removed));
  for (guint i = 0; i < model->libraries->len; i++)
    if (first_like(model, i, FALSE) == i) remove_rows(model, i, removed);
  ORR_EACH(Removed, one, removed) estimate(model, one);
  for (guint i = removed->len; i-- > 0;) insert(&g_array_index(removed, Removed, i));
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
    if (library->us->len == library->size->len && rises(library->size)) continue;
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "library %s, %s: as many sizes, rising, as latencies are needed",
                         row->library, row->op);
  }
  ORR_EACH_POINTER(OrrCostLibrary, library, model->libraries) {
    const OrrLibraryCall call = call_of(library->row, 0);
    library->shape = shape_of(model, &call);
  }
  judge(model);
  return TRUE;
}
