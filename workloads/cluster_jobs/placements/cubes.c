/*
 * cubes.c - slices of a torus, made of whole cubes: TPU v4's pods (Jouppi et al., "TPU v4: An
 * optically reconfigurable supercomputer", ISCA 2023, section 2).
 *
 * A cube is `nodes` neighbours in the order of nodes, all free or it is not used: 16 hosts of 4
 * chips are 4x4x4 chips. Optical circuit switches join the faces of cubes, so that a slice takes
 * any free cubes, wherever they stand, around those that have failed or that others have.
 * Without them (`circuits: false`) cables join neighbours of `grid` alone, and a slice is a box
 * of free cubes, around the grid's edges, in one of the shapes that its number of cubes has; a
 * slice without such a box in the grid never starts:
 *
 *   circuits           fixed cables                   grid 4x4, a slice of 4 cubes, X: failed
 *     # . X .            . . X .
 *     . X . #            . X . .                      2x2 finds room only where four cubes meet
 *     . . # .            # # . .
 *     X # . .            # # . .
 *
 * A gang that is smaller than a cube sits in the first cube with enough nodes; such gangs share
 * one, and what a larger gang leaves of its last cube. Nodes beyond the last whole cube are a
 * smaller one.
 *
 * `reconfigure` is the time that a gang of several cubes waits at its start until the mirrors have
 * moved and the links are up again; it counts as overhead of the job, and with fixed cables not at
 * all. The paper states milliseconds for the mirrors, and no time for the whole.
 *
 *   workload: {policy: {placement: {kind: cubes, nodes: 16, grid: 4x4x4, reconfigure: 10 s}}}
 *
 * Closed forms (tests/workloads/cluster_jobs/test_gang_cubes.c): where each cube is free with
 * probability p, slices of k of n cubes fill floor(free / k) with circuits; a box of a x b x c
 * on an empty grid of multiples of it tiles the grid.
 */
#include "sim/base/field.h"
#include "topologies/fabrics/sizes.h"
#include "workloads/cluster_jobs/core/gang_bins.h"

enum { AXES = 3 };

typedef struct {
  gint64 nodes;
  char *grid;
  gboolean circuits;
  double reconfigure_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "placement-cubes", "Slices of whole cubes.", Params,
    ORR_FIELD_INT(Params, "nodes", nodes, "16", "Nodes of a cube.", .min = 1, .max = 1e6),
    ORR_FIELD_TEXT(Params, "grid", grid, "4x4x4",
                   "Cubes along x, y and z of the pod, for fixed cables."),
    ORR_FIELD_BOOL(Params, "circuits", circuits, "true",
                   "Whether optical circuit switches join the cubes; else fixed cables do."),
    ORR_UNSIGNED_REAL(Params, "reconfigure", reconfigure_s, ORR_UNIT_SECONDS, "0 s",
                      "Time at the start of a gang of several cubes until its circuits are up."));

static guint n_cubes(const OrrGangBins *bins, const Params *params) {
  return (bins->n + (guint)params->nodes - 1) / (guint)params->nodes;
}

static gboolean is_free(const OrrGangBins *bins, const Params *params, guint cube) {
  const guint first = cube * (guint)params->nodes, n = (guint)params->nodes;
  return first + n <= bins->n && orr_gang_bins_empty(bins, first, n) == n;
}

/* Takes what the gang still needs of the cube. */
static void take(const OrrGangBins *bins, const Params *params, guint cube, gint64 *left,
                 GArray *shares) {
  for (guint i = 0; i<params->nodes && * left> 0; i++) {
    const gint64 gpus = MIN(*left, bins->size);
    ORR_APPEND(shares, OrrGangShare, {cube * (guint)params->nodes + i, (gint32)gpus});
    *left -= gpus;
  }
}

/* Any free cubes, the first ones. */
static gboolean place_anywhere(const OrrGangBins *bins, const Params *params, gint64 gpus,
                               GArray *shares) {
  for (guint cube = 0; cube < n_cubes(bins, params) && gpus > 0; cube++)
    if (is_free(bins, params, cube)) take(bins, params, cube, &gpus, shares);
  return gpus == 0;
}

/* --- Fixed cables --- */

typedef struct {
  const OrrGangBins *bins;
  const Params *params;
  gint64 gpus; /* of the gang */
  gint64 grid[AXES];
} Pod;

static guint cube_at(const Pod *pod, const gint64 at[AXES]) {
  return (guint)(at[0] + pod->grid[0] * (at[1] + pod->grid[1] * at[2]));
}

