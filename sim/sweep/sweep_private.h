/*
 * sweep_private.h - the parts of a sweep: its plan's axes, rules and checks, the order of its
 * points, the processes that simulate them, and its bands.
 */
#pragma once

#include "sim/sweep/sweep_plan.h"
#include "sim/sweep/sweep_variant.h"
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_point.h"

/* The axes of a plan, from `axes:` and `space:`. */

/* Adds the axes of the plan's section. plan->names must hold the facts. Errors go to @diags. */
void orr_sweep_plan_axes_add(OrrSweepPlan *plan, OrrDiags *diags);

/* Opens dp in the base scenario when @sweep, the section, varies tp, pp or cp but not dp. FALSE
 * with errors in @diags or @error. */
gboolean orr_sweep_plan_axes_open_dp(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags,
                                     GError **error);

/* The constraints and objectives of a plan. */

/* Adds the rules of the plan's section, or the default objective. plan->names must be complete;
 * @sweep is the section. Errors go to @diags. */
void orr_sweep_plan_rules_add(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags);

void orr_sweep_plan_rules_free(OrrSweepRule *rule);

/* Refuses expressions that use a result which is not known until the document gives
 * prices or a power, and names that results once had. */

/* Adds an error to @diags for each such result in @expression; the error names the path to set. */
void orr_sweep_needs_check(const OrrSweepPlan *plan, const OrrExpression *expression,
                           OrrPlace place, OrrDiags *diags);

/* TRUE, and an error with the new name, if the text of an expression uses an old one. */
gboolean orr_sweep_needs_refuse_moved(const char *text, OrrPlace place, OrrDiags *diags);

/* The points in order; the other combinations are counted by reason. */

typedef struct OrrSweepStream OrrSweepStream;

OrrSweepStream *orr_sweep_stream_new(const OrrSweepPlan *plan, OrrSweepVariants *variants);
void orr_sweep_stream_free(OrrSweepStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepStream, orr_sweep_stream_free)

/* The next point's combination; FALSE at the end. */
gboolean orr_sweep_stream_next(OrrSweepStream *stream, guint64 *ret_combination);

/* The combinations excluded so far: reasons (sweep_reasons.h), most frequent first. Newly
 * allocated. */
GArray *orr_sweep_stream_excluded(const OrrSweepStream *stream);

/* Worker processes that simulate points.
 *
 * A worker is forked once and simulates one point after another. It gets its next points before it
 * finishes the current one, so that it never waits; but no more than 0.05 s of work, so that all
 * workers end at about the same time. A worker that dies loses at most one point. */

typedef struct {
  guint jobs; /* worker processes */
  double timeout_s;
  /* The next point; FALSE: none, or none until the points under way are answered. */
  gboolean (*next)(OrrSweepTask *ret_task, void *user);
  /* Takes an answer; FALSE with @error stops the pool at once. */
  gboolean (*answer)(const OrrSweepAnswer *answer, void *user, GError **error);
  /* Called a few times per second; FALSE with @error stops the pool at once. */
  gboolean (*tick)(void *user, GError **error);
  /* 1: give out no more points; above 1: stop at once. May be NULL. */
  const volatile gint *interrupted;
  /* For tests: called in the worker before each point. May be NULL. */
  void (*before)(const OrrSweepTask *task, void *user);
  void *user;
} OrrSweepCrew;

/* Simulates the points that crew->next returns, until there are no more. */
gboolean orr_sweep_pool_run(const OrrSweepPlan *plan, OrrSweepVariants *variants,
                            const OrrSweepCrew *crew, GError **error);

/* Error bands (sim/bands/band.h) of the points that a sweep's report shows, and
 * which of the best points are statistically tied with the best one.
 *
 * An objective has a band where it is in proportion to one result that has one, or to its inverse:
 * `tokens_per_s / n_gpus`, `cost_per_million_tokens`. The band of the ratio of two points decides
 * which is better, since errors that both share cancel in it: they are statistically tied where it
 * holds 1.
 * All of it is computed after the last point; what the inner loop does for it is in
 * sweep_likeness.h. */

/* Fills the bands of the points of the report. @store: has the likenesses of points that earlier
 * runs or other processes simulated; may be NULL. Where the file of residuals cannot be
 * read, there are no bands, and the report's band_note says why. */
gboolean orr_sweep_bands_fill(OrrSweepReport *report, const OrrSweepPlan *plan, OrrStore *store,
                              GError **error);

/* Fills the report's caveats, from each point that it shows. */
void orr_sweep_bands_caveats(OrrSweepReport *report, const OrrSweepPlan *plan,
                             OrrSweepVariants *variants);

/* Within a batch: removes the likenesses of points that the report does not show; and replaces the
 * sweep's rows `sweep_band` and `warning`. */
gboolean orr_sweep_bands_tidy(const OrrSweepReport *report, OrrStore *store, GError **error);
gboolean orr_sweep_bands_store(const OrrSweepReport *report, OrrStore *store, GError **error);
