/*
 * faults.c - the fields of a fault, its checks, and the drawing of outages.
 */
#include "sim/run/faults/faults.h"

/* More outages of one fault mean that its mtbf is a mistake. */
#define MOST_OUTAGES 100000

#define TIME(name_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_REAL(OrrFaultSpec, name_, member_, ORR_UNIT_SECONDS, fallback_, sentence_,             \
                 .flags = ORR_FIELD_UNSIGNED)

const OrrFieldTable orr_fault_spec_table = ORR_FIELDS(
    "faults", "Something that goes wrong with the machine.", OrrFaultSpec,
    ORR_FIELD_CHOICE(OrrFaultSpec, "fault", fault, &orr_machine_fault_registry, NULL,
                     "What goes wrong."),
    TIME("at", at_s, "0 s", "When it begins; at a rate, the earliest begin."),
    TIME("until", until_s, "0 s", "When it ends; at a rate, the latest begin; 0: never."),
    TIME("mtbf", mtbf_s, "0 s",
         "Mean time between failures, over the whole machine; 0: it strikes once."),
    TIME("duration", duration_s, "0 s", "At a rate, how long each outage lasts; 0: for good."),
    /* BFD declares a link dead after 3 missed packets, 50 ms apart in common configurations (RFC
     * 5880, 6.8.4). */
    TIME("detection", detection_s, "150 ms",
         "How long until routes avoid a dead link; 150 ms is BFD's 3 x 50 ms."));

static guint n_specs(const OrrFaults *faults) { return faults->specs ? faults->specs->len : 0; }

static const OrrFaultSpec *spec_at(const OrrFaults *faults, guint i) {
  return faults->specs->pdata[i];
}

gboolean orr_faults_at_rates(const OrrFaults *faults) {
  for (guint i = 0; i < n_specs(faults); i++)
    if (spec_at(faults, i)->mtbf_s > 0) return TRUE;
  return FALSE;
}

/* --- Drawing --- */

static void outage_free(gpointer data) {
  OrrOutage *outage = data;
  g_free(outage->what);
  g_array_unref(outage->effects);
  g_free(outage);
}

typedef struct {
  const OrrFaults *faults;
  OrrFaultTarget target;
  double horizon_s;
  GPtrArray *outages;
} Draw;

static gboolean strike(Draw *draw, guint i, double begin_s, double end_s, GError **error) {
  const OrrFaultSpec *spec = spec_at(draw->faults, i);
  OrrOutage *outage = g_new0(OrrOutage, 1);
  outage->effects = g_array_new(FALSE, TRUE, sizeof(OrrFaultEffect));
  g_ptr_array_add(draw->outages, outage);
  outage->spec = i;
  outage->kind = spec->fault.entry->name;
  outage->begin_s = begin_s;
  outage->end_s = end_s;
  outage->detection_s = spec->detection_s;
  return orr_machine_fault_strike(&spec->fault, &draw->target, outage->effects, &outage->what,
                                  error);
}

static gboolean strike_at_a_rate(Draw *draw, guint i, GError **error) {
  const OrrFaultSpec *spec = spec_at(draw->faults, i);
  g_autofree char *name = g_strdup_printf("fault %u", i);
  OrrRandom random = orr_random_stream(draw->faults->seed, name);
  const double last_s = spec->until_s > 0 ? MIN(spec->until_s, draw->horizon_s) : draw->horizon_s;
  draw->target.random = &random;
  double at_s = spec->at_s - spec->mtbf_s * log(1 - orr_random_unit(&random));
  for (guint n = 0; at_s < last_s; n++) {
    const double end_s = spec->duration_s > 0 ? at_s + spec->duration_s : INFINITY;
    if (n == MOST_OUTAGES)
      return orr_fault_set(
          error, ORR_FAULT_DOCUMENT,
          "fault %u strikes more than %d times in %g s: its mtbf of %g s is too short", i + 1,
          MOST_OUTAGES, draw->horizon_s, spec->mtbf_s);
    if (!strike(draw, i, at_s, end_s, error)) return FALSE;
    at_s = (isinf(end_s) ? at_s : end_s) - spec->mtbf_s * log(1 - orr_random_unit(&random));
  }
  return TRUE;
}

