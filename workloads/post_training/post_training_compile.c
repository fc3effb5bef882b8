/*
 * post_training_compile.c - replays the parts, and runs the loop on what they take.
 *
 * Parts:
 *   update, forward   of m and 2 m micro-batches each; m = 1, or two rounds of a pipeline
 *   gather, send      of a message of weights, where the way of sending has them
 *
 * Time of an exchange of GPUs between roles, where both share them:
 *
 *   bytes = parameters (offload optimizer: 16, all: 18) / trainer GPUs
 *   t = wake + bytes / host link
 */
#include "workloads/post_training/post_training_compile.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "workloads/collectives/collective_bench.h"
#include "workloads/parts.h"

#define D "%" G_GINT64_FORMAT

/* fp32 master weights and two moments, and gradients in fp32; 16-bit weights. */
#define OPTIMIZER_BYTES 16.0
#define WEIGHT_BYTES 2.0

enum { PART_UPDATE, PART_UPDATE_TWICE, PART_FORWARD, PART_FORWARD_TWICE, N_PASSES };

/* What is compiled: copies whose pointers are borrowed from the document. */
typedef struct {
  const OrrPostTraining *params;
  const OrrModel *model;
  OrrCluster rollout_cluster, update_cluster, whole; /* whole: gather and send */
  OrrServing rollout;
  OrrTraining trainings[N_PASSES];
  gint64 dp, micro_batches;
} Parts;

/* --- Pools --- */

static OrrCluster first_gpus(const OrrCluster *cluster, gint64 gpus) {
  OrrCluster part = *cluster;
  part.max_nodes = orr_cluster_n_built_nodes(cluster);
  part.nodes = 0;
  part.gpus = gpus;
  return part;
}

static gint64 rollout_gpus(const OrrPostTraining *p, const OrrCluster *cluster) {
  return p->pools.rollout_gpus > 0 ? p->pools.rollout_gpus : orr_cluster_n_gpus(cluster);
}

static gint64 engine_gpus(const OrrPostTraining *p) {
  return p->rollout.parallel.tp * p->rollout.parallel.pp * MAX(p->rollout.parallel.dp_attention, 1);
}

static gint64 longest_of(const OrrPostTraining *p, const OrrModel *model) {
  const gint64 own = p->rollout.engine.max_model_len;
  return own > 0 ? own : model->context;
}

/* --- Parts as workloads --- */

/* A load that is never read: engines are asked for the time of their steps alone. */
static OrrChoice some_load(void) {
  const OrrEntry *entry = orr_registry_find(&orr_arrival_registry, "closed-loop");
  OrrChoice load = {.entry = entry, .params = g_malloc0(entry->params->size)};
  orr_field_defaults(entry->params, load.params);
  return load;
}

static void parts_free(Parts *parts) {
  g_free(parts->rollout.load.params);
  g_free(parts);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Parts, parts_free)

static void fill_rollout(Parts *parts, const OrrCluster *cluster) {
  const OrrPostTraining *p = parts->params;
  parts->rollout = p->rollout;
  parts->rollout.load = some_load();
  parts->rollout.replicas = rollout_gpus(p, cluster) / engine_gpus(p);
  parts->rollout.requests = p->prompts * p->samples;
  parts->rollout.input = p->prompt;
  parts->rollout.output = p->response;
}

/* A packed micro-batch has documents as long as prompts and responses together. */
static void fill_training(Parts *parts, int which) {
  const OrrPostTraining *p = parts->params;
  OrrTraining *t = &parts->trainings[which];
  *t = p->update;
  t->steps = 1;
  t->evaluation = which >= PART_FORWARD;
  if (t->sequence == 0) t->sequence = longest_of(p, parts->model);
  const gint64 times = which == PART_UPDATE_TWICE || which == PART_FORWARD_TWICE ? 2 : 1;
  t->batch.global_size = parts->dp * t->batch.micro * parts->micro_batches * times;
  if (p->packing != ORR_PASS_PACKED) return;
  OrrLengths documents = p->response; /* of its kind, scaled */
  const double mean = orr_lengths_mean(&documents), prompt = orr_lengths_mean(&p->prompt),
               turns = fmax(orr_lengths_mean(&p->turns.turns), 1);
  const double answer = orr_lengths_mean(&p->turns.answer);
  const double all = fmin(prompt + turns * mean + (turns - 1) * answer, (double)t->sequence);
  const double tokens = documents.tokens > 0 ? (double)documents.tokens * all / mean : all;
  documents.tokens = MAX(llround(tokens), 1);
  documents.mean = all;
  documents.least = 1;
  documents.most = MIN(longest_of(p, parts->model), t->sequence);
  t->packing.documents = documents;
  t->packing.cut = TRUE; /* micro-batches are full: their number is counted in tokens */
}

