/*
 * dragonfly.c - dragonfly: groups of routers, all joined inside a group, and each group joined to each other one.
 *
 *      group 0                 group 1
 *    r0---r1                 r4---r5          a routers a group, each with
 *     | X |  \____global____/ | X |             p hosts' ports, a - 1 local cables, h global cables
 *    r2---r3                 r6---r7
 *
 * Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008; balanced where
 * a = 2 p = 2 h; at most a h + 1 groups. Slingshot (Alps, Frontier, LUMI) is one: De Sensi et al., SC20.
 *
 * Which global cable leads where, and routes: switch_groups.h.
 *
 *   shortest route     at most 4 switches: local, global, local
 *   valiant, ugal      at most 7: the same to a third group, and on from where it is entered
 *   bisection          (g/2)^2 * cables between two groups * rate, g even; one direction. g odd: a group is cut in two,
 *                      and its a/2 routers' local and global cables with it: ((g-1)/2)^2 c + (g-1)/2 c + a^2/4.
 *                      Where groups hold together, a >= 2 h: else cutting groups in two is cheaper still
 *
 *   fabric: {kind: dragonfly, hosts-per-router: 16, routers-per-group: 32, global-per-router: 16}
 */
#include "sim/base/fault.h"
#include "topologies/fabrics/switch_groups.h"

#define I64 "%" G_GINT64_FORMAT

extern const OrrFabricKind orr_dragonfly;

typedef struct {
  gint64 hosts, routers, global, groups, radix;
  double local_bytes_per_s, global_bytes_per_s, switch_latency_s;
} Params;

enum { LOCAL, GLOBAL };

typedef struct {
  OrrSwitchGroups groups;
  const Params *params;
  gint64 n_ports, n_groups;
  double local_rate, global_rate, port_rate;
} Plan;

#define COUNT(member_, name_, fallback_, sentence_)                                                                    \
  {                                                                                                                    \
    .name = (name_), .kind = ORR_FIELD_INT, .offset = offsetof(Params, member_), .fallback = (fallback_), .min = 0,    \
    .max = 65536, .sentence = (sentence_)                                                                              \
  }
#define RATE(member_, name_, sentence_)                                                                                \
  {                                                                                                                    \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(Params, member_), .unit = ORR_UNIT_BYTES_PER_S,        \
    .fallback = "0 B/s", .flags = ORR_FIELD_UNSIGNED, .sentence = (sentence_)                                          \
  }

static const OrrField fields[] = {
    COUNT(hosts, "hosts-per-router", "16", "NIC ports of a router."),
    COUNT(routers, "routers-per-group", "32", "Routers of a group, all joined to each other."),
    COUNT(global, "global-per-router", "16", "Cables of a router to other groups."),
    COUNT(groups, "groups", "0", "Groups; 0: as many as the NICs need."),
    COUNT(radix, "radix", "64", "Ports of a router: 64 on Rosetta (Slingshot)."),
    RATE(local_bytes_per_s, "local-bandwidth", "Nominal rate of a cable inside a group; 0: the NIC's."),
    RATE(global_bytes_per_s, "global-bandwidth", "Nominal rate of a cable between groups; 0: the NIC's."),
    {.name = "switch-latency",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(Params, switch_latency_s),
     .unit = ORR_UNIT_SECONDS,
     .fallback = "350 ns",
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "Port to port through a router; 350 ns is Rosetta's median (De Sensi et al., SC20, section II)."},
};

static const OrrFieldTable params_table =
    ORR_FIELD_TABLE("dragonfly", "Parameters of the fabric dragonfly.", Params, fields);

/* --- Planning --- */

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean refuse(GError **error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdup_vprintf(format, args);
  va_end(args);
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return FALSE;
}

static gboolean check(const Plan *plan, gint64 port_links, GError **error) {
  const Params *params = plan->params;
  const gint64 used = params->hosts * port_links + params->routers - 1 + params->global;
  const gint64 most = params->routers * params->global + 1, needed = params->hosts * params->routers;
  if (params->hosts < 1 || params->routers < 1)
    return refuse(error, "hosts-per-router and routers-per-group must be 1 or more");
  if (used > params->radix)
    return refuse(error,
                  "a router with " I64 " NICs, " I64 " routers of its group and " I64 " global cables needs " I64
                  " ports, but radix is " I64,
                  params->hosts * port_links, params->routers - 1, params->global, used, params->radix);
  if (plan->n_groups > most)
    return refuse(error, I64 " groups, but " I64 " routers of " I64 " global cables reach at most " I64 " others",
                  plan->n_groups, params->routers, params->global, most - 1);
  if (plan->n_groups * needed < plan->n_ports)
    return refuse(error, I64 " groups of " I64 " ports are too few for " I64 " ports", plan->n_groups, needed,
                  plan->n_ports);
  return TRUE;
}

