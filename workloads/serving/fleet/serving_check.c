/*
 * serving_check.c - checks whether an engine can be what a scenario requests. What it computes of
 * memory is serving_memory.c's.
 */
#include "workloads/serving/fleet/fleet.h"

#include "workloads/collectives/collective.h"
#include "workloads/expert_loads/expert_load.h"
#include "workloads/products.h"
#include "workloads/serving/fleet/fleet_private.h"
#include "workloads/serving/tasks/task_run.h"

static gint64 replicas_of(const OrrServing *params, const OrrCluster *cluster) {
  gint64 sum = 0;
  for (guint g = 0; g < orr_serving_n_groups(params); g++)
    sum += orr_serving_groups_params(params, g, cluster).replicas;
  return sum;
}

/* --- memory --- */

static void check_memory(const OrrServing *params, const OrrModel *model, const OrrCluster *cluster,
                         OrrPlace place, OrrDiags *diags) {
  const OrrServingMemory memory = orr_serving_memory_of(params, model, cluster);
  const double gib = 1 << 30;
  const double fixed =
      memory.weights + memory.activations + memory.embeddings + params->engine.reserved_bytes;
  const gboolean fits =
      params->engine.kv_blocks > 0 ? fixed <= cluster->device.memory_bytes : memory.blocks > 0;
  const double left = memory.budget - fixed;
  g_autofree char *block =
      memory.kv_per_token > 0
          ? g_strdup_printf("a block of engine.block-size (%ld) tokens", params->engine.block_size)
          : g_strdup("the state of a sequence");
  if (!fits && left > 0)
    return orr_diags_error(
        diags, place,
        "the key-value cache has no block: %s gives the engine %.3g GiB more than weights and "
        "activations take, engine.cache-fraction gives the cache %.4g %% of that, and %s takes "
        "%.3g GiB",
        cluster->device.name, left / gib, 100 * params->engine.cache_fraction, block,
        memory.block / gib);
  g_autofree char *embeddings =
      g_strdup_printf(", %.1f of images' embeddings (encoders.cache)", memory.embeddings / gib);
  if (!fits)
    orr_diags_error(diags, place,
                    "model %s does not fit: a GPU of tp %ld and pp %ld holds %.1f GiB of weights, "
                    "%.1f of activations%s and %.1f reserved, of %.1f "
                    "GiB that %s gives the engine: raise tp or pp, or lower the precision",
                    model->name, params->parallel.tp, params->parallel.pp, memory.weights / gib,
                    memory.activations / gib, memory.embeddings > 0 ? embeddings : "",
                    params->engine.reserved_bytes / gib, memory.budget / gib, cluster->device.name);
}

/* --- lengths --- */

/* With the lengths of @class. */
static OrrServing of_class(const OrrServing *params, const OrrRequestClass *class) {
  OrrServing own = *params;
  own.input = *orr_request_class_lengths(&class->input, &params->input);
  own.output = *orr_request_class_lengths(&class->output, &params->output);
  return own;
}

/* Unbounded distributions are limited to the available room; lengths given as numbers are not. */
static void check_room(const OrrServing *params, const OrrModel *model, gint64 room,
                       const char *of_what, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const gint64 prompt = orr_lengths_largest(&params->input),
               output = orr_lengths_largest(&params->output);
  if (load && !load->is_trace && prompt < G_MAXINT32 && output < G_MAXINT32 &&
      prompt + params->shared_prefix + orr_serving_image_tokens(params, model) + output > room)
    orr_diags_error(diags, place,
                    "a request of up to %ld + %ld tokens is longer than the %s of %ld tokens: give "
                    "input.most or output.most",
                    prompt + params->shared_prefix + orr_serving_image_tokens(params, model),
                    output, of_what, room);
}

