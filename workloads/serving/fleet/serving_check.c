/*
 * serving_check.c - checks whether an engine can be what a scenario requests, and computes the size
 * of its cache.
 *
 *   cache  = memory * gpu-memory-utilization - reserved - weights - activations - embeddings
 *   activations = the larger of
 *                 layers(max-num-batched-tokens)
 *                 hidden states + sampler-peak * max-num-seqs * vocabulary
 *   blocks = floor(cache / (block-size * bytes of a token in the stage's layers))
 *
 * per GPU, as vLLM profiles it at start (v1/worker/gpu_model_runner.py, profile_run): weights are
 * the largest stage's. Where profile-activations is false, activations are not subtracted.
 */
#include "workloads/serving/fleet/fleet.h"

#include "workloads/collectives/collective.h"
#include "workloads/expert_loads/expert_load.h"
#include "workloads/products.h"
#include "workloads/serving/fleet/fleet_private.h"
#include "workloads/serving/tasks/task_run.h"
#include "workloads/serving/transfers/serving_paths.h"

#define D "%" G_GINT64_FORMAT

/* The parameters of group @g; group 0 belongs to `replicas`, which by default uses the GPUs that
 * the others leave. */
static OrrServing params_of(const OrrServing *params, guint g, const OrrCluster *cluster) {
  OrrServing own = *params;
  const OrrReplicaGroup *group = g > 0 ? params->groups->pdata[g - 1] : NULL;
  if (group) own.parallel = group->parallel;
  orr_feed_pool_cap(&own, cluster);
  if (group) {
    own.replicas = group->replicas;
    own.formats = group->formats;
    if (group->engine.scheduler.entry) own.engine = group->engine;
    return own;
  }
  gint64 left = orr_cluster_n_gpus(cluster);
  ORR_EACH_POINTER(const OrrReplicaGroup, other, params->groups)
    left -= other->replicas * orr_serving_parallel_gpus(&other->parallel);
  left -= params->encoders.replicas + orr_tasks_gpus(&params->tasks, G_MAXUINT);
  if (own.replicas == 0) own.replicas = MAX(left / orr_serving_parallel_gpus(&own.parallel), 1);
  return own;
}

static OrrCluster cluster_of(const OrrServing *params, guint g, const OrrCluster *cluster) {
  OrrCluster own = *cluster;
  const OrrReplicaGroup *group = g > 0 ? params->groups->pdata[g - 1] : NULL;
  if (!group || !group->device.name) return own;
  const double rack_w = orr_cluster_power_board_cap_w(cluster);
  own.device = group->device;
  if (rack_w > 0) own.device.power.cap_w = orr_device_power_limit_w(&own.device.power, rack_w);
  return own;
}

static gint64 replicas_of(const OrrServing *params, const OrrCluster *cluster) {
  gint64 sum = 0;
  for (guint g = 0; g < orr_serving_n_groups(params); g++)
    sum += params_of(params, g, cluster).replicas;
  return sum;
}

static gint64 longest_request(const OrrServing *params, const OrrModel *model) {
  return params->engine.max_model_len > 0 ? params->engine.max_model_len : model->context;
}

/* --- memory --- */

typedef struct {
  double weights, activations, embeddings, budget, kv_per_token, state, ring, adapter;
  OrrKvLayout layout;
  gint64 blocks, room; /* blocks of the cache; tokens of one request that it holds */
} Memory;

/* Adds the drafter, which is on the last stage: at worst together with the largest. */
static void add_drafter(const OrrServing *params, const OrrModel *model,
                        const OrrInferenceShard *shard, Memory *memory) {
  const OrrChoice *choice = &params->engine.speculation;
  double weights, kv;
  OrrDraft draft;
  if (orr_speculation_of(choice).tokens == 0) return;
  ((const OrrSpeculator *)choice->entry)->draft(choice->params, model, &draft);
  orr_drafter_memory(&draft, shard, &weights, &kv);
  memory->weights += weights;
  memory->kv_per_token += kv;
}

/* What the start-up's measurement finds in addition to the weights: the layers of a full step or,
 * once those are done, its last hidden states and the sampler of max-num-seqs sequences. */