static void parts_init(Parts *parts, const OrrPostTraining *p, const OrrModel *model,
                       const OrrCluster *cluster) {
  const gint64 all = orr_cluster_n_gpus(cluster), own = p->pools.rollout_gpus;
  *parts = (Parts){.params = p, .model = model, .whole = *cluster};
  parts->rollout_cluster = first_gpus(cluster, rollout_gpus(p, cluster));
  if (p->pools.rollout_device.name) parts->rollout_cluster.device = p->pools.rollout_device;
  parts->update_cluster = first_gpus(cluster, all - own);
  const OrrParallel *split = &p->update.parallel;
  const gint64 model_gpus = split->tp * split->pp * MAX(split->cp, 1);
  parts->dp = split->dp > 0 ? split->dp : MAX((all - own) / model_gpus, 1);
  parts->micro_batches = split->pp > 1 ? 2 * split->pp : 1;
  fill_rollout(parts, cluster);
  for (int i = 0; i < N_PASSES; i++) fill_training(parts, i);
}

void orr_post_training_compile_check(const OrrPostTraining *params, const OrrModel *model,
                                     const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  g_autoptr(Parts) parts = g_new0(Parts, 1);
  parts_init(parts, params, model, cluster);
  orr_serving_kind.check(&parts->rollout, model, &parts->rollout_cluster,
                         orr_node_place_in(place, "rollout"), diags);
  orr_training_kind.check(&parts->trainings[PART_UPDATE], model, &parts->update_cluster,
                          orr_node_place_in(place, "update"), diags);
}

/* --- Passes --- */

static OrrPassTime line(const Parts *parts, const OrrPartTimes *once, const OrrPartTimes *twice) {
  const double m = (double)parts->micro_batches;
  const OrrDevice *device = &parts->update_cluster.device;
  const double static_w = orr_device_power_static_w(&device->power) *
                          (double)orr_cluster_n_gpus(&parts->update_cluster);
  const gboolean has_power = orr_device_power_is_known(&device->power);
  const double j1 = has_power ? once->gpu_energy_j - static_w * once->seconds : 0,
               j2 = has_power ? twice->gpu_energy_j - static_w * twice->seconds : 0;
  const double each_s = fmax(twice->seconds - once->seconds, 0) / m;
  const double each_j = fmax(j2 - j1, 0) / m;
  return (OrrPassTime){.fixed_s = fmax(once->seconds - m * each_s, 0),
                       .each_s = each_s,
                       .fixed_j = fmax(j1 - m * each_j, 0),
                       .each_j = each_j};
}

static gboolean replay_passes(const Parts *parts, const OrrParts *runs, OrrLoopInput *input,
                              OrrPostTrainingWork *work, GError **error) {
  static const char *const names[] = {"update", "update", "log-probabilities", "log-probabilities"};
  OrrPart list[N_PASSES];
  OrrPartTimes times[N_PASSES];
  for (int i = 0; i < N_PASSES; i++)
    list[i] = (OrrPart){names[i], &orr_training_kind, &parts->trainings[i], parts->model,
                        &parts->update_cluster};
  if (!runs->replay(runs->user, list, N_PASSES, times, error)) return FALSE;
  input->update = line(parts, &times[PART_UPDATE], &times[PART_UPDATE_TWICE]);
  input->forward = line(parts, &times[PART_FORWARD], &times[PART_FORWARD_TWICE]);
  work->update_bytes = times[PART_UPDATE_TWICE].gpu_bytes;
  const OrrTraining *t = &parts->trainings[PART_UPDATE];
  input->shape = (OrrPassShape){.replicas = parts->dp,
                                .micro = t->batch.micro,
                                .micro_tokens = (double)(t->sequence * t->batch.micro),
                                .padded_tokens = (double)t->sequence,
                                .balance = (OrrPassBalance)parts->params->balance,
                                .packing = (OrrPassPacking)parts->params->packing};
  return TRUE;
}

/* --- Weights --- */

static double host_link(const OrrCluster *cluster) {
  return cluster->node.host_link_bytes_per_s > 0 ? cluster->node.host_link_bytes_per_s
                                                 : cluster->device.host_link_bytes_per_s;
}

