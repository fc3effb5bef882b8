/*
 * cost_collective.c - collectives of one scale-up domain, as nccl-tests measured them.
 *
 * Between two sizes, time relative to t0 + S/B is a power law of the bytes (t0: the smallest row's
 * time, B: the largest row's bandwidth). A call has a floor and an asymptote, and a power law of
 * the time alone overshoots between rows. Below the smallest row the time falls as a ring's time
 * does by the profile's constants (not at all where latency bounds that row). Above the largest row
 * each byte costs what it costs between the two largest rows.
 *
 * A profile whose base has collectives can have rows of its own (profile_collectives.c). They
 * replace the base for one collective, one number of ranks, and the sizes between their smallest
 * and largest, where they alone are interpolated. Outside that range the base answers: by its rows
 * or, where it has none for that collective and number of ranks, by its model. Next to the range
 * the ratio of own row to base fades out, so that the time has no jump at any size:
 *
 *   own        o----o----o                      t(S) = base(S) (own(E) / base(E))^x,
 *   fade   ...'           '....                 x = 1 - log(S / E) / log 4, from 1 at the edge E to
 *                                               0 at 4 E (E / 4),
 *   base  /                    \____            and no less than own(E) above it, no more below it
 *         E/4  E         E    4 E
 *
 * The factor 4 is two of the doublings in which nccl-tests steps through sizes. It is a choice:
 * nobody measured how far the ratio of one machine to another carries.
 *
 * A row that contradicts the others of its curve is excluded, and interpolated (judge.c).
 *
 * Without rows, a query is answered by a ring in the domain: launch + steps * scale-up-step +
 * fraction * bytes / (scale-up bandwidth * its efficiency), where `fraction` of the bytes crosses
 * each link (Thakur, Rabenseifner, Gropp 2005). Simulations replay collectives on the fabric
 * instead (workloads/collectives). A device without a scale-up link reaches its neighbours over
 * PCIe; NCCL uses `pcie_efficiency` of it; that holds for two GPUs behind one switch. Traffic
 * between sockets, or without peer-to-peer, is many times slower, which a datasheet does not show.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "calibration/profile/profile_nccl.h"

/* 24 of 31.5 GB/s (Gen4), 48 of 63 (Gen5), as NCCL's topology model has it; the same as the
 * cluster's host-link-efficiency. */
static const double pcie_efficiency = 0.76;

static const double fade_doublings =
    2; /* range of sizes over which own rows hand over to the base; see above */

struct OrrCostCollective {
  const OrrProfileCollective *row;
  GArray *bytes, *us; /* of double */
  GArray *asides;     /* of OrrAside; NULL: none */
};

void orr_cost_collective_free(OrrCostCollective *collective) {
  g_clear_pointer(&collective->bytes, g_array_unref);
  g_clear_pointer(&collective->us, g_array_unref);
  g_clear_pointer(&collective->asides, g_array_unref);
  g_free(collective);
}

gboolean orr_cost_collective_build(OrrCostModel *model, const OrrProfileCollective *row,
                                   GError **error) {
  OrrCostCollective *collective = g_new0(OrrCostCollective, 1);
  g_ptr_array_add(model->collectives, collective);
  collective->row = row;
  collective->bytes = orr_profile_numbers(row->bytes, FALSE, error);
  collective->us = collective->bytes ? orr_profile_numbers(row->us, FALSE, error) : NULL;
  if (!collective->us) return FALSE;
  if (collective->us->len == collective->bytes->len && collective->us->len > 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "collective %s: as many sizes as latencies are needed", row->op);
}

/* The index of the first rows from @from on for that collective and number of ranks; own ones
 * stand before the base's. G_MAXUINT: none, or they were measured over other links. */
static guint find_rows(const OrrCostModel *model, const char *op, gint64 n_ranks, guint from) {
  if (!orr_cost_has_links_of_rows(model)) return G_MAXUINT;
  for (guint i = from; i < model->collectives->len; i++) {
    const OrrCostCollective *collective = model->collectives->pdata[i];
    if (collective->row->ranks == n_ranks && strcmp(collective->row->op, op) == 0) return i;
  }
  return G_MAXUINT;
}

/* Microseconds per byte beyond the largest row; never below 0. */
static double slope_above(const double *x, const double *t, guint last) {
  return last == 0 ? t[0] / x[0] : MAX((t[last] - t[last - 1]) / (x[last] - x[last - 1]), 0);
}