static double profiled_bytes(const OrrServing *params, const OrrModel *model,
                             const OrrInferenceShard *shard) {
  const OrrEngineParams *engine = &params->engine;
  const double tokens = (double)engine->max_num_batched_tokens;
  const double logits =
      (double)MIN(engine->max_num_seqs, engine->max_num_batched_tokens) * (double)model->vocab;
  return fmax(orr_inference_activation_bytes(model, shard, engine->max_num_batched_tokens),
              tokens * (double)model->hidden * orr_dtype_bytes(shard->activations) +
                  logits * engine->sampler_peak_bytes);
}

static Memory memory_of(const OrrServing *params, const OrrModel *model,
                        const OrrCluster *cluster) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  const gint64 stage = orr_serving_layers(params, model);
  Memory memory = {.budget = cluster->device.memory_bytes * params->engine.memory_utilization};
  const OrrLora lora = orr_serving_lora(params);
  double windowed = 0;
  for (gint64 first = 0; first < model->layers; first += stage) {
    const gint64 n = MIN(stage, model->layers - first);
    const gboolean is_last = first + n >= model->layers;
    memory.weights = fmax(memory.weights,
                          orr_inference_weight_bytes(model, &shard, first, n, first == 0, is_last));
    memory.kv_per_token =
        fmax(memory.kv_per_token, orr_inference_kv_bytes(model, &shard, first, n));
    memory.state = fmax(memory.state, orr_inference_state_bytes(model, &shard, first, n));
    memory.ring = fmax(memory.ring, orr_inference_ring_bytes(model, &shard, first, n));
    memory.adapter =
        fmax(memory.adapter, orr_inference_adapter_bytes(model, &shard, &lora, first, n));
    windowed = fmax(windowed, orr_inference_window_bytes(model, &shard, first, n));
  }
  add_drafter(params, model, &shard, &memory);
  memory.weights +=
      memory.adapter * (double)MIN(params->engine.lora.adapters, params->engine.lora.slots);
  if (params->engine.profiles_activations)
    memory.activations = profiled_bytes(params, model, &shard);
  memory.embeddings = orr_encoders_cache_bytes(params, model);
  const double left = (memory.budget - params->engine.reserved_bytes - memory.weights -
                       memory.activations - memory.embeddings) *
                      params->engine.cache_fraction;
  const double block = memory.kv_per_token * (double)params->engine.block_size;
  if (block > 0)
    memory.layout = (OrrKvLayout){windowed / memory.kv_per_token,
                                  model->window.size,
                                  params->engine.window_room,
                                  memory.state / block,
                                  memory.ring / block,
                                  params->engine.prefix_caching != ORR_PREFIX_NONE};
  memory.blocks = params->engine.kv_blocks > 0 ? params->engine.kv_blocks
                                               : (gint64)fmax(0, floor(left / block));
  memory.room = orr_kv_layout_room(&memory.layout, params->engine.block_size, memory.blocks);
  return memory;
}

static void check_memory(const OrrServing *params, const OrrModel *model, const OrrCluster *cluster,
                         OrrPlace place, OrrDiags *diags) {
  const Memory memory = memory_of(params, model, cluster);
  const double gib = 1 << 30;
  const double fixed =
      memory.weights + memory.activations + memory.embeddings + params->engine.reserved_bytes;
  const gboolean fits =
      params->engine.kv_blocks > 0 ? fixed <= cluster->device.memory_bytes : memory.blocks > 0;
  g_autofree char *embeddings =
      g_strdup_printf(", %.1f of images' embeddings (encoders.cache)", memory.embeddings / gib);
  if (!fits)
    orr_diags_error(diags, place,
                    "model %s does not fit: a GPU of tp " D " and pp " D
                    " holds %.1f GiB of weights, %.1f of activations%s and %.1f reserved, of %.1f "
                    "GiB that %s gives the engine: raise tp or pp, or lower the precision",
                    model->name, params->parallel.tp, params->parallel.pp, memory.weights / gib,
                    memory.activations / gib, memory.embeddings > 0 ? embeddings : "",
                    params->engine.reserved_bytes / gib, memory.budget / gib, cluster->device.name);
}

