/*
 * gang_allot.c - max-min and other parts that several allotments share.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

#include "workloads/cluster_jobs/allotments/gang_allot.h"

double orr_gang_allot_gpus(const OrrGangAllot *allot) {
  double sum = 0;
  for (guint k = 0; k < allot->n_kinds; k++) sum += allot->capacity[k];
  return sum;
}

double orr_gang_allot_equal(const OrrGangAllot *allot, const OrrGangJob *job) {
  const double all = orr_gang_allot_gpus(allot);
  const double time = fmin(1, all / ((double)allot->n * (double)job->gpus));
  double sum = 0;
  for (guint k = 0; k < allot->n_kinds; k++) sum += job->rates[k] * time * allot->capacity[k] / all;
  return sum;
}

gboolean orr_gang_allot_runs(const OrrGangAllot *allot, const OrrGangJob *job, guint kind) {
  return job->rates[kind] > 0 && (double)job->gpus <= allot->capacity[kind];
}

void orr_gang_allot_spread(OrrGangAllot *allot, const double *time) {
  for (guint i = 0; i < allot->n; i++) {
    double *x = allot->x + (gsize)i * allot->n_kinds;
    double gpus = 0;
    for (guint k = 0; k < allot->n_kinds; k++) {
      x[k] = orr_gang_allot_runs(allot, allot->jobs[i], k) ? allot->capacity[k] : 0;
      gpus += x[k];
    }
    for (guint k = 0; k < allot->n_kinds && gpus > 0; k++) x[k] *= time[i] / gpus;
  }
}

/* --- Without a look at kinds --- */

/* Content jobs hold gpus(m) GPUs all the time, the others t each: fills the level in the order of
 * gangs, which is that in which jobs are content. */
static double level(const OrrGangAllot *allot) {
  g_autofree double *gpus = g_new(double, allot->n + 1);
  for (guint i = 0; i < allot->n; i++) gpus[i] = (double)allot->jobs[i]->gpus;
  qsort(gpus, allot->n, sizeof *gpus, orr_order_doubles);
  double left = orr_gang_allot_gpus(allot);
  for (guint i = 0; i < allot->n; i++) {
    const double equal = left / (allot->n - i);
    if (equal < gpus[i]) return equal;
    left -= gpus[i];
  }
  return G_MAXDOUBLE;
}

void orr_gang_allot_blind_times(const OrrGangAllot *allot, double *ret_time) {
  const double t = level(allot);
  for (guint i = 0; i < allot->n; i++) ret_time[i] = fmin(1, t / (double)allot->jobs[i]->gpus);
}

void orr_gang_allot_blind(OrrGangAllot *allot) {
  g_autofree double *time = g_new(double, allot->n + 1);
  orr_gang_allot_blind_times(allot, time);
  orr_gang_allot_spread(allot, time);
}

double orr_gang_allot_left_us(const OrrGangJob *job) {
  if (!job->phases) return fmax((double)job->left_us, 1);
  const double time = orr_gang_phases_time(job->phases);
  const double first_us = (double)MAX(job->work_us, 1) / time; /* all of it, at the first speed */
  return fmax(first_us * orr_gang_phases_seen(job->phases, (double)job->left_us / first_us), 1);
}

/* --- Max-min --- */

/* Jobs of equal gains and GPUs. */
typedef struct {
  guint n_kinds, n;
  guint *of;            /* the class of each job */
  double *gain, *gpus;  /* by class; gpus of all its jobs */
  const OrrGangJob **a; /* one job of each class */
} Classes;

static gboolean is_same(const Classes *classes, guint c, const double *gain,
                        const OrrGangJob *job) {
  return classes->a[c]->gpus == job->gpus && memcmp(classes->gain + (gsize)c * classes->n_kinds,
                                                    gain, sizeof(double) * classes->n_kinds) == 0;
}

static void classify(Classes *classes, guint i, const double *gain, const OrrGangJob *job) {
  guint c = 0;
  while (c < classes->n && !is_same(classes, c, gain, job)) c++;
  if (c == classes->n) {
    classes->n++;
    classes->a[c] = job;
    memcpy(classes->gain + (gsize)c * classes->n_kinds, gain, sizeof(double) * classes->n_kinds);
  }
  classes->gpus[c] += (double)job->gpus;
  classes->of[i] = c;
}

/* A job of many GPUs counts as many of one: its gain is multiplied by them (Gavel, section 4.1). A
 * kind on which it cannot run gains less than nothing. */
static void gains_of(const OrrGangAllot *allot, guint i, double scale,
                     double gain[ORR_GANG_KINDS]) {
  const OrrGangJob *job = allot->jobs[i];
  for (guint k = 0; k < allot->n_kinds; k++)
    gain[k] = orr_gang_allot_runs(allot, job, k) ? job->rates[k] * scale * (double)job->gpus : -1;
}

double orr_gang_allot_max_min(OrrGangAllot *allot, const double *scale) {
  const guint n = allot->n, kinds = allot->n_kinds;
  Classes classes = {.n_kinds = kinds,
                     .of = g_new(guint, n + 1),
                     .gain = g_new(double, (gsize)n *kinds + 1),
                     .gpus = g_new0(double, n + 1),
                     .a = g_new(const OrrGangJob *, n + 1)};
  for (guint i = 0; i < n; i++) {
    double gain[ORR_GANG_KINDS];
    gains_of(allot, i, scale[i], gain);
    classify(&classes, i, gain, allot->jobs[i]);
  }
  const OrrGangLp lp = {classes.n, kinds, classes.gain, classes.gpus, allot->capacity};
  g_autofree double *x = g_new(double, (gsize)classes.n *kinds + 1);
  const double least = orr_gang_lp_solve(&lp, x);
  for (guint i = 0; i < n; i++)
    memcpy(allot->x + (gsize)i * kinds, x + (gsize)classes.of[i] * kinds, sizeof(double) * kinds);
  ORR_FREE(classes.of, classes.gain, classes.gpus, classes.a);
  return least;
}

/* --- Whole kinds --- */

static guint choose(OrrGangAllot *allot, const OrrGangJob *job, const double *room,
                    gboolean is_fastest) {
  guint best = G_MAXUINT, n = 0;
  for (guint k = 0; k < allot->n_kinds; k++) {
    if (room[k] < (double)job->gpus || !(job->rates[k] > 0)) continue;
    n++;
    const gboolean takes = is_fastest ? best == G_MAXUINT || job->rates[k] > job->rates[best]
                                      : orr_random_below(allot->random, n) == 0;
    if (takes) best = k;
  }
  return best;
}

void orr_gang_allot_whole(OrrGangAllot *allot, gboolean is_fastest) {
  double room[ORR_GANG_KINDS];
  memcpy(room, allot->capacity, sizeof(double) * allot->n_kinds);
  if (is_fastest) memset(allot->x, 0, sizeof(double) * allot->n * allot->n_kinds);
  for (guint i = 0; i < allot->n; i++)
    for (guint k = 0; k < allot->n_kinds; k++)
      if (allot->x[i * allot->n_kinds + k] > 0) room[k] -= (double)allot->jobs[i]->gpus;
  for (guint i = 0; i < allot->n; i++) {
    double *own = allot->x + (gsize)i * allot->n_kinds;
    double sum = 0;
    for (guint k = 0; k < allot->n_kinds; k++) sum += own[k];
    if (sum > 0) continue;
    const guint kind = choose(allot, allot->jobs[i], room, is_fastest);
    if (kind == G_MAXUINT) return;
    own[kind] = 1;
    room[kind] -= (double)allot->jobs[i]->gpus;
  }
}
