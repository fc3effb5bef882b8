/*
 * fabric_graph.c - selects, counts and orders what a dump says of a fabric.
 *
 *   1. Ports by node, in the natural order of their NICs' names; nodes with fewer or more ports
 *      than most are left out: login, storage and management hosts.
 *   2. Switches without a way to two nodes are left out: those with nothing below.
 *   3. Nodes are ordered by part, by the switches two cables up, then by their own, so that nodes
 *      of one leaf, and leaves of one pod, follow one another.
 */
#include "sim/import/topology/cluster_plan.h"

typedef struct {
  const char *name;
  GPtrArray *ports; /* OrrDumpPort, borrowed */
  guint part, pod, leaf;
} Node;

static void node_free(gpointer data) {
  Node *node = data;
  g_ptr_array_unref(node->ports);
  g_free(node);
}

void orr_fabric_graph_free(OrrFabricGraph *graph) {
  if (!graph) return;
  g_free(graph->source);
  g_array_unref(graph->cables);
  ORR_FREE(graph->leaf, graph->part, graph->level);
  g_ptr_array_unref(graph->notes);
  g_free(graph);
}

/* Compares names in such a way that leaf2 comes before leaf10. */
static int fabric_graph_compare(const char *a, const char *b) {
  while (*a && *b) {
    if (g_ascii_isdigit(*a) && g_ascii_isdigit(*b)) {
      char *end_a, *end_b;
      const guint64 x = g_ascii_strtoull(a, &end_a, 10), y = g_ascii_strtoull(b, &end_b, 10);
      if (x != y) return x < y ? -1 : 1;
      if (end_a - a != end_b - b) return end_a - a < end_b - b ? -1 : 1;
      a = end_a;
      b = end_b;
    } else {
      if (*a != *b) return (guchar)*a < (guchar)*b ? -1 : 1;
      a++;
      b++;
    }
  }
  return (*a != 0) - (*b != 0);
}

const char *orr_fabric_graph_name(const OrrFabricGraph *graph, guint at) {
  return g_array_index(graph->from->switches, OrrDumpSwitch, graph->source[at]).name;
}

static void note(OrrFabricGraph *graph, char *text) { g_ptr_array_add(graph->notes, text); }

/* --- Nodes --- */

static int compare_ports(gconstpointer a, gconstpointer b) {
  const OrrDumpPort *x = *(const OrrDumpPort *const *)a, *y = *(const OrrDumpPort *const *)b;
  return fabric_graph_compare(x->nic ? x->nic : "", y->nic ? y->nic : "");
}

/* The node that a port is of: ibstat's host, where it lists the adapter. */
static const char *name_of(const OrrDump *dump, const OrrDumpPort *port) {
  const char *host = port->guid ? g_hash_table_lookup(dump->guids, port->guid) : NULL;
  return host ? host : port->node;
}

/* The nodes whose name is in @hosts (NULL: all). */
static GPtrArray *collect(const OrrDump *dump, const OrrDumpFabric *fabric, GHashTable *hosts) {
  GPtrArray *nodes = g_ptr_array_new_with_free_func(node_free);
  g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
  ORR_EACH(OrrDumpPort, port, fabric->ports) {
    const char *name = name_of(dump, port);
    if (hosts && !g_hash_table_contains(hosts, name)) continue;
    Node *node = g_hash_table_lookup(by_name, name);
    if (!node) {
      node = g_new0(Node, 1);
      node->name = name;
      node->ports = g_ptr_array_new();
      g_ptr_array_add(nodes, node);
      g_hash_table_insert(by_name, (gpointer)name, node);
    }
    g_ptr_array_add(node->ports, port);
  }
  for (guint i = 0; i < nodes->len; i++)
    g_ptr_array_sort(((Node *)nodes->pdata[i])->ports, compare_ports);
  return nodes;
}

/* With a host file: the nodes that it names; all, where the fabric has other names. */
static GPtrArray *choose_nodes(OrrFabricGraph *graph, const OrrDump *dump) {
  g_autoptr(GHashTable) hosts = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; dump->hosts && i < dump->hosts->len; i++)
    g_hash_table_add(hosts, dump->hosts->pdata[i]);
  GPtrArray *nodes = collect(dump, graph->from, dump->hosts ? hosts : NULL);
  if (nodes->len > 0 || !dump->hosts) return nodes;
  note(graph, g_strdup("the host file names no host of the fabric: all nodes of the fabric count"));
  g_ptr_array_unref(nodes);
  return collect(dump, graph->from, NULL);
}