/* --- lengths --- */

/* Unbounded distributions are limited to the available room; lengths given as numbers are not. */
static void check_room(const OrrServing *params, const OrrModel *model, gint64 room,
                       const char *of_what, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const gint64 prompt = orr_lengths_largest(&params->input),
               output = orr_lengths_largest(&params->output);
  if (load && !load->is_trace && prompt < G_MAXINT32 && output < G_MAXINT32 &&
      prompt + params->shared_prefix + orr_serving_image_tokens(params, model) + output > room)
    orr_diags_error(diags, place,
                    "a request of up to " D " + " D " tokens is longer than the %s of " D
                    " tokens: give input.most or output.most",
                    prompt + params->shared_prefix + orr_serving_image_tokens(params, model),
                    output, of_what, room);
}

static void check_lengths(const OrrServing *params, const OrrModel *model, OrrPlace place,
                          OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  if (!load || load->is_trace) return;
  orr_lengths_check(&params->input, "input", place, diags);
  orr_lengths_check(&params->output, "output", place, diags);
  check_room(params, model, longest_request(params, model), "context", place, diags);
}

static void check_host(const OrrServingHost *host, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags) {
  if (host->neighbours > 1 && host->threads > 0 && host->cores == 0 &&
      cluster->node.host.cores == 0)
    orr_diags_error(diags, place,
                    "host.neighbours needs the number of cores, which node %s does not state: give "
                    "engine.host.cores",
                    cluster->name);
}

static void check_algorithm(const char *what, const char *name, OrrPlace place, OrrDiags *diags) {
  if (g_str_equal(name, "auto") || g_str_equal(name, "nccl") ||
      orr_registry_find(&orr_collective_registry, name))
    return;
  g_autofree const char **names = orr_registry_names(&orr_collective_registry);
  g_autofree char *known = g_strjoinv(", ", (char **)names);
  orr_diags_error(diags, place, "unknown %s '%s' (allowed: auto, nccl, %s)", what, name, known);
}

static void check_engine(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags) {
  const OrrEngineParams *engine = &params->engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  if (engine->max_model_len > model->context)
    orr_diags_error(diags, place,
                    "engine.max-model-len (" D ") is above the context (" D ") of model %s",
                    engine->max_model_len, model->context, model->name);
  if (scheduler && !scheduler->without_chunks &&
      engine->max_num_batched_tokens < engine->max_num_seqs)
    orr_diags_error(diags, place,
                    "engine.max-num-batched-tokens (" D ") is below max-num-seqs (" D ")",
                    engine->max_num_batched_tokens, engine->max_num_seqs);
  if (scheduler && scheduler->keeps_whole && scheduler->keeps_whole(engine->scheduler.params) &&
      engine->max_num_batched_tokens < longest_request(params, model))
    orr_diags_error(diags, place,
                    "engine.max-num-batched-tokens (" D ") is below the longest request (" D
                    "): without chunked prefill a step must hold a whole one; raise it, or give "
                    "engine.max-model-len",
                    engine->max_num_batched_tokens, longest_request(params, model));
  check_algorithm("engine.all-reduce", engine->all_reduce, place, diags);
}

static void check_products(const OrrDevice *device, const char *what, const char *word,
                           OrrDtype products, OrrPlace place, OrrDiags *diags) {
  orr_products_check(device, what, word, products,
                     "; weights alone may be narrow: quantization awq, gptq, mxfp4 or fp8-weights",
                     place, diags);
}

static void check_formats(const OrrServing *params, const OrrDevice *device, OrrPlace place,
                          OrrDiags *diags) {
  const char *word = orr_quantization_words[params->formats.quantization];
  const OrrInferenceShard shard = orr_serving_shard(params);
  if (!shard.is_quantized)
    return check_products(device, "precision", orr_dtype_names[params->formats.precision],
                          (OrrDtype)params->formats.precision, place, diags);
  if (params->formats.precision != ORR_BF16)
    orr_diags_error(diags, place,
                    "quantization (%s) and precision (%s) exclude each other: quantization implies "
                    "the precision",
                    word, orr_dtype_names[params->formats.precision]);
  const OrrQuantized *before = NULL;
  check_products(device, "activations", orr_dtype_names[params->formats.activations],
                 (OrrDtype)params->formats.activations, place, diags);
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++) {
    const OrrQuantized *format = shard.formats[part];
    if (!format || format == before || format->products == ORR_N_DTYPES) continue;
    before = format;
    check_products(device, "quantization", orr_quantized_word(format), format->products, place,
                   diags);
  }
}