OrrCost orr_cost_collective_between(const GArray *bytes_axis, const GArray *us, double bytes) {
  const double *x = (double *)(void *)bytes_axis->data, *t = (double *)(void *)us->data;
  guint last = us->len - 1, i = 0;
  if (bytes < x[0]) return (OrrCost){t[0] * 1e-6, ORR_HOW_OUTSIDE};
  if (bytes > x[last])
    return (OrrCost){(t[last] + (bytes - x[last]) * slope_above(x, t, last)) * 1e-6,
                     ORR_HOW_OUTSIDE};
  while (x[i] < bytes) i++;
  if (x[i] == bytes) return (OrrCost){t[i] * 1e-6, ORR_HOW_MEASURED};
  double per_byte = t[last] / x[last], fraction = log(bytes / x[i - 1]) / log(x[i] / x[i - 1]);
  double low = t[i - 1] / (t[0] + x[i - 1] * per_byte), high = t[i] / (t[0] + x[i] * per_byte);
  return (OrrCost){low * pow(high / low, fraction) * (t[0] + bytes * per_byte) * 1e-6,
                   ORR_HOW_INTERPOLATED};
}

/* --- rows that contradict others --- */

static GArray *rows_of_op(const OrrCostModel *model, const char *op) {
  GArray *rows = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
  ORR_EACH_POINTER_AT(i, const OrrCostCollective, collective, model->collectives) {
    for (guint k = 0; strcmp(collective->row->op, op) == 0 && k < collective->us->len; k++)
      ORR_APPEND(rows, OrrJudgedRow,
                 {.curve = i,
                  .kind = i,
                  .size = g_array_index(collective->bytes, double, k),
                  .volume = 1,
                  .time_s = g_array_index(collective->us, double, k) * 1e-6});
  }
  return rows;
}

/* Replaces the points of the collective's @asides by the curve through the other ones. */
static void interpolate(OrrCostCollective *collective) {
  g_autoptr(GArray) bytes = g_array_copy(collective->bytes), us = g_array_copy(collective->us);
  const guint last = collective->us->len - 1;
  for (guint i = collective->asides->len; i-- > 0;) {
    const guint at = g_array_index(collective->asides, OrrAside, i).at;
    g_array_remove_index(bytes, at);
    g_array_remove_index(us, at);
  }
  ORR_EACH(OrrAside, aside, collective->asides) {
    const double at = g_array_index(collective->bytes, double, aside->at);
    if (aside->at == 0 || aside->at == last) aside->how = ORR_HOW_OUTSIDE;
    g_array_index(collective->us, double, aside->at) =
        orr_cost_collective_between(bytes, us, at).time_s * 1e6;
  }
}

static void set_aside(OrrCostModel *model, const GArray *rows) {
  for (guint i = 0, at = 0; i < rows->len; i++, at++) {
    const OrrJudgedRow *row = &g_array_index(rows, OrrJudgedRow, i);
    if (i > 0 && row->curve != g_array_index(rows, OrrJudgedRow, i - 1).curve) at = 0;
    if (!row->is_aside) continue;
    OrrCostCollective *collective = model->collectives->pdata[row->curve];
    const OrrJudgedRow *other = &g_array_index(rows, OrrJudgedRow, row->witness);
    g_autofree char *witness = g_strdup_printf("%.0f bytes", other->size);
    OrrAside aside = orr_judge_aside(rows, i, witness);
    aside.at = at;
    if (!collective->asides) collective->asides = orr_judge_asides_new();
    g_array_append_val(collective->asides, aside);
  }
}

void orr_cost_collective_judge(OrrCostModel *model) {
  ORR_EACH_POINTER_AT(i, OrrCostCollective, first, model->collectives) {
    gboolean is_first = TRUE;
    for (guint k = 0; k < i; k++)
      is_first &=
          strcmp(((OrrCostCollective *)model->collectives->pdata[k])->row->op, first->row->op) != 0;
    g_autoptr(GArray) rows = is_first ? rows_of_op(model, first->row->op) : NULL;
    if (rows && orr_judge_rows(rows) > 0) set_aside(model, rows);
  }
  ORR_EACH_POINTER(OrrCostCollective, collective, model->collectives)
    if (collective->asides) interpolate(collective);
}

void orr_cost_collective_count(const OrrCostCollective *collective, guint *ret_asides,
                               guint *ret_rows) {
  *ret_asides = collective->asides ? collective->asides->len : 0;
  *ret_rows = collective->us->len;
}

/* --- rings --- */

/* Steps of a ring, and the fraction of the bytes that crosses each link in total; at least 2
 * ranks. */