/* The most frequent of the values that @key gives; of equally frequent ones the largest. */
static double most_frequent(const GPtrArray *nodes, double (*key)(const Node *node, guint i),
                            gboolean each_port) {
  g_autoptr(GHashTable) counts = g_hash_table_new_full(g_double_hash, g_double_equal, g_free, NULL);
  double best = 0;
  guint best_count = 0;
  ORR_EACH_POINTER(const Node, node, nodes) {
    for (guint i = 0; i < (each_port ? node->ports->len : 1); i++) {
      double value = key(node, i);
      const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, &value)) + 1;
      g_hash_table_replace(counts, g_memdup2(&value, sizeof value), GUINT_TO_POINTER(count));
      if (count > best_count || (count == best_count && value > best)) {
        best = value;
        best_count = count;
      }
    }
  }
  return best;
}

static double rate_of(const Node *node, guint i) {
  return ((const OrrDumpPort *)node->ports->pdata[i])->bytes_per_s;
}

static double ports_of(const Node *node, guint i) { return node->ports->len; }

/* Ports of another rate than most: a second network (storage) where most nodes have some, else
 * cables that came up slowly. */
static void sort_out_rates(OrrFabricGraph *graph, GPtrArray *nodes) {
  guint n_with = 0, n_ports = 0;
  graph->port_bytes_per_s = most_frequent(nodes, rate_of, TRUE);
  for (guint n = 0; n < nodes->len; n++) {
    guint others = 0;
    for (guint i = 0; i < ((Node *)nodes->pdata[n])->ports->len; i++)
      others += rate_of(nodes->pdata[n], i) != graph->port_bytes_per_s;
    n_with += others > 0;
    n_ports += others;
  }
  if (n_ports == 0) return;
  const gboolean is_network = 2 * n_with > nodes->len;
  note(graph, g_strdup_printf("%u ports of hosts run at another rate than most: %s", n_ports,
                              is_network ? "left out, as another network's"
                                         : "counted as the others; cables that came up slowly?"));
  for (guint n = 0; is_network && n < nodes->len; n++) {
    Node *node = nodes->pdata[n];
    for (guint i = node->ports->len; i-- > 0;)
      if (rate_of(node, i) != graph->port_bytes_per_s) g_ptr_array_remove_index(node->ports, i);
  }
}

static void sort_out_counts(OrrFabricGraph *graph, GPtrArray *nodes) {
  guint n_left = 0;
  graph->n_ports = (guint)most_frequent(nodes, ports_of, FALSE);
  for (guint n = nodes->len; n-- > 0;)
    if (((Node *)nodes->pdata[n])->ports->len != graph->n_ports || graph->n_ports == 0) {
      g_ptr_array_remove_index(nodes, n);
      n_left++;
    }
  if (n_left)
    note(graph, g_strdup_printf("%u hosts do not have the %u ports that most have (login, storage, "
                                "management?): left out",
                                n_left, graph->n_ports));
}

/* --- Switches --- */

/* The number of other switches that each kept switch is joined to; ports of nodes count as two, so
 * that a leaf is never a dead end. */
static guint *count_neighbours(const OrrDumpFabric *from, const GPtrArray *nodes,
                               const gboolean *kept) {
  const guint n_switches = from->switches->len;
  g_autoptr(GHashTable) pairs = g_hash_table_new(g_direct_hash, g_direct_equal);
  guint *degree = g_new0(guint, n_switches + 1);
  ORR_EACH_POINTER(const Node, node, nodes) {
    for (guint i = 0; i < node->ports->len; i++)
      degree[((OrrDumpPort *)node->ports->pdata[i])->at] += 2;
  }
  ORR_EACH(const OrrDumpCable, cable, from->cables) {
    const gsize low = MIN(cable->a, cable->b), high = MAX(cable->a, cable->b);
    if (low == high || !kept[low] || !kept[high]) continue;
    if (!g_hash_table_add(pairs, GSIZE_TO_POINTER(low * n_switches + high + 1))) continue;
    degree[low]++;
    degree[high]++;
  }
  return degree;
}

/* All switches but those whose nodes were all left out: leaves of storage or of login nodes. */
static void keep_leaves(const OrrDumpFabric *from, const GPtrArray *nodes, gboolean *kept) {
  for (guint s = 0; s < from->switches->len; s++) kept[s] = TRUE;
  ORR_EACH(OrrDumpPort, port, from->ports) kept[port->at] = FALSE;
  ORR_EACH_POINTER(const Node, node, nodes) {
    for (guint i = 0; i < node->ports->len; i++)
      kept[((OrrDumpPort *)node->ports->pdata[i])->at] = TRUE;
  }
}

