/*
 * dragonfly_plus.c - dragonfly+ (megafly): each group is a leaf-spine network, and the spines of
 * different groups are joined.
 *
 *    group 0   s0   s1 ---global--- s0   s1   group 1   S spines a group, each with h global cables
 *              | \ / |              | \ / |             and one to each of its L leaves
 *              l0   l1              l0   l1                L leaves, each with p NIC ports
 *              p    p               p    p
 *
 * Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017; Flajslik
 * et al., "Megafly", 2018. Leonardo and JUWELS Booster are built so. At most S h + 1 groups. Which
 * global cable leads where: switch_groups.h.
 *
 *   shortest route     at most 4 switches: leaf, spine, global, spine, leaf; the spine is one with
 *                      a cable there
 *   valiant, ugal      at most 7: over a third group's spine. Inside a group the shortest ones,
 *                      which use all cables of both leaves already
 *   bisection          (g/2)^2 * cables between two groups * rate, g even (one direction); one
 *                      group: L S / 2 * rate of the leaf-spine cables. g odd: a group is cut in
 *                      two: ((g-1)/2)^2 c + (g-1)/2 c + L S / 2
 *
 *   fabric: {kind: dragonfly-plus, hosts-per-leaf: 20, leaves-per-group: 10,
 *            spines-per-group: 10, global-per-spine: 20}
 */
#include "topologies/fabrics/switch_groups.h"

typedef struct {
  OrrGroupsParams groups;
  gint64 hosts, leaves, spines;
} Params;

enum { LOCAL, GLOBAL };

typedef struct {
  OrrSwitchGroups groups;
  const Params *params;
  OrrGroupsSpec spec;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "dragonfly-plus", "Parameters of the fabric dragonfly-plus.", Params,
    ORR_GROUPS_COUNT(Params, hosts, "hosts-per-leaf", "20", "NIC ports of a leaf."),
    ORR_GROUPS_COUNT(Params, leaves, "leaves-per-group", "10", "Leaves per group."),
    ORR_GROUPS_COUNT(Params, spines, "spines-per-group", "10",
                     "Spines per group, each joined to all its leaves."),
    ORR_GROUPS_COUNT(Params, groups.global, "global-per-spine", "20",
                     "Cables from a spine to other groups."),
    ORR_GROUPS_FIELDS(Params, "link-bandwidth", "150 ns",
                      "Port to port through a switch; vendors give 130 ns (Quantum) and under 150 "
                      "ns (Quantum-2)."));

/* --- Planning --- */

static gint64 a_group(const Params *params) { return params->leaves + params->spines; }

static gboolean check(const Plan *plan, gint64 port_links, GError **error) {
  const Params *params = plan->params;
  const gint64 leaf = params->hosts * port_links + params->spines,
               spine = params->leaves + params->groups.global;
  g_autofree char *text = NULL;
  if (params->hosts < 1 || params->leaves < 1 || params->spines < 1)
    text = g_strdup("hosts-per-leaf, leaves-per-group and spines-per-group must be 1 or more");
  else if (leaf > params->groups.radix)
    text = g_strdup_printf("a leaf with %ld NICs and %ld spines needs %ld ports, but radix is %ld",
                           params->hosts * port_links, params->spines, leaf, params->groups.radix);
  else if (spine > params->groups.radix)
    text = g_strdup_printf(
        "a spine with %ld leaves and %ld global cables needs %ld ports, but radix is %ld",
        params->leaves, params->groups.global, spine, params->groups.radix);
  if (text) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return !text && orr_switch_groups_check(&plan->spec, &params->groups, params->spines, "spines",
                                          params->hosts * params->leaves, error);
}

/* Switches are numbered group by group: the leaves first, then the spines. */
static void add_local(Plan *plan) {
  const guint leaves = (guint)plan->params->leaves, size = (guint)a_group(plan->params);
  for (guint g = 0; g < plan->spec.n_groups; g++)
    for (guint leaf = 0; leaf < leaves; leaf++)
      for (guint spine = leaves; spine < size; spine++)
        orr_switch_graph_cable(&plan->groups.graph, g * size + leaf, g * size + spine, 1,
                               plan->spec.local_rate, LOCAL);
}

