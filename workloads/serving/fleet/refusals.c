/*
 * refusals.c - what engines refuse together: adapters, several outputs, beams, states. What
 * vLLM refuses is refused with its words.
 */
#include "workloads/serving/fleet/refusals.h"

#define D "%" G_GINT64_FORMAT

static void check_lora(const OrrServing *params, const OrrModel *model, OrrPlace place,
                       OrrDiags *diags) {
  const OrrServingLora *lora = &params->engine.lora;
  if (lora->adapters == 0) return;
  const OrrLora settled = orr_lora_settle(&lora->shape, place, diags);
  if (settled.rank == 0)
    orr_diags_error(diags, place, "engine.lora: " D " adapters of rank 0: give shape.rank",
                    lora->adapters);
  if (settled.quantised)
    orr_diags_error(diags, place, "engine.lora: shape.quantised is of training: use quantization");
  if (model->mla.kv_rank > 0 || model->mamba.heads > 0 || model->linear.key_heads > 0)
    orr_diags_error(diags, place,
                    "engine.lora: adapters beside latent attention or layers with a state (model "
                    "%s) are not known yet",
                    model->name);
}

static void check_samples(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  if (params->samples > params->engine.max_num_seqs)
    orr_diags_error(diags, place,
                    "samples (" D ") of a prompt are above engine.max-num-seqs (" D ")",
                    params->samples, params->engine.max_num_seqs);
  if (params->samples > 1 && params->disaggregation.prefill > 0 && params->admission.queue >= 0)
    orr_diags_error(
        diags, place,
        "samples (" D
        ") with disaggregation and admission.queue exclude each other: outputs come one by "
        "one, and some of a prompt's could be rejected",
        params->samples);
}

static void check_engine_beams(const OrrServing *params, const OrrModel *model, OrrPlace place,
                               OrrDiags *diags) {
  const OrrScheduler *scheduler = (const OrrScheduler *)params->engine.scheduler.entry;
  const OrrInferenceShard shard = orr_serving_shard(params);
  if (params->engine.prefix_caching != ORR_PREFIX_NONE)
    orr_diags_error(
        diags, place,
        "beam-search.by engine and engine.prefix-caching exclude each other: forks share blocks by "
        "themselves; use none, or by: front-end");
  if (scheduler && scheduler->reserves)
    orr_diags_error(diags, place,
                    "beam-search.by engine and engine.scheduler %s exclude each other: it takes "
                    "room for outputs when "
                    "requests begin, and how many blocks beams share is not known then",
                    scheduler->entry.name);
  if (orr_inference_state_bytes(model, &shard, 0, model->layers) +
          orr_inference_window_bytes(model, &shard, 0, model->layers) >
      0)
    orr_diags_error(diags, place,
                    "beam-search.by engine: model %s has layers with a state or a window, whose "
                    "blocks are not shared "
                    "by forks: use by: front-end",
                    model->name);
}

static void check_beams(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  const OrrBeamSearch *beams = &params->beams;
  if (beams->width == 1) return;
  if (beams->width > params->engine.max_num_seqs)
    orr_diags_error(diags, place, "beam-search.width (" D ") is above engine.max-num-seqs (" D ")",
                    beams->width, params->engine.max_num_seqs);
  if (2 * beams->width > model->vocab)
    orr_diags_error(diags, place,
                    "beam-search.width (" D
                    "): twice as many candidates are above the vocabulary (" D ")",
                    beams->width, model->vocab);
  if (params->samples > 1)
    orr_diags_error(diags, place,
                    "beam-search.width (" D ") and samples (" D ") exclude each other",
                    beams->width, params->samples);
  if (orr_speculation_of(&params->engine.speculation).tokens > 0)
    orr_diags_error(diags, place,
                    "beam-search and engine.speculation exclude each other, as in vLLM: use none");
  if (params->disaggregation.prefill > 0)
    orr_diags_error(diags, place,
                    "beam-search and disaggregation exclude each other: each step of a search is "
                    "prompts of one output "
                    "token, which are never handed over to a decoder");
  if (beams->by == ORR_BEAMS_ENGINE) check_engine_beams(params, model, place, diags);
}

/* Layers that keep a state. What vLLM 0.19 refuses is refused in its words (config/vllm.py,
 * nixl_connector.py). */
static void check_states(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags) {
  const OrrEngineParams *engine = &params->engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  const OrrCacheTiers *tiers = &engine->tiers;
  const gboolean keeps = engine->prefix_caching != ORR_PREFIX_NONE,
                 is_apart = params->disaggregation.prefill > 0;
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
  if (is_apart && keeps)
    orr_diags_error(diags, place,
                    "disaggregation of model %s, whose layers keep a state, with prefix-caching "
                    "(vLLM's NixlConnector: "
                    "\"SSM can only have one local block\"): use none",
                    model->name);
  if (is_apart && params->groups)
    orr_diags_error(
        diags, place,
        "disaggregation of model %s, whose layers keep a state, with groups (vLLM's NixlConnector: "
        "\"Hybrid SSM (Mamba) models require homogeneous TP\")",
        model->name);
}

static void check_encoders(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrEncoderPool *encoders = &params->encoders;
  const OrrRouter *router = (const OrrRouter *)encoders->router.entry;
  if (encoders->replicas == 0 && params->distinct_images > 0)
    orr_diags_error(diags, place,
                    "distinct-images (" D ") without encoders: engines encode what they see; give "
                    "encoders.replicas",
                    params->distinct_images);
  if (encoders->replicas == 0) return;
  if (params->images == 0)
    orr_diags_error(diags, place, "encoders (" D ") have nothing to encode: give images",
                    encoders->replicas);
  if (router && router->on_block)
    orr_diags_error(diags, place,
                    "encoders.router %s goes by what caches of keys hold, and encoders have none: "
                    "use session-affinity, "
                    "which keeps an image where it was",
                    router->entry.name);
  if (params->samples > 1 && params->disaggregation.prefill > 0)
    orr_diags_error(
        diags, place,
        "samples (" D
        ") with encoders and disaggregation exclude each other: the outputs of a prompt are "
        "requests of their own, and its images are encoded once",
        params->samples);
}

void orr_refusals_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  check_lora(params, model, place, diags);
  check_samples(params, place, diags);
  check_beams(params, model, place, diags);
  check_encoders(params, place, diags);
  if (orr_inference_state_bytes(model, &shard, 0, model->layers) > 0)
    check_states(params, model, place, diags);
}
