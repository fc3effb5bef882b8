/*
 * gang_account.h - GPU time that users have received, with a half-life: what fair share goes by.
 *
 * A tree of two levels, as Slurm's accounts and users: the trace's queues, and the users of each.
 * Usage decays; while g GPUs run it grows:
 *
 *   used(t + d) = used(t) 2^(-d/h) + g h / ln 2 (1 - 2^(-d/h))        h: half-life; without one
 *                                                                        used(t) + g d
 *
 * Fair tree (Slurm, since 19.05; Cox and Morrison 2014): among siblings the one that has used least
 * of its share comes first, and all users of a queue that precedes another come before those of the
 * other. Siblings have equal shares. The rank of a user is its place in that order; equal usage,
 * equal rank.
 */
#ifndef ORR_GANG_ACCOUNT_H
#define ORR_GANG_ACCOUNT_H

#include "workloads/cluster_jobs/gang_job.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
