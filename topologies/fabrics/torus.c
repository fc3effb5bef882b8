/*
 * torus.c - 1D, 2D and 3D torus, plain or twisted, cut into slices.
 *
 *      0 -- 1 -- 2 -- 3 --+        each chip is its own router: a link to each neighbour along each
 *                                  axis,
 *      |    |    |    |   |        and around. Chip x + X (y + Y z); axis x varies fastest.
 *      4 -- 5 -- 6 -- 7 --+
 *
 * Slices: `shape` is one slice, which optical circuit switches close to a torus wherever its blocks
 * stand (Jouppi et al., "TPU v4: An optically reconfigurable supercomputer", ISCA 2023, section 2).
 * The machine has as many slices as its chips fill. Without dcn-bandwidth a job uses one slice.
 * With it every chip also has a link to a data-centre network that does not block: its part of its
 * host's NIC. Routes from slice to slice use that alone.
 *
 * Open axes: an axis shorter than closes-from is a line, without links from one end to the other: a
 * slice of 2x2x1 has one cable between two neighbours, not two. A TPU's cables close axes of 4 (v4,
 * v5p, Ironwood) or of a whole pod (16 of v5e and v6e).
 *
 * Twisted: for a x a x 2a and a x 2a x 2a (2D: a x 2a) the links that close a short axis come back
 * shifted by a along the long ones (Camara, Moreto, Vallejo, Beivide, Miguel-Alonso, Martinez,
 * Navaridas, "Twisted torus topologies for enhanced interconnection networks", TPDS 2010; TPU v4
 * section 2.8). The chips are then a lattice, x equal to x + w_i for
 *
 *   w_i = D_i e_i + sum over long axes j of a e_j,  short axes i;      w_j = D_j e_j,  long axes j
 *
 * Shortest routes: the ones of least |x|+|y|+|z| among the vectors x - n_1 w_1 - n_2 w_2 - n_3 w_3
 * that lead to the receiver, each in every order of the axes. A flow is spread evenly over all of
 * them (the mean of many packets of dimension-order routing); under ecmp a hash selects one.
 *
 *   bisection, plain     2 * chips / longest axis * rate    one direction, even longest axis; half
 *                                                           of it across an open axis
 *              twisted   min over axes j of (2 chips / D_j + sum over short axes i twisted along j
 *                        of chips / D_i) * rate
 *   links                axes * chips cables
 *   all-to-all           every chip sends S/n to each other one; per link of axis j: n * mean |x_j|
 *                        / 2 units
 *
 *   fabric: {kind: torus, shape: 4x4x8, twisted: true, link-bandwidth: 50 GB/s}
 *   fabric: {kind: torus, shape: 16x16, dcn-bandwidth: 3.125 GB/s}      # slices of 256 TPU v5e
 */
#include "topologies/fabrics/sizes.h"
#include "topologies/fabric.h"

enum { AXES = 3, MOST_ROUTES = 8, REACH = 2 };

typedef struct {
  char *shape;
  gboolean twisted;
  gint64 closes_from;
  double link_bytes_per_s, switch_latency_s, dcn_bytes_per_s;
} Params;

typedef struct {
  int step[AXES];
} Displacement;

/* The shortest routes of one displacement. */
typedef struct {
  Displacement routes[MOST_ROUTES];
  guint n;
} Routes;

typedef struct {
  gint64 size[AXES], twist[AXES][AXES]; /* closing axis i shifts axis j by twist[i][j] */
  gboolean open[AXES];                  /* a line: its ends are not joined */
  gint64 slice, n_ports;
  double rate, port_rate, switch_latency_s, dcn_rate;
  Routes *routes; /* indexed by displacement, as a chip number */
  int axes[AXES]; /* the axes with more than one chip */
  guint n_axes, n_orders, diameter;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "torus", "Parameters of the fabric torus.", Params,
    ORR_FIELD_TEXT(Params, "shape", shape, "4x4x4",
                   "Chips of a slice along x, y and z, e.g. 4x4x8; one, two or three axes."),
    ORR_FIELD_BOOL(Params, "twisted", twisted, "false",
                   "Close short axes with a shift along axes twice as long (TPU v4): shapes a x a "
                   "x 2a and a x 2a x 2a."),
    ORR_FIELD_INT(Params, "closes-from", closes_from, "0",
                  "Least chips along an axis whose ends are joined; shorter axes are open lines.",
                  .flags = ORR_FIELD_UNSIGNED, .max = 1000000),
    ORR_FIELD_REAL(Params, "link-bandwidth", link_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "Nominal rate of a link between neighbours, one direction; 0: the NIC's.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "switch-latency", switch_latency_s, ORR_UNIT_SECONDS, "100 ns",
                   "Latency through a chip's router; an assumption, since no vendor publishes it.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "dcn-bandwidth", dcn_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "A chip's part of its host's NIC, one direction, over which slices reach each "
                   "other; 0: a job uses one slice.",
                   .flags = ORR_FIELD_UNSIGNED));

