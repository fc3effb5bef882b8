/*
 * gang_pass.h - the passes over the queue of waiting jobs.
 *
 * A pass is an entry. It applies where the policy has one of its features, and excludes features
 * whose promise it could not keep: a document that has both is refused with the entry's words, so
 * what is not refused goes together. Of the passes that place jobs the first in the array applies;
 * after it runs the one that backfills, if any.
 *
 *   rounds -> elastic -> repack -> conservative -> queues -> strict     the first that applies
 *   easy, window                                                        then backfill
 *
 * To add one: write passes/gang_NAME.c with a `const OrrGangPass` and add it to the array in
 * gang_pass.c and to meson.build; a refusal is a line in tests/jobs/refusals.sh.
 */
#pragma once

#include "workloads/cluster_jobs/preempt/gang_preempt.h"

/* Features of a policy, and of its cluster. */
typedef enum {
  ORR_WITH_ANY = 1 << 0, /* all have it */
  ORR_WITH_SKIP = 1 << 1,
  ORR_WITH_EASY = 1 << 2,
  ORR_WITH_CONSERVATIVE = 1 << 3,
  ORR_WITH_WINDOW = 1 << 4,
  ORR_WITH_PREEMPTS = 1 << 5, /* the order does */
  ORR_WITH_QUEUES = 1 << 6,
  ORR_WITH_BETWEEN = 1 << 7, /* queues go by their shares */
  ORR_WITH_TAKE = 1 << 8,    /* from jobs of the same queue */
  ORR_WITH_VICTIMS = 1 << 9, /* from these, or from other queues */
  ORR_WITH_CONSOLIDATE = 1 << 10,
  ORR_WITH_ELASTIC = 1 << 11,
  ORR_WITH_ROUNDS = 1 << 12,
  ORR_WITH_CHECKPOINT_COST = 1 << 13,
  ORR_WITH_CHARGE_EVENTS = 1 << 14,
  ORR_WITH_COUNT = 1 << 15, /* placement count */
  ORR_WITH_NEAREST = 1 << 16,
  ORR_WITH_RESOURCES = 1 << 17, /* CPUs or memory are counted */
  ORR_WITH_KINDS = 1 << 18,
  ORR_WITH_MANY_KINDS = 1 << 19,
  ORR_WITH_OWN_NODES = 1 << 20, /* kinds with other nodes than the cluster */
  ORR_WITH_SPEED = 1 << 21,     /* by the place */
  ORR_WITH_FAILS = 1 << 22,
  ORR_WITH_ORDERED = 1 << 23,  /* not the default order, placement, or way through the queue */
  ORR_WITH_STOPPED = 1 << 24,  /* the preempted lose work, or go on otherwise than by a restart */
  ORR_WITH_REPLACED = 1 << 25, /* a failed node is replaced, and gangs need certain nodes */
  ORR_WITH_SHRUNK = 1 << 26,   /* a gang goes on without a failed node, and needs all */
  ORR_WITH_FILLS = ORR_WITH_EASY | ORR_WITH_CONSERVATIVE | ORR_WITH_WINDOW
} OrrGangFeature;

/* An incompatibility with a feature, and the reason. */
typedef struct {
  guint with;
  const char *why; /* after the key; NULL: the end of a list */
} OrrGangExclude;

typedef struct {
  const char *key;      /* of the document, for findings */
  gboolean names_order; /* findings add the order's name to it */
  guint applies;        /* where the policy has one of these features */
  gboolean fills;       /* it comes after the pass that places jobs */
  const OrrGangExclude *excludes;
  void (*run)(OrrGangSim *sim);
  /* Optional: a job has joined the queue; a job has ended, and still has its shares. */
  void (*queued)(OrrGangSim *sim, OrrGangJob *job);
  void (*ended)(OrrGangSim *sim, const OrrGangJob *job);
  /* Optional: when it is to run though nothing happens; G_MAXINT64: never. */
  gint64 (*due_us)(const OrrGangSim *sim);
  /* Instead of all the above: a simulation of its own. */
  void (*simulate)(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals);
} OrrGangPass;

extern const OrrGangPass *const orr_gang_passes[]; /* NULL-terminated */

/* The features of @rules: its policy's. */
guint orr_gang_pass_features(const OrrGangRules *rules);
/* The passes of @rules in their order, then NULL. */
enum { ORR_GANG_PASSES_AT_ONCE = 3 };
void orr_gang_pass_select(const OrrGangRules *rules,
                          const OrrGangPass *ret_passes[ORR_GANG_PASSES_AT_ONCE]);

/* Words that several passes share. */
extern const char orr_gang_pass_no_skip[], orr_gang_pass_one_kind[], orr_gang_pass_no_victims[],
    orr_gang_pass_by_order[], orr_gang_pass_no_resources[];

/* The next multiple of @period_us where something is due; G_MAXINT64: nothing is. */
gint64 orr_gang_pass_multiple_us(gint64 now_us, gint64 period_us, gboolean is_due);

/* --- gang_plan.c: which GPUs are free when --- */

typedef struct OrrGangPlan OrrGangPlan;

/* GPUs that are free from some time on, later than now. */
typedef struct {
  gint64 at_us;
  const GArray *shares;
} OrrGangFreed;

/* Nothing but free GPUs, for ever. */
OrrGangPlan *orr_gang_plan_new(const OrrGangSim *sim);
void orr_gang_plan_free(OrrGangPlan *plan);
/* Begins a plan with what is free now and what is freed later (@freed, of OrrGangFreed, which is
 * sorted). */
void orr_gang_plan_begin(OrrGangPlan *plan, const OrrGangSim *sim, GArray *freed);
/* Takes (@sign -1) or returns (+1) @shares from @from_us to @to_us. */
void orr_gang_plan_change(OrrGangPlan *plan, const GArray *shares, gint64 from_us, gint64 to_us,
                          int sign);
/* The first time until @until_us, the same for all jobs of a plan, at which @job fits for
 * @length_us; sets sim->shares to the place. G_MAXINT64: there is none. Nothing may be returned to
 * the plan after the first search. */
gint64 orr_gang_plan_find(OrrGangPlan *plan, OrrGangSim *sim, const OrrGangJob *job,
                          gint64 length_us, gint64 until_us);
/* The same from now on, of a plan that may be returned to. */
gint64 orr_gang_plan_find_from_now(OrrGangPlan *plan, OrrGangSim *sim, const OrrGangJob *job,
                                   gint64 length_us);
/* FALSE: @job does not fit now for @length_us, nor once more is planned. TRUE decides nothing. */
gboolean orr_gang_plan_fits_now(OrrGangPlan *plan, const OrrGangSim *sim, const OrrGangJob *job,
                                gint64 length_us);
/* Forgets what was before now. */
void orr_gang_plan_forget(OrrGangPlan *plan, const OrrGangSim *sim);
