/*
 * sweep_prune.h - points that need no simulation, because a bound already shows that they are worse
 * than what was found (`sweep.prune`).
 *
 *   best     prunes a point when ten points are better by the first objective than its bound
 *   front    ... and another point is at least as good as its bound in every objective, and better
 *            in one
 *
 * A worker computes the bound: what the point's workload takes at least (OrrWorkloadKind.outline),
 * as a result, and the objectives of that. Objectives must become worse when a step takes longer,
 * or not depend on its time (orr_sweep_prune_check), so no simulation of the point can do better.
 * Hence a pruned sweep reports the same ten best points as a whole one, and with `front` the same
 * Pareto front, while the bounds hold.
 *
 * The points with the best bounds are simulated first. Whether a point is pruned is decided by the
 * answers of all points chosen before it but the last ORR_PRUNE_WINDOW, and by no others, even
 * where they are known already: so the rows do not depend on the number of workers.
 */
#pragma once

#include "sim/sweep/sweep_plan.h"
#include "sim/sweep/sweep_point.h"

/* Adds an error at the key `prune` of @sweep for each part of the plan that cannot be bounded. */
void orr_sweep_prune_check(const OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags);

typedef struct OrrSweepPrune OrrSweepPrune;

/* NULL: the plan prunes nothing. */
OrrSweepPrune *orr_sweep_prune_new(const OrrSweepPlan *plan);
void orr_sweep_prune_free(OrrSweepPrune *prune);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepPrune, orr_sweep_prune_free)

/* How many points are simulated at the same time at most. */
#define ORR_PRUNE_WINDOW 16u

/* Takes the answer of a point that an earlier run simulated. */
void orr_sweep_prune_recall(OrrSweepPrune *prune, const OrrSweepAnswer *answer);
/* Takes the bound of a point (OrrSweepAnswer.is_bound). All bounds, before anything is chosen. */
void orr_sweep_prune_add(OrrSweepPrune *prune, const OrrSweepAnswer *bound);
/* Takes the answer of a point that was chosen. */
void orr_sweep_prune_take(OrrSweepPrune *prune, const OrrSweepAnswer *answer);

/* Chooses points as far as answers allow: call it until it is FALSE. TRUE: *@ret_answer is a point
 * that was pruned on the way. */
gboolean orr_sweep_prune_choose(OrrSweepPrune *prune, OrrSweepAnswer *ret_answer);

/* The next chosen point; FALSE: all of them were taken. */
gboolean orr_sweep_prune_next(OrrSweepPrune *prune, OrrSweepTask *ret_task);
