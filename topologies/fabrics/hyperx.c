/*
 * hyperx.c - HyperX: switches on a grid, each joined to all others of its row along each axis.
 *
 *      s00 -- s10 -- s20     every switch to every other one of its row ...
 *       |  X   |  X   |
 *      s01 -- s11 -- s21     ... and of its column; a 1-axis HyperX is a full mesh, sizes of 2 a
 *                            hypercube
 *
 * Ahn, Binkert, Davis, McLaren, Schreiber, "HyperX: topology, routing, and packaging of efficient
 * large-scale networks", SC 2009. Sizes S_1 x ... x S_L, T ports a switch, K cables to each
 * neighbour.
 *
 *   shortest route   one hop an axis in which the ends differ, in any order: at most L + 1
 *                    switches, L! routes
 *   valiant, ugal    two hops for each such axis, over one of the row's S - 2 other switches: at
 *                    most 2 L + 1 switches (the paper's DAL takes at most one such detour an axis).
 *                    Two switches of a row then have K (1 + S - 2) cables for each other, not K
 *   bisection        min over axes of  K S_i^2/4 * (switches / S_i) * rate = switches * S_i / 4 * K
 *                    * rate, S_i even; one direction
 *
 *   fabric: {kind: hyperx, shape: 8x8, hosts-per-switch: 8}
 */
#include "topologies/fabrics/sizes.h"
#include "topologies/fabrics/switch_graph.h"

enum { MOST_AXES = 4, MOST_DETOURS = 64 };

typedef struct {
  char *shape;
  gint64 hosts, cables, radix;
  double link_bytes_per_s, switch_latency_s;
} Params;

typedef struct {
  OrrSwitchGraph graph;
  const Params *params;
  gint64 n_ports, size[MOST_AXES];
  guint n_axes;
  double rate, port_rate;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "hyperx", "Parameters of the fabric hyperx.", Params,
    ORR_FIELD_TEXT(Params, "shape", shape, "8x8",
                   "Switches along each axis, 1 to 4 axes, e.g. 8x8."),
    ORR_FIELD_INT(Params, "hosts-per-switch", hosts, "8", "NIC ports of a switch.", .min = 1,
                  .max = 65536),
    ORR_FIELD_INT(Params, "cables", cables, "1", "Cables between two switches of a row.", .min = 1,
                  .max = 1024),
    ORR_FIELD_INT(Params, "radix", radix, "64", "Ports of every switch.", .min = 2, .max = 65536),
    ORR_FIELD_REAL(Params, "link-bandwidth", link_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "Nominal rate of a cable between switches; 0: the NIC's.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "switch-latency", switch_latency_s, ORR_UNIT_SECONDS, "150 ns",
                   "Port to port through a switch; vendors give under 150 ns (Quantum-2).",
                   .flags = ORR_FIELD_UNSIGNED));

static gint64 n_switches(const Plan *plan) {
  return plan->size[0] * plan->size[1] * plan->size[2] * plan->size[3];
}

static gint64 n_neighbours(const Plan *plan) {
  gint64 n = 0;
  for (guint axis = 0; axis < MOST_AXES; axis++) n += plan->size[axis] - 1;
  return n;
}

static gboolean check(const Plan *plan, gint64 port_links, GError **error) {
  const Params *params = plan->params;
  const gint64 used = params->hosts * port_links + n_neighbours(plan) * params->cables;
  if (used > params->radix)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "a switch with %ld NICs and %ld cables needs %ld ports, but radix is %ld",
                         params->hosts * port_links, n_neighbours(plan) * params->cables, used,
                         params->radix);
  if (n_switches(plan) * params->hosts >= plan->n_ports && n_switches(plan) <= 1000000) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "shape %s has %ld switches of %ld ports, but %ld ports are needed, of at "
                       "most 1000000 switches",
                       params->shape, n_switches(plan), params->hosts, plan->n_ports);
}

static void add_cables(Plan *plan) {
  gint64 stride = 1;
  for (guint axis = 0; axis < MOST_AXES; stride *= plan->size[axis++])
    for (gint64 s = 0; s < n_switches(plan); s++)
      for (gint64 at = s / stride % plan->size[axis] + 1, to = s + stride; at < plan->size[axis];
           at++, to += stride)
        orr_switch_graph_cable(&plan->graph, (guint)s, (guint)to, (guint)plan->params->cables,
                               plan->rate, (int)axis);
}

