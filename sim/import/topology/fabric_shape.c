/*
 * fabric_shape.c - counts a graph, proposes a shape, and checks it against the fabric that is built
 * from it.
 *
 *   leaf   level 1: has nodes              all ports of a node on one leaf:       fat-tree
 *   spine  level 2                         each on another, groups of nodes on
 *   core   level 3                         the same leaves:               rail-optimized, rail-only
 */
#include "sim/import/topology/cluster_plan.h"

#include "sim/base/yaml.h"
#include "topologies/fabric.h"

void orr_fabric_shape_clear(OrrFabricShape *shape) {
  g_clear_pointer(&shape->yaml, g_free);
  g_clear_pointer(&shape->said, g_free);
}

/* --- Counting --- */

/* A Clos as the graph has it. */
typedef struct {
  guint levels; /* 1: one leaf, or leaves that nothing joins */
  gint64 leaves, spines, cores;
  gint64 leaf_cables, core_cables; /* between leaves and spines, spines and cores */
  gint64 leaf_up, spine_up;        /* of each */
  gint64 spine_down;               /* of a full one */
  double leaf_rate, core_rate;     /* of a cable */
  gint64 group;                    /* nodes of a full leaf, or of a full group of rails */
  gint64 leaf_ports;               /* ports of a full leaf */
  gint64 pod;                      /* groups of a full pod; 0: one pod */
  gboolean is_rail, is_apart;      /* is_apart: rails that only NVLink joins */
  guint widest;                    /* ports in use at the busiest switch */
} Counts;

/* All cables join neighbouring levels and have one rate at each. */
static gboolean count_levels(const OrrFabricGraph *graph, Counts *counts) {
  gint64 per_level[4] = {0};
  for (guint s = 0; s < graph->n_switches; s++) {
    if (graph->level[s] < 1 || graph->level[s] > 3) return FALSE;
    per_level[graph->level[s]]++;
    counts->levels = MAX(counts->levels, graph->level[s]);
  }
  counts->leaves = per_level[1];
  counts->spines = per_level[2];
  counts->cores = per_level[3];
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    const guint a = graph->level[cable->a], b = graph->level[cable->b];
    if (MAX(a, b) - MIN(a, b) != 1) return FALSE;
    double *rate = MIN(a, b) == 1 ? &counts->leaf_rate : &counts->core_rate;
    if (*rate > 0 && cable->bytes_per_s != *rate) return FALSE;
    *rate = cable->bytes_per_s;
    *(MIN(a, b) == 1 ? &counts->leaf_cables : &counts->core_cables) += cable->count;
  }
  return TRUE;
}

/* Every switch of @level has the same number of cables up, spread evenly over those it meets; *@up:
 * that number. */
static gboolean count_up(const OrrFabricGraph *graph, guint level, gint64 *ret_up) {
  g_autofree gint64 *up = g_new0(gint64, graph->n_switches + 1);
  gint64 each = 0;
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    const guint low = graph->level[cable->a] < graph->level[cable->b] ? cable->a : cable->b;
    if (graph->level[low] != level) continue;
    if (each && cable->count != each) return FALSE;
    each = cable->count;
    up[low] += cable->count;
  }
  *ret_up = 0;
  for (guint s = 0; s < graph->n_switches; s++) {
    if (graph->level[s] != level) continue;
    if (*ret_up && up[s] != *ret_up) return FALSE;
    *ret_up = up[s];
  }
  return TRUE;
}

static guint leaf_of(const OrrFabricGraph *graph, guint node, guint port) {
  return graph->leaf[node * graph->n_ports + port];
}

static gboolean same_leaves(const OrrFabricGraph *graph, guint a, guint b) {
  return memcmp(&graph->leaf[a * graph->n_ports], &graph->leaf[b * graph->n_ports],
                graph->n_ports * sizeof *graph->leaf) == 0;
}

/* Whether all ports of a node are on one leaf (FALSE: rails), the same for all nodes. */
static gboolean count_rails(const OrrFabricGraph *graph, Counts *counts) {
  guint n_one = 0, n_apart = 0;
  for (guint n = 0; n < graph->n_nodes; n++) {
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = 0; i < graph->n_ports; i++)
      g_hash_table_add(seen, GUINT_TO_POINTER(leaf_of(graph, n, i) + 1));
    n_one += g_hash_table_size(seen) == 1;
    n_apart += g_hash_table_size(seen) == graph->n_ports;
  }
  counts->is_rail = n_one < graph->n_nodes;
  return n_one == graph->n_nodes || n_apart == graph->n_nodes;
}

