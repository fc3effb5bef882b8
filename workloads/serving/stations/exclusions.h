/*
 * exclusions.h - the options of a serving document that stations exclude.
 */
#pragma once

#include "workloads/serving/stations/station.h"

/* Whether a document has the option; see OrrStationExclusion. */
gboolean orr_exclusions_samples(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_speculation(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_disaggregation(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_disaggregation_and_queue(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_encoders_and_disaggregation(const OrrServing *params,
                                                    const OrrModel *model);
gboolean orr_exclusions_pushed_and_queue(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_latent_or_state(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_cached_state(const OrrServing *params, const OrrModel *model);
gboolean orr_exclusions_groups_with_state(const OrrServing *params, const OrrModel *model);

/* An error for every exclusion that the document breaks. */
void orr_exclusions_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                          OrrDiags *diags);