/* --- The lattice --- */

static gint64 chip_at(const Plan *plan, const gint64 at[AXES]) {
  return at[0] + plan->size[0] * (at[1] + plan->size[1] * at[2]);
}

static void place_of(const Plan *plan, gint64 chip, gint64 ret_at[AXES]) {
  for (int axis = 0; axis < AXES; axis++) {
    ret_at[axis] = chip % plan->size[axis];
    chip /= plan->size[axis];
  }
}

/* One hop along @axis, by +1 or -1. Long axes, which are not twisted themselves, take up the
 * shift. */
static void move(const Plan *plan, gint64 at[AXES], int axis, int by) {
  at[axis] += by;
  if (at[axis] >= 0 && at[axis] < plan->size[axis]) return;
  at[axis] -= by * plan->size[axis];
  for (int j = 0; j < AXES; j++)
    at[j] = (at[j] + plan->size[j] - by * plan->twist[axis][j]) % plan->size[j];
}

static int length_of(const Displacement *displacement) {
  return abs(displacement->step[0]) + abs(displacement->step[1]) + abs(displacement->step[2]);
}

/* Keeps @displacement if it is as short as those found so far, and drops the others if it is
 * shorter. An axis of one chip has no links; on an open one the route is the difference of places,
 * kept here modulo the axis (step_along). */
static void consider(const Plan *plan, Routes *routes, const Displacement *displacement) {
  for (int axis = 0; axis < AXES; axis++)
    if ((plan->size[axis] == 1 && displacement->step[axis] != 0) ||
        (plan->open[axis] &&
         (displacement->step[axis] < 0 || displacement->step[axis] >= plan->size[axis])))
      return;
  if (routes->n > 0 && length_of(displacement) > length_of(&routes->routes[0])) return;
  if (routes->n > 0 && length_of(displacement) < length_of(&routes->routes[0])) routes->n = 0;
  if (routes->n < MOST_ROUTES) routes->routes[routes->n++] = *displacement;
}

static void find_routes(const Plan *plan, const gint64 to[AXES], Routes *routes) {
  for (int a = -REACH; a <= REACH; a++)
    for (int b = -REACH; b <= REACH; b++)
      for (int c = -REACH; c <= REACH; c++) {
        const int n[AXES] = {a, b, c};
        Displacement displacement;
        for (int j = 0; j < AXES; j++) {
          gint64 step = to[j] - n[j] * plan->size[j];
          for (int i = 0; i < AXES; i++) step -= n[i] * plan->twist[i][j];
          displacement.step[j] = (int)step;
        }
        consider(plan, routes, &displacement);
      }
}

/* --- Planning --- */

static void set_twist(Plan *plan) {
  gint64 least = G_MAXINT64;
  for (int axis = 0; axis < AXES; axis++)
    if (plan->size[axis] > 1) least = MIN(least, plan->size[axis]);
  for (int i = 0; i < AXES; i++)
    for (int j = 0; j < AXES; j++)
      if (plan->size[i] == least && plan->size[j] == 2 * least) plan->twist[i][j] = least;
}

static gboolean can_twist(const Plan *plan) {
  gint64 least = G_MAXINT64;
  int n_long = 0, n_short = 0;
  for (int axis = 0; axis < AXES; axis++)
    if (plan->size[axis] > 1) least = MIN(least, plan->size[axis]);
  for (int axis = 0; axis < AXES; axis++) {
    n_short += plan->size[axis] == least;
    n_long += plan->size[axis] == 2 * least;
    if (plan->size[axis] != 1 && plan->size[axis] != least && plan->size[axis] != 2 * least)
      return FALSE;
  }
  return n_long > 0 && n_short > 0;
}