/* A switch without nodes and with cables to at most one other leads nowhere; then the next one may
 * not, either: a few rounds, as networks have a few levels. */
static void prune(const OrrDumpFabric *from, const GPtrArray *nodes, gboolean *kept) {
  keep_leaves(from, nodes, kept);
  gboolean again = TRUE;
  for (guint round = 0; again && round < 8; round++) {
    g_autofree guint *degree = count_neighbours(from, nodes, kept);
    again = FALSE;
    for (guint s = 0; s < from->switches->len; s++) {
      if (!kept[s] || degree[s] > 1) continue;
      kept[s] = FALSE;
      again = TRUE;
    }
  }
}

static int compare_cables(gconstpointer a, gconstpointer b) {
  const OrrGraphCable *x = a, *y = b;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  if (x->b != y->b) return x->b < y->b ? -1 : 1;
  return (x->bytes_per_s > y->bytes_per_s) - (x->bytes_per_s < y->bytes_per_s);
}

static void add_cables(OrrFabricGraph *graph, const guint *number) {
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(OrrGraphCable));
  graph->cables = g_array_new(FALSE, FALSE, sizeof(OrrGraphCable));
  ORR_EACH(const OrrDumpCable, from, graph->from->cables) {
    const guint a = number[from->a], b = number[from->b];
    if (a == G_MAXUINT || b == G_MAXUINT || a == b) continue;
    const OrrGraphCable cable = {MIN(a, b), MAX(a, b), from->count, from->bytes_per_s};
    g_array_append_val(all, cable);
  }
  g_array_sort(all, compare_cables);
  ORR_EACH(const OrrGraphCable, cable, all) {
    OrrGraphCable *last = graph->cables->len
                              ? &g_array_index(graph->cables, OrrGraphCable, graph->cables->len - 1)
                              : NULL;
    if (last && compare_cables(last, cable) == 0)
      last->count += cable->count;
    else
      g_array_append_val(graph->cables, *cable);
  }
}

static int compare_names(gconstpointer a, gconstpointer b, gpointer data) {
  const OrrDumpFabric *from = data;
  return fabric_graph_compare(g_array_index(from->switches, OrrDumpSwitch, *(const guint *)a).name,
                              g_array_index(from->switches, OrrDumpSwitch, *(const guint *)b).name);
}

/* Keeps switches that lead to nodes, in the natural order of their names. Returns the number of
 * each of the dump's switches here, G_MAXUINT: left out. */
static guint *keep_switches(OrrFabricGraph *graph, const GPtrArray *nodes) {
  const guint n = graph->from->switches->len;
  g_autofree gboolean *kept = g_new0(gboolean, n + 1);
  guint *number = g_new(guint, n + 1);
  prune(graph->from, nodes, kept);
  graph->source = g_new0(guint, n + 1);
  for (guint s = 0; s < n; s++)
    if (kept[s]) graph->source[graph->n_switches++] = s;
  g_qsort_with_data(graph->source, (int)graph->n_switches, sizeof(guint), compare_names,
                    (gpointer)graph->from);
  for (guint s = 0; s < n; s++) number[s] = G_MAXUINT;
  for (guint s = 0; s < graph->n_switches; s++) number[graph->source[s]] = s;
  if (graph->n_switches < n)
    note(graph, g_strdup_printf("%u switches lead to no two of these nodes: left out",
                                n - graph->n_switches));
  return number;
}

/* --- Parts and levels --- */

static guint root_of(guint *parent, guint at) {
  while (parent[at] != at) at = parent[at] = parent[parent[at]];
  return at;
}

/* Connected parts over the cables below @level (0: all). */
static guint number_parts(const OrrFabricGraph *graph, guint level, guint *ret_part) {
  g_autofree guint *parent = g_new(guint, graph->n_switches + 1);
  g_autofree guint *first = g_new0(guint, graph->n_switches + 1);
  guint n = 0;
  for (guint s = 0; s < graph->n_switches; s++) parent[s] = s;
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    if (level && (graph->level[cable->a] >= level || graph->level[cable->b] >= level)) continue;
    parent[root_of(parent, MAX(cable->a, cable->b))] = root_of(parent, MIN(cable->a, cable->b));
  }
  for (guint s = 0; s < graph->n_switches; s++) {
    const guint root = root_of(parent, s);
    if (!first[root]) first[root] = ++n;
    ret_part[s] = first[root] - 1;
  }
  return n;
}