/* Cube @i of the box of @size at @corner, around the edges of the grid. */
static guint cube_of(const Pod *pod, const gint64 corner[AXES], const gint64 size[AXES], gint64 i) {
  gint64 at[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    at[axis] = (corner[axis] + i % size[axis]) % pod->grid[axis];
    i /= size[axis];
  }
  return cube_at(pod, at);
}

static gboolean try_corner(const Pod *pod, const gint64 corner[AXES], const gint64 size[AXES],
                           GArray *shares) {
  const gint64 n = size[0] * size[1] * size[2];
  for (gint64 i = 0; i < n; i++)
    if (!is_free(pod->bins, pod->params, cube_of(pod, corner, size, i))) return FALSE;
  gint64 left = pod->gpus;
  for (gint64 i = 0; i < n; i++)
    take(pod->bins, pod->params, cube_of(pod, corner, size, i), &left, shares);
  return TRUE;
}

static gboolean try_size(const Pod *pod, const gint64 size[AXES], GArray *shares) {
  for (int axis = 0; axis < AXES; axis++)
    if (size[axis] > pod->grid[axis]) return FALSE;
  gint64 at[AXES];
  for (at[2] = 0; at[2] < pod->grid[2]; at[2]++)
    for (at[1] = 0; at[1] < pod->grid[1]; at[1]++)
      for (at[0] = 0; at[0] < pod->grid[0]; at[0]++)
        if (try_corner(pod, at, size, shares)) return TRUE;
  return FALSE;
}

/* Boxes of @wanted cubes, the most compact first. A grid of 4x4x4 has none of 5 or 7. */
static gboolean place_box(const Pod *pod, gint64 wanted, GArray *shares) {
  const gint64 most = MAX(MAX(pod->grid[0], pod->grid[1]), pod->grid[2]);
  for (gint64 longest = 1; longest <= MIN(wanted, most); longest++)
    for (gint64 a = 1; a <= longest; a++)
      for (gint64 b = 1; b <= longest; b++) {
        const gint64 size[AXES] = {a, b, wanted / (a * b)};
        if (size[2] * a * b != wanted || MAX(MAX(a, b), size[2]) != longest) continue;
        if (try_size(pod, size, shares)) return TRUE;
      }
  return FALSE;
}

static gint64 cubes_of(const Params *params, gint64 gpus, gint64 node_gpus) {
  const gint64 cube = params->nodes * node_gpus;
  return (gpus + cube - 1) / cube;
}

static gboolean place_fixed(const OrrGangBins *bins, const Params *params, gint64 gpus,
                            GArray *shares) {
  Pod pod = {bins, params, gpus, {1, 1, 1}};
  if (!orr_sizes_parse("grid", params->grid, AXES, pod.grid, NULL)) return FALSE;
  if (pod.grid[0] * pod.grid[1] * pod.grid[2] > n_cubes(bins, params)) return FALSE;
  return place_box(&pod, cubes_of(params, gpus, bins->size), shares);
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *data,
                      GArray *shares) {
  const Params *params = data;
  const guint nodes = (guint)params->nodes;
  g_array_set_size(shares, 0);
  if (job->gpus >= params->nodes * bins->size)
    return (params->circuits ? place_anywhere : place_fixed)(bins, params, job->gpus, shares);
  for (guint cube = 0; cube < n_cubes(bins, params); cube++)
    if (orr_gang_bins_place_within(bins, cube * nodes, MIN(nodes, bins->n - cube * nodes),
                                   job->gpus, orr_gang_bins_pick_best, shares))
      return TRUE;
  return FALSE;
}

static char *refuse(const void *data, gint64 n_nodes) {
  const Params *params = data;
  gint64 grid[AXES];
  g_autoptr(GError) error = NULL;
  if (params->circuits) return NULL;
  if (!orr_sizes_parse("grid", params->grid, AXES, grid, &error)) return g_strdup(error->message);
  const double wanted = (double)grid[0] * (double)grid[1] * (double)grid[2] * (double)params->nodes;
  if (wanted <= (double)n_nodes) return NULL;
  return g_strdup_printf("grid %s of cubes of %ld nodes has %.0f nodes: the "
                         "cluster has %ld",
                         params->grid, params->nodes, wanted, n_nodes);
}

static double set_up_s(const void *data, gint64 gpus, gint64 node_gpus) {
  const Params *params = data;
  return params->circuits && cubes_of(params, gpus, node_gpus) > 1 ? params->reconfigure_s : 0;
}

const OrrGangPlacement orr_gang_cubes = {
    .entry = {"cubes",
              "Slices of a torus from whole cubes: any, joined by optical circuits, or boxes of "
              "neighbours.",
              &table},
    .place = place,
    .refuse = refuse,
    .set_up_s = set_up_s,
    .no_replacement = TRUE,
    .no_shrinking = TRUE,
};
