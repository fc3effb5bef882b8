/*
 * refusals.c - options of a document that exclude each other: what the stations declare, and what
 * no station does: layers that keep a state, formats of experts alone without experts. What vLLM
 * refuses is refused in its words. And caches that the hosts' memory does not hold.
 */
#include "workloads/serving/fleet/fleet_private.h"

#include "sim/base/idle.h"
#include "workloads/expert_loads/expert_load.h"
#include "workloads/serving/stations/exclusions.h"

/* Layers that keep a state. What vLLM 0.19 refuses is refused in its words (config/vllm.py,
 * nixl_connector.py). */
static void check_states(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags) {
  const OrrEngineParams *engine = &params->engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  const OrrCacheTiers *tiers = &engine->tiers;
  const gboolean keeps = engine->prefix_caching != ORR_PREFIX_NONE;
  if (keeps && orr_model_kv_bytes_per_token(model, 1) <= 0)
    orr_diags_error(diags, place,
                    "engine.prefix-caching of model %s: its layers keep states alone, so there are "
                    "no key-value blocks for prompts to share: use none",
                    model->name);
  if (keeps && scheduler && scheduler->without_chunks)
    orr_diags_error(diags, place,
                    "engine.prefix-caching of model %s, whose layers keep a state: scheduler %s "
                    "computes prompts whole "
                    "(vLLM: \"Chunked prefill is required for mamba cache mode 'align'\")",
                    model->name, scheduler->entry.name);
  if (keeps && engine->block_size > engine->max_num_batched_tokens)
    orr_diags_error(diags, place,
                    "engine.block-size (%ld) of model %s, whose layers keep a state (vLLM: \"In "
                    "Mamba cache align "
                    "mode, block_size must be <= max_num_batched_tokens\", here %ld)",
                    engine->block_size, model->name, engine->max_num_batched_tokens);
  if (keeps && tiers->host_bytes + tiers->ssd_bytes + tiers->remote_bytes > 0)
    orr_diags_error(
        diags, place,
        "engine.cache-tiers of model %s: its layers keep a state, and states are kept in HBM alone",
        model->name);
}

/* Keys of an encoder's results are made by the engine that encodes, once for each request. */
static void check_cross(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  if (model->cross.tokens == 0) return;
  if (params->images != 1)
    orr_diags_error(diags, place,
                    "model %s attends to one input of its encoder for each request: give images: 1",
                    model->name);
  if (params->encoders.replicas > 0)
    orr_diags_error(diags, place,
                    "encoders: model %s has cross-attention, whose encoder is simulated on the "
                    "engine's own GPUs alone",
                    model->name);
  if (params->engine.prefix_caching != ORR_PREFIX_NONE)
    orr_diags_error(diags, place,
                    "engine.prefix-caching: the cache of model %s for a prompt depends on the "
                    "request's input: use none",
                    model->name);
}

static void check_images(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  if (params->distinct_images > 0 && params->engine.prefix_caching != ORR_PREFIX_NONE)
    orr_diags_warning(diags, place,
                      "distinct-images (%ld): encoders find an image again, prefix caches do not: "
                      "prompts that begin with the same image are computed whole, which vLLM and "
                      "SGLang spare",
                      params->distinct_images);
  if (params->encoders.replicas == 0 && params->distinct_images > 0)
    orr_diags_error(diags, place,
                    "distinct-images (%ld) without encoders: engines encode every image that they "
                    "see; give encoders.replicas",
                    params->distinct_images);
}

/* Lengths of classes, and images, where the load has lengths of its own. */
static void check_given_lengths(const OrrServing *params, const OrrArrival *load, OrrPlace place,
                                OrrDiags *diags) {
  const gboolean follow = load->chain && !load->is_bounded;
  if (follow && params->images > 0)
    orr_diags_error(diags, place,
                    "images (%ld) and load %s exclude each other: only the first prompt of a "
                    "conversation would have them",
                    params->images, load->entry.name);
  for (guint i = 0; load->is_trace && params->classes && i < params->classes->len; i++) {
    const OrrRequestClass *class = params->classes->pdata[i];
    if (orr_request_class_lengths(&class->input, &params->input) == &class->input ||
        orr_request_class_lengths(&class->output, &params->output) == &class->output)
      orr_diags_error(diags, place,
                      "classes: input and output of class %s have no effect: load %s has the "
                      "lengths of all requests",
                      class->name, load->entry.name);
  }
}

