/*
 * gang_allot.h - which fraction of time each job should have each kind of GPU: what a scheduler in
 * rounds goes by (gang_rounds.c).
 *
 * An allotment is an entry. It fills fractions for all live jobs; the rounds then give each kind to
 * the jobs that have had least of their fraction. To add one: write allotments/NAME.c with a `const
 * OrrGangAllotment` and its line in meson.build; tests/workloads/cluster_jobs/test_gang_rounds.c
 * walks all.
 */
#pragma once

#include "sim/base/random.h"
#include "workloads/cluster_jobs/core/gang_rules.h"

/* A job that has ended since fractions were last computed, and the kind that it had most of. */
typedef struct {
  const OrrGangJob *job;
  guint kind;
} OrrGangLeft;

typedef struct {
  guint n, n_kinds;
  OrrGangJob **jobs;      /* live ones, by submission */
  const double *capacity; /* GPUs by kind */
  gint64 now_us;
  OrrRandom *random;
  OrrMersenne *mersenne;    /* of the same seed, as simulators in Python have it */
  const OrrGangKind *kinds; /* their names */
  const OrrGangLeft *left;  /* by submission */
  guint n_left;
  double *x; /* n x n_kinds: in the result of the last time for old jobs, 0 for new ones */
} OrrGangAllot;

typedef struct OrrGangAllotment {
  OrrEntry entry;
  gboolean waits;    /* a job has no GPUs beyond its fraction; FALSE: idle ones go to anybody */
  gboolean is_blind; /* it does not know which kind is fast, so kinds come in random order */
  void (*fill)(OrrGangAllot *allot); /* mandatory */
} OrrGangAllotment;

extern const OrrRegistry orr_gang_allotment_registry;

/* --- shared by allotments --- */

/* Max-min of gain(m, k) = @scale[m] x rate x GPUs: jobs of equal gains and GPUs are one class
 * (orr_gang_lp_solve). Returns the least of all gains. */
double orr_gang_allot_max_min(OrrGangAllot *allot, const double *scale);
/* Time @time[m] of each job, of all kinds on which it can run, in proportion to their GPUs: what a
 * scheduler gives that does not see kinds. */
void orr_gang_allot_spread(OrrGangAllot *allot, const double *time);
/* Max-min fair time, whatever the kind (allotments/allot_max_min_blind.c); the first only says how
 * much of its time each job has. */
void orr_gang_allot_blind_times(const OrrGangAllot *allot, double *ret_time);
void orr_gang_allot_blind(OrrGangAllot *allot);
/* Whether @job can run on @kind: it has a speed there, and the kind has GPUs enough. */
gboolean orr_gang_allot_runs(const OrrGangAllot *allot, const OrrGangJob *job, guint kind);
double orr_gang_allot_gpus(const OrrGangAllot *allot); /* of all kinds */
/* In order, whole kinds: jobs keep what they have; the next one gets a kind with room, chosen at
 * random, or (@is_fastest) the fastest. Stops at the first that fits nowhere. */
void orr_gang_allot_whole(OrrGangAllot *allot, gboolean is_fastest);
/* The run time on its first kind that is left of @job, as a scheduler sees it: at its present
 * speed, whatever is to come. */
double orr_gang_allot_left_us(const OrrGangJob *job);
/* What a job would get if everybody had an equal part of every kind: the rate times the time. */
double orr_gang_allot_equal(const OrrGangAllot *allot, const OrrGangJob *job);

/* The linear program of shares of time on several kinds of GPUs, solved by the simplex
 * method on a dense tableau.
 *
 *   maximize t   where   sum over k of gain(m, k) x(m, k) >= t        for every class m of jobs
 *                        sum over k of x(m, k) <= 1
 *                        sum over m of gpus(m) x(m, k) <= capacity(k)  for every kind k
 *
 * Then, with t kept, the sum of all gains is maximized, so that no capacity is left idle which
 * somebody could use. x(m, k) is the fraction of time that each job of class m has kind k. */
typedef struct {
  guint n, n_kinds;       /* classes; kinds */
  const double *gain;     /* n x n_kinds */
  const double *gpus;     /* of all jobs of a class together */
  const double *capacity; /* by kind */
} OrrGangLp;

/* Fills @x (n x n_kinds) and returns t. */
double orr_gang_lp_solve(const OrrGangLp *lp, double *x);

/* The assignment of rows to columns of the least total cost: @cost is @n x @m, @n <= @m, finite.
 * Sets the column of each row, no column twice. */
void orr_gang_matching_solve(guint n, guint m, const double *cost, guint *ret_column);
