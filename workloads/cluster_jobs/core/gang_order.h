/*
 * gang_order.h - the order in which waiting jobs are tried.
 *
 * An order is an entry. Its key says which job comes first: the lowest key, then the earlier
 * submission, then the lower number. A key may drift while a job waits, with its age or with what
 * its user has received. An order that preempts chooses at every event among all jobs, waiting and
 * running (gang_repack.c); a running job that loses its nodes goes back to the queue with the work
 * that it has left.
 *
 * To add one: write orders/NAME.c with a `const OrrGangOrder` and its line in meson.build;
 * tests/workloads/cluster_jobs/test_gang_sim.c walks all.
 */
#pragma once

#include "sim/base/field.h"
#include "workloads/cluster_jobs/gang_job.h"

/* GPU time that users have received, with a half-life: what fair share goes by.
 *
 * A tree of two levels, as Slurm's accounts and users: the trace's queues, and the users of each.
 * Usage decays; while g GPUs run it grows:
 *
 *   used(t + d) = used(t) 2^(-d/h) + g h / ln 2 (1 - 2^(-d/h))        h: half-life; without one
 *                                                                        used(t) + g d
 *
 * Fair tree (Slurm, since 19.05; Cox and Morrison 2014): among siblings the one that has used least
 * of its share comes first, and all users of a queue that precedes another come before the other's
 * users. Siblings have equal shares. The rank of a user is its place in that order; equal usage,
 * equal rank. */
typedef struct {
  const char *queue, *user; /* user NULL: the queue itself */
  guint parent;             /* of a user: its queue */
  double used;              /* GPU-microseconds at @at_us */
  gint64 at_us, gpus;       /* gpus: that run now */
  guint rank;               /* of a user: 0 is first */
} OrrGangAccount;

typedef struct {
  double half_life_us; /* 0: usage does not decay */
  GArray *all;         /* of OrrGangAccount: queues before the users that name them */
  GArray *users;       /* of guint: places in all, sorted by rank */
  guint n_ranks;
} OrrGangAccounts;

/* Makes an account for each user of @jobs and sets their `account`. */
void orr_gang_accounts_init(OrrGangAccounts *accounts, double half_life_us, GArray *jobs);
void orr_gang_accounts_clear(OrrGangAccounts *accounts);

/* @job starts (@sign +1) or stops (-1) at @now_us. */
void orr_gang_accounts_run(OrrGangAccounts *accounts, const OrrGangJob *job, gint64 now_us,
                           int sign);
/* Usage of account @i at @now_us, in GPU-microseconds. */
double orr_gang_accounts_used(const OrrGangAccounts *accounts, guint i, gint64 now_us);
/* Ranks all users as of @now_us. */
void orr_gang_accounts_rank(OrrGangAccounts *accounts, gint64 now_us);
/* Slurm's factor of fair tree: 1 for the first rank, falling to 1/n. */
double orr_gang_accounts_factor(const OrrGangAccounts *accounts, const OrrGangJob *job);

/* The inputs of a key. */
typedef struct {
  const void *params;              /* of the order */
  const OrrGangAccounts *accounts; /* ranked as of now; of an order with a half-life */
  gint64 now_us, n_gpus;           /* of the cluster */
  double most_priority;            /* of the trace */
} OrrGangQuestion;

typedef struct {
  OrrEntry entry;
  gboolean preempts, by_priority; /* by_priority: jobs of one priority run as with fifo */
  double (*key)(const OrrGangQuestion *question, const OrrGangJob *job); /* mandatory */
  /* Of usage, in seconds; 0: usage does not decay. Set: keys of waiting jobs drift, and the queue
   * is sorted again at every event; such an order does not preempt. */
  double (*half_life_s)(const void *params);
  /* When the key of a running job changes the order next; G_MAXINT64: never. NULL: never for any
   * job. */
  gint64 (*changes_us)(const void *params, const OrrGangJob *job, gint64 now_us);
  /* Set: jobs have turns in the queues (levels) that this names; a job that enters one joins its
   * end, and after each pass those that wait are moved behind those that run (gang_repack.c). */
  guint (*level)(const void *params, const OrrGangJob *job, gint64 now_us);
} OrrGangOrder;

/* Orders with queues by attained service (las.c): a job falls into the next queue when it has
 * received a threshold of GPU time. */
typedef struct {
  GArray *thresholds; /* of double: GPU-seconds */
} OrrGangThresholds;

#define ORR_GANG_ORDER_THRESHOLDS(fallback_)                                                       \
  ORR_FIELD_REALS(OrrGangThresholds, "thresholds", thresholds, ORR_UNIT_SECONDS, fallback_,        \
                  "GPU time (GPUs times run time) after which a job falls into the next queue, "   \
                  "in rising order.",                                                              \
                  .flags = ORR_FIELD_POSITIVE)

/* The `level` and `changes_us` of such an order. @params: OrrGangThresholds. */
guint orr_gang_order_level(const void *params, const OrrGangJob *job, gint64 now_us);
gint64 orr_gang_order_level_changes_us(const void *params, const OrrGangJob *job, gint64 now_us);

extern const OrrRegistry orr_gang_order_registry;
