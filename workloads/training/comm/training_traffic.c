/*
 * training_wires - collectives of groups of GPUs as phases over the program's links.
 *
 * Groups that do the same at the same time (the tp ranks of a stage reducing their gradients, the
 * replicas of a class handing over activations) are one communication: their plans have the same
 * phases, and a link that several of them cross is loaded by the sum of their weights. Exact where
 * the groups are in lock-step, which is what a lane means.
 */
#include <math.h>

#include "sim/base/random.h"
#include "workloads/training/training_private.h"

void orr_wires_init(OrrWires *wires, const OrrJob *job, OrrProgram *program) {
  *wires = (OrrWires){
      .job = job,
      .context = {.fabric = job->world->fabric,
                  .cost = job->world->cost,
                  .gpus_per_switch = job->shard.kernels == ORR_KERNELS_EAGER
                                         ? job->world->cluster->node.host.gpus_per_switch
                                         : 0},
      .program = program,
      .program_links = g_new0(guint32, orr_fabric_n_links(job->world->fabric)),
      .links = g_array_new(FALSE, FALSE, sizeof(guint32)),
      .slots = g_array_new(FALSE, TRUE, sizeof(guint32)),
      .collectives = g_array_new(FALSE, TRUE, sizeof(OrrPlannedCollective)),
  };
}

void orr_wires_clear(OrrWires *wires) {
  g_clear_pointer(&wires->program_links, g_free);
  g_clear_pointer(&wires->links, g_array_unref);
  g_clear_pointer(&wires->slots, g_array_unref);
  g_clear_pointer(&wires->collectives, g_array_unref);
}

void orr_wire_clear(OrrWire *wire) {
  g_free(wire->phases);
  *wire = (OrrWire){0};
}

void orr_wire_append(OrrWire *wire, OrrWire *next) {
  wire->phases = g_renew(OrrPhase, wire->phases, wire->n_phases + next->n_phases);
  for (guint i = 0; i < next->n_phases; i++) wire->phases[wire->n_phases++] = next->phases[i];
  wire->predicted_s += next->predicted_s;
  orr_wire_clear(next);
}

static guint32 program_link(OrrWires *wires, guint32 fabric_link) {
  if (wires->program_links[fabric_link]) return wires->program_links[fabric_link] - 1;
  const OrrFabric *fabric = wires->context.fabric;
  g_autofree char *name = orr_fabric_link_name(fabric, fabric_link);
  const guint32 link =
      orr_program_link(wires->program, name, orr_fabric_link_bandwidth(fabric, fabric_link));
  wires->program_links[fabric_link] = link + 1;
  g_array_append_val(wires->links, fabric_link);
  g_array_set_size(wires->slots, link + 1);
  return link;
}

static guint32 *slot_of(const OrrWires *wires, guint32 link) {
  return &g_array_index(wires->slots, guint32, link);
}

guint32 orr_wires_path(OrrWires *wires, const OrrLinkUse *fabric_uses, guint n) {
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, n + 1);
  for (guint i = 0; i < n; i++)
    uses[i] = (OrrLinkUse){program_link(wires, fabric_uses[i].link), fabric_uses[i].weight};
  return orr_program_path(wires->program, uses, n);
}

/* Sums the weights that phase @k of all @plans puts on each link, in order of first use. */
static GArray *sum_uses(OrrWires *wires, const GPtrArray *plans, guint k) {
  GArray *uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  for (guint p = 0; p < plans->len; p++) {
    const OrrCollectivePlan *plan = g_ptr_array_index(plans, p);
    const OrrCollectivePhase *phase = &g_array_index(plan->phases, OrrCollectivePhase, k);
    for (guint u = 0; u < phase->n_uses; u++) {
      const guint32 link = program_link(wires, phase->uses[u].link);
      guint32 *slot = slot_of(wires, link);
      if (*slot) {
        g_array_index(uses, OrrLinkUse, *slot - 1).weight += phase->uses[u].weight;
        continue;
      }
      const OrrLinkUse use = {link, phase->uses[u].weight};
      g_array_append_val(uses, use);
      *slot = uses->len;
    }
  }
  for (guint u = 0; u < uses->len; u++)
    *slot_of(wires, g_array_index(uses, OrrLinkUse, u).link) = 0;
  return uses;
}

static double longest_latency(const GPtrArray *plans, guint k) {
  double latency_s = 0;
  for (guint p = 0; p < plans->len; p++) {
    const OrrCollectivePlan *plan = g_ptr_array_index(plans, p);
    latency_s = MAX(latency_s, g_array_index(plan->phases, OrrCollectivePhase, k).latency_s);
  }
  return latency_s;
}

