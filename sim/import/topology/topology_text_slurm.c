/*
 * topology_text_slurm.c - a fabric as Slurm's topology.conf: a tree of switches by distance.
 *
 *   SwitchName=leaf0 Nodes=node[0000-0031]        one switch between any two of these nodes
 *   SwitchName=spine0 Switches=leaf[0-31]         three switches
 *   SwitchName=core0 Switches=spine[0-1]          five
 *
 * The distance of two nodes is their first GPUs': with rails, the distance on one rail, as for
 * traffic that NCCL keeps on its rail. A leaf of the file is then a group of rails. All nodes for
 * which the fabric was built are written.
 *
 * Networks without levels (dragonfly, torus, hyperx) have no such tree and are refused.
 */
#include "sim/import/topology/dump.h"
#include "sim/import/topology/topology_text.h"

extern const OrrTopologyText orr_topology_text_slurm, orr_topology_text_slurm_yaml;

enum { MOST_LEVELS = 5 };

static const char *const words[MOST_LEVELS] = {"leaf", "spine", "core", "top", "roof"};

/* Groups of one level: the members of each are numbers of the level below, nodes at first. */
typedef struct {
  GPtrArray *groups; /* GArray* of guint */
  GArray *first;     /* gint64: a node of each group */
} Level;

static void free_group(gpointer data) { g_array_unref(data); }

static void level_clear(Level *level) {
  g_clear_pointer(&level->groups, g_ptr_array_unref);
  g_clear_pointer(&level->first, g_array_unref);
}

static guint distance(const OrrFabric *fabric, gint64 gpus, gint64 a, gint64 b) {
  return a == b ? 1 : orr_fabric_hops(fabric, a * gpus, b * gpus);
}

/* The group of @level whose first node is at most @most switches from @node; G_MAXUINT: none. Nodes
 * of a group follow one another, so the last group is tried first. */
static guint find_group(const OrrFabric *fabric, gint64 gpus, const Level *level, gint64 node,
                        guint most) {
  for (guint i = level->first->len; i-- > 0;)
    if (distance(fabric, gpus, g_array_index(level->first, gint64, i), node) <= most) return i;
  return G_MAXUINT;
}

static void add_member(const OrrFabric *fabric, gint64 gpus, Level *level, guint member,
                       gint64 node, guint most) {
  guint group = find_group(fabric, gpus, level, node, most);
  if (group == G_MAXUINT) {
    group = level->groups->len;
    g_ptr_array_add(level->groups, g_array_new(FALSE, FALSE, sizeof(guint)));
    g_array_append_val(level->first, node);
  }
  g_array_append_val(((GArray *)level->groups->pdata[group]), member);
}

static Level level_new(void) {
  return (Level){g_ptr_array_new_with_free_func(free_group),
                 g_array_new(FALSE, FALSE, sizeof(gint64))};
}

/* Each level joins what is at most 1, 3, 5 ... switches apart; a distance that joins nothing is
 * skipped. Returns the number of levels. */
static guint find_levels(const OrrFabric *fabric, const OrrCluster *cluster,
                         Level levels[MOST_LEVELS]) {
  guint n = 0;
  for (guint most = 1; most < 2 * MOST_LEVELS && (n == 0 || levels[n - 1].groups->len > 1);
       most += 2) {
    Level level = level_new();
    const gint64 members = n == 0 ? cluster->nodes : levels[n - 1].groups->len;
    for (gint64 i = 0; i < members; i++)
      add_member(fabric, cluster->node.gpus, &level, (guint)i,
                 n == 0 ? i : g_array_index(levels[n - 1].first, gint64, i), most);
    if (n > 0 && level.groups->len == levels[n - 1].groups->len)
      level_clear(&level);
    else
      levels[n++] = level;
  }
  return n;
}

/* Whether every distance is odd: up to a common switch and down again. */
static gboolean is_tree(const OrrFabric *fabric, const OrrCluster *cluster) {
  for (gint64 node = 1; node < cluster->nodes; node++)
    if (distance(fabric, cluster->node.gpus, 0, node) % 2 == 0) return FALSE;
  return TRUE;
}

static char *name_of(guint level, guint member) {
  return level == 0 ? g_strdup_printf("node%04u", member)
                    : g_strdup_printf("%s%u", words[level - 1], member);
}

static char *list_of(const GArray *group, guint l) {
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  ORR_EACH_VALUE(const guint, value, group) g_ptr_array_add(names, name_of(l, value));
  g_ptr_array_add(names, NULL);
  return orr_dump_hostlist_text((const char *const *)names->pdata);
}

static void add_level(GString *text, const Level *level, guint l, gboolean as_yaml) {
  for (guint i = 0; i < level->groups->len; i++) {
    g_autofree char *list = list_of(level->groups->pdata[i], l);
    if (as_yaml)
      g_string_append_printf(text, "      - switch: %s%u\n        %s: %s\n", words[l], i,
                             l == 0 ? "nodes" : "children", list);
    else
      g_string_append_printf(text, "SwitchName=%s%u %s=%s\n", words[l], i,
                             l == 0 ? "Nodes" : "Switches", list);
  }
}

static char *refuse(const OrrCluster *cluster, GError **error) {
  return orr_fault_null(
      error, ORR_FAULT_DOCUMENT,
      "--as slurm: %s is not a tree of switches (%s): Slurm's topology.conf has no words for it",
      cluster->name, cluster->fabric.entry->name);
}

/* The machine that the fabric was built for, whose nodes NVLink does not join. */
static char *write_tree(const OrrCluster *from, gboolean as_yaml, GError **error) {
  OrrCluster cluster = *from;
  Level levels[MOST_LEVELS] = {{NULL, NULL}};
  cluster.nodes = orr_cluster_n_built_nodes(from);
  cluster.gpus = 0;
  cluster.node.scale_up_domain = MIN(cluster.node.scale_up_domain, cluster.node.gpus);
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&cluster, 1, error);
  if (!fabric) return NULL;
  if (!is_tree(fabric, &cluster)) return refuse(from, error);
  const guint n = find_levels(fabric, &cluster, levels);
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "# %s: %ld nodes\n", from->name, cluster.nodes);
  if (as_yaml)
    g_string_append_printf(
        text, "- topology: %s\n  cluster_default: true\n  tree:\n    switches:\n", from->name);
  for (guint l = 0; l < n; l++) add_level(text, &levels[l], l, as_yaml);
  for (guint l = 0; l < MOST_LEVELS; l++) level_clear(&levels[l]);
  return g_string_free(text, FALSE);
}

static char *write_conf(const OrrCluster *cluster, GError **error) {
  return write_tree(cluster, FALSE, error);
}

static char *write_yaml(const OrrCluster *cluster, GError **error) {
  return write_tree(cluster, TRUE, error);
}

const OrrTopologyText orr_topology_text_slurm = {
    .name = "slurm",
    .sentence = "which nodes share switches, as Slurm's topology.conf",
    .write = write_conf,
};

const OrrTopologyText orr_topology_text_slurm_yaml = {
    .name = "slurm-yaml",
    .sentence = "the same as Slurm's topology.yaml",
    .write = write_yaml,
};
