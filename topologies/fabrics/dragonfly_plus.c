/*
 * dragonfly_plus.c - dragonfly+ (megafly): groups are leaf-spine networks, spines of each group joined to those of
 * others.
 *
 *    group 0   s0   s1 ---global--- s0   s1   group 1      S spines a group, each with h global cables
 *              | \ / |              | \ / |                and one to each of its L leaves
 *              l0   l1              l0   l1                L leaves, each with p NIC ports
 *              p    p               p    p
 *
 * Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017; Flajslik et al., "Megafly",
 * 2018. Leonardo and JUWELS Booster are built so. At most S h + 1 groups. Which global cable leads where:
 * switch_groups.h.
 *
 *   shortest route     at most 4 switches: leaf, spine, global, spine, leaf; the spine is one with a cable there
 *   valiant, ugal      at most 7: over a third group's spine
 *   bisection          (g/2)^2 * cables between two groups * rate, g even (one direction); one group: L S / 2 * rate of
 *                      the leaf-spine cables. g odd: a group is cut in two: ((g-1)/2)^2 c + (g-1)/2 c + L S / 2
 *
 *   fabric: {kind: dragonfly-plus, hosts-per-leaf: 20, leaves-per-group: 10, spines-per-group: 10, global-per-spine:
 * 20}
 */
#include "sim/base/fault.h"
#include "topologies/fabrics/switch_groups.h"

#define I64 "%" G_GINT64_FORMAT

extern const OrrFabricKind orr_dragonfly_plus;

typedef struct {
  gint64 hosts, leaves, spines, global, groups, radix;
  double link_bytes_per_s, global_bytes_per_s, switch_latency_s;
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
    COUNT(hosts, "hosts-per-leaf", "20", "NIC ports of a leaf."),
    COUNT(leaves, "leaves-per-group", "10", "Leaves of a group."),
    COUNT(spines, "spines-per-group", "10", "Spines of a group, each joined to all of its leaves."),
    COUNT(global, "global-per-spine", "20", "Cables of a spine to other groups."),
    COUNT(groups, "groups", "0", "Groups; 0: as many as the NICs need."),
    COUNT(radix, "radix", "64", "Ports of every switch: 40 on Quantum (HDR), 64 on Quantum-2 (NDR)."),
    RATE(link_bytes_per_s, "link-bandwidth", "Nominal rate of a cable inside a group; 0: the NIC's."),
    RATE(global_bytes_per_s, "global-bandwidth", "Nominal rate of a cable between groups; 0: the NIC's."),
    {.name = "switch-latency",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(Params, switch_latency_s),
     .unit = ORR_UNIT_SECONDS,
     .fallback = "150 ns",
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "Port to port through a switch; vendors give 130 ns (Quantum) and under 150 ns (Quantum-2)."},
};

static const OrrFieldTable params_table =
    ORR_FIELD_TABLE("dragonfly-plus", "Parameters of the fabric dragonfly-plus.", Params, fields);

/* --- Planning --- */

static gint64 a_group(const Params *params) { return params->leaves + params->spines; }

static gboolean check(const Plan *plan, gint64 port_links, GError **error) {
  const Params *params = plan->params;
  const gint64 leaf = params->hosts * port_links + params->spines, spine = params->leaves + params->global;
  const gint64 most = params->spines * params->global + 1, holds = params->hosts * params->leaves;
  g_autofree char *text = NULL;
  if (params->hosts < 1 || params->leaves < 1 || params->spines < 1)
    text = g_strdup("hosts-per-leaf, leaves-per-group and spines-per-group must be 1 or more");
  else if (leaf > params->radix)
    text = g_strdup_printf("a leaf with " I64 " NICs and " I64 " spines needs " I64 " ports, but radix is " I64,
                           params->hosts * port_links, params->spines, leaf, params->radix);
  else if (spine > params->radix)
    text =
        g_strdup_printf("a spine with " I64 " leaves and " I64 " global cables needs " I64 " ports, but radix is " I64,
                        params->leaves, params->global, spine, params->radix);
  else if (plan->n_groups > most)
    text = g_strdup_printf(I64 " groups, but " I64 " spines of " I64 " global cables reach at most " I64 " others",
                           plan->n_groups, params->spines, params->global, most - 1);
  else if (plan->n_groups * holds < plan->n_ports)
    text = g_strdup_printf(I64 " groups of " I64 " ports are too few for " I64 " ports", plan->n_groups, holds,
                           plan->n_ports);
  if (text) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return !text;
}

