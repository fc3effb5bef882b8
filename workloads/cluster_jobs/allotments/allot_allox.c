/*
 * allot_allox.c - AlloX (Le, Sun, Chowdhury, Liu, EuroSys 2020): the least mean completion time
 * over kinds, as a matching of least cost.
 *
 *   a job of p(k) on kind k that is the q-th from the last on its GPU delays itself and the q - 1
 *   after it:  cost(job, GPU, q) = q p(k)
 *
 * Rows are waiting jobs, columns GPUs times positions. On each free GPU the job that is farthest
 * from the last starts, and keeps its kind until it ends; all others are matched anew next time. On
 * one kind this is shortest processing time first. p is what is left at the present speed.
 *
 * A GPU that the matching leaves idle goes to any waiting job, as in Gavel's rounds, which then
 * keeps its kind: the mean is longer than the matching's where all jobs belong on a faster kind.
 *
 * AlloX has jobs of one GPU. A gang is matched as one here, too, and starts where its kind has room
 * for all of it. Of many waiting jobs the first 256 by submission are matched, which bounds the
 * time of a matching.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: allox}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"
#include "workloads/cluster_jobs/allotments/gang_allot.h"

enum { MOST = 256 };

typedef struct {
  OrrGangAllot *allot;
  gint64 room[ORR_GANG_KINDS];
  guint waiting[MOST], n_waiting;
  GArray *kinds; /* of guint: of each free GPU on which some waiting job can run */
} Allox;

static guint kind_of(const OrrGangAllot *allot, guint i) {
  for (guint k = 0; k < allot->n_kinds; k++)
    if (allot->x[(gsize)i * allot->n_kinds + k] > 0) return k;
  return G_MAXUINT;
}

static void look(Allox *allox) {
  const OrrGangAllot *allot = allox->allot;
  for (guint k = 0; k < allot->n_kinds; k++) allox->room[k] = (gint64)allot->capacity[k];
  for (guint i = 0; i < allot->n; i++) {
    const guint kind = kind_of(allot, i);
    if (kind != G_MAXUINT)
      allox->room[kind] -= allot->jobs[i]->gpus;
    else if (allox->n_waiting < MOST)
      allox->waiting[allox->n_waiting++] = i;
  }
  /* More GPUs of a kind than jobs are all the same. */
  for (guint k = 0; k < allot->n_kinds; k++)
    for (gint64 g = 0; g < MIN(allox->room[k], (gint64)allox->n_waiting); g++)
      g_array_append_val(allox->kinds, k);
}

/* A kind on which a job cannot run costs more than any order of all jobs on others. */
static void fill_costs(const Allox *allox, double *cost) {
  const OrrGangAllot *allot = allox->allot;
  const guint n = allox->n_waiting, n_gpus = allox->kinds->len;
  for (guint r = 0; r < n; r++) {
    const OrrGangJob *job = allot->jobs[allox->waiting[r]];
    for (guint g = 0; g < n_gpus; g++) {
      const guint kind = g_array_index(allox->kinds, guint, g);
      const double time = orr_gang_allot_runs(allot, job, kind)
                              ? orr_gang_allot_left_us(job) / job->rates[kind]
                              : 1e24;
      for (guint q = 0; q < n; q++) cost[((gsize)r * n + q) * n_gpus + g] = (q + 1) * time;
    }
  }
}

/* On each GPU the job with the largest q is the first. */
static void start_first(const Allox *allox, const guint *column) {
  const guint n_gpus = allox->kinds->len;
  OrrGangAllot *allot = allox->allot;
  gint64 room[ORR_GANG_KINDS];
  for (guint k = 0; k < allot->n_kinds; k++) room[k] = allox->room[k];
  for (guint g = 0; g < n_gpus; g++) {
    guint first = G_MAXUINT;
    for (guint r = 0; r < allox->n_waiting; r++)
      if (column[r] % n_gpus == g && (first == G_MAXUINT || column[r] > column[first])) first = r;
    if (first == G_MAXUINT) continue;
    const guint i = allox->waiting[first], kind = g_array_index(allox->kinds, guint, g);
    const OrrGangJob *job = allot->jobs[i];
    if (!orr_gang_allot_runs(allot, job, kind) || job->gpus > room[kind]) continue;
    allot->x[(gsize)i * allot->n_kinds + kind] = 1;
    room[kind] -= job->gpus;
  }
}

static void fill(OrrGangAllot *allot) {
  Allox allox = {.allot = allot, .kinds = g_array_new(FALSE, FALSE, sizeof(guint))};
  look(&allox);
  const guint n = allox.n_waiting, n_gpus = allox.kinds->len;
  if (n > 0 && n_gpus > 0) {
    g_autofree double *cost = g_new(double, (gsize)n *n *n_gpus);
    g_autofree guint *column = g_new(guint, n);
    fill_costs(&allox, cost);
    orr_gang_matching_solve(n, n * n_gpus, cost, column);
    start_first(&allox, column);
  }
  g_array_unref(allox.kinds);
}

const OrrGangAllotment orr_allot_allox = {
    .entry = {"allox", "AlloX: the least mean completion time, by matching jobs to GPUs.", NULL},
    .fill = fill,
};