static void check_lengths(const OrrServing *params, const OrrModel *model, OrrPlace place,
                          OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  if (!load || load->is_trace) return;
  const gint64 longest = orr_serving_memory_longest(params, model);
  const gint64 room = longest - params->shared_prefix - orr_serving_image_tokens(params, model);
  orr_lengths_check(&params->input, room - 1, "input", place, diags);
  orr_lengths_check(&params->output, room - 1, "output", place, diags);
  check_room(params, model, longest, "context", place, diags);
  ORR_EACH_POINTER(const OrrRequestClass, class, params->classes) {
    const OrrLengths *input = orr_request_class_lengths(&class->input, &params->input),
                     *output = orr_request_class_lengths(&class->output, &params->output);
    if (input != &params->input) orr_lengths_check(input, room - 1, "classes.input", place, diags);
    if (output != &params->output)
      orr_lengths_check(output, room - 1, "classes.output", place, diags);
  }
}

static void check_host(const OrrServingHost *host, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags) {
  if (host->neighbours > 1 && host->threads > 0 && host->cores == 0 &&
      cluster->node.host.cores == 0)
    orr_diags_error(diags, place,
                    "host.neighbours needs the number of cores, which node %s does not state: give "
                    "engine.host.cores",
                    cluster->name);
  if (host->cores > cluster->node.host.cores && cluster->node.host.cores > 0)
    orr_diags_error(diags, place, "engine.host.cores (%ld): node %s has %ld", host->cores,
                    cluster->name, cluster->node.host.cores);
}

static void check_algorithm(const char *what, const char *name, gboolean gathers, OrrPlace place,
                            OrrDiags *diags) {
  if (g_str_equal(name, "auto") || g_str_equal(name, "nccl") ||
      (gathers && g_str_equal(name, "gather")) || orr_registry_find(&orr_collective_registry, name))
    return;
  g_autofree const char **names = orr_registry_names(&orr_collective_registry);
  g_autofree char *known = g_strjoinv(", ", (char **)names);
  orr_diags_error(diags, place, "unknown %s '%s' (allowed: auto, nccl, %s%s)", what, name,
                  gathers ? "gather, " : "", known);
}

static void check_engine(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags) {
  const OrrEngineParams *engine = &params->engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  if (engine->max_model_len > model->context)
    orr_diags_error(diags, place,
                    "engine.max-model-len (%ld) is above the context (%ld) of model %s",
                    engine->max_model_len, model->context, model->name);
  if (scheduler && !scheduler->without_chunks &&
      engine->max_num_batched_tokens < engine->max_num_seqs)
    orr_diags_error(diags, place, "engine.max-num-batched-tokens (%ld) is below max-num-seqs (%ld)",
                    engine->max_num_batched_tokens, engine->max_num_seqs);
  if (scheduler && scheduler->keeps_whole && scheduler->keeps_whole(engine->scheduler.params) &&
      engine->max_num_batched_tokens < orr_serving_memory_longest(params, model))
    orr_diags_error(diags, place,
                    "engine.max-num-batched-tokens (%ld) is below the longest request (%ld): "
                    "without chunked prefill a step must hold a whole one; raise it, or give "
                    "engine.max-model-len",
                    engine->max_num_batched_tokens, orr_serving_memory_longest(params, model));
  check_algorithm("engine.all-reduce", engine->all_reduce, FALSE, place, diags);
}

/* "; weights alone may be narrow: ...": the words whose products are in 16 bits, for @model; the
 * first is the one of the weights that @word means. Newly allocated. */
static char *narrow_weights(const OrrModel *model, const char *word) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *family = g_strndup(word, strcspn(word, "-"));
  for (int pass = 0; pass < 2; pass++)
    for (OrrQuantization i = ORR_QUANTIZATION_NONE + 1; i < ORR_N_QUANTIZATIONS; i++) {
      const OrrQuantized *format = orr_quantized(i);
      const gboolean is_same = g_str_has_prefix(orr_quantization_words[i], family);
      if (format->products != ORR_N_DTYPES || is_same != (pass == 0) ||
          (format->from == ORR_QUANTIZED_EXPERTS && model->moe.experts == 0))
        continue;
      g_string_append_printf(text, "%s%s", text->len ? ", " : "", orr_quantization_words[i]);
    }
  return g_strdup_printf("; weights alone may be narrow: quantization %s", text->str);
}