/* Layers with a state, tiers of the cache, and images. */
static void check_parts(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  const gboolean has_state = orr_inference_state_bytes(model, &shard, 0, model->layers) > 0;
  if (has_state && orr_speculation_of(&params->engine.speculation).tokens > 0)
    orr_diags_error(diags, place,
                    "engine.speculation: model %s has layers that keep a state, which cannot drop "
                    "rejected tokens: use none",
                    model->name);
  orr_refusals_check_tiers(params, place, diags);
  if (params->images > 0 && model->encoder.layers == 0)
    orr_diags_error(diags, place, "images (" D ") of prompts: model %s has no encoder",
                    params->images, model->name);
}

/* The drafting model must be able to run on the same ranks as the model. */
static void check_speculation(const OrrServing *params, const OrrModel *model, OrrPlace place,
                              OrrDiags *diags) {
  const OrrChoice *choice = &params->engine.speculation;
  const OrrSpeculation speculation = orr_speculation_of(choice);
  const OrrInferenceShard shard = orr_serving_shard(params);
  const guint before = orr_diags_n_errors(diags);
  OrrDraft draft;
  if (speculation.tokens == 0) return;
  orr_speculation_check(choice, model, place, diags);
  if (speculation.tokens >= params->engine.max_num_batched_tokens)
    orr_diags_error(diags, place,
                    "num-speculative-tokens (" D
                    ") and one more do not go into a step of max-num-batched-tokens (" D ")",
                    speculation.tokens, params->engine.max_num_batched_tokens);
  if (orr_diags_n_errors(diags) > before) return;
  ((const OrrSpeculator *)choice->entry)->draft(choice->params, model, &draft);
  if (draft.model.layers > 0) orr_inference_check(&draft.model, &shard, place, diags);
}

static void check_disaggregation(const OrrServing *params, gint64 replicas, OrrPlace place,
                                 OrrDiags *diags) {
  const OrrDisaggregation *apart = &params->disaggregation;
  if (apart->prefill == 0) return;
  if (apart->prefill >= replicas)
    orr_diags_error(diags, place,
                    "disaggregation.prefill (" D ") leaves none of the " D
                    " replicas to decode: give at most " D,
                    apart->prefill, replicas, replicas - 1);
}

const char *orr_serving_check_return(const void *params, const OrrCluster *cluster) {
  if (!((const OrrServing *)params)->start.weights || cluster->storage.servers > 0) return NULL;
  return "a replica whose node comes back reads its weights from a file system, and the cluster "
         "has none: give cluster.storage, or start.weights: false";
}

static void check_life(const OrrServing *params, gint64 replicas, const OrrCluster *cluster,
                       OrrPlace place, OrrDiags *diags) {
  const OrrAutoscaling *scaling = &params->autoscaling;
  orr_refusals_check_sleep(params, cluster, place, diags);
  if (orr_serving_is_eventful(params) && params->start.weights && cluster->storage.servers == 0)
    orr_diags_error(
        diags, place,
        "replicas that start read their weights from a file system, and the cluster has none: give "
        "cluster.storage, or start.weights: false");
  if (scaling->least > replicas)
    orr_diags_error(diags, place, "autoscaling.least (" D ") is above the " D " replicas",
                    scaling->least, replicas);
  if (scaling->by.entry && g_str_equal(scaling->by.entry->name, "slo") && params->slo.ttft_s <= 0)
    orr_diags_error(diags, place, "autoscaling by slo needs slo.ttft, its target");
}

/* A limit on a queue that is never used is an error. */
static void check_admission(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  if (params->admission.queue >= 0 && params->admission.in_flight == 0)
    orr_diags_error(diags, place,
                    "admission.queue (" D ") limits nothing without admission.in-flight: give both",
                    params->admission.queue);
}