static void plan_free(gpointer data) {
  Plan *plan = data;
  if (plan) orr_switch_graph_clear(&plan->graph);
  g_free(plan);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  static const guint factorial[] = {1, 1, 2, 6, 24};
  const Params *params = data;
  const OrrNodeShape *node = &cluster->node;
  double nominal = params->link_bytes_per_s > 0 ? params->link_bytes_per_s : node->nic_bytes_per_s;
  Plan *plan = g_new0(Plan, 1);
  plan->params = params;
  plan->n_ports = n_ports;
  plan->rate = nominal * node->nic_efficiency;
  plan->port_rate = port_bytes_per_s;
  plan->n_axes = orr_sizes_parse("shape", params->shape, MOST_AXES, plan->size, error);
  if (!plan->n_axes || !check(plan, orr_node_shape_port_links(node), error)) {
    g_free(plan);
    return NULL;
  }
  orr_switch_graph_init(&plan->graph, cluster, (guint)n_switches(plan), "switch");
  plan->graph.switch_latency_s = params->switch_latency_s;
  plan->graph.n_paths = factorial[plan->n_axes];
  add_cables(plan);
  if (orr_switch_graph_close(&plan->graph, error)) return plan;
  plan_free(plan);
  return NULL;
}

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  const gint64 hosts = plan->params->hosts;
  return orr_switch_graph_route(&plan->graph, (guint)(src / hosts), (guint)(dst / hosts), hash,
                                links);
}

/* A third switch of each row that the route passes; a row of two has none. Different pairs begin
 * with different axes and thirds. */
static guint detour(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  const gint64 from = src / plan->params->hosts, to = dst / plan->params->hosts;
  const guint before = links->len, salted = (guint)((hash + (guint64)(from + to)) % G_MAXUINT32);
  gint64 at = from;
  for (guint i = 0; i < plan->n_axes; i++) {
    const guint axis = (salted + i) % plan->n_axes;
    gint64 stride = 1;
    for (guint below = 0; below < axis; below++) stride *= plan->size[below];
    const gint64 size = plan->size[axis], here = at / stride % size, there = to / stride % size;
    if (here == there) continue;
    guint64 digits = salted / plan->n_axes;
    const gint64 over =
        size > 2 ? (gint64)orr_switch_graph_third(&digits, (guint)size, (guint)here, (guint)there)
                 : there;
    const gint64 third = at + (over - here) * stride, next = at + (there - here) * stride;
    orr_switch_graph_route(&plan->graph, (guint)at, (guint)third, hash, links);
    orr_switch_graph_route(&plan->graph, (guint)third, (guint)next, hash, links);
    at = next;
  }
  return 1 + links->len - before;
}

/* Each axis first, with each third switch of its row. */
static guint n_detours(gconstpointer data) {
  const Plan *plan = data;
  gint64 thirds = 1;
  for (guint axis = 0; axis < plan->n_axes; axis++) thirds = MAX(thirds, plan->size[axis] - 2);
  return plan->n_axes * (guint)MIN(thirds, MOST_DETOURS / plan->n_axes);
}

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const double cables = (double)(n_neighbours(plan) * plan->params->cables);
  OrrFabricLevel level = {.name = g_strdup("rows"),
                          .switches = n_switches(plan),
                          .links = n_switches(plan) * n_neighbours(plan) / 2 * plan->params->cables,
                          .link_bytes_per_s = plan->rate,
                          .oversubscription = 1};
  if (cables > 0)
    level.oversubscription = (double)plan->params->hosts * plan->port_rate / (cables * plan->rate);
  g_array_append_val(ret_levels, level);
}

static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  const Params *params = plan->params;
  const int grid = orr_bill_add_switches(ret_bill, "grid", n_switches(plan), params->radix);
  orr_bill_add_cables(ret_bill, "rows", grid, grid,
                      n_switches(plan) * n_neighbours(plan) / 2 * params->cables, plan->rate);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  double least = (double)plan->n_ports * plan->port_rate / 2;
  for (guint axis = 0; axis < plan->n_axes; axis++) {
    double size = (double)plan->size[axis], cut = (double)n_switches(plan) * size / 4 * plan->rate;
    if (size > 1) least = MIN(least, cut * (double)plan->params->cables);
  }
  return least;
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  guint hops = 0;
  for (guint axis = 0; axis < plan->n_axes; axis++) hops += plan->size[axis] > 1;
  return hops + 1;
}

/* The switches of a row can be permuted: all cables of an axis are alike. */
static guint n_orbits(gconstpointer data) {
  const Plan *plan = data;
  return plan->n_ports == n_switches(plan) * plan->params->hosts ? plan->n_axes : 0;
}

static guint orbit(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  return (guint)g_array_index(plan->graph.links, OrrGraphLink, link).level;
}

const OrrFabricKind orr_hyperx = {
    .entry = {.name = "hyperx",
              .sentence =
                  "Switches on a grid, each joined to all others of its row along each axis.",
              .params = &params_table},
    ORR_SWITCH_GRAPH_KIND,
    .detour = detour,
    .n_detours = n_detours,
    .n_orbits = n_orbits,
    .orbit = orbit,
};