static void check_products(const OrrDevice *device, const OrrModel *model, const char *what,
                           const char *word, OrrDtype products, OrrPlace place, OrrDiags *diags) {
  g_autofree char *advice = narrow_weights(model, word);
  /* AMD, CDNA 4 instruction set: fp4 in blocks of 32 with E8M0 scales, which is MXFP4 */
  if (products == ORR_FP4 && g_str_equal(word, "nvfp4") && g_strcmp0(device->platform, "rocm") == 0)
    orr_diags_error(diags, place, "%s nvfp4: device %s multiplies mxfp4, and not nvfp4%s", what,
                    device->name, advice);
  orr_products_check(device, what, word, products, advice, place, diags);
}

static void check_formats(const OrrServing *params, const OrrModel *model, const OrrDevice *device,
                          OrrPlace place, OrrDiags *diags) {
  const char *word = orr_quantization_words[params->formats.quantization];
  const OrrInferenceShard shard = orr_serving_shard(params);
  if (!shard.is_quantized)
    return check_products(device, model, "precision", orr_dtype_names[params->formats.precision],
                          (OrrDtype)params->formats.precision, place, diags);
  if (params->formats.precision != ORR_BF16)
    orr_diags_error(diags, place,
                    "quantization (%s) and precision (%s) exclude each other: quantization implies "
                    "the precision",
                    word, orr_dtype_names[params->formats.precision]);
  const OrrQuantized *before = NULL;
  check_products(device, model, "activations", orr_dtype_names[params->formats.activations],
                 (OrrDtype)params->formats.activations, place, diags);
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++) {
    const OrrQuantized *format = shard.formats[part];
    if (!format || format == before || format->products == ORR_N_DTYPES) continue;
    before = format;
    check_products(device, model, "quantization", orr_quantized_word(format), format->products,
                   place, diags);
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
    orr_diags_error(diags, place, "images (%ld) of prompts: model %s has no encoder",
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
                    "num-speculative-tokens (%ld) and one more do not go into a step of "
                    "max-num-batched-tokens (%ld)",
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
    orr_diags_error(
        diags, place,
        "disaggregation.prefill (%ld) leaves none of the %ld replicas to decode: give at most %ld",
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
  const gboolean reads = orr_serving_scales(params) || !params->start.warm ||
                         (orr_serving_shares(params) && !params->start.sleeps);
  if (reads && params->start.weights && cluster->storage.servers == 0)
    orr_diags_error(
        diags, place,
        "replicas that start read their weights from a file system, and the cluster has none: give "
        "cluster.storage, or start.weights: false");
  if (scaling->least > replicas)
    orr_diags_error(diags, place, "autoscaling.least (%ld) is above the %ld replicas",
                    scaling->least, replicas);
  if (scaling->by.entry && g_str_equal(scaling->by.entry->name, "slo") && params->slo.ttft_s <= 0)
    orr_diags_error(diags, place, "autoscaling by slo needs slo.ttft, its target");
}

/* A limit on a queue that is never used is an error. */
static void check_admission(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  if (params->admission.queue >= 0 && params->admission.in_flight == 0)
    orr_diags_error(diags, place,
                    "admission.queue (%ld) limits nothing without admission.in-flight: give both",
                    params->admission.queue);
  if (params->admission.in_flight > 0 && params->disaggregation.prefill > 0)
    orr_diags_warning(diags, place,
                      "admission.in-flight (%ld) limits the replicas that prefill: decoding "
                      "replicas take every request that is handed over",
                      params->admission.in_flight);
}

static void check_window(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const gboolean is_steady = params->metrics.window == ORR_WINDOW_STEADY;
  if (is_steady && load && !load->is_endless)
    orr_diags_error(diags, place,
                    "metrics.window: steady: the rate of load %s changes over time, so there is no "
                    "steady state: use poisson, constant, gamma, sessions or a trace",
                    load->entry.name);
  if (params->metrics.window != ORR_WINDOW_ALL && params->metrics.warmup_s > 0)
    orr_diags_error(diags, place,
                    "metrics.warmup and metrics.window: %s exclude each other: the window begins "
                    "after a warm-up of its own",
                    is_steady ? "steady" : "full");
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
    orr_diags_warning(diags, place, "parallel.ep (%ld) has no effect: model %s has no experts",
                      parallel->ep, model->name);
  if (parallel->imbalance > 0 && parallel->placement == ORR_EXPERTS_PACKED && parallel->ep > 1)
    orr_diags_error(diags, place,
                    "parallel.imbalance (%g) excludes expert-placement: packed: its power law does "
                    "not say which experts are loaded; give expert-load, as {kind: zipf, exponent: "
                    "0.5}",
                    parallel->imbalance);
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
  if (slots % parallel->ep != 0 &&
      parallel->feed.gpus > 0) /* else orr_inference_check refuses it */
    orr_diags_error(diags, place,
                    "redundant-experts: %ld experts and copies cannot be split evenly over ep %ld",
                    slots, parallel->ep);
}

static void check_two_batches(const OrrServing *params, const OrrDevice *device, OrrPlace place,
                              OrrDiags *diags) {
  const OrrTwoBatches *two = &params->parallel.two_batches;
  if (two->decodes + two->prompts == 0) return;
  if (params->parallel.pp > 1)
    orr_diags_error(diags, place,
                    "parallel.two-batches and parallel.pp above 1 exclude each other: halves of a "
                    "pipeline's batches are not modelled");
  if (two->held >= device->sms)
    orr_diags_error(diags, place,
                    "parallel.two-batches.held (%ld) leaves none of the %ld multiprocessors of %s "
                    "to the other half",
                    two->held, device->sms, device->name);
}

/* Checks that each group can run by itself. */
static void check_group(const OrrServing *params, const OrrModel *model, const OrrCluster *cluster,
                        OrrPlace place, OrrDiags *diags) {
  const OrrDevice *feed = orr_serving_feed_device(params, cluster);
  const OrrInferenceShard shard = orr_serving_shard(params);
  orr_inference_check(model, &shard, place, diags);
  orr_feed_pool_check(params, model, place, diags);
  if (params->parallel.pp > model->layers)
    orr_diags_error(diags, place, "pp (%ld) is above the %ld layers of model %s",
                    params->parallel.pp, model->layers, model->name);
  check_two_batches(params, &cluster->device, place, diags);
  check_algorithm("parallel.all-to-all", params->parallel.all_to_all, TRUE, place, diags);
  check_expert_load(params, model, place, diags);
  check_speculation(params, model, place, diags);
  check_formats(params, model, &cluster->device, place, diags);
  if (feed != &cluster->device) check_formats(params, model, feed, place, diags);
}

static void check_gpus(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags) {
  g_autoptr(GString) text = g_string_new(NULL);
  double gpus = 0;
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = orr_serving_groups_params(params, g, cluster);
    if (orr_serving_groups_shares(params, g)) continue;
    gpus += (double)own.replicas * (double)orr_serving_parallel_gpus(&own.parallel);
    g_string_append_printf(text, "%s%ld * %ld * %ld * %ld", g > 0 ? " + " : "", own.replicas,
                           own.parallel.tp, own.parallel.pp, own.parallel.dp_attention);
    if (own.parallel.feed.gpus > 0)
      g_string_append_printf(text, " + feed-forwards %ld * %ld", own.replicas,
                             own.parallel.feed.gpus);
  }
  if (params->encoders.replicas > 0) {
    gpus += (double)params->encoders.replicas;
    g_string_append_printf(text, " + encoders %ld", params->encoders.replicas);
  }
  if (orr_tasks_gpus(&params->tasks, G_MAXUINT) > 0) {
    gpus += (double)orr_tasks_gpus(&params->tasks, G_MAXUINT);
    g_string_append_printf(text, " + pools of tasks %ld",
                           orr_tasks_gpus(&params->tasks, G_MAXUINT));
  }
  if (gpus > (double)orr_cluster_n_gpus(cluster))
    orr_diags_error(
        diags, place,
        "replicas * tp * pp * dp-attention = %s = %.0f GPUs, but the cluster has %ld in use",
        text->str, gpus, orr_cluster_n_gpus(cluster));
}

static void check_places(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                         OrrDiags *diags) {
  g_autofree gint64 *first = g_new(gint64, orr_serving_n_groups(params));
  const guint split = orr_serving_groups_place(params, cluster, first);
  if (split == G_MAXUINT) return;
  const OrrServing own = orr_serving_groups_params(params, split, cluster);
  orr_diags_warning(diags, place,
                    "a replica of %ld GPUs is on two nodes, though each has %ld: GPUs are taken in "
                    "order, and no order of the groups avoids it; its "
                    "collectives cross the network",
                    orr_serving_parallel_gpus(&own.parallel), cluster->node.gpus);
}

/* Replicas of two regions cannot be in one node. */
static void check_region_nodes(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                               OrrDiags *diags) {
  const gint64 node = cluster->node.gpus;
  g_autofree gint64 *first = g_new(gint64, orr_serving_n_groups(params));
  orr_serving_groups_place(params, cluster, first);
  for (guint g = 1; g < orr_serving_n_groups(params); g++)
    for (guint k = 0; k < g && orr_serving_n_regions(params) > 0; k++) {
      const guint a = first[k] < first[g] ? k : g, b = a == k ? g : k;
      const OrrServing own = orr_serving_groups_params(params, a, cluster);
      const gint64 last = first[a] + own.replicas * orr_serving_parallel_gpus(&own.parallel) - 1;
      const guint in_a = orr_serving_group_region(params, a),
                  in_b = orr_serving_group_region(params, b);
      if (in_a == in_b || last / node < first[b] / node) continue;
      orr_diags_error(diags, orr_node_place_in(place, "groups"),
                      "regions: node %ld has replicas of %s and of %s: give the replicas of each "
                      "region whole nodes (%ld GPUs each), or set cluster.node.gpus",
                      first[b] / node, ((const OrrRegion *)params->regions->pdata[in_a])->name,
                      ((const OrrRegion *)params->regions->pdata[in_b])->name, node);
      return;
    }
}

/* What is kept of layers with a window where it is more than engines keep, or less. */
static void warn_windows(const OrrServing *own, const OrrModel *model,
                         const OrrServingMemory *memory, OrrPlace place, OrrDiags *diags) {
  const OrrCacheTiers *tiers = &own->engine.tiers;
  if (memory->keeps_windows)
    orr_diags_warning(diags, place,
                      "all layers of model %s have a window: with engine.prefix-caching its cache "
                      "keeps all tokens here, while engines free those that leave the window; "
                      "engine.prefix-caching: none frees them",
                      model->name);
  else if (memory->layout.window_share > 0 && memory->layout.window_room < 1 &&
           tiers->host_bytes + tiers->ssd_bytes + tiers->remote_bytes > 0)
    orr_diags_warning(diags, place,
                      "engine.cache-tiers store and read all tokens of layers with a window, while "
                      "GPUs free those that leave it (engine.window-room %g): engines that turn "
                      "this off with a connector, as vLLM does for LMCache, need "
                      "engine.window-room: 1",
                      memory->layout.window_room);
}

/* Checks each group's memory, and that the longest request fits the smallest cache. */
static void check_room_of_groups(const OrrServing *params, const OrrModel *model,
                                 const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const guint before = orr_diags_n_errors(diags);
  gint64 least = G_MAXINT64;
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = orr_serving_groups_params(params, g, cluster);
    const OrrCluster machine = orr_serving_groups_cluster(params, g, cluster);
    const OrrModel served = orr_serving_groups_model(params, g, model);
    check_memory(&own, &served, &machine, place, diags);
    orr_feed_pool_check_memory(&own, &served, &machine, place, diags);
    const OrrServingMemory memory = orr_serving_memory_of(&own, &served, &machine);
    warn_windows(&own, &served, &memory, place, diags);
    least = MIN(least, MIN(memory.room, orr_serving_memory_longest(&own, &served)));
  }
  if (orr_diags_n_errors(diags) > before) return;
  check_room(params, model, least, "key-value cache", place, diags);
  ORR_EACH_POINTER(const OrrRequestClass, class, params->classes) {
    const OrrServing own = of_class(params, class);
    check_room(&own, model, least, "key-value cache", place, diags);
  }
}