static void add_local(Plan *plan) {
  const guint a = (guint)plan->params->routers;
  for (guint g = 0; g < plan->n_groups; g++)
    for (guint i = 0; i < a; i++)
      for (guint j = i + 1; j < a; j++)
        orr_switch_graph_cable(&plan->groups.graph, g * a + i, g * a + j, 1, plan->local_rate, LOCAL);
}

static void plan_free(gpointer data) {
  Plan *plan = data;
  if (plan) orr_switch_groups_clear(&plan->groups);
  g_free(plan);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports, double port_bytes_per_s,
                         GError **error) {
  const Params *params = data;
  const OrrNodeShape *node = &cluster->node;
  const double nic = node->nic_bytes_per_s * node->nic_efficiency;
  Plan *plan = g_new0(Plan, 1);
  *plan = (Plan){
      .params = params,
      .n_ports = n_ports,
      .n_groups = params->groups,
      .local_rate = params->local_bytes_per_s > 0 ? params->local_bytes_per_s * node->nic_efficiency : nic,
      .global_rate = params->global_bytes_per_s > 0 ? params->global_bytes_per_s * node->nic_efficiency : nic,
      .port_rate = port_bytes_per_s,
  };
  const gint64 a_group = MAX(params->hosts * params->routers, 1);
  if (!plan->n_groups) plan->n_groups = (n_ports + a_group - 1) / a_group;
  if (!check(plan, orr_node_shape_port_links(node), error)) {
    g_free(plan);
    return NULL;
  }
  orr_switch_groups_init(&plan->groups, cluster, (guint)plan->n_groups, (guint)params->routers, "router");
  plan->groups.graph.switch_latency_s = params->switch_latency_s;
  add_local(plan);
  orr_switch_groups_join(&plan->groups, 0, (guint)params->global, plan->global_rate, GLOBAL);
  if (orr_switch_groups_close(&plan->groups, 1, error)) return plan;
  plan_free(plan);
  return NULL;
}

/* --- Routes --- */

static guint router_of(const Plan *plan, gint64 port) { return (guint)(port / plan->params->hosts); }

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_route(&plan->groups, router_of(plan, src), router_of(plan, dst), hash, links);
}

static guint detour(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_detour(&plan->groups, router_of(plan, src), router_of(plan, dst), hash, links);
}

/* --- Description --- */

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const gint64 a = plan->params->routers, routers = plan->n_groups * a;
  OrrFabricLevel local = {.name = g_strdup("local"),
                          .switches = routers,
                          .links = routers * (a - 1) / 2,
                          .link_bytes_per_s = plan->local_rate,
                          .oversubscription = 1};
  OrrFabricLevel global = {.name = g_strdup("global"),
                           .switches = routers,
                           .links = plan->n_groups * (plan->n_groups - 1) / 2 * plan->groups.between,
                           .link_bytes_per_s = plan->global_rate};
  const double out = (double)(plan->n_groups - 1) * plan->groups.between * plan->global_rate;
  global.oversubscription = out > 0 ? (double)(a * plan->params->hosts) * plan->port_rate / out : 1;
  g_array_append_val(ret_levels, local);
  g_array_append_val(ret_levels, global);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  const double hosts = (double)plan->n_ports * plan->port_rate / 2, a = (double)plan->params->routers;
  return MIN(hosts, orr_switch_groups_bisection(&plan->groups, plan->global_rate, a * a / 4 * plan->local_rate));
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  if (plan->params->routers == 1) return plan->n_groups > 1 ? 2 : 1;
  return plan->n_groups > 1 ? 4 : 2;
}

const OrrFabricKind orr_dragonfly = {
    .entry = {.name = "dragonfly",
              .sentence = "Groups of routers that are all joined, each group joined to each other one.",
              .params = &params_table},
    .plan = plan_new,
    .plan_free = plan_free,
    .n_links = orr_switch_graph_n_links,
    .route = route,
    .detour = detour,
    .n_paths = orr_switch_graph_n_paths,
    .n_detours = orr_switch_groups_n_detours,
    .link_bandwidth = orr_switch_graph_link_bandwidth,
    .link_name = orr_switch_graph_link_name,
    .switch_latency = orr_switch_graph_switch_latency,
    .levels = levels,
    .bisection = bisection,
    .diameter = diameter,
};