static void check_load(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  if (!load)
    orr_diags_error(diags, place, "missing key 'load' in serving: When requests come.");
  else if (load->check)
    load->check(params->load.params, place, diags);
  if (load) check_given_lengths(params, load, place, diags);
}

static void check_prefix(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  if (params->shared_prefix > 0 && load && load->shares)
    orr_diags_error(diags, orr_node_place_in(place, "shared-prefix"),
                    "shared-prefix (%ld) with load %s: %s defines what prompts share",
                    params->shared_prefix, load->entry.name, load->shares);
}

/* With ep 1 every rank has a slice of all experts: none has more than another. */
static void check_slices(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  static const char why[] = "with parallel.ep 1 every rank has a slice of all experts";
  const OrrExpertLoadKind *load = (const OrrExpertLoadKind *)parallel->load.entry;
  const gboolean even = load && load->is_even && parallel->redundant == 0;
  const OrrIdleKey keys[] = {
      {"parallel.expert-load", parallel->ep == 1, why},
      {"parallel.expert-placement", parallel->ep == 1, why},
      {"parallel.expert-placement",
       parallel->ep > 1 && parallel->placement == ORR_EXPERTS_PACKED && even &&
           parallel->imbalance <= 0,
       "parallel.expert-load is balanced: no expert is loaded more than another"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
  if (parallel->ep == 1 && parallel->redundant > 0)
    orr_diags_error(diags, orr_node_place_in(place, "parallel.redundant-experts"),
                    "redundant-experts (%ld): %s, and a copy balances nothing: raise ep",
                    parallel->redundant, why);
}

static void check_rebalance(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  const OrrPlace here = orr_node_place_in(place, "parallel.rebalance");
  if (parallel->rebalance.interval_s <= 0) return;
  if (parallel->rebalance.drift_s <= 0)
    orr_diags_error(diags, here, "rebalance.interval needs rebalance.drift above 0");
  if (parallel->placement != ORR_EXPERTS_PACKED || parallel->ep == 1)
    orr_diags_error(diags, here,
                    "rebalance moves experts that are packed by load over several ranks: give "
                    "expert-placement: packed and ep");
}

/* Whether a weight of @model is stored in one of the formats. */
static gboolean is_stored_so(const OrrModel *model, const OrrInferenceShard *shard) {
  for (guint k = 0; k < orr_model_n_layer_kinds(model); k++) {
    const OrrFeed feed = orr_model_kind(model, k).feed;
    const gboolean has_shared = feed == ORR_FEED_MOE && model->moe.shared_ffn > 0;
    if (shard->formats[ORR_QUANTIZED_MIXER] ||
        (feed == ORR_FEED_DENSE && shard->formats[ORR_QUANTIZED_FEED]) ||
        (has_shared && shard->formats[ORR_QUANTIZED_SHARED]) ||
        (feed == ORR_FEED_MOE && shard->formats[ORR_QUANTIZED_EXPERTS]))
      return TRUE;
  }
  return FALSE;
}

/* A format of experts alone changes nothing in a model that has none. */
static void check_weights(const OrrServing *params, const OrrModel *model, OrrPlace place,
                          OrrDiags *diags) {
  const char *word = orr_quantization_words[params->formats.quantization];
  const OrrInferenceShard shard = orr_serving_shard(params);
  if (!shard.is_quantized || is_stored_so(model, &shard)) return;
  orr_diags_error(diags, place,
                  "quantization (%s): it stores the weights of routed experts alone, and model %s "
                  "has none: use a format of all weights (awq, gptq, int4-32, nvfp4-weights), or "
                  "name the parts: workload.weights.feed-forward: %s",
                  word, model->name, word);
}

void orr_refusals_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  orr_exclusions_check(params, model, place, diags);
  check_images(params, place, diags);
  check_load(params, place, diags);
  check_prefix(params, place, diags);
  check_slices(params, place, diags);
  check_rebalance(params, place, diags);
  check_cross(params, model, place, diags);
  check_weights(params, model, place, diags);
  if (orr_inference_state_bytes(model, &shard, 0, model->layers) > 0)
    check_states(params, model, place, diags);
}

static void warn_idle_tiers(const OrrCacheTiers *tiers, OrrPlace place, OrrDiags *diags) {
  const OrrIdleKey keys[] = {
      {"engine.cache-tiers.ssd-of", tiers->ssd_bytes <= 0, "cache-tiers has no ssd"},
      {"engine.cache-tiers.remote-readers", tiers->remote_bytes_per_s <= 0,
       "without remote-bandwidth the store's reads are flows, which share links"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}

void orr_refusals_check_tiers(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrCacheTiers *tiers = &params->engine.tiers;
  if (params->engine.prefix_caching == ORR_PREFIX_NONE &&
      tiers->host_bytes + tiers->ssd_bytes + tiers->remote_bytes > 0)
    orr_diags_error(
        diags, place,
        "engine.cache-tiers need prefix caching: set engine.prefix-caching to block-hash or radix");
  if (tiers->prefetch != ORR_PREFETCH_NONE && tiers->host_bytes <= 0)
    orr_diags_error(
        diags, place,
        "engine.cache-tiers.prefetch reads to host memory: give engine.cache-tiers.host");
  if (tiers->prefetch != ORR_PREFETCH_NONE && tiers->ssd_bytes + tiers->remote_bytes <= 0)
    orr_diags_error(diags, place,
                    "engine.cache-tiers.prefetch has nothing to read from: give ssd or remote");
  if (tiers->ssd_writes == ORR_WRITE_BACK && (tiers->ssd_bytes <= 0 || tiers->host_bytes <= 0))
    orr_diags_error(diags, place,
                    "engine.cache-tiers.ssd-writes: back writes blocks that host memory drops to "
                    "the SSD: give host and ssd");
  if (tiers->ssd_bytes > 0 && tiers->ssd_bytes_per_s <= 0)
    orr_diags_error(diags, place, "engine.cache-tiers: ssd needs an ssd-bandwidth above 0");
  warn_idle_tiers(tiers, place, diags);
}

/* On the fullest node are whole replicas, or its part of one. A store without a rate of its own and
 * without a file system is in the host memory of all nodes. */
void orr_refusals_check_host_tier(const OrrServing *own, const OrrCluster *cluster, OrrPlace place,
                                  OrrDiags *diags) {
  const double each = (double)orr_serving_parallel_gpus(&own->parallel),
               node = (double)cluster->node.gpus;
  const double replicas =
      each > node ? node / each : fmin((double)own->replicas, floor(node / each));
  const OrrCacheTiers *tiers = &own->engine.tiers;
  const gboolean is_pooled = tiers->remote_bytes > 0 && tiers->remote_bytes_per_s <= 0 &&
                             cluster->storage.servers == 0 && cluster->node.host.memory_bytes > 0;
  const double pool = is_pooled ? tiers->remote_bytes / (double)MAX(cluster->nodes, 1) : 0;
  if (tiers->host_bytes + pool <= 0) return;
  g_autofree char *refusal = orr_footprint_refuse_host(
      cluster, tiers->host_bytes * replicas + pool,
      pool <= 0               ? "engine.cache-tiers.host"
      : tiers->host_bytes > 0 ? "engine.cache-tiers: host, with remote over all nodes,"
                              : "engine.cache-tiers.remote, over all nodes,");
  if (refusal) orr_diags_error(diags, place, "%s", refusal);
}

void orr_refusals_check_sleep(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                              OrrDiags *diags) {
  if (!params->start.sleeps) {
    if (params->start.wake_s > 0)
      orr_diags_error(diags, place, "start.wake is for start.sleeps: true");
    return;
  }
  if (!orr_serving_scales(params) && !orr_serving_shares(params))
    orr_diags_error(diags, place,
                    "start.sleeps: replicas sleep when autoscaling does not want them, or another "
                    "one their GPUs: this workload has autoscaling.by: none and no groups.shares");
  if (orr_cluster_host_link_bytes_per_s(cluster) <= 0)
    orr_diags_error(diags, place, "start.sleeps needs the device's host-link");
}

/* --- several models --- */

static gboolean is_served(const OrrServing *params, const OrrModel *model, const char *name) {
  if (g_strcmp0(model->name, name) == 0) return TRUE;
  ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups)
    if (group->model.name && g_str_equal(group->model.name, name)) return TRUE;
  return FALSE;
}

static gboolean is_asked(const OrrServing *params, const OrrModel *model, const char *name) {
  ORR_EACH_POINTER(const OrrRequestClass, class, params->classes)
    if (g_strcmp0(class->model ? class->model : model->name, name) == 0) return TRUE;
  return FALSE;
}

/* What belongs to one model, or to replicas that are always there. */
static void check_alone(const OrrServing *params, gboolean shares, OrrPlace place,
                        OrrDiags *diags) {
  const struct {
    gboolean is_on;
    const char *key, *because;
  } excluded[] = {
      {params->disaggregation.prefill > 0, "disaggregation", "its pools are of one model"},
      {params->encoders.replicas > 0, "encoders", "they encode for one model"},
      {params->images > 0, "images", "they have the tokens of one model"},
      {params->engine.lora.adapters > 0, "engine.lora", "adapters are of one model"},
      {params->engine.tiers.remote_bytes > 0, "engine.cache-tiers.remote",
       "the store does not tell models apart"},
      {orr_tasks_are_on(&params->tasks), "tasks", "their steps ask one model"},
      {orr_serving_scales(params), "autoscaling", "it counts replicas, whatever they serve"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(excluded); i++)
    if (excluded[i].is_on)
      orr_diags_error(diags, place, "groups.%s and %s exclude each other: %s",
                      shares ? "shares" : "model", excluded[i].key, excluded[i].because);
}

static void check_shared_gpus(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                              OrrDiags *diags) {
  gint64 room = 0;
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = orr_serving_groups_params(params, g, cluster);
    const gint64 gpus = own.replicas * orr_serving_parallel_gpus(&own.parallel);
    if (!orr_serving_groups_shares(params, g))
      room = gpus;
    else if (gpus > room)
      orr_diags_error(
          diags, place,
          "groups: the replicas of group %ld need %ld GPUs, and those that they share are %ld",
          (gint64)g, gpus, room);
  }
}

void orr_refusals_check_models(const OrrServing *params, const OrrModel *model,
                               const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const gboolean shares = orr_serving_shares(params);
  gboolean has_models = FALSE;
  ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups) {
    OrrModel own = group->model;
    if (!own.name) continue;
    has_models = TRUE;
    orr_model_settle(&own, place, diags);
    if (!is_asked(params, model, own.name))
      orr_diags_error(diags, place,
                      "groups: no class of requests asks model %s: give classes, with `model`",
                      own.name);
  }
  ORR_EACH_POINTER(const OrrRequestClass, class, params->classes) {
    if (class->model && !is_served(params, model, class->model))
      orr_diags_error(diags, place, "classes: no replicas serve model %s, which class %s asks",
                      class->model, class->name);
  }
  if (params->start.stays_s > 0 && !shares)
    orr_diags_error(diags, place, "start.stays is for groups.shares: true");
  if (has_models || shares) check_alone(params, shares, place, diags);
  if (shares) check_shared_gpus(params, cluster, place, diags);
}

void orr_refusals_check_loop(const OrrRequest *rejected, const OrrRequest *next, GError **error) {
  if (next->arrival_s > rejected->arrival_s) return;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "request %u is rejected, and its client asks again in the same instant, until no "
              "request is left: give the load a time to think, or admission a longer queue",
              rejected->id + 1);
}