static gboolean tiers_differ(const OrrCacheTiers *a, const OrrCacheTiers *b) {
  return a->host_bytes != b->host_bytes || a->ssd_bytes != b->ssd_bytes ||
         a->ssd_bytes_per_s != b->ssd_bytes_per_s || a->ssd_latency_s != b->ssd_latency_s ||
         a->ssd_write_bytes_per_s != b->ssd_write_bytes_per_s || a->ssd_writes != b->ssd_writes ||
         a->ssd_of != b->ssd_of || a->remote_bytes != b->remote_bytes ||
         a->remote_bytes_per_s != b->remote_bytes_per_s ||
         a->remote_latency_s != b->remote_latency_s || a->remote_readers != b->remote_readers ||
         a->prefetch != b->prefetch || a->prefetch_threshold != b->prefetch_threshold;
}

/* Caches are handed over as they are stored: vLLM's NIXL connector, SGLang's and TensorRT-LLM's
 * transceivers refuse a peer whose cache has another format. */
static void check_own_cache(const OrrServing *params, const OrrServing *own, OrrPlace place,
                            OrrDiags *diags) {
  if (params->disaggregation.prefill == 0 || own->formats.kv == params->formats.kv) return;
  orr_diags_error(diags, orr_node_place_in(place, "groups"),
                  "groups: kv-dtype %s, and %s of the replicas before: with disaggregation a cache "
                  "is handed over as it is stored, and no engine converts it: give all groups the "
                  "same kv-dtype",
                  orr_dtype_names[own->formats.kv], orr_dtype_names[params->formats.kv]);
}

