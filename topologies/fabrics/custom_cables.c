/*
 * custom_cables.c - custom: switches and cables by name, as a list.
 *
 *   fabric:
 *     kind: custom
 *     hosts: [{switch: a, ports: 8}, {switch: b, ports: 8}]        NIC ports 0..7 on a, 8..15 on b
 *     cables: [{from: a, to: s, count: 2, bandwidth: 400 Gb/s}, {from: b, to: s, count: 2}]
 *
 * Routes are the shortest by number of cables; switch_graph.h says how the hash selects among them.
 * Cables may differ in capacity; routing ignores that. Hosts and cables name the switches.
 *
 *   bisection, one direction   the maximum flow from the switches of the first half of the NIC
 *                              ports to the second half's (Ford, Fulkerson 1956), a switch with
 *                              ports of both halves giving its own to each
 *   diameter                   by search: there is no closed form
 */
#include "topologies/fabrics/switch_graph.h"

typedef struct {
  char *name;
  gint64 ports;
} Host;

typedef struct {
  char *from, *to;
  gint64 count;
  double bytes_per_s;
} Cable;

typedef struct {
  GPtrArray *hosts, *cables;
  gint64 radix, spray;
  double switch_latency_s;
} Params;

typedef struct {
  OrrSwitchGraph graph;
  const Params *params;
  guint32 *port_switch;
  gint64 n_ports;
  gint64 ports; /* of a switch: the radix, or what the busiest one uses */
  double port_rate;
  double efficiency, nic_rate; /* of the node: nic-efficiency; one NIC, effective */
} Plan;

static const OrrFieldTable host_table = ORR_FIELDS(
    "hosts", "NIC ports of a switch.", Host,
    ORR_FIELD_TEXT(Host, "switch", name, NULL, "The switch to which the next ports belong."),
    ORR_FIELD_INT(Host, "ports", ports, NULL, "Number of NIC ports, in the order of GPUs.",
                  .min = 1, .max = 1e7));

static const OrrFieldTable cable_table = ORR_FIELDS(
    "cables", "Cables between two switches.", Cable,
    ORR_FIELD_TEXT(Cable, "from", from, NULL, "One switch."),
    ORR_FIELD_TEXT(Cable, "to", to, NULL, "The switch at the other end."),
    ORR_FIELD_INT(Cable, "count", count, "1", "Cables between them.", .min = 1, .max = 65536),
    ORR_FIELD_REAL(Cable, "bandwidth", bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "Nominal rate of one cable, each direction; 0: the NIC's.",
                   .flags = ORR_FIELD_UNSIGNED));

static const OrrFieldTable params_table = ORR_FIELDS(
    "custom", "Parameters of the fabric custom.", Params,
    ORR_FIELD_SECTIONS(Params, "hosts", hosts, &host_table, NULL,
                       "The number of NIC ports of each switch, in the order of GPUs.",
                       .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTIONS(Params, "cables", cables, &cable_table, NULL, "The cables between switches.",
                       .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_INT(Params, "radix", radix, "0", "Ports of every switch; 0: not checked.", .min = 0,
                  .max = 1e6),
    ORR_FIELD_INT(Params, "spray", spray, "8",
                  "Number of routes over which ideal and adaptive routing spread a flow.", .min = 1,
                  .max = 64),
    ORR_FIELD_REAL(Params, "switch-latency", switch_latency_s, ORR_UNIT_SECONDS, "150 ns",
                   "Port to port through a switch; vendors give under 150 ns (Quantum-2).",
                   .flags = ORR_FIELD_UNSIGNED));

/* --- Planning --- */

static const Host *host_at(const Params *params, guint i) { return params->hosts->pdata[i]; }

static const Cable *cable_at(const Params *params, guint i) { return params->cables->pdata[i]; }

static guint n_hosts(const Params *params) { return params->hosts ? params->hosts->len : 0; }

static guint n_cables(const Params *params) { return params->cables ? params->cables->len : 0; }

/* Collects names in the order of first use; @numbers maps a name to its index + 1. */
static void note_switch(GPtrArray *names, GHashTable *numbers, const char *name) {
  if (g_hash_table_contains(numbers, name)) return;
  g_ptr_array_add(names, g_strdup(name));
  g_hash_table_insert(numbers, (gpointer)name, GUINT_TO_POINTER(names->len));
}

static guint number_of(GHashTable *numbers, const char *name) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(numbers, name)) - 1;
}

static gboolean place_ports(Plan *plan, GHashTable *numbers, GError **error) {
  gint64 port = 0;
  plan->port_switch = g_new0(guint32, plan->n_ports + 1);
  for (guint i = 0; i < n_hosts(plan->params); i++)
    for (gint64 k = 0; k < host_at(plan->params, i)->ports; k++, port++)
      if (port < plan->n_ports)
        plan->port_switch[port] = number_of(numbers, host_at(plan->params, i)->name);
  if (port == plan->n_ports) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "hosts names %ld ports, but the machine has %ld NIC ports to attach", port,
                       plan->n_ports);
}