/* One round: switches next to @level's that have no level yet. */
static gboolean number_next(const OrrFabricGraph *graph, guint level) {
  gboolean changed = FALSE;
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    for (guint side = 0; side < 2; side++) {
      const guint from = side ? cable->b : cable->a, to = side ? cable->a : cable->b;
      if (graph->level[from] != level || graph->level[to]) continue;
      graph->level[to] = level + 1;
      changed = TRUE;
    }
  }
  return changed;
}

/* One round in a tree, whose cables lead from a child to its parent: a parent is above all of its
 * children. */
static gboolean raise_parents(const OrrFabricGraph *graph, const guint *number) {
  gboolean changed = FALSE;
  ORR_EACH(const OrrDumpCable, cable, graph->from->cables) {
    const guint child = number[cable->a], parent = number[cable->b];
    if (child == G_MAXUINT || parent == G_MAXUINT || graph->level[child] == 0) continue;
    if (graph->level[parent] > graph->level[child]) continue;
    graph->level[parent] = graph->level[child] + 1;
    changed = TRUE;
  }
  return changed;
}

/* Distance to the next switch with nodes, from 1; in a tree the height above the lowest. */
static void number_levels(OrrFabricGraph *graph, const GPtrArray *nodes, const guint *number) {
  enum { MOST_ROUNDS = 200 };
  gboolean changed = TRUE;
  graph->level = g_new0(guint, graph->n_switches + 1);
  ORR_EACH_POINTER(const Node, node, nodes) {
    for (guint i = 0; i < node->ports->len; i++)
      graph->level[number[((OrrDumpPort *)node->ports->pdata[i])->at]] = 1;
  }
  for (guint round = 1; changed && round < MOST_ROUNDS; round++)
    changed = graph->from->is_tree ? raise_parents(graph, number) : number_next(graph, round);
}

/* --- Order --- */

static int compare_nodes(gconstpointer a, gconstpointer b) {
  const Node *x = *(const Node *const *)a, *y = *(const Node *const *)b;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  if (x->pod != y->pod) return x->pod < y->pod ? -1 : 1;
  if (x->leaf != y->leaf) return x->leaf < y->leaf ? -1 : 1;
  return fabric_graph_compare(x->name, y->name);
}

/* @pods: the parts without the highest level. In them a leaf's rank is its number. */
static void order_nodes(OrrFabricGraph *graph, GPtrArray *nodes, const guint *number) {
  g_autofree guint *pods = g_new0(guint, graph->n_switches + 1);
  guint highest = 0;
  for (guint s = 0; s < graph->n_switches; s++) highest = MAX(highest, graph->level[s]);
  if (highest > 2) number_parts(graph, highest, pods);
  ORR_EACH_POINTER(Node, node, nodes) {
    node->leaf = number[((OrrDumpPort *)node->ports->pdata[0])->at];
    node->part = graph->part[node->leaf];
    node->pod = pods[node->leaf];
  }
  g_ptr_array_sort(nodes, compare_nodes);
  graph->n_nodes = nodes->len;
  graph->leaf = g_new0(guint, (gsize)nodes->len * graph->n_ports + 1);
  for (guint n = 0; n < nodes->len; n++)
    for (guint i = 0; i < graph->n_ports; i++)
      graph->leaf[n * graph->n_ports + i] =
          number[((OrrDumpPort *)((Node *)nodes->pdata[n])->ports->pdata[i])->at];
}

/* --- Parts that nothing joins --- */

/* Whether every part holds the same nodes: rails that NVLink joins. */
static gboolean are_rails(const OrrFabricGraph *graph, const GPtrArray *nodes,
                          const guint *number) {
  ORR_EACH_POINTER(const Node, node, nodes) {
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = 0; i < node->ports->len; i++)
      g_hash_table_add(
          seen,
          GUINT_TO_POINTER(graph->part[number[((OrrDumpPort *)node->ports->pdata[i])->at]] + 1));
    if (g_hash_table_size(seen) != graph->n_parts) return FALSE;
  }
  return TRUE;
}