/* What moves between groups, or belongs to the fleet, is one setting of all. */
static void check_own_engine(const OrrServing *params, const OrrServing *own, const OrrModel *model,
                             OrrPlace place, OrrDiags *diags) {
  const OrrEngineParams *all = &params->engine, *engine = &own->engine;
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
      {"cache-tiers", tiers_differ(&all->tiers, &engine->tiers)},
  };
  for (guint i = 0; i < G_N_ELEMENTS(shared); i++)
    if (shared[i].differs)
      orr_diags_error(diags, place,
                      "groups: engine.%s must be the same in all groups: set it in the workload's "
                      "engine",
                      shared[i].key);
  check_own_cache(params, own, place, diags);
  check_engine(own, model, place, diags);
  orr_refusals_check(own, model, place, diags);
}

void orr_serving_check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                       OrrPlace place, OrrDiags *diags) {
  const OrrServing *params = data;
  const guint before = orr_diags_n_errors(diags);
  const gint64 replicas = replicas_of(params, cluster);
  orr_serving_idle_warn(params, model, place, diags);
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = orr_serving_groups_params(params, g, cluster);
    const OrrCluster machine = orr_serving_groups_cluster(params, g, cluster);
    const OrrModel served = orr_serving_groups_model(params, g, model);
    check_group(&own, &served, &machine, place, diags);
    orr_refusals_check_host_tier(&own, &machine, place, diags);
    if (g > 0) check_own_engine(params, &own, &served, place, diags);
  }
  check_gpus(params, cluster, place, diags);
  check_engine(params, model, place, diags);
  check_admission(params, place, diags);
  orr_serving_regions_check(params, place, diags);
  check_window(params, place, diags);
  check_parts(params, model, place, diags);
  orr_refusals_check(params, model, place, diags);
  orr_refusals_check_models(params, model, cluster, place, diags);
  check_disaggregation(params, replicas, place, diags);
  check_life(params, replicas, cluster, place, diags);
  check_host(&params->engine.host, cluster, place, diags);
  check_lengths(params, model, place, diags);
  orr_task_check(params, cluster, place, diags);
  if (orr_diags_n_errors(diags) > before) return;
  check_places(params, cluster, place, diags);
  check_region_nodes(params, cluster, place, diags);
  check_room_of_groups(params, model, cluster, place, diags);
}