/* Runs of nodes on the same leaves: all as long as the first, the last may be shorter. A leaf that
 * returns later belongs to two runs. */
static gboolean count_groups(const OrrFabricGraph *graph, Counts *counts) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
  guint length = 0, n_runs = 0;
  for (guint n = 0; n < graph->n_nodes; n += length) {
    for (length = 1; n + length < graph->n_nodes && same_leaves(graph, n, n + length);) length++;
    for (guint i = 0; i < (counts->is_rail ? graph->n_ports : 1); i++)
      if (!g_hash_table_add(seen, GUINT_TO_POINTER(leaf_of(graph, n, i) + 1))) return FALSE;
    if (n_runs == 0) counts->group = length;
    if (length > counts->group || (length < counts->group && n + length < graph->n_nodes))
      return FALSE;
    n_runs++;
  }
  counts->leaf_ports = counts->group * (counts->is_rail ? 1 : graph->n_ports);
  return (gint64)n_runs * (counts->is_rail ? graph->n_ports : 1) == counts->leaves;
}

/* Leaves that share their spines are a pod. With rails a pod is of one rail. */
static gboolean count_pods(const OrrFabricGraph *graph, Counts *counts) {
  g_autofree guint *spines_of = g_new0(guint, graph->n_switches + 1); /* the lowest spine + 1 */
  g_autoptr(GHashTable) pods = g_hash_table_new(g_direct_hash, g_direct_equal);
  guint n = 0;
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    const guint low = graph->level[cable->a] < graph->level[cable->b] ? cable->a : cable->b,
                high = low == cable->a ? cable->b : cable->a;
    if (graph->level[low] != 1) continue;
    spines_of[low] = spines_of[low] ? MIN(spines_of[low], high + 1) : high + 1;
  }
  for (guint s = 0; s < graph->n_switches; s++) {
    const gpointer key = GUINT_TO_POINTER(spines_of[s]);
    if (graph->level[s] != 1) continue;
    n = GPOINTER_TO_UINT(g_hash_table_lookup(pods, key)) + 1;
    g_hash_table_replace(pods, key, GUINT_TO_POINTER(n));
    counts->pod = MAX(counts->pod, (gint64)n);
  }
  return counts->spines % MAX(1, g_hash_table_size(pods)) == 0;
}

/* The cables of the spine with most to its leaves. */
static void count_down(const OrrFabricGraph *graph, Counts *counts) {
  g_autofree gint64 *down = g_new0(gint64, graph->n_switches + 1);
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    const guint a = graph->level[cable->a], b = graph->level[cable->b];
    if (MIN(a, b) == 1) down[a > b ? cable->a : cable->b] += cable->count;
  }
  for (guint s = 0; s < graph->n_switches; s++)
    counts->spine_down = MAX(counts->spine_down, down[s]);
}

static void count_widest(const OrrFabricGraph *graph, Counts *counts) {
  g_autofree gint64 *used = g_new0(gint64, graph->n_switches + 1);
  for (guint i = 0; i < graph->n_nodes * graph->n_ports; i++) used[graph->leaf[i]] += graph->bonded;
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    used[cable->a] += cable->count;
    used[cable->b] += cable->count;
  }
  for (guint s = 0; s < graph->n_switches; s++)
    counts->widest = (guint)MAX(counts->widest, MIN(used[s], 65536));
}

static gboolean count(const OrrFabricGraph *graph, Counts *counts) {
  *counts = (Counts){0};
  if (!count_levels(graph, counts) || !count_rails(graph, counts) || !count_groups(graph, counts) ||
      !count_up(graph, 1, &counts->leaf_up))
    return FALSE;
  if (counts->levels == 3 && (!count_up(graph, 2, &counts->spine_up) || !count_pods(graph, counts)))
    return FALSE;
  counts->is_apart = graph->n_parts > 1;
  count_widest(graph, counts);
  count_down(graph, counts);
  return !counts->is_apart || (counts->is_rail && graph->n_parts == graph->n_ports);
}

/* --- Proposing --- */

static void add_rate(GString *text, const char *key, double rate) {
  g_autofree char *formatted = g_strdup_printf("%.10g", rate * 8 / 1e9);
  g_string_append_printf(text, "  %s: %s Gb/s\n", key, formatted);
}

