/*
 * serving_memory.c - what a GPU of a group of replicas holds, and the size of its cache.
 *
 *   cache  = memory * gpu-memory-utilization - reserved - weights - activations - embeddings
 *   activations = the larger of
 *                 layers(max-num-batched-tokens)
 *                 hidden states + sampler-peak * max-num-seqs * vocabulary
 *                               + with keep-workspaces, the experts' workspaces
 *   blocks = floor(cache / (block-size * bytes of a token in the stage's layers)); where no layer
 *            has a cache, floor(cache / bytes of a sequence's state)
 *
 * per GPU, as vLLM profiles it at start (v1/worker/gpu_model_runner.py, profile_run): weights are
 * the largest stage's. Where profile-activations is false, activations are not subtracted.
 */
#include "workloads/serving/fleet/fleet_private.h"

gint64 orr_serving_memory_longest(const OrrServing *params, const OrrModel *model) {
  return params->engine.max_model_len > 0 ? params->engine.max_model_len : model->context;
}

/* --- memory --- */

/* Adds the drafter, which is on the last stage: at worst together with the largest. */
static void add_drafter(const OrrServing *params, const OrrModel *model,
                        const OrrInferenceShard *shard, OrrServingMemory *memory) {
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
  const double kept =
      engine->keeps_workspaces
          ? orr_inference_workspace_bytes(model, shard, engine->max_num_batched_tokens)
          : 0;
  return fmax(orr_inference_activation_bytes(model, shard, engine->max_num_batched_tokens),
              tokens * (double)model->hidden * orr_dtype_bytes(shard->activations) +
                  logits * engine->sampler_peak_bytes + kept);
}

/* Without a cache a block is a state, and a sequence's only one: a window of no further token. */
static void lay_out(const OrrServing *params, const OrrModel *model, double windowed,
                    OrrServingMemory *memory) {
  const OrrEngineParams *engine = &params->engine;
  memory->block = memory->kv_per_token * (double)engine->block_size;
  if (memory->block > 0)
    memory->layout = (OrrKvLayout){windowed / memory->kv_per_token,
                                   model->window.size,
                                   engine->window_room,
                                   memory->state / memory->block,
                                   memory->ring / memory->block,
                                   engine->prefix_caching != ORR_PREFIX_NONE};
  else
    memory->layout = (OrrKvLayout){.window_share = 1};
  if (memory->block <= 0) memory->block = memory->state;
  /* a prefix cache counts the other layers' blocks: where there are none it keeps all tokens */
  memory->keeps_windows = memory->layout.is_cached && memory->layout.window_share >= 1 - 1e-9 &&
                          memory->layout.window_room < 1;
  if (memory->keeps_windows) memory->layout.window_room = 1;
}

OrrServingMemory orr_serving_memory_of(const OrrServing *params, const OrrModel *model,
                                       const OrrCluster *cluster) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  const gint64 stage = orr_serving_layers(params, model);
  OrrServingMemory memory = {.budget =
                                 cluster->device.memory_bytes * params->engine.memory_utilization};
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
  lay_out(params, model, windowed, &memory);
  memory.blocks = params->engine.kv_blocks > 0 ? params->engine.kv_blocks
                  : memory.block > 0           ? (gint64)fmax(0, floor(left / memory.block))
                                               : 0;
  memory.room = orr_kv_layout_room(&memory.layout, params->engine.block_size, memory.blocks);
  return memory;
}

gint64 orr_serving_start_room(const OrrServing *params, const OrrModel *model,
                              const OrrCluster *cluster, gint64 *ret_longest) {
  gint64 least = 0;
  for (guint g = 0; g < orr_serving_n_groups(params); g++) {
    const OrrServing own = orr_serving_groups_params(params, g, cluster);
    const OrrCluster its_cluster = orr_serving_groups_cluster(params, g, cluster);
    const OrrModel its_model = orr_serving_groups_model(params, g, model);
    const gint64 longest = orr_serving_memory_longest(&own, &its_model);
    if (!((const OrrScheduler *)own.engine.scheduler.entry)->needs_longest ||
        own.engine.kv_blocks > 0 || own.engine.max_model_len < 0)
      continue;
    const gint64 room = orr_serving_memory_of(&own, &its_model, &its_cluster).room;
    if (room >= longest || (least > 0 && room >= least)) continue;
    least = MAX(room, 1);
    if (ret_longest) *ret_longest = longest;
  }
  return least;
}
