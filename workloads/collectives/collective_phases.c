/*
 * collective_phases.c - a planned collective becomes phases over links of the program.
 */
#include "workloads/collectives/collective_phases.h"

#include "workloads/collectives/collective_cache.h"

void orr_collective_phases_init(OrrCollectivePhases *phases, const OrrWorld *world, OrrWork *work,
                                const OrrNccl *nccl) {
  *phases = (OrrCollectivePhases){
      .context = {.fabric = world->fabric,
                  .cost = world->cost,
                  .nccl = nccl,
                  .gpus_per_switch = orr_nccl_gpus_per_switch(nccl, world->cluster)},
      .world = world,
      .work = work,
      .program_links = g_new0(guint32, orr_fabric_n_links(world->fabric) + 1)};
}

void orr_collective_phases_clear(OrrCollectivePhases *phases) { g_free(phases->program_links); }

static guint32 program_link(OrrCollectivePhases *phases, guint32 fabric_link) {
  guint32 *known = &phases->program_links[fabric_link];
  if (*known) return *known - 1;
  const guint32 link =
      orr_fabric_program_link(phases->world->fabric, phases->work->program, fabric_link);
  *known = link + 1;
  g_array_append_val(phases->work->links, fabric_link);
  return link;
}

void orr_collective_phases_use(OrrCollectivePhases *phases, GArray *uses,
                               const OrrCollectivePhase *phase) {
  for (guint i = 0; i < phase->n_uses; i++) {
    const OrrLinkUse use = {program_link(phases, phase->uses[i].link), phase->uses[i].weight};
    guint k = 0;
    while (k < uses->len && g_array_index(uses, OrrLinkUse, k).link != use.link) k++;
    if (k < uses->len)
      g_array_index(uses, OrrLinkUse, k).weight += use.weight;
    else
      g_array_append_val(uses, use);
  }
}

void orr_collective_phases_append(OrrCollectivePhases *phases, GArray *ret_phases, double latency_s,
                                  double bytes, GArray *uses) {
  const guint32 path = uses->len > 0
                           ? orr_program_path(phases->work->program,
                                              (const OrrLinkUse *)(void *)uses->data, uses->len)
                           : ORR_NO_PATH;
  ORR_APPEND(ret_phases, OrrPhase, {latency_s, bytes, path});
}

gboolean orr_collective_phases_plan(OrrCollectivePhases *phases, const OrrCollectiveCall *call,
                                    GArray *ret_phases, GError **error) {
  g_autoptr(OrrCollectivePlan) plan =
      orr_collective_cache_plan(phases->world->plans, &phases->context, call, NULL, error);
  if (!plan) return FALSE;
  ORR_EACH(const OrrCollectivePhase, phase, plan->phases) {
    g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
    orr_collective_phases_use(phases, uses, phase);
    orr_collective_phases_append(phases, ret_phases, phase->latency_s, phase->bytes, uses);
  }
  return TRUE;
}

guint32 orr_collective_phases_label(OrrWork *work, const char *name,
                                    const double seconds[ORR_N_TIMES]) {
  GArray *known = work->label_seconds;
  for (guint k = 1;; k++) {
    g_autofree char *other = k > 1 ? g_strdup_printf("%s #%u", name, k) : NULL;
    const guint32 label = orr_program_label(work->program, other ? other : name, "compute");
    const gboolean is_new = label >= known->len / ORR_N_TIMES;
    if (is_new) g_array_set_size(known, (label + 1) * ORR_N_TIMES);
    double *times = &g_array_index(known, double, label *ORR_N_TIMES);
    if (is_new) memcpy(times, seconds, sizeof(double) * ORR_N_TIMES);
    if (memcmp(times, seconds, sizeof(double) * ORR_N_TIMES) == 0) return label;
  }
}
