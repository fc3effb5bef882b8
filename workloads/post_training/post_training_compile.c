/*
 * post_training_compile.c - replays the passes (post_training_parts.h) and the calls of a message
 * of weights, and runs the loop on what they take.
 *
 * Time of an exchange of GPUs between roles, where both share them:
 *
 *   bytes = parameters (offload optimizer: 16, all: 18) / trainer GPUs
 *   t = wake + bytes / host link
 */
#include "workloads/post_training/post_training_parts.h"

void orr_post_training_compile_check(const OrrPostTraining *params, const OrrModel *model,
                                     const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  g_autoptr(OrrPostTrainingParts) parts = orr_post_training_parts_new(params, model, cluster);
  orr_post_training_parts_check(parts, place, diags);
}

/* --- Weights --- */

static OrrCollectiveBench call_of(int collective, double bytes, gint64 ranks) {
  OrrCollectiveBench call;
  orr_field_defaults(&orr_collective_bench_table, &call);
  call.collective = collective;
  call.begin_bytes = call.end_bytes = fmax(round(bytes), 1024);
  call.ranks = ranks;
  call.dtype = ORR_BF16;
  return call;
}

/* All weights as an engine has them: embedding, head and norms in 16 bits. */
static double engine_bytes(const OrrPostTrainingParts *parts) {
  OrrInferenceShard whole = orr_serving_shard(&parts->params->rollout);
  whole.tp = whole.dp = whole.ep = 1;
  whole.redundant = 0;
  return orr_inference_weight_bytes(parts->model, &whole, 0, parts->model->layers, TRUE, TRUE);
}

static OrrWeightLoad load_of(const OrrPostTrainingParts *parts) {
  const OrrPostTraining *p = parts->params;
  return (OrrWeightLoad){.bytes = p->quantized_sync
                                      ? engine_bytes(parts)
                                      : orr_model_parameters(parts->model) * ORR_RL_WEIGHT_BYTES,
                         .tensors = orr_weight_sync_tensors(parts->model),
                         .trainer_gpus = orr_cluster_n_gpus(&parts->update_cluster),
                         .rollout_gpus = orr_cluster_n_gpus(&parts->rollout_cluster),
                         .engine_gpus = orr_post_training_parts_engine_gpus(p),
                         .host_copy_bytes_per_s = orr_cluster_host_copy_bytes_per_s(&parts->whole),
                         .memory_bytes_per_s = parts->rollout_cluster.device.memory_bytes_per_s,
                         .launch_speed = orr_host_launch_speed(&parts->rollout_cluster.node.host)};
}

static gboolean replay_sync(const OrrPostTrainingParts *parts, const OrrParts *runs,
                            OrrLoopInput *input, OrrPostTrainingWork *work, GError **error) {
  const OrrWeightSync *sync = (const OrrWeightSync *)(gconstpointer)parts->params->sync.entry;
  const OrrWeightSyncParams *own = parts->params->sync.params;
  const OrrWeightLoad load = load_of(parts);
  const double message = orr_weight_sync_message_bytes(own, &load);
  const gint64 shards = orr_post_training_parts_shard_ranks(parts);
  const gboolean gathers = sync->gathers && shards > 1;
  OrrCollectiveBench calls[] = {call_of(ORR_ALL_GATHER, message, shards),
                                call_of(ORR_BROADCAST, message, load.rollout_gpus + 1)};
  const OrrPostTrainingBeside *other = &parts->params->beside;
  const OrrPartTraffic traffic = {&other->traffic, other->gpus, &other->placement};
  OrrPart list[2];
  OrrPartTimes times[2] = {{0}, {0}};
  guint n = 0;
  if (gathers)
    list[n++] = (OrrPart){.name = "sync",
                          .kind = &orr_collectives_kind,
                          .params = &calls[0],
                          .model = parts->model,
                          .cluster = &parts->update_cluster};
  if (sync->sends)
    list[n++] = (OrrPart){.name = "sync",
                          .kind = &orr_collectives_kind,
                          .params = &calls[1],
                          .model = parts->model,
                          .cluster = &parts->whole,
                          .beside = other->gpus > 0 ? &traffic : NULL,
                          .beside_gpus = load.rollout_gpus + 1};
  const gboolean ok = n == 0 || runs->replay(runs->user, list, n, times, error);
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++)
    orr_field_clear(&orr_collective_bench_table, &calls[i]);
  if (!ok) return FALSE;
  const OrrWeightCalls seconds = {.gather_s = gathers ? times[0].seconds : 0,
                                  .send_s = sync->sends ? times[gathers ? 1 : 0].seconds : 0};
  input->sync = sync->times(own, &load, &seconds);
  work->sync_bytes = load.bytes;
  work->blocked_s = input->sync.blocked_s;
  return TRUE;
}