static void fill_wire(OrrWires *wires, const GPtrArray *plans, OrrWire *wire) {
  const OrrCollectivePlan *first = g_ptr_array_index(plans, 0);
  const guint n_phases = first->phases->len;
  *wire = (OrrWire){g_new0(OrrPhase, n_phases), n_phases, first->predicted_s};
  for (guint k = 0; k < n_phases; k++) {
    g_autoptr(GArray) uses = sum_uses(wires, plans, k);
    wire->phases[k] = (OrrPhase){
        .latency_s = longest_latency(plans, k),
        .bytes = g_array_index(first->phases, OrrCollectivePhase, k).bytes,
        .path = uses->len
                    ? orr_program_path(wires->program, (const OrrLinkUse *)uses->data, uses->len)
                    : ORR_NO_PATH,
    };
  }
}

static void note(OrrWires *wires, const char *name, gint64 count, const OrrCollectiveCall *call,
                 const OrrCollectivePlan *plan) {
  for (guint i = 0; i < wires->collectives->len; i++)
    if (g_str_equal(g_array_index(wires->collectives, OrrPlannedCollective, i).name, name)) return;
  OrrPlannedCollective row = {
      .name = name,
      .op = orr_collective_words[call->op],
      .algorithm = plan->algorithm ? plan->algorithm->entry.name : "none",
      .n_ranks = call->n,
      .bytes = call->bytes,
      .count = count,
      .predicted_s = plan->predicted_s,
      .how = plan->how,
  };
  for (guint k = 0; k < plan->phases->len; k++)
    row.latency_s += g_array_index(plan->phases, OrrCollectivePhase, k).latency_s;
  g_array_append_val(wires->collectives, row);
}

static gboolean plan_all(const OrrWires *wires, const OrrCalls *calls,
                         const OrrCollectiveAlgorithm *algorithm, GPtrArray *plans,
                         GError **error) {
  g_ptr_array_set_size(plans, 0);
  for (guint i = 0; i < calls->n_calls; i++) {
    OrrCollectivePlan *plan =
        orr_collective_plan(&wires->context, &calls->calls[i], algorithm, error);
    if (!plan) return FALSE;
    g_ptr_array_add(plans, plan);
  }
  return TRUE;
}

static gboolean are_alike(const GPtrArray *plans) {
  const OrrCollectivePlan *first = g_ptr_array_index(plans, 0);
  for (guint i = 1; i < plans->len; i++) {
    const OrrCollectivePlan *plan = g_ptr_array_index(plans, i);
    if (plan->algorithm != first->algorithm || plan->phases->len != first->phases->len)
      return FALSE;
    for (guint k = 0; k < plan->phases->len; k++)
      if (g_array_index(plan->phases, OrrCollectivePhase, k).bytes !=
          g_array_index(first->phases, OrrCollectivePhase, k).bytes)
        return FALSE;
  }
  return TRUE;
}

static OrrCollectivePhase *first_phase(const GPtrArray *plans, guint i) {
  const OrrCollectivePlan *plan = g_ptr_array_index(plans, i);
  return &g_array_index(plan->phases, OrrCollectivePhase, 0);
}

static gboolean is_multiple(double bytes, double unit) {
  return fabs(bytes / unit - round(bytes / unit)) < 1e-6;
}

/* The largest that the phases of all plans are multiples of: a part of the smallest. */
static double common_unit(const GPtrArray *plans) {
  double least = G_MAXDOUBLE;
  for (guint i = 0; i < plans->len; i++) least = MIN(least, first_phase(plans, i)->bytes);
  for (guint parts = 1; parts <= 64; parts++) {
    gboolean fits = TRUE;
    for (guint i = 0; i < plans->len; i++)
      fits = fits && is_multiple(first_phase(plans, i)->bytes, least / parts);
    if (fits) return least / parts;
  }
  return least;
}

/* Rings over groups that lie differently in their nodes move different unit flows (one ring, or
 * one a NIC; parts of one where it is spread over routes), and so do sends: brought to one unit,
 * of which all are multiples. */
static void level_units(GPtrArray *plans) {
  const double unit = common_unit(plans);
  for (guint i = 0; i < plans->len; i++) {
    OrrCollectivePhase *phase = first_phase(plans, i);
    const guint32 multiple = (guint32)(phase->bytes / unit + 0.5);
    for (guint u = 0; u < phase->n_uses; u++) phase->uses[u].weight *= multiple;
    phase->bytes = unit;
  }
}

/* Whether some of the call's GPUs, but not all, share a domain with its first. */
static gboolean has_two_levels(const OrrWires *wires, const OrrCollectiveCall *call) {
  const OrrFabric *fabric = wires->context.fabric;
  guint together = 0;
  for (guint r = 0; r < call->n; r++)
    together +=
        orr_fabric_domain(fabric, call->gpus[r]) == orr_fabric_domain(fabric, call->gpus[0]);
  return together > 1 && together < call->n;
}

/* What the job forces, where that supports the call; NULL: whatever is fastest. An exchange of
 * one level has no two steps: it is the flat one. */