static void check_window(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const gboolean is_steady = params->metrics.window == ORR_WINDOW_STEADY;
  if (is_steady && load && !load->is_endless)
    orr_diags_error(diags, place,
                    "metrics.window: steady: the rate of load %s changes over time, so there is no "
                    "steady state: use poisson, constant, gamma, sessions or a trace",
                    load->entry.name);
  if (is_steady && params->metrics.warmup_s > 0)
    orr_diags_error(diags, place,
                    "metrics.warmup and metrics.window: steady exclude each other: a steady state "
                    "begins after a warm-up of its own");
  if (params->least_good > 0 && !is_steady)
    orr_diags_error(diags, place, "least-good needs metrics.window: steady");
}

static void check_expert_load(const OrrServing *params, const OrrModel *model, OrrPlace place,
                              OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  const OrrExpertLoadKind *kind = (const OrrExpertLoadKind *)parallel->load.entry;
  const gint64 slots = model->moe.experts + parallel->redundant;
  if (parallel->imbalance > 0 && model->moe.experts == 0)
    orr_diags_warning(diags, place,
                      "parallel.imbalance (%g) has no effect: model %s has no experts",
                      parallel->imbalance, model->name);
  if (parallel->ep > 1 && model->moe.experts == 0)
    orr_diags_warning(diags, place, "parallel.ep (" D ") has no effect: model %s has no experts",
                      parallel->ep, model->name);
  if (!kind || (kind->is_even && parallel->redundant == 0)) return;
  if (parallel->imbalance > 0)
    orr_diags_error(diags, place,
                    "parallel.imbalance (%g) excludes parallel.expert-load and redundant-experts: "
                    "give one of them",
                    parallel->imbalance);
  if (model->moe.experts == 0)
    return orr_diags_error(diags, place,
                           "parallel.expert-load and redundant-experts: model %s has no experts",
                           model->name);
  g_autofree char *why =
      kind->refuse ? kind->refuse(parallel->load.params, model->moe.experts) : NULL;
  if (why) orr_diags_error(diags, place, "parallel.%s", why);
  if (slots % parallel->ep != 0)
    orr_diags_error(diags, place,
                    "redundant-experts: " D " experts and copies cannot be split evenly over ep " D,
                    slots, parallel->ep);
}

/* Checks that each group can run by itself. */
static void check_group(const OrrServing *params, const OrrModel *model, const OrrCluster *cluster,
                        OrrPlace place, OrrDiags *diags) {
  const OrrDevice *feed = orr_serving_feed_device(params, cluster);
  const OrrInferenceShard shard = orr_serving_shard(params);
  orr_inference_check(model, &shard, place, diags);
  orr_feed_pool_check(params, model, place, diags);
  if (params->parallel.pp > model->layers)
    orr_diags_error(diags, place, "pp (" D ") is above the " D " layers of model %s",
                    params->parallel.pp, model->layers, model->name);
  check_algorithm("parallel.all-to-all", params->parallel.all_to_all, place, diags);
  check_expert_load(params, model, place, diags);
  check_speculation(params, model, place, diags);
  check_formats(params, &cluster->device, place, diags);
  if (feed != &cluster->device) check_formats(params, feed, place, diags);
}

static void check_gpus(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags) {
  g_autoptr(GString) text = g_string_new(NULL);
  double gpus = 0;
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = params_of(params, g, cluster);
    gpus += (double)own.replicas * (double)orr_serving_parallel_gpus(&own.parallel);
    g_string_append_printf(text, "%s" D " * " D " * " D " * " D, g > 0 ? " + " : "", own.replicas,
                           own.parallel.tp, own.parallel.pp, own.parallel.dp_attention);
    if (own.parallel.feed.gpus > 0)
      g_string_append_printf(text, " + feed-forwards " D " * " D, own.replicas,
                             own.parallel.feed.gpus);
  }
  if (params->encoders.replicas > 0) {
    gpus += (double)params->encoders.replicas;
    g_string_append_printf(text, " + encoders " D, params->encoders.replicas);
  }
  if (orr_tasks_gpus(&params->tasks, G_MAXUINT) > 0) {
    gpus += (double)orr_tasks_gpus(&params->tasks, G_MAXUINT);
    g_string_append_printf(text, " + pools of tasks " D, orr_tasks_gpus(&params->tasks, G_MAXUINT));
  }
  if (gpus > (double)orr_cluster_n_gpus(cluster))
    orr_diags_error(diags, place,
                    "replicas * tp * pp * dp-attention = %s = %.0f GPUs, but the cluster has " D
                    " in use",
                    text->str, gpus, orr_cluster_n_gpus(cluster));
}