static double leaf_ratio(const OrrFabricGraph *graph, const Counts *counts) {
  const double down = (double)counts->leaf_ports * graph->bonded * graph->port_bytes_per_s;
  return counts->leaf_up > 0 ? down / ((double)counts->leaf_up * counts->leaf_rate) : 1;
}

static double core_ratio(const Counts *counts) {
  const double down = (double)counts->spine_down * counts->leaf_rate;
  return counts->spine_up > 0 ? down / ((double)counts->spine_up * counts->core_rate) : 1;
}

/* Ratios below 1 (more cables up than ports below) cannot be written. */
static char *propose(const OrrFabricGraph *graph, const Counts *counts, gint64 radix) {
  GString *text = g_string_new(NULL);
  const double leaf = leaf_ratio(graph, counts), core = core_ratio(counts);
  const char *kind = !counts->is_rail   ? "fat-tree"
                     : counts->is_apart ? "rail-only"
                                        : "rail-optimized";
  g_string_append_printf(text, "  kind: %s\n", kind);
  if (counts->levels == 3) g_string_append(text, "  levels: 3\n");
  g_string_append_printf(text, "  radix: %ld\n", radix);
  if (fabs(leaf - 1) > 1e-9) g_string_append_printf(text, "  oversubscription: %.10g\n", leaf);
  if (counts->levels == 3 && fabs(core - 1) > 1e-9)
    g_string_append_printf(text, "  core-oversubscription: %.10g\n", core);
  if (counts->leaf_rate > 0 && counts->leaf_rate != graph->port_bytes_per_s)
    add_rate(text, "link-bandwidth", counts->leaf_rate);
  if (counts->is_rail && !counts->is_apart)
    g_string_append_printf(text, "  nodes-per-group: %ld\n", counts->group);
  else
    g_string_append_printf(text, "  nodes-per-leaf: %ld\n", counts->group);
  if (counts->levels == 3 && counts->pod > 0)
    g_string_append_printf(text, "  %s: %ld\n",
                           counts->is_rail ? "groups-per-pod" : "leaves-per-pod", counts->pod);
  return g_string_free(text, FALSE);
}

/* A Clos by the children of each level: with as many switches above as cables need (radix 0), or
 * fewer with parallel cables. */
static char *propose_clos(const OrrFabricGraph *graph, const Counts *counts, gint64 radix) {
  GString *text = g_string_new(NULL);
  const gint64 pod = counts->levels == 3 ? counts->pod : counts->leaves;
  const double leaf = leaf_ratio(graph, counts), core = core_ratio(counts);
  g_string_append_printf(text, "  kind: clos\n  down: %ld", counts->leaf_ports);
  if (counts->levels > 1) g_string_append_printf(text, "x%ld", pod);
  if (counts->levels > 2) g_string_append_printf(text, "x%ld", (counts->leaves + pod - 1) / pod);
  g_string_append_c(text, '\n');
  if (counts->levels == 2 && fabs(leaf - 1) > 1e-9)
    g_string_append_printf(text, "  oversubscription: \"%.10g\"\n", leaf);
  if (counts->levels == 3 && (fabs(leaf - 1) > 1e-9 || fabs(core - 1) > 1e-9))
    g_string_append_printf(text, "  oversubscription: \"%.10gx%.10g\"\n", leaf, core);
  if (radix) g_string_append_printf(text, "  radix: %ld\n", radix);
  if (counts->leaf_rate > 0 && counts->leaf_rate != graph->port_bytes_per_s)
    add_rate(text, "link-bandwidth", counts->leaf_rate);
  return g_string_free(text, FALSE);
}

/* --- Verifying --- */

/* A machine of one GPU per port with the fabric @yaml; NULL: it cannot be built. */
static OrrFabric *build(const char *yaml, gint64 n_nodes, gint64 gpus, gint64 nics, double rate,
                        OrrCluster *cluster, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strdup_printf(
      "schema: cluster/1\nname: probe\ndevice: {name: probe, architecture: probe, sms: 1, memory: "
      "1 GiB, memory-bandwidth: 1 TB/s, scale-up-bandwidth: 100 GB/s, scale-up-efficiency: 1, "
      "host-link-bandwidth: 1 GB/s}\n"
      "nodes: %ld\nrouting: ecmp\nnode:\n  gpus: %ld\n  scale-up-domain: %ld\n  nics-per-gpu: "
      "%.17g\n  nic-efficiency: 1\n  nic-bandwidth: %.17g B/s\nfabric:\n%s",
      n_nodes, gpus, gpus, (double)nics / (double)gpus, rate > 0 ? rate : 1e9, yaml);
  g_autoptr(OrrNode) root = orr_yaml_parse(text, strlen(text), "the proposed fabric", diags);
  memset(cluster, 0, sizeof *cluster);
  if (root && orr_field_read(&orr_cluster_table, root, NULL, diags, cluster))
    return orr_fabric_new(cluster, 0, error);
  orr_diags_check(diags, error);
  return NULL;
}

