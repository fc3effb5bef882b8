/*
 * dragonfly.c - dragonfly: groups of routers; inside a group all routers are joined, and each group
 * is joined to every other group.
 *
 *      group 0                 group 1
 *    r0---r1                 r4---r5          a routers a group, each with
 *     | X |  \____global____/ | X |             p hosts' ports, a - 1 local cables, h global cables
 *    r2---r3                 r6---r7
 *
 * Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008;
 * balanced where a = 2 p = 2 h; at most a h + 1 groups. Slingshot (Alps, Frontier, LUMI) is one: De
 * Sensi et al., SC20.
 *
 * switch_groups.h says where each global cable leads, and how routes are chosen.
 *
 *   shortest route     at most 4 switches: local, global, local
 *   valiant, ugal      at most 7: the same to a third group, and on from where it is entered.
 *                      Inside a group 3: over one of its a - 2 other routers, so that two routers
 *                      have 1 + (a - 2) cables for each other, not 1
 *   bisection          (g/2)^2 * cables between two groups * rate, g even; one direction. g odd: a
 *                      group is cut in two, and its a/2 routers' local and global cables with it:
 *                      ((g-1)/2)^2 c + (g-1)/2 c + a^2/4. Where groups hold together, a >= 2 h:
 *                      else cutting groups in two is cheaper still
 *
 *   fabric: {kind: dragonfly, hosts-per-router: 16, routers-per-group: 32, global-per-router: 16}
 */
#include "topologies/fabrics/switch_groups.h"

typedef struct {
  OrrGroupsParams groups;
  gint64 hosts, routers;
} Params;

enum { LOCAL, GLOBAL };

typedef struct {
  OrrSwitchGroups groups;
  const Params *params;
  OrrGroupsSpec spec;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "dragonfly", "Parameters of the fabric dragonfly.", Params,
    ORR_GROUPS_COUNT(Params, hosts, "hosts-per-router", "16", "NIC ports of a router."),
    ORR_GROUPS_COUNT(Params, routers, "routers-per-group", "32",
                     "Routers per group, all joined to each other."),
    ORR_GROUPS_COUNT(Params, groups.global, "global-per-router", "16",
                     "Cables from a router to other groups."),
    ORR_GROUPS_FIELDS(Params, "local-bandwidth", "350 ns",
                      "Port to port through a router; 350 ns is Rosetta's median (De Sensi et al., "
                      "SC20, section II)."));

/* --- Planning --- */

static gboolean check(const Plan *plan, gint64 port_links, GError **error) {
  const Params *params = plan->params;
  const gint64 used = params->hosts * port_links + params->routers - 1 + params->groups.global;
  g_autofree char *text = NULL;
  if (params->hosts < 1 || params->routers < 1)
    text = g_strdup("hosts-per-router and routers-per-group must be 1 or more");
  else if (used > params->groups.radix)
    text = g_strdup_printf("a router with %ld NICs, %ld routers of its group and %ld global cables "
                           "needs %ld ports, but radix is %ld",
                           params->hosts * port_links, params->routers - 1, params->groups.global,
                           used, params->groups.radix);
  if (text) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return !text && orr_switch_groups_check(&plan->spec, &params->groups, params->routers, "routers",
                                          params->hosts * params->routers, error);
}

static void add_local(Plan *plan) {
  const guint a = (guint)plan->params->routers;
  for (guint g = 0; g < plan->spec.n_groups; g++)
    for (guint i = 0; i < a; i++)
      for (guint j = i + 1; j < a; j++)
        orr_switch_graph_cable(&plan->groups.graph, g * a + i, g * a + j, 1, plan->spec.local_rate,
                               LOCAL);
}

static void plan_free(gpointer data) {
  Plan *plan = data;
  if (plan) orr_switch_groups_clear(&plan->groups);
  g_free(plan);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  Plan *plan = g_new0(Plan, 1);
  plan->params = params;
  plan->spec = orr_switch_groups_spec(cluster, &params->groups, params->hosts * params->routers,
                                      n_ports, port_bytes_per_s);
  if (!check(plan, orr_node_shape_port_links(&cluster->node), error)) {
    g_free(plan);
    return NULL;
  }
  orr_switch_groups_init(&plan->groups, cluster, (guint)plan->spec.n_groups, (guint)params->routers,
                         "router");
  plan->groups.graph.switch_latency_s = params->groups.switch_latency_s;
  add_local(plan);
  orr_switch_groups_join(&plan->groups, 0, (guint)params->groups.global, plan->spec.global_rate,
                         GLOBAL);
  plan->groups.all_joined = TRUE;
  if (orr_switch_groups_close(&plan->groups, 1, error)) return plan;
  plan_free(plan);
  return NULL;
}

/* --- Routes --- */

static guint router_of(const Plan *plan, gint64 port) {
  return (guint)(port / plan->params->hosts);
}

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_route(&plan->groups, router_of(plan, src), router_of(plan, dst), hash,
                                 links);
}

static guint detour(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_detour(&plan->groups, router_of(plan, src), router_of(plan, dst), hash,
                                  links);
}

/* --- Description --- */

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const gint64 a = plan->params->routers, routers = plan->spec.n_groups * a;
  OrrFabricLevel local = {.name = g_strdup("local"),
                          .switches = routers,
                          .links = routers * (a - 1) / 2,
                          .link_bytes_per_s = plan->spec.local_rate,
                          .oversubscription = 1};
  OrrFabricLevel global = {.name = g_strdup("global"),
                           .switches = routers,
                           .links = plan->spec.n_groups * (plan->spec.n_groups - 1) / 2 *
                                    plan->groups.between,
                           .link_bytes_per_s = plan->spec.global_rate};
  const double out =
      (double)(plan->spec.n_groups - 1) * plan->groups.between * plan->spec.global_rate;
  global.oversubscription =
      out > 0 ? (double)(a * plan->params->hosts) * plan->spec.port_rate / out : 1;
  g_array_append_val(ret_levels, local);
  g_array_append_val(ret_levels, global);
}

static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  const gint64 a = plan->params->routers, g = plan->spec.n_groups;
  const int router = orr_bill_add_switches(ret_bill, "router", g * a, plan->params->groups.radix);
  orr_bill_add_cables(ret_bill, "local", router, router, g * a * (a - 1) / 2,
                      plan->spec.local_rate);
  orr_bill_add_cables(ret_bill, "global", router, router, g * (g - 1) / 2 * plan->groups.between,
                      plan->spec.global_rate);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  const double hosts = (double)plan->spec.n_ports * plan->spec.port_rate / 2,
               a = (double)plan->params->routers;
  return MIN(hosts, orr_switch_groups_bisection(&plan->groups, plan->spec.global_rate,
                                                a * a / 4 * plan->spec.local_rate));
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  if (plan->params->routers == 1) return plan->spec.n_groups > 1 ? 2 : 1;
  return plan->spec.n_groups > 1 ? 4 : 2;
}

const OrrFabricKind orr_dragonfly = {
    .entry = {.name = "dragonfly",
              .sentence = "Groups of fully joined routers, each group joined to every other group.",
              .params = &params_table},
    ORR_SWITCH_GRAPH_KIND,
    .detour = detour,
    .n_detours = orr_switch_groups_n_detours,
};
