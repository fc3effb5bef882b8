/*
 * gang_queue.h - the queues of a cluster as a tree: quotas, what may be borrowed and lent, fair
 * shares.
 *
 *   root (the cluster)
 *   +-- research   quota 60, borrow 20
 *   |   +-- vision   quota 40
 *   |   +-- speech   quota 20
 *   +-- product    quota 40, lend 10
 *
 * Quotas (Kueue's cohorts). A queue holds back from its siblings what it may not lend; all else of
 * its quota and of its children's lies in the common pool of its parent:
 *
 *   kept(q)      = max(0, subtree(q) - lend(q)), 0 without a limit
 *   subtree(q)   = quota(q) + sum over children c of (subtree(c) - kept(c))
 *   available(q) = max(0, kept - used)
 *                  + min(available(parent), subtree - kept - max(0, used - kept) + borrow)
 *
 * A queue uses its own share first: `used` of a parent counts only what children take beyond what
 * they keep. The root's quota is what the cluster has and its children have not claimed.
 *
 * Fair shares (KAI; water-filling). Each queue first gets its quota, or what it asks for if that is
 * less. The rest goes to queues that ask for more, the highest priority first, by weight:
 *
 *   share = min(asked, quota + weight x level)      with one level at which all is given away
 *
 * Quotas are in GPUs of all kinds together, and also in GPUs of single kinds: slot 0 holds the
 * former, slot k + 1 the GPUs of kind k.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/field.h"
#include "workloads/cluster_jobs/gang_job.h"

enum { ORR_GANG_SLOTS = ORR_GANG_KINDS + 1 };
#define ORR_GANG_UNLIMITED (G_MAXINT64 / 8)

/* GPUs that a queue below its quota may take from other queues. */
typedef enum {
  ORR_RECLAIM_POLICY, /* as the policy says */
  ORR_RECLAIM_NEVER,
  ORR_RECLAIM_LOWER_PRIORITY,  /* jobs of lower priority, of queues above their quota */
  ORR_RECLAIM_OVER_QUOTA,      /* any job of queues above their quota */
  ORR_RECLAIM_OVER_FAIR_SHARE, /* any job of queues above their fair share */
  ORR_RECLAIM_FAIR_SHARING     /* any job of queues that borrow more, for their weight (Kueue) */
} OrrReclaim;
extern const char *const orr_reclaim_words[]; /* "policy", "never", ..., NULL */

/* A limit in GPUs, of all kinds or of one: -1 means without limit. */
typedef struct {
  char *kind; /* "": all */
  gint64 quota, borrow, lend;
} OrrGangQuota;

/* A queue as a document has it. */
typedef struct {
  char *name, *parent; /* parent "": the root */
  gint64 quota, borrow, lend;
  GPtrArray *by_kind; /* of OrrGangQuota */
  double weight, min_run_s;
  gint64 priority;
  int reclaim; /* OrrReclaim */
} OrrGangQueueParams;

extern const OrrFieldTable orr_gang_queue_table;

typedef struct {
  gint64 quota, borrow, lend;
  gint64 subtree, kept, used;
} OrrGangSlot;

typedef struct {
  const OrrGangQueueParams *params; /* NULL: the root */
  int parent;                       /* -1: the root */
  gboolean is_leaf;
  OrrGangSlot slots[ORR_GANG_SLOTS];
  gint64 held, asked; /* GPUs that its jobs have; these and those that they wait for */
  double share;       /* its fair share of GPUs, as of orr_gang_queues_share */
  double dominant;    /* the largest fraction of a resource that its jobs have */
  double resources[ORR_GANG_RESOURCES];
} OrrGangQueue;

typedef struct {
  guint n, n_kinds; /* queues, the root being 0 */
  OrrGangQueue *all;
  double capacity[ORR_GANG_RESOURCES];
} OrrGangQueues;

/* Findings about names, parents, cycles and kinds (@kinds NULL: not known). */
void orr_gang_queues_check(const GPtrArray *params, const char *const *kinds, OrrPlace place,
                           OrrDiags *diags);

/* @params (of OrrGangQueueParams; borrowed) has passed the check; NULL or empty: the root only.
 * @kind_gpus: GPUs by kind. */
void orr_gang_queues_init(OrrGangQueues *queues, const GPtrArray *params, const char *const *kinds,
                          const gint64 *kind_gpus, guint n_kinds);
void orr_gang_queues_clear(OrrGangQueues *queues);
/* @queues is zero, or a copy of the same tree. */
void orr_gang_queues_copy(OrrGangQueues *queues, const OrrGangQueues *from);

/* The queue called @name; without one the queue `default`; -1: neither. The root where there are no
 * queues. */
int orr_gang_queues_find(const OrrGangQueues *queues, const char *name);

/* GPUs of slot @slot that queue @i may still take, by borrowing or (@borrows FALSE) without. */
gint64 orr_gang_queues_available(const OrrGangQueues *queues, guint i, guint slot,
                                 gboolean borrows);
/* Whether @gpus of @kind fit the limits of queue @i. */
gboolean orr_gang_queues_admit(const OrrGangQueues *queues, guint i, guint kind, gint64 gpus,
                               gboolean borrows);
/* Queue @i takes (@sign 1) or returns (-1) the GPUs and resources of @job on its kind. */
void orr_gang_queues_run(OrrGangQueues *queues, guint i, const OrrGangJob *job, int sign);
/* Whether queue @i or one above it, below the ancestor that it shares with @other, uses more than
 * its quota: then @other may reclaim from it. */
gboolean orr_gang_queues_borrows(const OrrGangQueues *queues, guint i, guint other);
/* The same with fair shares, @gpus less. */
gboolean orr_gang_queues_is_over_share(const OrrGangQueues *queues, guint i, guint other);
/* GPUs beyond its quota over its weight, of queue @i or of the highest queue above it that is not
 * above @other, if it had @more: what Kueue's fair sharing compares. */
double orr_gang_queues_excess(const OrrGangQueues *queues, guint i, guint other, gint64 more);
/* Fills `share` of all queues from `held` and `asked`. */
void orr_gang_queues_share(OrrGangQueues *queues);

/* One level of water-filling. */
typedef struct {
  double quota, asked, weight;
  gint64 priority;
  double share; /* result */
} OrrGangFill;
void orr_gang_fill_shares(OrrGangFill *fills, guint n, double capacity);