/* Checks each group's memory, and that the longest request fits the smallest cache. */
static void check_room_of_groups(const OrrServing *params, const OrrModel *model,
                                 const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const guint before = orr_diags_n_errors(diags);
  gint64 least = G_MAXINT64;
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = params_of(params, g, cluster);
    const OrrCluster machine = cluster_of(params, g, cluster);
    check_memory(&own, model, &machine, place, diags);
    orr_feed_pool_check_memory(&own, model, &machine, place, diags);
    least = MIN(least, memory_of(&own, model, &machine).room);
  }
  if (orr_diags_n_errors(diags) == before)
    check_room(params, model, least, "key-value cache", place, diags);
}

/* What moves between groups, or belongs to the fleet, is one setting of all. */
static void check_own_engine(const OrrServing *params, const OrrServing *own, const OrrModel *model,
                             OrrPlace place, OrrDiags *diags) {
  const OrrEngineParams *all = &params->engine, *engine = &own->engine;
  const OrrCacheTiers *tiers = &all->tiers, *other = &engine->tiers;
  const struct {
    const char *key;
    gboolean differs;
  } shared[] = {
      {"block-size", engine->block_size != all->block_size},
      {"prefix-caching", engine->prefix_caching != all->prefix_caching},
      {"window-room", engine->window_room != all->window_room},
      {"max-model-len", engine->max_model_len != all->max_model_len},
      {"host.token", engine->host.token_s != all->host.token_s},
      {"lora", engine->lora.adapters != all->lora.adapters ||
                   engine->lora.slots != all->lora.slots || engine->lora.skew != all->lora.skew},
      {"cache-tiers",
       tiers->host_bytes != other->host_bytes || tiers->ssd_bytes != other->ssd_bytes ||
           tiers->remote_bytes != other->remote_bytes || tiers->prefetch != other->prefetch ||
           tiers->ssd_of != other->ssd_of || tiers->remote_readers != other->remote_readers},
  };
  for (guint i = 0; i < G_N_ELEMENTS(shared); i++)
    if (shared[i].differs)
      orr_diags_error(diags, place,
                      "groups: engine.%s must be the same in all groups: set it in the workload's "
                      "engine",
                      shared[i].key);
  check_engine(own, model, place, diags);
  orr_refusals_check(own, model, place, diags);
}

void orr_serving_check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                       OrrPlace place, OrrDiags *diags) {
  const OrrServing *params = data;
  const guint before = orr_diags_n_errors(diags);
  const gint64 replicas = replicas_of(params, cluster);
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = params_of(params, g, cluster);
    const OrrCluster machine = cluster_of(params, g, cluster);
    check_group(&own, model, &machine, place, diags);
    orr_refusals_check_host_tier(&own, &machine, place, diags);
    if (g > 0) check_own_engine(params, &own, model, place, diags);
  }
  check_gpus(params, cluster, place, diags);
  check_engine(params, model, place, diags);
  check_admission(params, place, diags);
  check_window(params, place, diags);
  check_parts(params, model, place, diags);
  orr_refusals_check(params, model, place, diags);
  check_disaggregation(params, replicas, place, diags);
  check_life(params, replicas, cluster, place, diags);
  check_host(&params->engine.host, cluster, place, diags);
  check_lengths(params, model, place, diags);
  orr_task_check(params, cluster, place, diags);
  if (orr_diags_n_errors(diags) == before)
    check_room_of_groups(params, model, cluster, place, diags);
}

/* --- compilation --- */

