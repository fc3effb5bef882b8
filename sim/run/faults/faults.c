#include "sim/run/faults/faults.h"

#include <math.h>

#include "sim/base/fault.h"
#include "sim/run/scenario.h"

/* More of one fault than this are not drawn: a mean time between failures that small is a
 * mistake. */
#define MOST_OUTAGES 100000

#define TIME(name_, member_, fallback_, sentence_)                                                 \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_REAL, .offset = offsetof(OrrFaultSpec, member_),              \
    .sentence = sentence_, .fallback = fallback_, .unit = ORR_UNIT_SECONDS,                        \
    .flags = ORR_FIELD_UNSIGNED                                                                    \
  }

static const OrrField fields[] = {
    {.name = "fault",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrFaultSpec, fault),
     .sentence = "What goes wrong.",
     .registry = &orr_machine_fault_registry},
    TIME("at", at_s, "0 s", "When; at a rate, from when on."),
    TIME("until", until_s, "0 s",
         "When it is over; at a rate, the last time that one begins; 0: never."),
    TIME("mtbf", mtbf_s, "0 s",
         "It strikes at a rate: mean time between failures, of all together; 0: it strikes once."),
    TIME("duration", duration_s, "0 s", "At a rate, how long each one lasts; 0: for good."),
    /* BFD declares a link dead after 3 missed packets, 50 ms apart in common configurations (RFC
     * 5880, 6.8.4). */
    TIME("detection", detection_s, "150 ms",
         "How long until routes do without a dead link; 150 ms is BFD's 3 x 50 ms."),
};
const OrrFieldTable orr_fault_spec_table =
    ORR_FIELD_TABLE("faults", "Something that goes wrong with the machine.", OrrFaultSpec, fields);

gboolean orr_scenario_has_faults(const OrrScenario *scenario) {
  return scenario->faults && scenario->faults->len > 0;
}

static const OrrFaultSpec *spec_at(const OrrScenario *scenario, guint i) {
  return scenario->faults->pdata[i];
}

gboolean orr_faults_at_rates(const OrrScenario *scenario) {
  for (guint i = 0; i < scenario->faults->len; i++)
    if (spec_at(scenario, i)->mtbf_s > 0) return TRUE;
  return FALSE;
}

/* --- Drawing --- */

static void outage_free(gpointer data) {
  OrrOutage *outage = data;
  g_free(outage->what);
  g_array_unref(outage->harms);
  g_free(outage);
}

typedef struct {
  const OrrScenario *scenario;
  OrrMachineFaultAsk ask;
  double horizon_s;
  GPtrArray *outages;
} Draw;

static gboolean strike(Draw *draw, guint i, double begin_s, double end_s, GError **error) {
  const OrrFaultSpec *spec = spec_at(draw->scenario, i);
  OrrOutage *outage = g_new0(OrrOutage, 1);
  outage->harms = g_array_new(FALSE, TRUE, sizeof(OrrHarm));
  g_ptr_array_add(draw->outages, outage);
  outage->spec = i;
  outage->kind = spec->fault.entry->name;
  outage->begin_s = begin_s;
  outage->end_s = end_s;
  outage->detection_s = spec->detection_s;
  return orr_machine_fault_strike(&spec->fault, &draw->ask, outage->harms, &outage->what, error);
}

static gboolean strike_at_a_rate(Draw *draw, guint i, GError **error) {
  const OrrFaultSpec *spec = spec_at(draw->scenario, i);
  g_autofree char *name = g_strdup_printf("fault %u", i);
  OrrRandom random = orr_random_stream((guint64)draw->scenario->seed, name);
  const double last_s = spec->until_s > 0 ? MIN(spec->until_s, draw->horizon_s) : draw->horizon_s;
  draw->ask.random = &random;
  double at_s = spec->at_s - spec->mtbf_s * log(1 - orr_random_unit(&random));
  for (guint n = 0; at_s < last_s; n++) {
    const double end_s = spec->duration_s > 0 ? at_s + spec->duration_s : INFINITY;
    if (n == MOST_OUTAGES) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                  "fault %u strikes more than %d times in %g s: its mtbf is %g s", i + 1,
                  MOST_OUTAGES, draw->horizon_s, spec->mtbf_s);
      return FALSE;
    }
    if (!strike(draw, i, at_s, end_s, error)) return FALSE;
    at_s = (isinf(end_s) ? at_s : end_s) - spec->mtbf_s * log(1 - orr_random_unit(&random));
  }
  return TRUE;
}

static gboolean draw_one(Draw *draw, guint i, GError **error) {
  const OrrFaultSpec *spec = spec_at(draw->scenario, i);
  draw->ask.random = NULL;
  if (spec->mtbf_s > 0) return strike_at_a_rate(draw, i, error);
  return strike(draw, i, spec->at_s, spec->until_s > 0 ? spec->until_s : INFINITY, error);
}

