/*
 * allot_fifo_gavel.c - the FIFO of Gavel's published simulator, which its figures compare with. It
 * is meant to give each job a kind at random, and does not:
 *
 *   1. In the order of submission, a job that has ended hands its kind to the first that waits, if
 *      the room left by running jobs submitted before it is enough. What later ones hold is not
 *      counted yet, so a kind may have more jobs than GPUs.
 *   2. While a kind has room for the first that waits, that job gets the last kind, by name, on the
 *      list of kinds with free GPUs (v100 of k80, p100, v100), whether there is room on it or not.
 *   3. A kind whose free GPUs are exactly 0 then strikes a kind with room off the list, at random.
 *
 * So most jobs queue for the fastest kind. Jobs beyond a kind's GPUs take turns on it, round by
 * round. The random numbers are Python's, of the run's seed. Where the simulator would give a job a
 * kind on which it cannot run, and never end, the job waits here.
 *
 *   workload: {policy: {rounds: {length: 6 min, reset: 1920 s, allotment: fifo-gavel}}}
 *
 * Source: github.com/stanford-futuredata/gavel, commit c4fa400, scheduler/policies/fifo.py.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

enum { NONE = G_MAXUINT };

typedef struct {
  OrrGangAllot *allot;
  double room[ORR_GANG_KINDS];
  guint listed[ORR_GANG_KINDS], n_listed; /* kinds with free GPUs, by name */
  guint *waiting, first, n_waiting;       /* jobs without a kind, as indices; first: the next */
} Fifo;

static guint kind_of(const OrrGangAllot *allot, guint i) {
  for (guint k = 0; k < allot->n_kinds; k++)
    if (allot->x[(gsize)i * allot->n_kinds + k] > 0) return k;
  return NONE;
}

static void give(Fifo *fifo, guint i, guint kind) {
  fifo->allot->x[(gsize)i * fifo->allot->n_kinds + kind] = 1;
  fifo->room[kind] -= (double)fifo->allot->jobs[i]->gpus;
}

/* The first that waits has had its turn, whether it fits or not. */
static void hand_over(Fifo *fifo, guint kind) {
  if (fifo->first == fifo->n_waiting) return;
  const guint i = fifo->waiting[fifo->first++];
  const OrrGangJob *job = fifo->allot->jobs[i];
  if ((double)job->gpus <= fifo->room[kind] && job->rates[kind] > 0) give(fifo, i, kind);
}

/* Walks over jobs that have a kind and jobs that have left, by submission. */
static void walk(Fifo *fifo, const guint *kinds) {
  const OrrGangAllot *allot = fifo->allot;
  guint left = 0;
  for (guint i = 0; i <= allot->n; i++) {
    for (; left < allot->n_left && (i == allot->n || allot->left[left].job < allot->jobs[i]);
         left++)
      hand_over(fifo, allot->left[left].kind);
    if (i < allot->n && kinds[i] != NONE) fifo->room[kinds[i]] -= (double)allot->jobs[i]->gpus;
  }
}

static void list_kinds(Fifo *fifo) {
  const OrrGangKind *kinds = fifo->allot->kinds;
  for (guint k = 0; k < fifo->allot->n_kinds; k++) {
    guint at = fifo->n_listed;
    if (!(fifo->room[k] > 0)) continue;
    for (; at > 0 && strcmp(kinds[fifo->listed[at - 1]].name, kinds[k].name) > 0; at--)
      fifo->listed[at] = fifo->listed[at - 1];
    fifo->listed[at] = k;
    fifo->n_listed++;
  }
}

/* The last kind on the list on which @job can run. */
static guint last_kind(const Fifo *fifo, const OrrGangJob *job) {
  for (guint at = fifo->n_listed; at > 0; at--)
    if (job->rates[fifo->listed[at - 1]] > 0) return fifo->listed[at - 1];
  return NONE;
}

static void strike(Fifo *fifo, guint at) {
  for (fifo->n_listed--; at < fifo->n_listed; at++) fifo->listed[at] = fifo->listed[at + 1];
}

/* FALSE: no kind on the list has room for the next job. */
static gboolean give_next(Fifo *fifo) {
  const guint i = fifo->waiting[fifo->first];
  const OrrGangJob *job = fifo->allot->jobs[i];
  guint fits[ORR_GANG_KINDS], n_fits = 0;
  for (guint at = 0; at < fifo->n_listed; at++)
    if (fifo->room[fifo->listed[at]] >= (double)job->gpus) fits[n_fits++] = at;
  if (n_fits == 0) return FALSE;
  fifo->first++;
  const guint drawn = orr_mersenne_below(fifo->allot->mersenne, n_fits);
  const guint kind = last_kind(fifo, job);
  if (kind == NONE) return TRUE;
  give(fifo, i, kind);
  if (fifo->room[kind] == 0) strike(fifo, fits[drawn]);
  return TRUE;
}

static void fill(OrrGangAllot *allot) {
  Fifo fifo = {.allot = allot, .waiting = g_new(guint, allot->n + 1)};
  g_autofree guint *kinds = g_new(guint, allot->n + 1);
  memcpy(fifo.room, allot->capacity, sizeof(double) * allot->n_kinds);
  for (guint i = 0; i < allot->n; i++) {
    kinds[i] = kind_of(allot, i);
    if (kinds[i] == NONE) fifo.waiting[fifo.n_waiting++] = i;
  }
  walk(&fifo, kinds);
  list_kinds(&fifo);
  while (fifo.first < fifo.n_waiting && fifo.n_listed > 0 && give_next(&fifo)) continue;
  g_free(fifo.waiting);
}

const OrrGangAllotment orr_allot_fifo_gavel = {
    .entry = {"fifo-gavel", "The FIFO of Gavel's simulator: most jobs queue for the last kind.",
              NULL},
    .waits = TRUE,
    .fill = fill,
};
