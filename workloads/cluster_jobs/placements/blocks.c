/*
 * blocks.c - segments in blocks of nodes (Slurm's topology/block, --segment): a gang of several
 * nodes is cut into segments of `segment` nodes, and each of them sits in one block, such as the
 * rack of an NVL72. A block may hold several segments. The last segment has the rest.
 *
 *   3 blocks of 17 nodes, 36 nodes in segments of 12:
 *   | ############ . . . . . | ############ . . . . . | ############ . . . . . |
 *
 * A segment goes to the block with the fewest free nodes that has room for it. A gang whose
 * segments find no room waits: blocks are hard. A job of at most a node's GPUs sits on the fullest
 * node. A job's own segment (the trace's column `segment`, in nodes) comes first.
 *
 *   workload: {policy: {placement: {kind: blocks, block: 18, segment: 16}}}
 */
#include "sim/base/field.h"
#include "workloads/cluster_jobs/core/gang_bins.h"

typedef struct {
  gint64 block, segment;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "placement-blocks", "Segments in blocks.", Params,
    ORR_FIELD_INT(Params, "block", block, "18", "Nodes of a block.", .min = 1, .max = 1e6),
    ORR_FIELD_INT(Params, "segment", segment, "0",
                  "Nodes of a segment, which must share a block; 0: as many as a block has.",
                  .min = 0, .max = 1e6));

/* A segment: whole nodes, and GPUs of one more. */
typedef struct {
  guint whole;
  gint64 rest;
} Segment;

/* The node with the fewest free GPUs among nodes with @gpus to spare, without the whole free ones
 * that the segment needs; a whole free one where there is one to spare. G_MAXUINT: none. */
static guint find_rest(const OrrGangBins *bins, guint first, guint end, gint64 gpus,
                       gboolean takes_whole, const GArray *shares) {
  guint best = G_MAXUINT;
  for (guint i = first; i < end; i++)
    if (bins->free[i] >= gpus && (bins->free[i] < bins->size || takes_whole) &&
        (best == G_MAXUINT || bins->free[i] < bins->free[best]) && !orr_gang_bins_holds(shares, i))
      best = i;
  return best;
}

/* Whole free nodes from @first on that the gang has not taken. */
static guint count(const OrrGangBins *bins, guint first, guint end, const GArray *shares) {
  guint sum = 0;
  for (guint i = first; i < end; i++)
    sum += bins->free[i] == bins->size && !orr_gang_bins_holds(shares, i);
  return sum;
}

static gboolean has_room(const OrrGangBins *bins, guint first, guint end, Segment segment,
                         guint n_whole, const GArray *shares) {
  if (n_whole < segment.whole) return FALSE;
  return segment.rest == 0 ||
         find_rest(bins, first, end, segment.rest, n_whole > segment.whole, shares) != G_MAXUINT;
}

static void add(GArray *shares, guint bin, gint64 gpus) {
  ORR_APPEND(shares, OrrGangShare, {bin, (gint32)gpus});
}

static void take(const OrrGangBins *bins, guint first, guint end, Segment segment, GArray *shares) {
  for (guint i = first; i < end && segment.whole > 0; i++) {
    if (bins->free[i] < bins->size || orr_gang_bins_holds(shares, i)) continue;
    add(shares, i, bins->size);
    segment.whole--;
  }
  if (segment.rest > 0)
    add(shares, find_rest(bins, first, end, segment.rest, TRUE, shares), segment.rest);
}

static gboolean place_segment(const OrrGangBins *bins, guint block, Segment segment,
                              GArray *shares) {
  guint best = G_MAXUINT, least = 0;
  for (guint first = 0; first < bins->n; first += block) {
    const guint end = MIN(first + block, bins->n), n_whole = count(bins, first, end, shares);
    if (!has_room(bins, first, end, segment, n_whole, shares)) continue;
    if (best != G_MAXUINT && n_whole >= least) continue;
    best = first;
    least = n_whole;
  }
  if (best == G_MAXUINT) return FALSE;
  take(bins, best, MIN(best + block, bins->n), segment, shares);
  return TRUE;
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *data,
                      GArray *shares) {
  const Params *params = data;
  if (job->gpus <= bins->size)
    return orr_gang_bins_place(bins, job->gpus, orr_gang_bins_pick_best, shares);
  guint nodes = (guint)(job->segment > 0 ? job->segment : params->segment);
  if (nodes == 0) nodes = (guint)params->block;
  g_array_set_size(shares, 0);
  for (gint64 left = job->gpus; left > 0;) {
    const gint64 gpus = MIN(left, nodes * bins->size);
    const Segment segment = {(guint)(gpus / bins->size), gpus % bins->size};
    if (!place_segment(bins, (guint)params->block, segment, shares)) return FALSE;
    left -= gpus;
  }
  return TRUE;
}

const OrrGangPlacement orr_gang_blocks = {
    .entry = {"blocks", "Segments of a gang in blocks of nodes, as Slurm's topology/block.",
              &table},
    .place = place,
    .no_replacement = TRUE,
};