static gboolean refuse_parts(const OrrFabricGraph *graph, GError **error) {
  g_autoptr(GString) names = g_string_new(NULL);
  guint n_named = 0;
  for (guint part = 0; part < graph->n_parts && n_named < 6; part++)
    for (guint s = 0; s < graph->n_switches; s++) {
      if (graph->part[s] != part) continue;
      g_string_append_printf(names, "%s%s", n_named++ ? ", " : "", orr_fabric_graph_name(graph, s));
      break;
    }
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "the fabric falls into %u parts that no cable joins, so that no job spans them: "
              "--choose SWITCH takes the part of that switch (one of each: %s%s)",
              graph->n_parts, names->str, graph->n_parts > n_named ? ", ..." : "");
  return FALSE;
}

static void drop_other_parts(const OrrFabricGraph *graph, GPtrArray *nodes, const guint *number,
                             guint part) {
  for (guint n = nodes->len; n-- > 0;) {
    const Node *node = nodes->pdata[n];
    gboolean stays = TRUE;
    for (guint i = 0; i < node->ports->len; i++)
      stays &= graph->part[number[((OrrDumpPort *)node->ports->pdata[i])->at]] == part;
    if (!stays) g_ptr_array_remove_index(nodes, n);
  }
}

static gboolean find_part(const OrrFabricGraph *graph, const char *choose, guint *ret_part) {
  for (guint s = 0; choose && s < graph->n_switches; s++)
    if (strcmp(orr_fabric_graph_name(graph, s), choose) == 0) {
      *ret_part = graph->part[s];
      return TRUE;
    }
  return FALSE;
}

static void reset(OrrFabricGraph *graph) {
  g_clear_pointer(&graph->source, g_free);
  g_clear_pointer(&graph->cables, g_array_unref);
  g_clear_pointer(&graph->part, g_free);
  graph->n_switches = 0;
}

/* Switches and parts for these nodes. */
static guint *connect(OrrFabricGraph *graph, const GPtrArray *nodes) {
  guint *number = keep_switches(graph, nodes);
  add_cables(graph, number);
  graph->part = g_new0(guint, graph->n_switches + 1);
  graph->n_parts = number_parts(graph, 0, graph->part);
  return number;
}

static void fill_rates(OrrFabricGraph *graph, double bytes_per_s) {
  graph->is_rate_given = graph->port_bytes_per_s <= 0;
  if (graph->is_rate_given) graph->port_bytes_per_s = bytes_per_s;
  ORR_EACH(OrrGraphCable, cable, graph->cables)
    if (cable->bytes_per_s <= 0) cable->bytes_per_s = graph->port_bytes_per_s;
}

OrrFabricGraph *orr_fabric_graph_new(const OrrDump *dump, const OrrDumpFabric *fabric,
                                     const char *choose, double bytes_per_s, GError **error) {
  g_autoptr(OrrFabricGraph) graph = g_new0(OrrFabricGraph, 1);
  guint part = 0;
  graph->from = fabric;
  graph->bonded = 1;
  graph->cables = g_array_new(FALSE, FALSE, sizeof(OrrGraphCable));
  graph->notes = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) nodes = choose_nodes(graph, dump);
  sort_out_rates(graph, nodes);
  sort_out_counts(graph, nodes);
  g_clear_pointer(&graph->cables, g_array_unref);
  g_autofree guint *number = connect(graph, nodes);
  if (graph->n_parts > 1 && find_part(graph, choose, &part)) {
    drop_other_parts(graph, nodes, number, part);
    reset(graph);
    g_free(number);
    number = connect(graph, nodes);
  } else if (graph->n_parts > 1 && !are_rails(graph, nodes, number)) {
    refuse_parts(graph, error);
    return NULL;
  }
  if (nodes->len == 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "no node of this fabric is left: the dump shows switches alone; add one that shows "
                "the leaves' ports to nodes");
    return NULL;
  }
  fill_rates(graph, bytes_per_s);
  number_levels(graph, nodes, number);
  order_nodes(graph, nodes, number);
  return g_steal_pointer(&graph);
}

gboolean orr_fabric_graph_bond(OrrFabricGraph *graph, guint n) {
  const gsize ports = (gsize)graph->n_nodes * graph->n_ports;
  if (n <= 1 || graph->n_ports % n != 0) return n == 1;
  for (gsize i = 0; i < ports; i++)
    if (graph->leaf[i] != graph->leaf[i / n * n]) return FALSE;
  for (gsize i = 0; i < ports; i += n) graph->leaf[i / n] = graph->leaf[i];
  graph->n_ports /= n;
  graph->bonded = n;
  return TRUE;
}