/* Ranks that hold different shards of a weight. */
static gint64 shard_ranks(const Parts *parts) {
  const OrrTraining *t = &parts->params->update;
  const OrrEntry *sharding = t->optimizer.sharding.entry;
  const gint64 all = orr_cluster_n_gpus(&parts->update_cluster);
  if (sharding == &orr_sharding_zero_3.entry || sharding == &orr_sharding_fsdp.entry) return all;
  return MIN(all, t->parallel.tp * t->parallel.pp * t->parallel.ep);
}

static OrrCollectiveBench call_of(int collective, double bytes, gint64 ranks) {
  OrrCollectiveBench call;
  orr_field_defaults(&orr_collective_bench_table, &call);
  call.collective = collective;
  call.begin_bytes = call.end_bytes = fmax(round(bytes), 1024);
  call.ranks = ranks;
  call.dtype = ORR_BF16;
  return call;
}

static OrrWeightLoad load_of(const Parts *parts) {
  const OrrPostTraining *p = parts->params;
  const OrrQuantized *quantized = orr_quantized((OrrQuantization)p->rollout.quantization);
  const double parameters = orr_model_parameters(parts->model);
  const double each = !p->quantized_sync ? WEIGHT_BYTES
                      : quantized        ? quantized->weight_bytes
                                         : orr_dtype_bytes((OrrDtype)p->rollout.precision);
  return (OrrWeightLoad){.bytes = parameters * each,
                         .tensors = orr_weight_sync_tensors(parts->model),
                         .trainer_gpus = orr_cluster_n_gpus(&parts->update_cluster),
                         .rollout_gpus = orr_cluster_n_gpus(&parts->rollout_cluster),
                         .engine_gpus = engine_gpus(p),
                         .host_link_bytes_per_s = host_link(&parts->whole),
                         .memory_bytes_per_s = parts->rollout_cluster.device.memory_bytes_per_s};
}

static gboolean replay_sync(const Parts *parts, const OrrParts *runs, OrrLoopInput *input,
                            OrrPostTrainingWork *work, GError **error) {
  const OrrWeightSync *sync = (const OrrWeightSync *)(gconstpointer)parts->params->sync.entry;
  const OrrWeightSyncParams *own = parts->params->sync.params;
  const OrrWeightLoad load = load_of(parts);
  const double message = orr_weight_sync_message_bytes(own, &load);
  const gint64 shards = shard_ranks(parts);
  const gboolean gathers = sync->gathers && shards > 1;
  OrrCollectiveBench calls[] = {call_of(ORR_ALL_GATHER, message, shards),
                                call_of(ORR_BROADCAST, message, load.rollout_gpus + 1)};
  OrrPart list[2];
  OrrPartTimes times[2] = {{0}, {0}};
  guint n = 0;
  if (gathers)
    list[n++] =
        (OrrPart){"sync", &orr_collectives_kind, &calls[0], parts->model, &parts->update_cluster};
  if (sync->sends)
    list[n++] = (OrrPart){"sync", &orr_collectives_kind, &calls[1], parts->model, &parts->whole};
  const gboolean ok = n == 0 || runs->replay(runs->user, list, n, times, error);
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++)
    orr_field_clear(&orr_collective_bench_table, &calls[i]);
  if (!ok) return FALSE;
  const OrrWeightCalls seconds = {.gather_s = gathers ? times[0].seconds : 0,
                                  .send_s = sync->sends ? times[gathers ? 1 : 0].seconds : 0};
  input->sync_s = sync->seconds(own, &load, &seconds);
  work->sync_bytes = load.bytes;
  return TRUE;
}

/* --- Shared GPUs --- */

static void fill_switch(const Parts *parts, OrrLoopInput *input) {
  const OrrPostTraining *p = parts->params;
  if (!input->is_colocated) return;
  const double gpus = (double)orr_cluster_n_gpus(&parts->update_cluster);
  const double each = p->offload == ORR_OFFLOAD_ALL         ? OPTIMIZER_BYTES + WEIGHT_BYTES
                      : p->offload == ORR_OFFLOAD_OPTIMIZER ? OPTIMIZER_BYTES
                                                            : 0;
  const double bytes = orr_model_parameters(parts->model) * each / gpus;
  input->to_update_s = input->to_rollout_s = p->wake_s + bytes / host_link(&parts->whole);
}