static void add_group(OrrServingWork *work, const OrrServing *params, guint g) {
  const OrrWorld *world = work->world;
  const OrrServing own = params_of(params, g, world->cluster);
  const OrrCluster cluster = cluster_of(params, g, world->cluster);
  const Memory memory = memory_of(&own, world->model, &cluster);
  const OrrServedGroup group = {.params = own,
                                .cluster = cluster,
                                .first = work->params.replicas,
                                .first_gpu = work->work.n_gpus,
                                .gpus = orr_serving_parallel_gpus(&own.parallel),
                                .feed_bytes = orr_feed_pool_bytes(&own, world->model),
                                .n_blocks = memory.blocks,
                                .weight_bytes = memory.weights,
                                .kv_bytes_per_token = memory.kv_per_token,
                                .activation_bytes = memory.activations,
                                .state_bytes = memory.state + memory.ring,
                                .budget_bytes = memory.budget,
                                .adapter_bytes = memory.adapter,
                                .kv_layout = memory.layout};
  g_array_append_val(work->groups, group);
  work->params.replicas += own.replicas;
  work->work.n_gpus += own.replicas * group.gpus;
  work->window.places += own.replicas * own.parallel.dp_attention * own.engine.max_num_seqs;
  work->longest = MIN(work->longest, memory.room);
  work->replicas = g_renew(OrrServedReplica, work->replicas, work->params.replicas);
  for (gint64 i = group.first; i < work->params.replicas; i++)
    work->replicas[i] = (OrrServedReplica){.group = g};
}

static OrrServingWork *work_new(const OrrServing *params, const OrrWorld *world) {
  OrrServingWork *work = g_new0(OrrServingWork, 1);
  work->work = (OrrWork){.kind = &orr_serving_kind,
                         .fidelity = world->fidelity == ORR_FIDELITY_FULL ? ORR_FIDELITY_FULL
                                                                          : ORR_FIDELITY_FOLDED};
  work->params = *params;
  work->params.replicas = 0;
  work->own_world = *world;
  work->world = &work->own_world;
  work->longest = longest_request(params, world->model);
  work->requests = g_array_new(FALSE, FALSE, sizeof(OrrServedRequest));
  work->unserved = g_array_new(FALSE, FALSE, sizeof(OrrUnserved));
  work->steps = g_array_new(FALSE, FALSE, sizeof(OrrServingStepRow));
  work->gaps = g_array_new(FALSE, FALSE, sizeof(OrrTokenGap));
  work->turns = g_array_new(FALSE, FALSE, sizeof(OrrServingTurnRow));
  work->tasks = g_array_new(FALSE, FALSE, sizeof(OrrServingTaskRow));
  work->task_steps = g_array_new(FALSE, FALSE, sizeof(OrrServingTaskStepRow));
  work->task_pools = g_array_new(FALSE, FALSE, sizeof(OrrServingTaskPoolRow));
  if (params->metrics.step_rows > 0) work->power = orr_power_time_new();
  work->groups = g_array_new(FALSE, FALSE, sizeof(OrrServedGroup));
  for (guint g = 0; g < orr_serving_n_groups(params); g++) add_group(work, params, g);
  work->first_encoder = work->work.n_gpus;
  work->first_task_gpu = work->first_encoder + params->encoders.replicas;
  work->work.n_gpus = work->first_task_gpu + orr_tasks_gpus(&params->tasks, G_MAXUINT);
  return work;
}

OrrWork *orr_serving_check_compile(const void *data, const OrrWorld *world, GError **error) {
  OrrServingWork *work = work_new(data, world);
  if (orr_serving_paths_plan(work, error)) return &work->work;
  orr_work_free(&work->work);
  return NULL;
}

void orr_serving_check_free(OrrWork *base) {
  OrrServingWork *work = (OrrServingWork *)base;
  orr_fleet_free(work->fleet);
  orr_serving_paths_free(work->paths);
  g_array_unref(work->requests);
  g_array_unref(work->unserved);
  g_array_unref(work->steps);
  g_array_unref(work->gaps);
  g_array_unref(work->turns);
  g_array_unref(work->tasks);
  g_array_unref(work->task_steps);
  g_array_unref(work->task_pools);
  g_free(work->power);
  g_array_unref(work->groups);
  ORR_FREE(work->replicas, work->missing, work->left_out, work);
}
