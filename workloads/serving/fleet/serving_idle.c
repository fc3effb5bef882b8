/*
 * serving_idle.c - keys of a serving workload that change nothing beside its other keys and its
 * model: each is a warning. Keys of a stack are silent (sim/base/idle.h).
 */
#include "workloads/serving/fleet/fleet_private.h"

#include "sim/base/idle.h"

/* Whether an engine that has the workload's own settings is a pipeline. */
static gboolean has_stages(const OrrServing *params) {
  gboolean has = params->parallel.pp > 1;
  ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups)
    has = has || group->parallel.pp > 1;
  return has;
}

static void warn_engine(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  const OrrEngineParams *engine = &params->engine;
  const OrrCacheTiers *tiers = &engine->tiers;
  const gboolean has_stage = has_stages(params), is_kept = model->window.size > 0;
  const gboolean has_lora = engine->lora.adapters > 0, has_ssd = tiers->ssd_bytes > 0;
  const gboolean has_remote = tiers->remote_bytes > 0;
  static const char no_window[] = "the model has no layers with a window",
                    no_stage[] = "parallel.pp is 1", no_lora[] = "engine.lora.adapters is 0",
                    no_ssd[] = "engine.cache-tiers.ssd is 0",
                    no_remote[] = "engine.cache-tiers.remote is 0";
  const OrrIdleKey keys[] = {
      {"engine.window-room", !is_kept, no_window},
      {"engine.expert-kernels", model->moe.experts == 0, "the model has no experts"},
      {"engine.experts-at-once", model->moe.experts == 0, "the model has no experts"},
      {"engine.keep-workspaces", model->moe.experts == 0, "the model has no experts"},
      {"engine.stage-tensors", !has_stage, no_stage},
      {"engine.stage-slices", !has_stage, no_stage},
      {"engine.lora.max-loras", !has_lora, no_lora},
      {"engine.lora.skew", !has_lora, no_lora},
      {"engine.lora.shape", !has_lora, no_lora},
      {"engine.cross-bandwidth", model->cross.tokens == 0, "the model has no cross-attention"},
      {"engine.chunked-bandwidth", !is_kept || !model->window.chunked,
       "no layer of the model attends within chunks"},
      {"engine.host.sampling", params->sampling != ORR_SAMPLING_LIKELIEST,
       "sampling: all sorts no logits"},
      {"engine.cache-tiers.ssd-bandwidth", !has_ssd, no_ssd},
      {"engine.cache-tiers.ssd-latency", !has_ssd, no_ssd},
      {"engine.cache-tiers.ssd-write-bandwidth", !has_ssd, no_ssd},
      {"engine.cache-tiers.remote-bandwidth", !has_remote, no_remote},
      {"engine.cache-tiers.remote-latency", !has_remote, no_remote},
      {"engine.cache-tiers.prefetch-threshold", tiers->prefetch == ORR_PREFETCH_NONE,
       "engine.cache-tiers.prefetch reads nothing"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}

static void warn_fleet(const OrrServing *params, const OrrModel *model, OrrPlace place,
                       OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  const gboolean is_apart = params->disaggregation.prefill > 0;
  const gboolean scales = orr_serving_scales(params), encodes = params->encoders.replicas > 0;
  const gboolean searches = params->beams.width > 1;
  static const char no_prefill[] = "disaggregation.prefill is 0",
                    no_scaling[] = "autoscaling.by names no rule",
                    no_encoder[] = "encoders.replicas is 0", no_beam[] = "beam-search.width is 1";
  const OrrIdleKey keys[] = {
      {"parallel.all-to-all", model->moe.experts == 0, "the model has no experts"},
      {"parallel.all-to-all",
       model->moe.experts > 0 && parallel->dp_attention == 1 && parallel->feed.gpus == 0,
       "with parallel.dp-attention 1 every rank has all tokens, and none are exchanged"},
      {"parallel.two-batches", model->moe.experts == 0, "the model has no experts"},
      {"parallel.two-batches", model->moe.experts > 0 && parallel->dp_attention == 1,
       "with parallel.dp-attention 1 no tokens are exchanged"},
      {"disaggregation.transfer", !is_apart, no_prefill},
      {"disaggregation.least-prompt", !is_apart, no_prefill},
      {"disaggregation.most-waiting", !is_apart, no_prefill},
      {"disaggregation.overhead", !is_apart, no_prefill},
      {"autoscaling.least", !scales, no_scaling},
      {"autoscaling.interval", !scales, no_scaling},
      {"autoscaling.down-after", !scales, no_scaling},
      {"encoders.cache", !encodes, no_encoder},
      {"encoders.batch", !encodes, no_encoder},
      {"encoders.router", !encodes, no_encoder},
      {"encoders.overhead", !encodes, no_encoder},
      {"distinct-prefixes", params->shared_prefix == 0, "shared-prefix is 0"},
      {"beam-search.skew", !searches, no_beam},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}

void orr_serving_idle_warn(const OrrServing *params, const OrrModel *model, OrrPlace place,
                           OrrDiags *diags) {
  warn_engine(params, model, place, diags);
  warn_fleet(params, model, place, diags);
}
