/*
 * refusals.c - options of a document that exclude each other: what the stations declare, and what
 * no station does: layers that keep a state. What vLLM refuses is refused in its words.
 */
#include "workloads/serving/fleet/refusals.h"

#include "workloads/serving/stations/exclusions.h"

#define D "%" G_GINT64_FORMAT

/* Layers that keep a state. What vLLM 0.19 refuses is refused in its words (config/vllm.py,
 * nixl_connector.py). */
static void check_states(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags) {
  const OrrEngineParams *engine = &params->engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  const OrrCacheTiers *tiers = &engine->tiers;
  const gboolean keeps = engine->prefix_caching != ORR_PREFIX_NONE;
  if (keeps && scheduler && scheduler->without_chunks)
    orr_diags_error(diags, place,
                    "engine.prefix-caching of model %s, whose layers keep a state: scheduler %s "
                    "computes prompts whole "
                    "(vLLM: \"Chunked prefill is required for mamba cache mode 'align'\")",
                    model->name, scheduler->entry.name);
  if (keeps && engine->block_size > engine->max_num_batched_tokens)
    orr_diags_error(diags, place,
                    "engine.block-size (" D
                    ") of model %s, whose layers keep a state (vLLM: \"In Mamba cache align "
                    "mode, block_size must be <= max_num_batched_tokens\", here " D ")",
                    engine->block_size, model->name, engine->max_num_batched_tokens);
  if (keeps && tiers->host_bytes + tiers->ssd_bytes + tiers->remote_bytes > 0)
    orr_diags_error(
        diags, place,
        "engine.cache-tiers of model %s: its layers keep a state, and states are kept in HBM alone",
        model->name);
}

static void check_images(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  if (params->encoders.replicas == 0 && params->distinct_images > 0)
    orr_diags_error(diags, place,
                    "distinct-images (" D ") without encoders: engines encode what they see; give "
                    "encoders.replicas",
                    params->distinct_images);
}

void orr_refusals_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  orr_exclusions_check(params, model, place, diags);
  check_images(params, place, diags);
  if (orr_inference_state_bytes(model, &shard, 0, model->layers) > 0)
    check_states(params, model, place, diags);
}
