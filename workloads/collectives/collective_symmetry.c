/*
 * collective_symmetry.c - counts a symmetric collective for one domain only.
 *
 * On a fabric that looks the same from every port (a torus, a HyperX, a Clos of full leaves and
 * pods), a collective in which every GPU does the same loads all links of an orbit equally: the
 * links that the fabric's symmetries map onto each other. If one domain puts a total load W on an
 * orbit of L links, and there are N domains, then
 *
 *   weight of each of its links = N W / L
 *
 * so an all-to-all needs the routes of one domain rather than of all: n instead of n^2.
 */
#include "workloads/collectives/collective_private.h"

/* Whether the group contains every GPU once. */
static gboolean takes_all(const OrrFabric *fabric, const gint64 *gpus, guint n) {
  if (n != orr_fabric_n_gpus(fabric)) return FALSE;
  g_autofree guint8 *seen = g_new0(guint8, n);
  for (guint i = 0; i < n; i++)
    if (seen[gpus[i]]++) return FALSE;
  return TRUE;
}

/* Not if connections, senders or edges are counted: those belong to single links. */
gboolean orr_collective_flow_is_symmetric(const OrrCollectiveFlow *flow, const gint64 *gpus,
                                          guint n) {
  return !flow->connections && !flow->senders && !flow->edges && flow->n_detours == 0 &&
         orr_fabric_n_orbits(flow->fabric) > 0 && takes_all(flow->fabric, gpus, n);
}

gboolean orr_collective_flow_spread(OrrCollectiveFlow *flow, guint n_domains) {
  const OrrFabric *fabric = flow->fabric;
  const guint n_orbits = orr_fabric_n_orbits(fabric);
  const guint32 n_links = (guint32)orr_fabric_n_links(fabric);
  g_autofree guint64 *weight = g_new0(guint64, n_orbits), *members = g_new0(guint64, n_orbits);
  ORR_EACH(const OrrLinkUse, use, flow->uses) {
    const guint orbit = orr_fabric_orbit(fabric, use->link);
    if (orbit == G_MAXUINT) return FALSE;
    weight[orbit] += (guint64)use->weight * n_domains;
  }
  for (guint32 link = 0; link < n_links; link++) {
    const guint orbit = orr_fabric_orbit(fabric, link);
    if (orbit != G_MAXUINT) members[orbit]++;
  }
  for (guint orbit = 0; orbit < n_orbits; orbit++)
    if (weight[orbit] > 0 && weight[orbit] % members[orbit] != 0) return FALSE;
  orr_collective_flow_empty(flow);
  for (guint32 link = 0; link < n_links; link++) {
    const guint orbit = orr_fabric_orbit(fabric, link);
    if (orbit != G_MAXUINT && weight[orbit] > 0)
      orr_collective_flow_load(flow, link, (guint32)(weight[orbit] / members[orbit]));
  }
  return TRUE;
}