static gboolean level_is(const OrrFabricLevel *level, const char *const names[2], gint64 low,
                         gint64 high, gint64 links, double rate) {
  return (strcmp(level->name, names[0]) == 0 || strcmp(level->name, names[1]) == 0) &&
         level->switches == low && level->links == links && level->switches_above == high &&
         (rate <= 0 || fabs(level->link_bytes_per_s / rate - 1) < 1e-6);
}

gboolean orr_fabric_shape_builds(const char *yaml, gint64 n_nodes,
                                 const OrrFabricAnswers *answers) {
  OrrCluster cluster;
  g_autoptr(OrrFabric) fabric =
      build(yaml, n_nodes, answers->gpus, answers->nics, answers->bytes_per_s, &cluster, NULL);
  const gboolean is_built = fabric != NULL;
  orr_fabric_free(g_steal_pointer(&fabric));
  orr_field_clear(&orr_cluster_table, &cluster);
  return is_built;
}

/* Whether the fabric that is built from @yaml has the counts of the graph. */
static gboolean verify(const char *yaml, const OrrFabricGraph *graph, const Counts *counts) {
  static const char *const low_names[] = {"leaf-spine", "level 1-2"}, *const high_names[] = {
                                                                          "spine-core",
                                                                          "level 2-3"};
  OrrCluster cluster;
  gboolean has_leaf = counts->levels < 2, has_core = counts->levels < 3;
  g_autoptr(OrrFabric) fabric =
      build(yaml, graph->n_nodes, graph->n_ports, (gint64)graph->n_ports * graph->bonded,
            graph->port_bytes_per_s, &cluster, NULL);
  g_autoptr(GArray) levels = fabric ? orr_fabric_levels(fabric) : NULL;
  ORR_EACH(const OrrFabricLevel, level, levels) {
    has_leaf |= level_is(level, low_names, counts->leaves, counts->spines, counts->leaf_cables,
                         counts->leaf_rate);
    has_core |= level_is(level, high_names, counts->spines, counts->cores, counts->core_cables,
                         counts->core_rate);
  }
  const gboolean is_built = fabric != NULL;
  orr_fabric_free(g_steal_pointer(&fabric));
  orr_field_clear(&orr_cluster_table, &cluster);
  return is_built && has_leaf && has_core;
}

/* "; 2 leaves", "; 1 leaf" */
static void say_count(GString *text, const char *before, gint64 n, const char *one,
                      const char *many) {
  g_string_append_printf(text, "%s%ld %s", before, n, n == 1 ? one : many);
}

static void say(OrrFabricShape *shape, const OrrFabricGraph *graph, const Counts *counts,
                gint64 radix) {
  GString *text = g_string_new(!counts->is_rail   ? "a fat-tree"
                               : counts->is_apart ? "rails that no cable joins"
                                                  : "rails");
  say_count(text, ", verified by counting: ", graph->n_nodes, "node", "nodes");
  say_count(text, " of ", (gint64)graph->n_ports * graph->bonded, "port", "ports");
  say_count(text, "; ", counts->leaves, "leaf", "leaves");
  if (counts->levels > 1) {
    say_count(text, ", ", counts->spines, "spine", "spines");
    say_count(text, ", ", counts->leaf_cables, "cable between", "cables between");
  }
  if (counts->levels > 2) {
    say_count(text, "; ", counts->cores, "core", "cores");
    say_count(text, ", ", counts->core_cables, "cable", "cables");
  }
  if (counts->levels > 1)
    g_string_append_printf(text, "; %.3g:1 at a leaf", leaf_ratio(graph, counts));
  if (counts->levels > 2) g_string_append_printf(text, ", %.3g:1 at a spine", core_ratio(counts));
  say_count(text, "; at most ", counts->widest, "port of a switch in use",
            "ports of a switch in use");
  if (radix) g_string_append_printf(text, ", which fits a radix of %ld", radix);
  shape->said = g_string_free(text, FALSE);
}