static gboolean check(const Plan *plan, const Params *params, const OrrCluster *cluster,
                      GError **error) {
  g_autofree char *text = NULL;
  if (cluster->node.nics_per_gpu < 1)
    text = g_strdup_printf("nics-per-gpu is %g: a chip of a torus has 1 or more ports of its own",
                           cluster->node.nics_per_gpu);
  else if (orr_node_shape_ports_each(&cluster->node) > 1)
    text = g_strdup("ports are separate: a chip of a torus routes between its ports, which are one "
                    "(ports: bonded)");
  else if (plan->slice > 1000000)
    text = g_strdup_printf("shape %s has %ld chips: at most 1000000", params->shape, plan->slice);
  else if (params->twisted && !can_twist(plan))
    text = g_strdup_printf(
        "shape %s cannot be twisted: its axes must be a and 2a, e.g. 4x4x8 or 4x8x8",
        params->shape);
  else if (params->twisted && (plan->open[0] || plan->open[1] || plan->open[2]))
    text =
        g_strdup_printf("shape %s cannot be twisted: axes shorter than closes-from (%ld) are open",
                        params->shape, params->closes_from);
  else if (plan->n_ports % plan->slice != 0 && plan->n_ports > plan->slice)
    text = g_strdup_printf("%ld chips are not a whole number of slices of %s (%ld chips)",
                           plan->n_ports, params->shape, plan->slice);
  else if (plan->n_ports < plan->slice)
    text = g_strdup_printf(
        "%ld chips do not fill a slice of %s (%ld chips): set max-nodes, nodes or shape",
        plan->n_ports, params->shape, plan->slice);
  else if (orr_cluster_n_gpus(cluster) > plan->slice && plan->dcn_rate <= 0)
    text = g_strdup_printf("the job has %ld chips, a slice of %s has %ld, and no links lead from "
                           "slice to slice (dcn-bandwidth is 0)",
                           orr_cluster_n_gpus(cluster), params->shape, plan->slice);
  if (text) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return !text;
}

static void find_all_routes(Plan *plan) {
  plan->routes = g_new0(Routes, plan->slice);
  for (gint64 to = 0; to < plan->slice; to++) {
    gint64 at[AXES];
    place_of(plan, to, at);
    find_routes(plan, at, &plan->routes[to]);
    plan->diameter = MAX(plan->diameter, 1 + (guint)length_of(&plan->routes[to].routes[0]));
  }
}

static void plan_free(gpointer data) {
  Plan *plan = data;
  if (plan) g_free(plan->routes);
  g_free(plan);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  double nominal =
      params->link_bytes_per_s > 0 ? params->link_bytes_per_s : cluster->node.nic_bytes_per_s;
  g_autofree Plan *plan = g_new0(Plan, 1);
  if (!orr_sizes_parse("shape", params->shape, AXES, plan->size, error)) return NULL;
  plan->slice = plan->size[0] * plan->size[1] * plan->size[2];
  plan->n_ports = n_ports;
  plan->rate = nominal * cluster->node.nic_efficiency;
  plan->port_rate = port_bytes_per_s;
  plan->switch_latency_s = params->switch_latency_s;
  plan->dcn_rate = params->dcn_bytes_per_s * cluster->node.nic_efficiency;
  for (int axis = 0; axis < AXES; axis++)
    plan->open[axis] = plan->size[axis] > 1 && plan->size[axis] < params->closes_from;
  if (!check(plan, params, cluster, error)) return NULL;
  if (params->twisted) set_twist(plan);
  for (int axis = 0; axis < AXES; axis++)
    if (plan->size[axis] > 1) plan->axes[plan->n_axes++] = axis;
  plan->n_orders = plan->n_axes == 3 ? 6 : plan->n_axes == 2 ? 2 : 1;
  find_all_routes(plan);
  return g_steal_pointer(&plan);
}

/* --- Links and routes --- */

