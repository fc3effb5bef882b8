/*
 * nearest.c - the smallest part of the machine that holds the gang: a node, an NVLink domain, a
 * leaf, a pod (gang_bins.h); of several, the one with the fewest free GPUs. A gang of several
 * leaves takes those with the most empty nodes first, so that it is in few.
 *
 *   workload: {policy: {placement: nearest}}
 */
#include "sim/base/arrays.h"
#include "workloads/cluster_jobs/core/gang_bins.h"

/* A part of the machine: the nodes of @part at @level. */
typedef struct {
  const OrrGangBins *bins;
  OrrGangLevel level;
  guint part;
} Part;

static gboolean is_in(const Part *part, guint node) {
  const OrrGangMap *map = part->bins->map;
  return !map || map->part_of[part->level][node] == part->part;
}

/* The node with the fewest free GPUs that has @gpus, apart from whole ones taken. */
static guint best_node(const Part *part, gint64 gpus, const GArray *taken) {
  guint best = G_MAXUINT;
  for (guint i = 0; i < part->bins->n; i++) {
    const gint64 free = part->bins->free[i];
    if (!is_in(part, i) || free < gpus || orr_gang_bins_holds(taken, i)) continue;
    if (best == G_MAXUINT || free < part->bins->free[best]) best = i;
  }
  return best;
}

static void add_share(GArray *shares, guint bin, gint64 gpus) {
  ORR_APPEND(shares, OrrGangShare, {bin, (gint32)gpus});
}

/* Up to @wanted empty nodes that are in both parts. */
static guint add_whole(const Part *part, const Part *also, guint wanted, GArray *shares) {
  guint n = 0;
  for (guint i = 0; i < part->bins->n && n < wanted; i++)
    if (part->bins->free[i] == part->bins->size && is_in(part, i) && is_in(also, i)) {
      add_share(shares, i, part->bins->size);
      n++;
    }
  return n;
}

typedef struct {
  guint part, empty;
  gint64 free;
} Room;

/* Free GPUs and empty nodes of each part of @level. */
static Room *rooms_of(const OrrGangBins *bins, OrrGangLevel level) {
  const OrrGangMap *map = bins->map;
  Room *rooms = g_new0(Room, map->n_parts[level] + 1);
  for (guint i = 0; i < map->n_parts[level]; i++) rooms[i].part = i;
  for (guint i = 0; i < bins->n; i++) {
    Room *room = &rooms[map->part_of[level][i]];
    room->free += bins->free[i];
    room->empty += bins->free[i] == bins->size;
  }
  return rooms;
}

static int compare_rooms(gconstpointer a, gconstpointer b) {
  const Room *x = a, *y = b;
  if (x->empty != y->empty) return x->empty > y->empty ? -1 : 1;
  return x->part < y->part ? -1 : x->part > y->part;
}

/* @wanted empty nodes of @part, from the leaves that have the most; FALSE: there are fewer. */
static gboolean add_by_leaf(const Part *part, guint wanted, GArray *shares) {
  const OrrGangMap *map = part->bins->map;
  if (!map || part->level <= ORR_GANG_LEAF) return add_whole(part, part, wanted, shares) == wanted;
  g_autofree Room *rooms = rooms_of(part->bins, ORR_GANG_LEAF);
  qsort(rooms, map->n_parts[ORR_GANG_LEAF], sizeof *rooms, compare_rooms);
  for (guint i = 0; i < map->n_parts[ORR_GANG_LEAF] && wanted > 0 && rooms[i].empty > 0; i++) {
    const Part leaf = {part->bins, ORR_GANG_LEAF, rooms[i].part};
    wanted -= add_whole(&leaf, part, wanted, shares);
  }
  return wanted == 0;
}

/* Places the gang within @part. */
static gboolean place_in(const Part *part, gint64 gpus, GArray *shares) {
  const guint whole = gpus > part->bins->size ? (guint)(gpus / part->bins->size) : 0;
  const gint64 rest = gpus - (gint64)whole * part->bins->size;
  g_array_set_size(shares, 0);
  if (!add_by_leaf(part, whole, shares)) return FALSE;
  const guint one = rest > 0 ? best_node(part, rest, shares) : 0;
  if (one == G_MAXUINT) return FALSE;
  if (rest > 0) add_share(shares, one, rest);
  return TRUE;
}

/* The part of @level with the fewest free GPUs that holds the gang; @shares is set to its place. */
static gboolean place_at(const OrrGangBins *bins, OrrGangLevel level, gint64 gpus, GArray *shares) {
  g_autofree Room *rooms = rooms_of(bins, level);
  g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  gint64 least = G_MAXINT64;
  for (guint i = 0; i < bins->map->n_parts[level]; i++) {
    const Part part = {bins, level, i};
    if (rooms[i].free < gpus || rooms[i].free >= least || !place_in(&part, gpus, own)) continue;
    least = rooms[i].free;
    g_array_set_size(shares, 0);
    g_array_append_vals(shares, own->data, own->len);
  }
  return least < G_MAXINT64;
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                      GArray *shares) {
  const Part all = {bins, ORR_GANG_ACROSS, 0};
  if (!bins->map || job->gpus <= bins->size) return place_in(&all, job->gpus, shares);
  for (int level = ORR_GANG_DOMAIN; level <= ORR_GANG_ACROSS; level++)
    if (place_at(bins, (OrrGangLevel)level, job->gpus, shares)) return TRUE;
  return FALSE;
}

const OrrGangPlacement orr_gang_nearest = {
    .entry = {"nearest",
              "The smallest part of the machine that holds the gang: node, NVLink domain, leaf or "
              "pod; of several the fullest.",
              NULL},
    .by_room = TRUE,
    .is_by_fabric = TRUE,
    .place = place,
};