static const OrrCollectiveAlgorithm *forced(const OrrWires *wires, const OrrCollectiveCall *call) {
  static const char *const dispatches[] = {[ORR_DISPATCH_FLAT] = NULL,
                                           [ORR_DISPATCH_DEEPEP] = "deepep",
                                           [ORR_DISPATCH_HIERARCHICAL] = "hierarchical"};
  const int dispatch = wires->job->params->experts.dispatch;
  const gboolean is_flat =
      dispatch == ORR_DISPATCH_HIERARCHICAL && call->exchange && !has_two_levels(wires, call);
  const char *name = call->exchange && !is_flat ? dispatches[dispatch] : NULL;
  if (!name) name = wires->job->params->collectives;
  const OrrEntry *entry = orr_registry_find(&orr_collective_registry, name);
  const OrrCollectiveAlgorithm *algorithm = (const OrrCollectiveAlgorithm *)entry;
  return algorithm && algorithm->supports(&wires->context, call) ? algorithm : NULL;
}

/* The slowest group first: it is what a joint wire is told by. */
static gint slower_first(gconstpointer a, gconstpointer b) {
  const OrrCollectivePlan *x = *(const OrrCollectivePlan *const *)a,
                          *y = *(const OrrCollectivePlan *const *)b;
  return (x->predicted_s < y->predicted_s) - (x->predicted_s > y->predicted_s);
}

gboolean orr_wires_join(OrrWires *wires, const char *name, gint64 count, const OrrCalls *calls,
                        OrrWire *ret_wire, GError **error) {
  g_autoptr(GPtrArray) plans =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_collective_plan_free);
  if (!plan_all(wires, calls, forced(wires, &calls->calls[0]), plans, error)) return FALSE;
  if (!are_alike(plans)) {
    const OrrCollectiveAlgorithm *ring =
        (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, "ring");
    const gboolean in_rings =
        ring->supports(&wires->context, &calls->calls[0]); /* a send is none */
    if (in_rings && !plan_all(wires, calls, ring, plans, error)) return FALSE;
    level_units(plans);
    g_ptr_array_sort(plans, slower_first);
  }
  fill_wire(wires, plans, ret_wire);
  note(wires, name, count, &calls->calls[0], g_ptr_array_index(plans, 0));
  return TRUE;
}

void orr_wires_load(const OrrWires *wires, const OrrWire *wire, guint64 salt, guint64 *load) {
  for (guint k = 0; wire && k < wire->n_phases; k++) {
    if (wire->phases[k].path == ORR_NO_PATH) continue;
    guint n = 0;
    const OrrLinkUse *uses = orr_program_path_uses(wires->program, wire->phases[k].path, &n);
    for (guint u = 0; u < n; u++)
      load[g_array_index(wires->links, guint32, uses[u].link)] +=
          orr_random_hash3(salt, uses[u].weight, 3);
  }
}

/* The fabric link of the @u-th use of phase @k; FALSE after the last. */
static gboolean link_at(const OrrWires *wires, const OrrWire *wire, guint k, guint u,
                        guint32 *ret_link) {
  guint n = 0;
  const OrrLinkUse *uses = wire->phases[k].path == ORR_NO_PATH
                               ? NULL
                               : orr_program_path_uses(wires->program, wire->phases[k].path, &n);
  if (u < n) *ret_link = g_array_index(wires->links, guint32, uses[u].link);
  return u < n;
}

void orr_wires_cover(const OrrWires *wires, const OrrWire *wire, guint8 *links) {
  guint32 link;
  for (guint k = 0; wire && k < wire->n_phases; k++)
    for (guint u = 0; link_at(wires, wire, k, u, &link); u++) links[link] = TRUE;
}

gboolean orr_wires_touch(const OrrWires *wires, const OrrWire *wire, const guint8 *links) {
  guint32 link;
  for (guint k = 0; k < wire->n_phases; k++)
    for (guint u = 0; link_at(wires, wire, k, u, &link); u++)
      if (links[link]) return TRUE;
  return FALSE;
}

/* Sets the slots of @wire's links to @mark; returns whether one of them was marked before. */
static gboolean mark_links(const OrrWires *wires, const OrrWire *wire, guint32 mark) {
  gboolean met = FALSE;
  for (guint k = 0; k < wire->n_phases; k++) {
    if (wire->phases[k].path == ORR_NO_PATH) continue;
    guint n = 0;
    const OrrLinkUse *uses = orr_program_path_uses(wires->program, wire->phases[k].path, &n);
    for (guint u = 0; u < n; u++) {
      guint32 *slot = slot_of(wires, uses[u].link);
      met = met || *slot;
      *slot = mark;
    }
  }
  return met;
}

gboolean orr_wires_meet(const OrrWires *wires, const OrrWire *a, const OrrWire *b) {
  mark_links(wires, a, 1);
  const gboolean met = mark_links(wires, b, 0);
  mark_links(wires, a, 0);
  return met;
}
