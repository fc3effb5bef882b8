/*
 * fabric_tree.c - a scheduler's tree as a fabric: even trees by the children of each level, others
 * by their switches, with cables for all that lies below.
 */
#include "sim/import/topology/cluster_plan.h"

/* Marks the switches above the last node: in a Clos that is not full, they may have less below. */
static gboolean *find_last(const OrrFabricGraph *graph) {
  gboolean *is_last = g_new0(gboolean, graph->n_switches + 1);
  is_last[graph->leaf[(gsize)(graph->n_nodes - 1) * graph->n_ports]] = TRUE;
  for (guint level = 1; level < 8; level++)
    ORR_EACH(const OrrGraphCable, cable, graph->cables) {
      const guint low = graph->level[cable->a] < graph->level[cable->b] ? cable->a : cable->b;
      if (graph->level[low] == level && is_last[low])
        is_last[low == cable->a ? cable->b : cable->a] = TRUE;
    }
  return is_last;
}

/* The children of each switch: nodes, or switches of the level below. FALSE: a cable skips a
 * level. */
static gboolean count_children(const OrrFabricGraph *graph, gint64 *below) {
  for (guint n = 0; n < graph->n_nodes; n++) below[graph->leaf[(gsize)n * graph->n_ports]]++;
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    const guint a = graph->level[cable->a], b = graph->level[cable->b];
    if (MAX(a, b) - MIN(a, b) != 1) return FALSE;
    below[a > b ? cable->a : cable->b]++;
  }
  return TRUE;
}

/* Every switch of a level has the same number of children, the last one at most that many, and all
 * leaves are at one depth; @ret_down: children per level, from the nodes up. Returns the number of
 * levels, 0: uneven. */
static guint tree_levels(const OrrFabricGraph *graph, gint64 ret_down[8]) {
  g_autofree gint64 *below = g_new0(gint64, graph->n_switches + 1);
  g_autofree gboolean *is_last = find_last(graph);
  guint levels = 0;
  if (!count_children(graph, below)) return 0;
  for (guint s = 0; s < graph->n_switches; s++) {
    const guint level = graph->level[s];
    if (level < 1 || level > 7) return 0;
    levels = MAX(levels, level);
    ret_down[level] = MAX(ret_down[level], below[s]);
  }
  for (guint s = 0; s < graph->n_switches; s++)
    if (below[s] != ret_down[graph->level[s]] && !is_last[s]) return 0;
  return levels;
}

/* Leaves that need more ports than a switch has are groups of rails. */
static void write_rails(GString *text, const gint64 down[8], guint levels,
                        const OrrFabricGraph *graph, const OrrFabricAnswers *answers) {
  static const gint64 radixes[] = {40, 64, 144, 512, 4096, 65536};
  for (guint l = MAX(levels, 2); l <= 3; l++)
    for (guint i = 0; i < G_N_ELEMENTS(radixes); i++) {
      if (l == 2 && levels == 2 && radixes[i] > 144) break; /* then three levels of switches */
      g_string_printf(
          text, "  kind: rail-optimized\n  levels: %u\n  radix: %ld\n  nodes-per-group: %ld\n", l,
          radixes[i], down[1]);
      if (levels == 3) g_string_append_printf(text, "  groups-per-pod: %ld\n", down[2]);
      if (orr_fabric_shape_builds(text->str, graph->n_nodes, answers)) return;
    }
}

static void write_tree(GString *text, const gint64 down[8], guint levels, gint64 nics,
                       double oversubscription) {
  g_string_append_printf(text, "  kind: clos\n  down: %ld", down[1] * nics);
  for (guint l = 2; l <= levels; l++) g_string_append_printf(text, "x%ld", down[l]);
  g_string_append_c(text, '\n');
  if (oversubscription > 1 && levels > 1) {
    g_string_append_printf(text, "  oversubscription: \"%.10g", oversubscription);
    for (guint l = 3; l <= levels; l++) g_string_append_printf(text, "x%.10g", 1.0);
    g_string_append(text, "\"\n");
  }
}

/* The nodes below each switch, for cables that carry all that they can send. */
static gint64 *nodes_below(const OrrFabricGraph *graph) {
  gint64 *below = g_new0(gint64, graph->n_switches + 1);
  for (guint n = 0; n < graph->n_nodes; n++) below[graph->leaf[n * graph->n_ports]]++;
  for (guint level = 1; level < 200; level++)
    ORR_EACH(const OrrGraphCable, cable, graph->cables) {
      const guint low = graph->level[cable->a] < graph->level[cable->b] ? cable->a : cable->b,
                  high = low == cable->a ? cable->b : cable->a;
      if (graph->level[low] == level && low != high) below[high] += below[low];
    }
  return below;
}

static void write_uneven(GString *text, const OrrFabricGraph *graph,
                         const OrrFabricAnswers *answers) {
  g_autofree gint64 *below = nodes_below(graph);
  const gsize nics = (gsize)answers->nics;
  g_string_append(text, "  kind: custom\n  hosts:\n");
  for (gsize i = 0, length; i < graph->n_nodes; i += length) {
    for (length = 1; i + length < graph->n_nodes && graph->leaf[i + length] == graph->leaf[i];)
      length++;
    g_string_append_printf(text, "    - {switch: \"%s\", ports: %" G_GSIZE_FORMAT "}\n",
                           orr_fabric_graph_name(graph, graph->leaf[i]), length * nics);
  }
  if (graph->cables->len) g_string_append(text, "  cables:\n");
  ORR_EACH(const OrrGraphCable, cable, graph->cables) {
    const guint low = graph->level[cable->a] < graph->level[cable->b] ? cable->a : cable->b,
                high = low == cable->a ? cable->b : cable->a;
    const double wanted = (double)(below[low] * answers->nics) / MAX(1, answers->oversubscription);
    g_string_append_printf(text, "    - {from: \"%s\", to: \"%s\", count: %ld}\n",
                           orr_fabric_graph_name(graph, low), orr_fabric_graph_name(graph, high),
                           (gint64)CLAMP(llround(wanted), 1, 65536));
  }
}

void orr_fabric_tree_init(OrrFabricShape *shape, const OrrFabricGraph *graph,
                          const OrrFabricAnswers *answers) {
  enum { WIDEST_SWITCH = 144 }; /* Quantum-X800 Q3400 has 144 ports */
  gint64 down[8] = {0};
  GString *text = g_string_new(NULL);
  const guint levels = tree_levels(graph, down);
  shape->is_assumed = TRUE;
  if (levels >= 1 && levels <= 3 && answers->nics > 1 && down[1] * answers->nics > WIDEST_SWITCH) {
    write_rails(text, down, levels, graph, answers);
    shape->is_rail = TRUE;
    shape->said = g_strdup_printf(
        "a tree of %u levels; %ld nodes of %ld NICs are more than a switch has ports: a "
        "leaf of the file is taken as a group of rails",
        levels, down[1], answers->nics);
  } else if (levels >= 1 && levels <= 4) {
    write_tree(text, down, levels, answers->nics, answers->oversubscription);
    shape->said = g_strdup_printf("a tree of %u levels with equally many children at each", levels);
  } else {
    write_uneven(text, graph, answers);
    shape->said = g_strdup("an uneven tree: its switches by name, cables for what lies below");
  }
  shape->yaml = g_string_free(text, FALSE);
}