static gint by_begin(gconstpointer a, gconstpointer b) {
  const OrrOutage *x = *(const OrrOutage *const *)a, *y = *(const OrrOutage *const *)b;
  if (x->begin_s != y->begin_s) return x->begin_s < y->begin_s ? -1 : 1;
  return (x->spec > y->spec) - (x->spec < y->spec);
}

GPtrArray *orr_faults_draw(const OrrScenario *scenario, const OrrFabric *fabric, double horizon_s,
                           GError **error) {
  g_autoptr(GPtrArray) outages = g_ptr_array_new_with_free_func(outage_free);
  Draw draw = {scenario, {&scenario->cluster, fabric, NULL}, horizon_s, outages};
  for (guint i = 0; orr_scenario_has_faults(scenario) && i < scenario->faults->len; i++)
    if (!draw_one(&draw, i, error)) return NULL;
  g_ptr_array_sort(outages, by_begin);
  return g_steal_pointer(&outages);
}

/* --- Checks --- */

static OrrPlace place_of(const OrrNode *tree, guint index, const char *key) {
  const OrrNode *faults = orr_node_get(tree, "faults");
  const OrrNode *fault =
      faults && index < orr_node_length(faults) ? faults->items->pdata[index] : NULL;
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
                    "duration is of faults at a rate (mtbf): one at a time ends with until");
}

static gboolean is_back(const OrrFaultSpec *spec) {
  return spec->mtbf_s > 0 ? spec->duration_s > 0 : spec->until_s > 0;
}

/* @node: where the fault strikes; -1: anywhere. */
static gboolean has_node(const OrrScenario *scenario, guint job, gint64 node) {
  g_autoptr(GPtrArray) places = node < 0 ? NULL : orr_jobs_place(scenario, NULL);
  const gint64 *gpus = places ? places->pdata[job] : NULL;
  for (gint64 g = 0; gpus && g < ((const OrrJobSpec *)scenario->jobs->pdata[job])->gpus; g++)
    if (gpus[g] / scenario->cluster.node.gpus == node) return TRUE;
  return node < 0;
}

static const char *refuse_return(const OrrChoice *workload, const OrrCluster *cluster) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)workload->entry;
  return kind && kind->refuse_return ? kind->refuse_return(workload->params, cluster) : NULL;
}

/* A node that comes back, to a workload that cannot take it up again: said here, not when the
 * node comes. */
static void check_return(const OrrScenario *scenario, guint i, const GArray *harms,
                         const OrrNode *tree, OrrDiags *diags) {
  const OrrFaultSpec *spec = spec_at(scenario, i);
  const OrrHarm *harm = harms->len > 0 ? &g_array_index(harms, OrrHarm, 0) : NULL;
  if (!harm || harm->kind != ORR_HARM_NODE || !is_back(spec)) return;
  const OrrPlace place = place_of(tree, i, spec->mtbf_s > 0 ? "duration" : "until");
  const char *lacks = refuse_return(&scenario->workload, &scenario->cluster);
  if (lacks) orr_diags_error(diags, place, "%s", lacks);
  for (guint j = 0; orr_scenario_has_jobs(scenario) && j < scenario->jobs->len; j++) {
    const OrrJobSpec *job = scenario->jobs->pdata[j];
    lacks = refuse_return(&job->workload, &scenario->cluster);
    if (lacks && has_node(scenario, j, spec->mtbf_s > 0 ? -1 : harm->index))
      orr_diags_error(diags, place, "job %s: %s", job->name, lacks);
  }
}

void orr_faults_check(const OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags) {
  if (!orr_scenario_has_faults(scenario)) return;
  for (guint i = 0; i < scenario->faults->len; i++)
    check_times(spec_at(scenario, i), i, tree, diags);
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&scenario->cluster, (guint64)scenario->seed, NULL);
  for (guint i = 0; fabric && i < scenario->faults->len; i++) {
    const OrrFaultSpec *spec = spec_at(scenario, i);
    OrrRandom random = orr_random_stream(0, "check");
    const OrrMachineFaultAsk ask = {&scenario->cluster, fabric, spec->mtbf_s > 0 ? &random : NULL};
    g_autoptr(GArray) harms = g_array_new(FALSE, TRUE, sizeof(OrrHarm));
    g_autofree char *what = NULL;
    g_autoptr(GError) error = NULL;
    if (!orr_machine_fault_strike(&spec->fault, &ask, harms, &what, &error))
      orr_diags_error(diags, place_of(tree, i, "fault"), "%s", error->message);
    else
      check_return(scenario, i, harms, tree, diags);
  }
}