/* Two links per chip and axis: +x -x +y -y +z -z, without axes of one chip; behind them two per
 * chip, to the data-centre network and back. */
static gint64 n_torus_links(const Plan *plan) { return 2 * plan->n_axes * plan->n_ports; }

static gint64 n_links(gconstpointer data) {
  const Plan *plan = data;
  return n_torus_links(plan) + (plan->dcn_rate > 0 ? 2 * plan->n_ports : 0);
}

/* Appends hops along axis number @i. */
static void append_steps(const Plan *plan, gint64 base, gint64 at[AXES], guint i, int steps,
                         GArray *links) {
  const int by = steps < 0 ? -1 : 1;
  for (; steps != 0; steps -= by) {
    ORR_APPEND(links, guint32,
               (guint32)(2 * (plan->n_axes * (base + chip_at(plan, at)) + i) + (by < 0)));
    move(plan, at, plan->axes[i], by);
  }
}

/* The displacement is relative to the sender: the lattice looks the same from every chip. */
static const Routes *routes_between(const Plan *plan, const gint64 from[AXES], gint64 dst) {
  gint64 to[AXES];
  place_of(plan, dst, to);
  for (int axis = AXES - 1; axis >= 0; axis--) to[axis] -= from[axis];
  for (int i = 0; i < AXES; i++) /* short axes first: long ones are not twisted */
    if (to[i] < 0) {
      to[i] += plan->size[i];
      for (int j = 0; j < AXES; j++) to[j] += plan->twist[i][j];
    }
  for (int j = 0; j < AXES; j++) to[j] = (to[j] % plan->size[j] + plan->size[j]) % plan->size[j];
  return &plan->routes[chip_at(plan, to)];
}

/* On an open axis the way on ends at the last chip: a chip before the sender is back from it. */
static int step_along(const Plan *plan, const Displacement *displacement, int axis, gint64 at) {
  const int step = displacement->step[axis];
  return plan->open[axis] && at + step >= plan->size[axis] ? step - (int)plan->size[axis] : step;
}

/* Through the hosts' NICs: a switch of the data-centre network and a host at each end. */
static guint route_dcn(const Plan *plan, gint64 src, gint64 dst, GArray *links) {
  const guint32 ends[] = {(guint32)(n_torus_links(plan) + 2 * src),
                          (guint32)(n_torus_links(plan) + 2 * dst + 1)};
  g_array_append_vals(links, ends, 2);
  return 3;
}

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  static const guint orders[][AXES] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0},
                                       {0, 2, 1}, {2, 0, 1}, {2, 1, 0}};
  const Plan *plan = data;
  const guint before = links->len;
  const gint64 base = src / plan->slice * plan->slice;
  gint64 at[AXES];
  if (dst / plan->slice != src / plan->slice) return route_dcn(plan, src, dst, links);
  place_of(plan, src - base, at);
  const Routes *routes = routes_between(plan, at, dst - base);
  const Displacement *displacement = &routes->routes[hash % routes->n];
  const guint *order = orders[hash / routes->n % plan->n_orders];
  for (guint i = 0; i < plan->n_axes; i++) { /* two axes have two orders, the first two of the
                                              * table */
    const int axis = plan->axes[order[i]];
    append_steps(plan, base, at, order[i], step_along(plan, displacement, axis, at[axis]), links);
  }
  return 1 + links->len - before;
}

/* A multiple of the number of orders times 1, 2, 4 or 8 routes. The three and six routes of a
 * twisted torus are used almost evenly. */
static guint n_paths(gconstpointer data) {
  const Plan *plan = data;
  return plan->n_orders == 6 ? 48 : plan->n_orders == 2 ? 8 : 2;
}

static double link_bandwidth(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  return link < n_torus_links(plan) ? plan->rate : plan->dcn_rate;
}

static char *link_name(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  const gint64 beyond = link - n_torus_links(plan);
  if (beyond >= 0) return g_strdup_printf(beyond % 2 ? "dcn>chip%ld" : "chip%ld>dcn", beyond / 2);
  const gint64 chip = link / (2 * plan->n_axes), base = chip / plan->slice * plan->slice;
  const int axis = plan->axes[link % (2 * plan->n_axes) / 2], back = (int)(link % 2);
  gint64 at[AXES];
  place_of(plan, chip - base, at);
  move(plan, at, axis, back ? -1 : 1);
  return g_strdup_printf("chip%ld>chip%ld.%c%c", chip, base + chip_at(plan, at), "xyz"[axis],
                         back ? '-' : '+');
}