/* A group's leaves first, then its spines. */
static void add_local(Plan *plan) {
  const guint leaves = (guint)plan->params->leaves, size = (guint)a_group(plan->params);
  for (guint g = 0; g < plan->n_groups; g++)
    for (guint leaf = 0; leaf < leaves; leaf++)
      for (guint spine = leaves; spine < size; spine++)
        orr_switch_graph_cable(&plan->groups.graph, g * size + leaf, g * size + spine, 1, plan->local_rate, LOCAL);
}

static void name_switches(Plan *plan) {
  const guint leaves = (guint)plan->params->leaves, size = (guint)a_group(plan->params);
  plan->groups.graph.names = g_new0(char *, plan->groups.graph.n_switches + 1);
  for (guint s = 0; s < plan->groups.graph.n_switches; s++) {
    guint group = s / size, at = s % size;
    gboolean leaf = at < leaves;
    plan->groups.graph.names[s] = g_strdup_printf("%s%u", leaf ? "leaf" : "spine",
                                                  leaf ? group * leaves + at : group * (size - leaves) + at - leaves);
  }
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
      .local_rate = params->link_bytes_per_s > 0 ? params->link_bytes_per_s * node->nic_efficiency : nic,
      .global_rate = params->global_bytes_per_s > 0 ? params->global_bytes_per_s * node->nic_efficiency : nic,
      .port_rate = port_bytes_per_s,
  };
  const gint64 holds = MAX(params->hosts * params->leaves, 1);
  if (!plan->n_groups) plan->n_groups = (n_ports + holds - 1) / holds;
  if (!check(plan, orr_node_shape_port_links(node), error)) {
    g_free(plan);
    return NULL;
  }
  orr_switch_groups_init(&plan->groups, cluster, (guint)plan->n_groups, (guint)a_group(params), "switch");
  plan->groups.graph.switch_latency_s = params->switch_latency_s;
  add_local(plan);
  orr_switch_groups_join(&plan->groups, (guint)params->leaves, (guint)params->global, plan->global_rate, GLOBAL);
  name_switches(plan);
  if (orr_switch_groups_close(&plan->groups, (guint)params->spines, error)) return plan;
  plan_free(plan);
  return NULL;
}

/* --- Routes --- */

static guint leaf_of(const Plan *plan, gint64 port) {
  const gint64 leaf = port / plan->params->hosts;
  return (guint)(leaf / plan->params->leaves * a_group(plan->params) + leaf % plan->params->leaves);
}

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_route(&plan->groups, leaf_of(plan, src), leaf_of(plan, dst), hash, links);
}

static guint detour(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_detour(&plan->groups, leaf_of(plan, src), leaf_of(plan, dst), hash, links);
}

/* --- Description --- */

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const Params *params = plan->params;
  const double out = (double)(plan->n_groups - 1) * plan->groups.between * plan->global_rate;
  const double hosts = (double)(params->hosts * params->leaves) * plan->port_rate;
  OrrFabricLevel local = {.name = g_strdup("leaf-spine"),
                          .switches = plan->n_groups * params->leaves,
                          .switches_above = plan->n_groups * params->spines,
                          .links = plan->n_groups * params->leaves * params->spines,
                          .link_bytes_per_s = plan->local_rate};
  local.oversubscription = hosts / ((double)(params->leaves * params->spines) * plan->local_rate);
  OrrFabricLevel global = {.name = g_strdup("global"),
                           .switches = plan->n_groups * params->spines,
                           .links = plan->n_groups * (plan->n_groups - 1) / 2 * plan->groups.between,
                           .link_bytes_per_s = plan->global_rate,
                           .oversubscription = out > 0 ? hosts / out : 1};
  g_array_append_val(ret_levels, local);
  g_array_append_val(ret_levels, global);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  const double hosts = (double)plan->n_ports * plan->port_rate / 2;
  const double inside = (double)(plan->params->leaves * plan->params->spines) * plan->local_rate / 2;
  return MIN(hosts, orr_switch_groups_bisection(&plan->groups, plan->global_rate, inside));
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  if (plan->n_groups > 1) return 4;
  return plan->params->leaves > 1 ? 3 : 1;
}

const OrrFabricKind orr_dragonfly_plus = {
    .entry = {.name = "dragonfly-plus",
              .sentence = "Leaf-spine groups whose spines are joined to those of each other group (megafly).",
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