/* Keeps @yaml, which it frees otherwise, if it has the counts of the graph. */
static gboolean try(OrrFabricShape *shape, const OrrFabricGraph *graph, const Counts *counts,
                    char *yaml, gint64 radix) {
  if (!verify(yaml, graph, counts)) {
    g_free(yaml);
    return FALSE;
  }
  shape->yaml = yaml;
  shape->is_rail = counts->is_rail;
  say(shape, graph, counts, radix);
  return TRUE;
}

/* Radixes that switches have, and the one in use: the number of switches above a leaf follows from
 * it. A machine that was not filled has more of them than its nodes need: a Clos of one cable
 * between any two switches. */
static gboolean find_clos(OrrFabricShape *shape, const OrrFabricGraph *graph) {
  static const gint64 radixes[] = {24, 32, 36, 40, 48, 64, 80, 128, 144, 256, 512, 4096};
  Counts counts;
  if (!count(graph, &counts) || leaf_ratio(graph, &counts) < 1 - 1e-9 ||
      (counts.levels == 3 && core_ratio(&counts) < 1 - 1e-9))
    return FALSE;
  for (guint i = 0; i <= G_N_ELEMENTS(radixes); i++) {
    const gint64 radix = i < G_N_ELEMENTS(radixes) ? radixes[i] : MAX(2, counts.widest);
    if (radix >= counts.widest && try(shape, graph, &counts, propose(graph, &counts, radix), radix))
      return TRUE;
  }
  if (counts.is_rail) return FALSE;
  for (guint i = 0; i <= G_N_ELEMENTS(radixes); i++) {
    const gint64 radix = i > 0 ? radixes[i - 1] : 0;
    if ((radix == 0 || radix >= counts.widest) &&
        try(shape, graph, &counts, propose_clos(graph, &counts, radix), radix))
      return TRUE;
  }
  return FALSE;
}

/* --- Cables by name --- */

/* Runs of ports on the same switch, in the order of nodes. */
static void add_hosts(GString *text, const OrrFabricGraph *graph) {
  const gsize n = (gsize)graph->n_nodes * graph->n_ports;
  g_string_append(text, "  hosts:\n");
  for (gsize i = 0, length; i < n; i += length) {
    for (length = 1; i + length < n && graph->leaf[i + length] == graph->leaf[i];) length++;
    g_string_append_printf(text, "    - {switch: \"%s\", ports: %" G_GSIZE_FORMAT "}\n",
                           orr_fabric_graph_name(graph, graph->leaf[i]), length);
  }
}

static void add_cable_list(GString *text, const OrrFabricGraph *graph) {
  if (graph->cables->len) g_string_append(text, "  cables:\n");
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    g_string_append_printf(text, "    - {from: \"%s\", to: \"%s\"",
                           orr_fabric_graph_name(graph, cable->a),
                           orr_fabric_graph_name(graph, cable->b));
    if (cable->count != 1) g_string_append_printf(text, ", count: %ld", cable->count);
    if (cable->bytes_per_s > 0 && cable->bytes_per_s != graph->port_bytes_per_s)
      g_string_append_printf(text, ", bandwidth: %.10g Gb/s", cable->bytes_per_s * 8 / 1e9);
    g_string_append(text, "}\n");
  }
}

static gboolean write_cables(OrrFabricShape *shape, const OrrFabricGraph *graph, GError **error) {
  if (graph->n_parts > 1)
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "the fabric is %u rails without a cable between them, but the rails differ: neither a "
        "fabric of rails nor one of cables by name describes it (--choose SWITCH takes one)",
        graph->n_parts);
  GString *text = g_string_new("  kind: custom\n");
  add_hosts(text, graph);
  add_cable_list(text, graph);
  shape->yaml = g_string_free(text, FALSE);
  if (!shape->said)
    shape->said = g_strdup_printf(
        "written as cables: %u switches by name, %u nodes of %u ports; no fat-tree, Clos or rails "
        "that can be built have these counts",
        graph->n_switches, graph->n_nodes, graph->n_ports);
  return TRUE;
}

gboolean orr_fabric_shape_init(OrrFabricShape *shape, const OrrFabricGraph *graph,
                               const OrrFabricAnswers *answers, GError **error) {
  *shape = (OrrFabricShape){0};
  if (graph->from->is_tree) {
    orr_fabric_tree_init(shape, graph, answers);
    return TRUE;
  }
  return find_clos(shape, graph) || write_cables(shape, graph, error);
}