/* --- Shared GPUs --- */

static void fill_switch(const OrrPostTrainingParts *parts, OrrLoopInput *input) {
  const OrrPostTraining *p = parts->params;
  if (!input->is_colocated && input->helpers == 0) return;
  const double gpus = (double)orr_cluster_n_gpus(&parts->update_cluster);
  const double each = p->offload == ORR_OFFLOAD_ALL ? ORR_RL_OPTIMIZER_BYTES + ORR_RL_WEIGHT_BYTES
                      : p->offload == ORR_OFFLOAD_OPTIMIZER ? ORR_RL_OPTIMIZER_BYTES
                                                            : 0;
  const double bytes = orr_model_parameters(parts->model) * each / gpus;
  input->to_update_s = input->to_rollout_s =
      p->wake_s + bytes / orr_cluster_host_copy_bytes_per_s(&parts->whole);
}

/* --- The loop --- */

/* A role whose state lies in host memory comes before its phases; what it trained goes back. */
static OrrLoopPass pass_of(const OrrPostTrainingParts *parts, OrrPostTrainingLine line) {
  const OrrPostTrainingPass *pass = &parts->passes[line];
  const OrrPostTrainingRole *role = orr_post_training_parts_role(parts->params, line);
  const OrrPostTrainingLine owner = line == ORR_LINE_VALUES ? ORR_LINE_CRITIC : line;
  const double bytes =
      role && role->state == ORR_ROLE_ON_HOST ? parts->passes[owner].state_bytes : 0;
  return (OrrLoopPass){.is_there = pass->is_there,
                       .time = pass->time,
                       .shape = pass->shape,
                       .load_s = bytes / orr_cluster_host_copy_bytes_per_s(&parts->whole)};
}

static void fill_passes(const OrrPostTrainingParts *parts, OrrLoopInput *input) {
  input->update = pass_of(parts, ORR_LINE_UPDATE);
  input->old_log_probs = pass_of(parts, ORR_LINE_FORWARD);
  input->reference = pass_of(parts, ORR_LINE_REFERENCE);
  input->rewards = pass_of(parts, ORR_LINE_REWARDS);
  input->values = pass_of(parts, ORR_LINE_VALUES);
  input->critic = pass_of(parts, ORR_LINE_CRITIC);
}

/* Rollouts that may run ahead begin all batches of the allowed staleness at once, so that step
 * times repeat with this many steps rather than with one. */
static gint64 round_of(const OrrPostTraining *p) {
  return p->steps > 1 && p->mode.kind == ORR_LOOP_ASYNCHRONOUS ? 1 + (gint64)p->mode.staleness : 1;
}

static void fill_input(const OrrPostTrainingParts *parts, OrrRolloutSpeed *speed, guint64 seed,
                       OrrLoopInput *input) {
  const OrrPostTraining *p = parts->params;
  const OrrRlAlgorithm *algorithm = (const OrrRlAlgorithm *)(gconstpointer)p->algorithm.entry;
  const OrrRlPasses *passes = p->algorithm.params;
  const gint64 engine = orr_post_training_parts_engine_gpus(p);
  const gint64 round = round_of(p);
  *input = (OrrLoopInput){
      .speed = speed,
      .replicas = (guint)parts->rollout.replicas,
      .helpers = p->pools.hybrid ? (guint)(orr_cluster_n_gpus(&parts->update_cluster) / engine) : 0,
      .is_colocated = p->pools.rollout_gpus == 0,
      .steps = round > 1 ? MAX(p->steps, 3 * round) : p->steps,
      .uncounted = p->steps > 1 ? round : 0,
      .prompts = p->prompts,
      .samples = p->samples,
      .prompt = &p->prompt,
      .response = &p->response,
      .longest = orr_rollout_speed_longest(speed),
      .mode = p->mode,
      .turns = p->turns,
      .verifier = p->verifier,
      .costs = p->costs,
      .mini_batch = MIN(p->update.batch.global_size, p->prompts * p->samples),
      .epochs = p->epochs,
      .filtered = algorithm->drops_equal ? passes->filtered : 0,
      .seed = seed};
}

