/*
 * rail_only.c - rail-only: a separate network for each rail, and no links between rails.
 *
 *      leaf0     leaf1     leaf2     leaf3       one a rail (or a leaf-spine network a rail, where
 *                                                a leaf is too small)
 *       | \       | \       | \       | \
 *      n0  n1    n0  n1    n0  n1    n0  n1      NIC i of every node on rail i
 *
 * Wang, Ghobadi, Shakeri, Zhang, Hasani, "Rail-only: a low-cost high-performance network for
 * training LLMs with trillion parameters" (arXiv 2307.12169): the traffic of a GPT stays on its
 * rail, so the spines between rails can go, 38 to 77 % of the network's cost. Traffic to another
 * rail first crosses to that rail over NVLink (PXN); a scale-up domain must therefore hold whole
 * nodes.
 *
 *   bisection, one direction    rails * one rail's bisection; ports * port / 2 where a rail
 *                               is one leaf
 *
 *   fabric: {kind: rail-only, radix: 64, levels: 2}
 */
#include "topologies/fabrics/clos.h"

typedef struct {
  OrrClosParams clos;
  gint64 nodes_per_leaf;
} Params;

typedef struct {
  OrrClos clos; /* the network of one rail */
  gint64 rails, radix;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "rail-only", "Parameters of the fabric rail-only.", Params, ORR_CLOS_FIELDS(Params),
    ORR_FIELD_INT(Params, "nodes-per-leaf", nodes_per_leaf, "0",
                  "Nodes on a leaf of a rail; 0: all nodes if a switch has the ports, otherwise as "
                  "many as its ports allow.",
                  .min = 0, .max = 1e7));

/* One leaf holds a whole rail if it needs no links up. */
static gint64 ports_of_leaf(const Params *params, const OrrClosSpec *spec) {
  if (params->nodes_per_leaf) return params->nodes_per_leaf;
  if (spec->n_ports * spec->port_links <= params->clos.radix) return spec->n_ports;
  return orr_clos_widest_leaf(spec, 1);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  g_autofree Plan *plan = g_new0(Plan, 1);
  plan->rails = orr_node_shape_n_ports(&cluster->node);
  OrrClosSpec spec = orr_clos_spec(cluster, &params->clos, n_ports / plan->rails, port_bytes_per_s);
  spec.by_rail = TRUE;
  plan->radix = params->clos.radix;
  spec.leaf_ports = ports_of_leaf(params, &spec);
  spec.leaves = (spec.n_ports + spec.leaf_ports - 1) / spec.leaf_ports;
  if (spec.leaves == 1)
    spec.params.radix *= 2; /* clos.h reserves ports for links up, which a single leaf does not
                             * need */
  return orr_clos_init(&plan->clos, &spec, error) ? g_steal_pointer(&plan) : NULL;
}

static gboolean reaches(gconstpointer data, gint64 src_port, gint64 dst_port) {
  const Plan *plan = data;
  return src_port % plan->rails == dst_port % plan->rails;
}

static gint64 n_links(gconstpointer data) {
  const Plan *plan = data;
  return plan->rails * orr_clos_n_links(&plan->clos);
}

static guint route(gconstpointer data, gint64 src_port, gint64 dst_port, guint64 hash,
                   GArray *links) {
  const Plan *plan = data;
  const gint64 leaf_ports = plan->clos.spec.leaf_ports, src = src_port / plan->rails,
               dst = dst_port / plan->rails;
  const guint32 base = (guint32)(src_port % plan->rails * orr_clos_n_links(&plan->clos));
  const guint first = links->len;
  if (plan->clos.spec.by_destination) hash /= (guint64)plan->rails;
  guint switches = orr_clos_route(&plan->clos, src / leaf_ports, dst / leaf_ports, hash, links);
  for (guint i = first; i < links->len; i++) g_array_index(links, guint32, i) += base;
  return switches;
}

static double link_bandwidth(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  return orr_clos_link_bandwidth(&plan->clos, link % orr_clos_n_links(&plan->clos));
}

static char *link_name(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  const gint64 n = orr_clos_n_links(&plan->clos);
  g_autofree char *name = orr_clos_link_name(&plan->clos, link % n);
  return g_strdup_printf("rail%ld:%s", link / n, name);
}

/* Each rail names its links as clos.h does, with the rail as a prefix. */
static void trunks(gconstpointer data, const char *name, gboolean is_switch, GArray *parts) {
  const Plan *plan = data;
  const gint64 n = orr_clos_n_links(&plan->clos);
  for (gint64 rail = 0; rail < plan->rails; rail++) {
    g_autofree char *prefix = g_strdup_printf("rail%ld:", rail);
    const guint first = parts->len;
    if (!g_str_has_prefix(name, prefix)) continue;
    orr_clos_trunks(&plan->clos, name + strlen(prefix), is_switch, parts);
    for (guint i = first; i < parts->len; i++)
      g_array_index(parts, OrrFabricPart, i).link += (guint32)(rail * n);
  }
}

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const guint first = ret_levels->len;
  orr_clos_levels(&plan->clos, ret_levels);
  for (guint i = first; i < ret_levels->len; i++) {
    OrrFabricLevel *level = &g_array_index(ret_levels, OrrFabricLevel, i);
    const gboolean joins = plan->clos.spec.leaves > 1; /* one leaf per rail has nothing above it */
    level->switches *= plan->rails;
    level->switches_above *= joins ? plan->rails : 0;
    level->links *= joins ? plan->rails : 0;
  }
}

static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  orr_clos_bill_copies(&plan->clos, plan->rails, plan->radix, ret_bill);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  return (double)plan->rails * orr_clos_bisection(&plan->clos);
}

/* Rails can be permuted, too. */
static guint orbit(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  return orr_clos_orbit(&plan->clos, link % orr_clos_n_links(&plan->clos));
}

const OrrFabricKind orr_rail_only = {
    .entry = {.name = "rail-only",
              .sentence =
                  "A separate network for each rail: NVLink carries traffic between rails (PXN).",
              .params = &params_table},
    .plan = plan_new,
    .plan_free = g_free,
    .n_links = n_links,
    .route = route,
    .reaches = reaches,
    .link_bandwidth = link_bandwidth,
    .link_name = link_name,
    .trunks = trunks,
    .switch_latency = orr_clos_switch_latency,
    .levels = levels,
    .bill = bill,
    .bisection = bisection,
    .diameter = orr_clos_diameter,
    .n_orbits = orr_clos_n_orbits,
    .orbit = orbit,
};