static double ring_steps(const char *op, double n, double *ret_fraction) {
  double through = (n - 1) / n;
  *ret_fraction = strcmp(op, "all_reduce") == 0 ? 2 * through
                  : strcmp(op, "broadcast") && strcmp(op, "reduce") && strcmp(op, "sendrecv")
                      ? through
                      : 1;
  return strcmp(op, "all_reduce") == 0 ? 2 * (n - 1) : strcmp(op, "sendrecv") == 0 ? 1 : n - 1;
}

static double ring_seconds(const OrrCostModel *model, const OrrDevice *device, const char *op,
                           gint64 n_ranks, double bytes) {
  const OrrProfileConstants *constants = model->constants;
  double fraction, steps = ring_steps(op, (double)n_ranks, &fraction);
  double efficiency = device->scale_up_efficiency > 0 ? device->scale_up_efficiency : 1;
  double bandwidth = device->scale_up_bytes_per_s > 0
                         ? device->scale_up_bytes_per_s * efficiency
                         : device->host_link_bytes_per_s * pcie_efficiency;
  double time_s = constants->collective_launch_s + steps * constants->scale_up_step_s;
  if (n_ranks <= device->scale_up_links) /* a mesh: these ranks have n - 1 of a GPU's links */
    bandwidth *= (double)(n_ranks - 1) / (double)device->scale_up_links;
  return bandwidth > 0 ? time_s + fraction * bytes / bandwidth : INFINITY;
}

/* Scales the cost by the ratio of the two devices' rings, where the device differs from the
 * measured one. */
static void scale_to_device(const OrrCostModel *model, const char *op, gint64 n_ranks, double bytes,
                            OrrCost *cost) {
  const double here_s = ring_seconds(model, model->device, op, n_ranks, bytes);
  const double there_s = ring_seconds(model, model->measured_on, op, n_ranks, bytes);
  if (here_s == there_s) return;
  cost->time_s *= here_s / there_s;
  cost->how = MAX(cost->how, ORR_HOW_CARRIED);
}

/* The rows' time, extrapolated beyond their range. */
static OrrCost look_up(const OrrCostModel *model, const OrrCostCollective *rows, double bytes) {
  const char *op = rows->row->op;
  const gint64 n_ranks = rows->row->ranks;
  const double least = g_array_index(rows->bytes, double, 0);
  OrrCost cost = orr_cost_collective_between(rows->bytes, rows->us, bytes);
  const OrrAside *aside = orr_judge_near(rows->asides, rows->bytes, bytes);
  if (aside) cost = (OrrCost){cost.time_s, MAX(cost.how, aside->how), .aside = aside->why};
  if (bytes < least)
    cost.time_s *= ring_seconds(model, model->measured_on, op, n_ranks, bytes) /
                   ring_seconds(model, model->measured_on, op, n_ranks, least);
  scale_to_device(model, op, n_ranks, bytes, &cost);
  return orr_cost_over_links(model, cost);
}

/* TRUE where @rows are own ones and @bytes is outside their range. */
static gboolean leaves_own(const OrrCostModel *model, const OrrCostCollective *rows, double bytes,
                           OrrHandOver *ret_hand) {
  const double least = g_array_index(rows->bytes, double, 0);
  const double most = g_array_index(rows->bytes, double, rows->bytes->len - 1);
  if (rows->row->laid_over == 0 || (bytes >= least && bytes <= most)) return FALSE;
  const double edge = bytes < least ? least : most, doublings = fabs(log2(bytes / edge));
  *ret_hand = (OrrHandOver){.edge_bytes = edge,
                            .edge_s = look_up(model, rows, edge).time_s,
                            .weight = fmax(1 - doublings / fade_doublings, 0),
                            .is_below = bytes < least};
  return TRUE;
}

OrrCost orr_cost_hand_over(const OrrHandOver *hand, double base_edge_s, OrrCost base) {
  const double faded_s = base.time_s * pow(hand->edge_s / base_edge_s, hand->weight);
  const double time_s = hand->is_below ? fmin(faded_s, hand->edge_s) : fmax(faded_s, hand->edge_s);
  if (time_s == base.time_s) return base;
  return (OrrCost){time_s, MAX(base.how, ORR_HOW_INTERPOLATED)};
}