/* What GPUs draw whether or not they compute. GPUs that both share count as the trainer's. */
static void fill_static(const OrrPostTrainingParts *parts, OrrPostTrainingWork *work) {
  const OrrDevice *train = &parts->update_cluster.device, *roll = &parts->rollout_cluster.device;
  const gboolean is_known =
      orr_device_power_is_known(&train->power) && orr_device_power_is_known(&roll->power);
  const double own = (double)parts->params->pools.rollout_gpus;
  const double trainer = (double)orr_cluster_n_gpus(&parts->update_cluster);
  work->rollout_static_w = is_known ? orr_device_power_static_w(&roll->power) * own : NAN;
  work->update_static_w = is_known ? orr_device_power_static_w(&train->power) * trainer : NAN;
  work->rollout_device = g_intern_string(roll->name);
  work->update_device = g_intern_string(train->name);
}

static gboolean run_loop(OrrPostTrainingParts *parts, const OrrWorld *world,
                         OrrPostTrainingWork *work, GError **error) {
  const OrrParts *runs = world->parts;
  const OrrWorld *own = runs->world_of(runs->user, &parts->rollout_cluster, error);
  if (!own) return FALSE;
  g_autoptr(OrrRolloutSpeed) speed = orr_rollout_speed_new(&parts->rollout, own, error);
  if (!speed) {
    g_prefix_error(error, "rollout: ");
    return FALSE;
  }
  OrrLoopInput input;
  fill_input(parts, speed, (guint64)world->seed, &input);
  work->rollout_bytes = orr_rollout_speed_gpu_bytes(speed);
  if (!orr_post_training_parts_replay(parts, runs, error) ||
      !orr_post_training_memory_check_room(parts, work->rollout_bytes, error) ||
      !replay_sync(parts, runs, &input, work, error))
    return FALSE;
  work->helpers = input.helpers;
  fill_passes(parts, &input);
  fill_switch(parts, &input);
  work->memory = orr_post_training_memory_new(parts, work->rollout_bytes);
  work->update_bytes = orr_post_training_memory_peak(work->memory);
  work->uncounted = input.uncounted;
  work->history = orr_loop_sim(&input, error);
  if (!work->history) return FALSE;
  work->missing = orr_rollout_speed_missing(speed);
  memcpy(work->trust_s, orr_rollout_speed_trust(speed), sizeof work->trust_s);
  fill_static(parts, work);
  return TRUE;
}

OrrWork *orr_post_training_compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrPostTraining *params = data;
  if (!world->parts)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "a workload of kind post-training runs alone on its cluster");
  OrrPostTrainingWork *work = g_new0(OrrPostTrainingWork, 1);
  g_autoptr(OrrPostTrainingParts) parts =
      orr_post_training_parts_new(params, world->model, world->cluster);
  work->params = *params;
  work->work = (OrrWork){.kind = &orr_post_training_kind,
                         .program = orr_program_new(),
                         .fidelity = ORR_FIDELITY_FOLDED,
                         .n_gpus = orr_post_training_parts_own_gpus(params, world->cluster)};
  work->rollout_gpus = orr_cluster_n_gpus(&parts->rollout_cluster);
  work->update_gpus = orr_cluster_n_gpus(&parts->update_cluster);
  work->replicas = (guint)parts->rollout.replicas;
  work->keeps_spans = world->keeps_spans;
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  if (run_loop(parts, world, work, error) && orr_program_seal(work->work.program, error))
    return &work->work;
  orr_work_free(&work->work);
  return NULL;
}