static gboolean add_cables(Plan *plan, GHashTable *numbers, const OrrNodeShape *node,
                           GError **error) {
  for (guint i = 0; i < n_cables(plan->params); i++) {
    const Cable *cable = cable_at(plan->params, i);
    const double nominal = cable->bytes_per_s > 0 ? cable->bytes_per_s : node->nic_bytes_per_s;
    const guint from = number_of(numbers, cable->from), to = number_of(numbers, cable->to);
    if (from == to)
      return orr_fault_set(error, ORR_FAULT_DOCUMENT, "cable %u joins switch '%s' to itself", i + 1,
                           cable->from);
    orr_switch_graph_cable(&plan->graph, from, to, (guint)cable->count,
                           nominal * node->nic_efficiency, (int)i);
  }
  return TRUE;
}

/* If two entries of `cables` join the same switches, the second continues the numbering, so that
 * names differ. */
static void number_copies(Plan *plan) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  ORR_EACH(OrrGraphLink, link, plan->graph.links) {
    char *pair = g_strdup_printf("%u>%u", link->from, link->to);
    link->copy = GPOINTER_TO_UINT(g_hash_table_lookup(seen, pair));
    g_hash_table_replace(seen, pair, GUINT_TO_POINTER(link->copy + 1));
  }
}

static gboolean check_radix(Plan *plan, gint64 port_links, GError **error) {
  g_autofree gint64 *used = g_new0(gint64, plan->graph.n_switches);
  for (gint64 port = 0; port < plan->n_ports; port++) used[plan->port_switch[port]] += port_links;
  ORR_EACH(const OrrGraphLink, link, plan->graph.links)
    used[link->from] += plan->graph.merge ? cable_at(plan->params, (guint)link->level)->count : 1;
  plan->ports = plan->params->radix;
  for (guint s = 0; !plan->params->radix && s < plan->graph.n_switches; s++)
    plan->ports = MAX(plan->ports, used[s]);
  for (guint s = 0; plan->params->radix && s < plan->graph.n_switches; s++) {
    if (used[s] <= plan->params->radix) continue;
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "switch '%s' has %ld ports in use, but radix is %ld", plan->graph.names[s],
                         used[s], plan->params->radix);
  }
  return TRUE;
}

static void plan_free(gpointer data) {
  Plan *plan = data;
  if (plan) {
    orr_switch_graph_clear(&plan->graph);
    g_free(plan->port_switch);
  }
  g_free(plan);
}

static GHashTable *name_switches(const Params *params, GPtrArray *names) {
  GHashTable *numbers = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; i < n_hosts(params); i++) note_switch(names, numbers, host_at(params, i)->name);
  for (guint i = 0; i < n_cables(params); i++) {
    note_switch(names, numbers, cable_at(params, i)->from);
    note_switch(names, numbers, cable_at(params, i)->to);
  }
  return numbers;
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  GPtrArray *names = g_ptr_array_new();
  g_autoptr(GHashTable) numbers = name_switches(params, names);
  Plan *plan = g_new0(Plan, 1);
  orr_switch_graph_init(&plan->graph, cluster, names->len, "switch");
  g_ptr_array_add(names, NULL);
  plan->graph.names = (char **)g_ptr_array_free(names, FALSE);
  plan->graph.n_paths = (guint)params->spray;
  plan->graph.switch_latency_s = params->switch_latency_s;
  plan->params = params;
  plan->n_ports = n_ports;
  plan->port_rate = port_bytes_per_s;
  plan->efficiency = cluster->node.nic_efficiency;
  plan->nic_rate = cluster->node.nic_bytes_per_s * cluster->node.nic_efficiency;
  gboolean fine =
      place_ports(plan, numbers, error) && add_cables(plan, numbers, &cluster->node, error);
  if (fine) number_copies(plan);
  fine = fine && check_radix(plan, orr_node_shape_port_links(&cluster->node), error) &&
         orr_switch_graph_close(&plan->graph, error);
  if (fine) return plan;
  plan_free(plan);
  return NULL;
}

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  return orr_switch_graph_route(&plan->graph, plan->port_switch[src], plan->port_switch[dst], hash,
                                links);
}

/* --- Description --- */

