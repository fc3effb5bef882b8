/*
 * exclusions.c - refuses a document that switches on a station and an option that it excludes.
 *
 * The matrix of refusals is what the stations declare: a new station brings its own.
 */
#include "workloads/serving/stations/exclusions.h"

static gboolean has_state(const OrrServing *params, const OrrModel *model) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  return orr_inference_state_bytes(model, &shard, 0, model->layers) > 0;
}

gboolean orr_exclusions_samples(const OrrServing *params, const OrrModel *model) {
  return params->samples > 1;
}

gboolean orr_exclusions_speculation(const OrrServing *params, const OrrModel *model) {
  return orr_speculation_of(&params->engine.speculation).tokens > 0;
}

gboolean orr_exclusions_disaggregation(const OrrServing *params, const OrrModel *model) {
  return params->disaggregation.prefill > 0;
}

gboolean orr_exclusions_disaggregation_and_queue(const OrrServing *params, const OrrModel *model) {
  return params->disaggregation.prefill > 0 && params->admission.queue >= 0;
}

gboolean orr_exclusions_encoders_and_disaggregation(const OrrServing *params,
                                                    const OrrModel *model) {
  return params->encoders.replicas > 0 && params->disaggregation.prefill > 0;
}

gboolean orr_exclusions_pushed_and_queue(const OrrServing *params, const OrrModel *model) {
  return params->disaggregation.transfer == ORR_TRANSFER_PER_LAYER && params->admission.queue >= 0;
}

gboolean orr_exclusions_latent_or_state(const OrrServing *params, const OrrModel *model) {
  return model->mla.kv_rank > 0 || model->mamba.heads > 0 || model->linear.key_heads > 0;
}

gboolean orr_exclusions_cached_state(const OrrServing *params, const OrrModel *model) {
  return params->engine.prefix_caching != ORR_PREFIX_NONE && has_state(params, model);
}

gboolean orr_exclusions_groups_with_state(const OrrServing *params, const OrrModel *model) {
  return params->groups && has_state(params, model);
}

static void check_station(const OrrStation *station, const OrrServing *params,
                          const OrrModel *model, OrrPlace place, OrrDiags *diags) {
  for (const OrrStationExclusion *one = station->excludes; one && one->option; one++)
    if (one->is_on(params, model))
      orr_diags_error(diags, place, "%s and %s exclude each other: %s", station->section,
                      one->option, one->because);
  if (station->check) station->check(params, model, place, diags);
}

void orr_exclusions_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                          OrrDiags *diags) {
  for (guint i = 0; orr_station_all[i]; i++) {
    const OrrStation *station = orr_station_all[i];
    if (!station->is_on || station->is_on(params))
      check_station(station, params, model, place, diags);
  }
}