static gboolean draw_one(Draw *draw, guint i, GError **error) {
  const OrrFaultSpec *spec = spec_at(draw->faults, i);
  draw->target.random = NULL;
  if (spec->mtbf_s > 0) return strike_at_a_rate(draw, i, error);
  return strike(draw, i, spec->at_s, spec->until_s > 0 ? spec->until_s : INFINITY, error);
}

static gint by_begin(gconstpointer a, gconstpointer b) {
  const OrrOutage *x = *(const OrrOutage *const *)a, *y = *(const OrrOutage *const *)b;
  if (x->begin_s != y->begin_s) return x->begin_s < y->begin_s ? -1 : 1;
  return (x->spec > y->spec) - (x->spec < y->spec);
}

GPtrArray *orr_faults_draw(const OrrFaults *faults, const OrrFabric *fabric, double horizon_s,
                           GError **error) {
  g_autoptr(GPtrArray) outages = g_ptr_array_new_with_free_func(outage_free);
  Draw draw = {faults, {faults->cluster, fabric, NULL}, horizon_s, outages};
  for (guint i = 0; i < n_specs(faults); i++)
    if (!draw_one(&draw, i, error)) return NULL;
  g_ptr_array_sort(outages, by_begin);
  return g_steal_pointer(&outages);
}

/* --- Checks --- */

static OrrPlace place_of(const OrrNode *tree, guint index, const char *key) {
  const OrrNode *list = orr_node_get(tree, "faults");
  const OrrNode *fault = list && index < orr_node_length(list) ? list->items->pdata[index] : NULL;
  const OrrNode *member = fault ? orr_node_get(fault, key) : NULL;
  return member ? member->place : fault ? fault->place : tree->place;
}

static void check_times(const OrrFaultSpec *spec, guint i, const OrrNode *tree, OrrDiags *diags) {
  if (spec->until_s > 0 && spec->until_s <= spec->at_s)
    orr_diags_error(diags, place_of(tree, i, "until"),
                    "the fault ends at %g s and begins at %g s: until must be later", spec->until_s,
                    spec->at_s);
  if (spec->duration_s > 0 && !(spec->mtbf_s > 0))
    orr_diags_error(diags, place_of(tree, i, "duration"),
                    "duration without mtbf: a fault that strikes once ends at until");
}

/* Adds the node that the fault takes and gives back, if any. */
static void note_return(const OrrFaultSpec *spec, const GArray *effects, OrrPlace place,
                        GArray *returns) {
  const gboolean is_drawn = spec->mtbf_s > 0;
  const gboolean is_back = is_drawn ? spec->duration_s > 0 : spec->until_s > 0;
  const OrrFaultEffect *effect =
      effects->len > 0 ? &g_array_index(effects, OrrFaultEffect, 0) : NULL;
  if (!effect || effect->kind != ORR_FAULT_EFFECT_NODE || !is_back) return;
  ORR_APPEND(returns, OrrNodeReturn, {is_drawn ? -1 : effect->index, place});
}

GArray *orr_faults_check(const OrrFaults *faults, const OrrNode *tree, OrrDiags *diags) {
  GArray *returns = g_array_new(FALSE, FALSE, sizeof(OrrNodeReturn));
  for (guint i = 0; i < n_specs(faults); i++) check_times(spec_at(faults, i), i, tree, diags);
  if (n_specs(faults) == 0) return returns;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(faults->cluster, faults->seed, NULL);
  for (guint i = 0; fabric && i < n_specs(faults); i++) {
    const OrrFaultSpec *spec = spec_at(faults, i);
    OrrRandom random = orr_random_stream(0, "check");
    const OrrFaultTarget target = {faults->cluster, fabric, spec->mtbf_s > 0 ? &random : NULL};
    g_autoptr(GArray) effects = g_array_new(FALSE, TRUE, sizeof(OrrFaultEffect));
    g_autofree char *what = NULL;
    g_autoptr(GError) error = NULL;
    if (orr_machine_fault_strike(&spec->fault, &target, effects, &what, &error))
      note_return(spec, effects, place_of(tree, i, spec->mtbf_s > 0 ? "duration" : "until"),
                  returns);
    else
      orr_diags_error(diags, place_of(tree, i, "fault"), "%s", error->message);
  }
  return returns;
}