/* What the trainer leaves on a GPU during rollouts must fit beside the engine. */
static gboolean check_room(const Parts *parts, const OrrPostTrainingWork *work, GError **error) {
  const OrrPostTraining *p = parts->params;
  if (p->pools.rollout_gpus > 0 || p->offload == ORR_OFFLOAD_ALL) return TRUE;
  const double gpus = (double)orr_cluster_n_gpus(&parts->update_cluster);
  const double parameters = orr_model_parameters(parts->model);
  const double weights = parameters * WEIGHT_BYTES / (double)shard_ranks(parts);
  const double state = p->offload == ORR_OFFLOAD_NOTHING ? parameters * OPTIMIZER_BYTES / gpus : 0;
  const double memory = parts->rollout_cluster.device.memory_bytes;
  if (work->rollout_bytes + weights + state <= memory) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "workload.offload: an engine's %.1f GiB and the trainer's %.1f GiB that stay do not "
              "fit the %.1f GiB of a GPU: lower rollout.engine.gpu-memory-utilization, or "
              "offload: all",
              work->rollout_bytes / 0x1p30, (weights + state) / 0x1p30, memory / 0x1p30);
  return FALSE;
}

/* --- The loop --- */

static void fill_input(const Parts *parts, OrrRolloutSpeed *speed, guint64 seed,
                       OrrLoopInput *input) {
  const OrrPostTraining *p = parts->params;
  const OrrRlAlgorithm *algorithm = (const OrrRlAlgorithm *)(gconstpointer)p->algorithm.entry;
  const OrrRlPasses *passes = p->algorithm.params;
  *input = (OrrLoopInput){.speed = speed,
                          .replicas = (guint)parts->rollout.replicas,
                          .is_colocated = p->pools.rollout_gpus == 0,
                          .shares_prompt = p->rollout.engine.prefix_caching != 0,
                          .steps = p->steps,
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
                          .old_pass = passes->old_pass,
                          .reference_pass = passes->reference_pass,
                          .has_critic = algorithm->has_critic,
                          .filtered = algorithm->drops_equal ? passes->filtered : 0,
                          .seed = seed};
}

/* Static power all the time, and what engines and trainer draw on top of it. */
static double energy_j(const Parts *parts, const OrrLoopHistory *history) {
  const OrrDevice *train = &parts->update_cluster.device, *roll = &parts->rollout_cluster.device;
  if (!orr_device_power_is_known(&train->power) || !orr_device_power_is_known(&roll->power))
    return NAN;
  const gint64 own = parts->params->pools.rollout_gpus;
  const double trainer = (double)orr_cluster_n_gpus(&parts->update_cluster);
  return history->end_s * (orr_device_power_static_w(&train->power) * trainer +
                           orr_device_power_static_w(&roll->power) * (double)own) +
         history->watt_s + history->trainer_j;
}

static gboolean run_loop(const Parts *parts, const OrrWorld *world, OrrPostTrainingWork *work,
                         GError **error) {
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
  work->kv_tokens = orr_rollout_speed_kv_tokens(speed);
  if (!check_room(parts, work, error) || !replay_passes(parts, runs, &input, work, error) ||
      !replay_sync(parts, runs, &input, work, error))
    return FALSE;
  fill_switch(parts, &input);
  work->history = orr_loop_sim(&input, error);
  if (!work->history) return FALSE;
  work->missing = orr_rollout_speed_missing(speed);
  memcpy(work->trust_s, orr_rollout_speed_trust(speed), sizeof work->trust_s);
  work->gpu_energy_j = energy_j(parts, work->history);
  return TRUE;
}

OrrWork *orr_post_training_compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrPostTraining *params = data;
  if (!world->parts) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "a workload of kind post-training runs alone on its cluster");
    return NULL;
  }
  OrrPostTrainingWork *work = g_new0(OrrPostTrainingWork, 1);
  g_autoptr(Parts) parts = g_new0(Parts, 1);
  parts_init(parts, params, world->model, world->cluster);
  work->params = *params;
  work->work = (OrrWork){.kind = &orr_post_training_kind,
                         .program = orr_program_new(),
                         .fidelity = ORR_FIDELITY_FOLDED,
                         .n_gpus = orr_cluster_n_gpus(world->cluster)};
  work->rollout_gpus = orr_cluster_n_gpus(&parts->rollout_cluster);
  work->update_gpus = orr_cluster_n_gpus(&parts->update_cluster);
  work->replicas = (guint)parts->rollout.replicas;
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  if (run_loop(parts, world, work, error) && orr_program_seal(work->work.program, error))
    return &work->work;
  orr_work_free(&work->work);
  return NULL;
}
