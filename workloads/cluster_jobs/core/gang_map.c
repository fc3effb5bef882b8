/*
 * gang_map.c - groups nodes by the number of switches between them.
 */
#include "workloads/cluster_jobs/core/gang_bins.h"

#include "topologies/fabric.h"

const char *const orr_gang_level_words[] = {"node", "domain", "leaf", "pod", "across", NULL};

static OrrGangMap *map_new(guint n) {
  OrrGangMap *map = g_new0(OrrGangMap, 1);
  map->n = n;
  for (int level = 0; level < ORR_GANG_N_LEVELS; level++)
    map->part_of[level] = g_new0(guint, n + 1);
  for (guint i = 0; i < n; i++) map->part_of[ORR_GANG_NODE][i] = i;
  map->n_parts[ORR_GANG_NODE] = n;
  map->n_parts[ORR_GANG_ACROSS] = 1;
  return map;
}

/* Whether the first GPUs of two nodes are together at @level. */
static gboolean are_together(const OrrFabric *fabric, OrrGangLevel level, gint64 a, gint64 b) {
  if (orr_fabric_same_domain(fabric, a, b)) return TRUE;
  if (level == ORR_GANG_DOMAIN) return FALSE;
  return orr_fabric_hops(fabric, a, b) <= (level == ORR_GANG_LEAF ? 1 : 3);
}

/* Each node joins the first part whose first node it is together with. Parts of a level lie within
 * parts of the next, so only the first nodes of the level below are compared. */
static void group(OrrGangMap *map, const OrrFabric *fabric, OrrGangLevel level, gint64 gpus) {
  g_autoptr(GArray) firsts = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autofree guint *of_below = g_new0(guint, map->n_parts[level - 1] + 1);
  guint below = 0;
  for (guint i = 0; i < map->n; i++) {
    const guint own = map->part_of[level - 1][i];
    if (own == below) { /* the first node of a part of the level below */
      guint part = 0;
      while (part < firsts->len &&
             !are_together(fabric, level, g_array_index(firsts, guint, part) * gpus, i * gpus))
        part++;
      if (part == firsts->len) g_array_append_val(firsts, i);
      of_below[below++] = part;
    }
    map->part_of[level][i] = of_below[own];
  }
  map->n_parts[level] = firsts->len;
}

OrrGangMap *orr_gang_map_new(const OrrFabric *fabric, guint n_nodes, gint64 gpus_per_node) {
  OrrGangMap *map = map_new(n_nodes);
  for (int level = ORR_GANG_DOMAIN; level <= ORR_GANG_POD; level++)
    group(map, fabric, (OrrGangLevel)level, gpus_per_node);
  return map;
}

OrrGangMap *orr_gang_map_regular(guint n_nodes, guint per_leaf, guint per_pod) {
  OrrGangMap *map = map_new(n_nodes);
  const guint per[] = {1, 1, per_leaf, per_pod};
  for (int level = ORR_GANG_DOMAIN; level <= ORR_GANG_POD; level++) {
    for (guint i = 0; i < n_nodes; i++) map->part_of[level][i] = i / per[level];
    map->n_parts[level] = (n_nodes + per[level] - 1) / per[level];
  }
  return map;
}

void orr_gang_map_free(OrrGangMap *map) {
  if (!map) return;
  for (int level = 0; level < ORR_GANG_N_LEVELS; level++) g_free(map->part_of[level]);
  g_free(map);
}

OrrGangLevel orr_gang_map_level(const OrrGangMap *map, const GArray *shares) {
  int level = ORR_GANG_NODE;
  const guint first = shares->len > 0 ? g_array_index(shares, OrrGangShare, 0).bin : 0;
  for (guint i = 1; i < shares->len; i++) {
    const guint bin = g_array_index(shares, OrrGangShare, i).bin;
    while (map->part_of[level][bin] != map->part_of[level][first]) level++;
  }
  return (OrrGangLevel)level;
}

guint orr_gang_map_n_parts(const OrrGangMap *map, const GArray *shares, OrrGangLevel level) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  ORR_EACH(const OrrGangShare, share, shares) {
    const guint bin = share->bin;
    g_hash_table_add(seen, GUINT_TO_POINTER(map->part_of[level][bin]));
  }
  return g_hash_table_size(seen);
}

gint64 orr_gang_map_most(const OrrGangMap *map, const GArray *shares, OrrGangLevel level) {
  g_autoptr(GHashTable) sums = g_hash_table_new(NULL, NULL);
  gint64 most = 0;
  ORR_EACH(const OrrGangShare, share, shares) {
    const gpointer part = GUINT_TO_POINTER(map->part_of[level][share->bin]);
    const gint64 sum = GPOINTER_TO_INT(g_hash_table_lookup(sums, part)) + share->gpus;
    g_hash_table_insert(sums, part, GINT_TO_POINTER((gint)sum));
    most = MAX(most, sum);
  }
  return most;
}