/* Each entry of the list is a level. */
static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  const guint first = ret_levels->len;
  for (guint i = 0; i < n_cables(plan->params); i++) {
    const Cable *cable = cable_at(plan->params, i);
    OrrFabricLevel level = {.name = g_strdup_printf("%s-%s", cable->from, cable->to),
                            .switches = 1,
                            .switches_above = 1,
                            .links = cable->count,
                            .oversubscription = 1};
    g_array_append_val(ret_levels, level);
  }
  ORR_EACH(const OrrGraphLink, link, plan->graph.links) {
    OrrFabricLevel *level = &g_array_index(ret_levels, OrrFabricLevel, first + (guint)link->level);
    level->link_bytes_per_s = link->bytes_per_s / (double)(plan->graph.merge ? level->links : 1);
  }
}

/* All switches are one layer; each entry of the list is a level of cables. */
static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  const int layer = orr_bill_add_switches(ret_bill, "switch", plan->graph.n_switches, plan->ports);
  for (guint i = 0; i < n_cables(plan->params); i++) {
    const Cable *cable = cable_at(plan->params, i);
    g_autofree char *name = g_strdup_printf("%s-%s", cable->from, cable->to);
    orr_bill_add_cables(ret_bill, name, layer, layer, cable->count,
                        cable->bytes_per_s > 0 ? cable->bytes_per_s * plan->efficiency
                                               : plan->nic_rate);
  }
}

typedef struct {
  const OrrSwitchGraph *graph;
  double *left;            /* capacity left on each link */
  double *supply, *demand; /* of each switch */
  guint32 *came_by;        /* link + 1; 0: not reached */
} Flow;

/* Breadth-first search from all switches with supply to one with demand, over links with
 * capacity left; returns that switch, or G_MAXUINT. */
static guint find_augmenting_path(Flow *flow) {
  const OrrSwitchGraph *graph = flow->graph;
  g_autofree guint32 *queue = g_new(guint32, graph->n_switches);
  guint head = 0, tail = 0;
  memset(flow->came_by, 0, graph->n_switches * sizeof *flow->came_by);
  for (guint s = 0; s < graph->n_switches; s++)
    if (flow->supply[s] > 0) queue[tail++] = s, flow->came_by[s] = G_MAXUINT32;
  while (head < tail) {
    guint at = queue[head++];
    if (flow->demand[at] > 0) return at;
    for (guint32 i = graph->first[at]; i < graph->first[at + 1]; i++) {
      guint32 link = graph->out[i];
      guint to = g_array_index(graph->links, OrrGraphLink, link).to;
      if (flow->came_by[to] || flow->left[link] <= 0) continue;
      flow->came_by[to] = link + 1;
      queue[tail++] = to;
    }
  }
  return G_MAXUINT;
}

/* Links come in pairs, one per direction: flow pushed along one can be pushed back along the
 * other. */
static double push(Flow *flow, guint end) {
  double room = flow->demand[end];
  guint at = end;
  for (; flow->came_by[at] != G_MAXUINT32;
       at = g_array_index(flow->graph->links, OrrGraphLink, flow->came_by[at] - 1).from)
    room = MIN(room, flow->left[flow->came_by[at] - 1]);
  room = MIN(room, flow->supply[at]);
  flow->supply[at] -= room;
  flow->demand[end] -= room;
  for (at = end; flow->came_by[at] != G_MAXUINT32;) {
    guint32 link = flow->came_by[at] - 1;
    flow->left[link] -= room;
    flow->left[link ^ 1] += room;
    at = g_array_index(flow->graph->links, OrrGraphLink, link).from;
  }
  return room;
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  const guint n = plan->graph.n_switches;
  g_autofree double *left = g_new0(double, plan->graph.links->len + 1);
  g_autofree double *supply = g_new0(double, n), *demand = g_new0(double, n);
  g_autofree guint32 *came_by = g_new0(guint32, n);
  Flow flow = {&plan->graph, left, supply, demand, came_by};
  double sum = 0;
  for (guint i = 0; i < plan->graph.links->len; i++)
    left[i] = g_array_index(plan->graph.links, OrrGraphLink, i).bytes_per_s;
  for (gint64 port = 0; port < plan->n_ports; port++)
    (port < plan->n_ports / 2 ? supply : demand)[plan->port_switch[port]] += plan->port_rate;
  for (guint end; (end = find_augmenting_path(&flow)) != G_MAXUINT;) sum += push(&flow, end);
  return sum;
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  guint most = 0;
  for (gint64 a = 0; a < plan->n_ports; a++)
    for (gint64 b = 0; b < plan->n_ports; b++)
      most = MAX(most, orr_switch_graph_distance(&plan->graph, plan->port_switch[a],
                                                 plan->port_switch[b]));
  return most + 1;
}

const OrrFabricKind orr_custom = {
    .entry = {.name = "custom",
              .sentence = "Switches and cables by name: any network, with shortest routes.",
              .params = &params_table},
    ORR_SWITCH_GRAPH_KIND,
};
