/*
 * sweep_bands.h - error bands (sim/bands/band.h) of the points that a sweep's report shows, and
 * which of the best points are statistically tied with the best one.
 *
 * An objective has a band where it is in proportion to one result that has one, or to its inverse:
 * `tokens_per_s / n_gpus`, `cost_per_million_tokens`. The band of the ratio of two points decides
 * which is better, since errors that both share cancel in it: they are statistically tied where it
 * holds 1.
 * All of it is computed after the last point; what the inner loop does for it is in
 * sweep_likeness.h.
 */
#ifndef ORR_SWEEP_BANDS_H
#define ORR_SWEEP_BANDS_H

#include "sim/sweep/sweep_plan.h"
#include "sim/sweep/sweep_variant.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