static double switch_latency(gconstpointer data) { return ((const Plan *)data)->switch_latency_s; }

static void shape(gconstpointer data, gint64 ret_shape[3], gboolean ret_open[3]) {
  const Plan *plan = data;
  for (int axis = 0; axis < AXES; axis++)
    ret_shape[axis] = plan->size[axis], ret_open[axis] = plan->open[axis];
}

/* A shift of all chips maps a link onto every other link of its axis and direction. */
static guint n_orbits(gconstpointer data) {
  const Plan *plan = data;
  if (plan->open[0] || plan->open[1] || plan->open[2]) return 0; /* ends of a line differ */
  if (plan->dcn_rate > 0) return 2 * plan->n_axes + 2;
  return plan->n_ports == plan->slice ? 2 * plan->n_axes : 0;
}

static guint orbit(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  if (link >= n_torus_links(plan)) return 2 * plan->n_axes + (guint)(link % 2);
  return (guint)(link % (2 * plan->n_axes));
}

/* --- Description --- */

/* Cables along @axis, of all slices. */
static gint64 n_cables(const Plan *plan, int axis) {
  return plan->n_ports - (plan->open[axis] ? plan->n_ports / plan->size[axis] : 0);
}

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  for (int axis = 0; axis < AXES; axis++) {
    if (plan->size[axis] == 1) continue;
    ORR_APPEND(ret_levels, OrrFabricLevel,
               {.name = g_strdup_printf("axis %c", "xyz"[axis]),
                .switches = plan->n_ports,
                .links = n_cables(plan, axis),
                .link_bytes_per_s = plan->rate,
                .oversubscription = 1});
  }
  if (plan->dcn_rate <= 0) return;
  ORR_APPEND(ret_levels, OrrFabricLevel,
             {.name = g_strdup("dcn"),
              .switches = 1,
              .links = plan->n_ports,
              .link_bytes_per_s = plan->dcn_rate,
              .oversubscription = 1});
}

/* Chips are routers: cables alone. The data-centre network is not part of the machine, so its
 * switches are left out. */
static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  for (int axis = 0; axis < AXES; axis++) {
    g_autofree char *name = g_strdup_printf("axis %c", "xyz"[axis]);
    if (plan->size[axis] > 1)
      orr_bill_add_cables(ret_bill, name, ORR_BILL_NO_SWITCH, ORR_BILL_NO_SWITCH,
                          n_cables(plan, axis), plan->rate);
  }
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  const double chips = (double)plan->slice;
  double least = (double)plan->n_ports * plan->port_rate / 2;
  for (int j = 0; j < AXES; j++) {
    double cut = (plan->open[j] ? 1 : 2) * chips / (double)plan->size[j];
    for (int i = 0; i < AXES; i++)
      if (plan->twist[i][j]) cut += chips / (double)plan->size[i];
    if (plan->size[j] > 1) least = MIN(least, cut * plan->rate);
  }
  if (plan->n_ports > plan->slice && plan->dcn_rate > 0)
    least = MIN(least, (double)plan->n_ports * plan->dcn_rate / 2);
  return least;
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  return plan->n_ports > plan->slice && plan->dcn_rate > 0 ? MAX(plan->diameter, 3)
                                                           : plan->diameter;
}

const OrrFabricKind orr_torus = {
    .entry = {.name = "torus",
              .sentence = "A torus of one to three axes, plain or twisted, cut into slices (TPU).",
              .params = &params_table},
    .plan = plan_new,
    .plan_free = plan_free,
    .n_links = n_links,
    .route = route,
    .n_paths = n_paths,
    .link_bandwidth = link_bandwidth,
    .link_name = link_name,
    .switch_latency = switch_latency,
    .levels = levels,
    .bill = bill,
    .bisection = bisection,
    .diameter = diameter,
    .shape = shape,
    .n_orbits = n_orbits,
    .orbit = orbit,
    .within_nodes = TRUE,
};