static gboolean look_up_from(const OrrCostModel *model, const char *op, gint64 n_ranks,
                             double bytes, guint from, OrrCost *ret_cost) {
  const guint at = find_rows(model, op, n_ranks, from);
  OrrHandOver hand;
  OrrCost base, base_edge;
  if (at == G_MAXUINT) return FALSE;
  const OrrCostCollective *rows = model->collectives->pdata[at];
  if (!leaves_own(model, rows, bytes, &hand)) {
    *ret_cost = look_up(model, rows, bytes);
    return TRUE;
  }
  if (!look_up_from(model, op, n_ranks, bytes, at + 1, &base) ||
      !look_up_from(model, op, n_ranks, hand.edge_bytes, at + 1, &base_edge))
    return FALSE;
  *ret_cost = orr_cost_hand_over(&hand, base_edge.time_s, base);
  return TRUE;
}

gboolean orr_cost_collective(const OrrCostModel *model, const char *op, gint64 n_ranks,
                             double bytes, OrrCost *ret_cost) {
  if (find_rows(model, op, n_ranks, 0) == G_MAXUINT) return FALSE;
  if (bytes > 0) return look_up_from(model, op, n_ranks, bytes, 0, ret_cost);
  *ret_cost = (OrrCost){0, ORR_HOW_MODELLED};
  return TRUE;
}

gboolean orr_cost_collective_hand_over(const OrrCostModel *model, const char *op, gint64 n_ranks,
                                       double bytes, OrrHandOver *ret_hand) {
  const guint at = find_rows(model, op, n_ranks, 0);
  return at != G_MAXUINT && bytes > 0 &&
         leaves_own(model, model->collectives->pdata[at], bytes, ret_hand);
}

OrrCost orr_cost_collective_ring(const OrrCostModel *model, const char *op, gint64 n_ranks,
                                 double bytes) {
  OrrHandOver hand;
  if (n_ranks < 2) return (OrrCost){0, ORR_HOW_MODELLED};
  const OrrCost ring = {ring_seconds(model, model->device, op, n_ranks, bytes), ORR_HOW_MODELLED};
  if (!orr_cost_collective_hand_over(model, op, n_ranks, bytes, &hand)) return ring;
  return orr_cost_hand_over(&hand, ring_seconds(model, model->device, op, n_ranks, hand.edge_bytes),
                            ring);
}

gboolean orr_cost_has_nccl(const OrrCostModel *model) {
  ORR_EACH_POINTER(const OrrProfileNccl, row, model->nccl)
    if (g_str_equal(orr_nccl_algorithm_words[row->algorithm], "ring")) return TRUE;
  return FALSE;
}

gboolean orr_cost_nccl(const OrrCostModel *model, const char *algorithm, OrrProtocol protocol,
                       OrrNcclCosts *ret_costs) {
  ORR_EACH_POINTER(const OrrProfileNccl, row, model->nccl) {
    if (row->protocol + 1 != (int)protocol ||
        strcmp(orr_nccl_algorithm_words[row->algorithm], algorithm) != 0)
      continue;
    *ret_costs = row->costs;
    return TRUE;
  }
  return FALSE;
}

gboolean orr_cost_has_choices(const OrrCostModel *model) {
  return model->choices && model->choices->len > 0;
}

static gboolean fits(const OrrProfileChoice *row, const OrrChoiceCall *call) {
  return (row->op == 0 || g_str_equal(orr_profile_choice_ops[row->op], call->op)) &&
         call->bytes > row->above_bytes && (row->to_bytes == 0 || call->bytes <= row->to_bytes) &&
         call->n_nodes >= row->nodes_from &&
         (row->nodes_to == 0 || call->n_nodes <= row->nodes_to) &&
         (row->ranks == 0 || call->n_ranks == row->ranks) &&
         (call->with_optional || !row->is_optional);
}

const char *orr_cost_choice(const OrrCostModel *model, const OrrChoiceCall *call, guint *at,
                            OrrProtocol *ret_protocol) {
  while (model->choices && *at < model->choices->len) {
    const OrrProfileChoice *row = model->choices->pdata[(*at)++];
    if (!fits(row, call)) continue;
    *ret_protocol = (OrrProtocol)row->protocol;
    return orr_nccl_algorithm_words[row->algorithm];
  }
  return NULL;
}

OrrNcclCosts orr_cost_collective_constants(const OrrCostModel *model) {
  const OrrProfileConstants *constants = model->constants;
  return (OrrNcclCosts){.base_s = constants->collective_launch_s,
                        .scale_up_step_s = constants->scale_up_step_s,
                        .host_step_s = constants->scale_up_step_s,
                        .scale_out_step_s = constants->scale_out_step_s,
                        .scale_up_efficiency = 1,
                        .scale_out_efficiency = 1,
                        .plateau = 1};
}