static void name_switches(Plan *plan) {
  const guint leaves = (guint)plan->params->leaves, size = (guint)a_group(plan->params);
  plan->groups.graph.names = g_new0(char *, plan->groups.graph.n_switches + 1);
  for (guint s = 0; s < plan->groups.graph.n_switches; s++) {
    guint group = s / size, at = s % size;
    gboolean leaf = at < leaves;
    plan->groups.graph.names[s] =
        g_strdup_printf("%s%u", leaf ? "leaf" : "spine",
                        leaf ? group * leaves + at : group * (size - leaves) + at - leaves);
  }
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
  plan->spec = orr_switch_groups_spec(cluster, &params->groups, params->hosts * params->leaves,
                                      n_ports, port_bytes_per_s);
  if (!check(plan, orr_node_shape_port_links(&cluster->node), error)) {
    g_free(plan);
    return NULL;
  }
  orr_switch_groups_init(&plan->groups, cluster, (guint)plan->spec.n_groups, (guint)a_group(params),
                         "switch");
  plan->groups.graph.switch_latency_s = params->groups.switch_latency_s;
  add_local(plan);
  orr_switch_groups_join(&plan->groups, (guint)params->leaves, (guint)params->groups.global,
                         plan->spec.global_rate, GLOBAL);
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
  return orr_switch_groups_route(&plan->groups, leaf_of(plan, src), leaf_of(plan, dst), hash,
                                 links);
}

static guint detour(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_groups_detour(&plan->groups, leaf_of(plan, src), leaf_of(plan, dst), hash,
                                  links);
}

/* --- Description --- */

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const Params *params = plan->params;
  const double out =
      (double)(plan->spec.n_groups - 1) * plan->groups.between * plan->spec.global_rate;
  const double hosts = (double)(params->hosts * params->leaves) * plan->spec.port_rate;
  OrrFabricLevel local = {.name = g_strdup("leaf-spine"),
                          .switches = plan->spec.n_groups * params->leaves,
                          .switches_above = plan->spec.n_groups * params->spines,
                          .links = plan->spec.n_groups * params->leaves * params->spines,
                          .link_bytes_per_s = plan->spec.local_rate};
  local.oversubscription =
      hosts / ((double)(params->leaves * params->spines) * plan->spec.local_rate);
  OrrFabricLevel global = {.name = g_strdup("global"),
                           .switches = plan->spec.n_groups * params->spines,
                           .links = plan->spec.n_groups * (plan->spec.n_groups - 1) / 2 *
                                    plan->groups.between,
                           .link_bytes_per_s = plan->spec.global_rate,
                           .oversubscription = out > 0 ? hosts / out : 1};
  g_array_append_val(ret_levels, local);
  g_array_append_val(ret_levels, global);
}

static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  const Params *params = plan->params;
  const gint64 g = plan->spec.n_groups, radix = params->groups.radix;
  const int leaf = orr_bill_add_switches(ret_bill, "leaf", g * params->leaves, radix);
  const int spine = orr_bill_add_switches(ret_bill, "spine", g * params->spines, radix);
  orr_bill_add_cables(ret_bill, "leaf-spine", leaf, spine, g * params->leaves * params->spines,
                      plan->spec.local_rate);
  orr_bill_add_cables(ret_bill, "global", spine, spine, g * (g - 1) / 2 * plan->groups.between,
                      plan->spec.global_rate);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  const double hosts = (double)plan->spec.n_ports * plan->spec.port_rate / 2;
  const double inside =
      (double)(plan->params->leaves * plan->params->spines) * plan->spec.local_rate / 2;
  return MIN(hosts, orr_switch_groups_bisection(&plan->groups, plan->spec.global_rate, inside));
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  if (plan->spec.n_groups > 1) return 4;
  return plan->params->leaves > 1 ? 3 : 1;
}

const OrrFabricKind orr_dragonfly_plus = {
    .entry = {.name = "dragonfly-plus",
              .sentence =
                  "Leaf-spine groups whose spines are joined to every other group's (megafly).",
              .params = &params_table},
    ORR_SWITCH_GRAPH_KIND,
    .detour = detour,
    .n_detours = orr_switch_groups_n_detours,
};
