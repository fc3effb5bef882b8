/*
 * post_training_memory.c - adds up states and working sets.
 */
#include "workloads/post_training/post_training_parts.h"

/* Whose state a line uses. */
static const char *const roles[ORR_N_LINES] = {"actor",  "actor",  "reference",
                                               "reward", "critic", "critic"};
static const char *const phases[ORR_N_LINES] = {"update",  "old-log-probs", "reference",
                                                "rewards", "values",        "critic-update"};

static gboolean is_on_gpu(const OrrPostTrainingParts *parts, OrrPostTrainingLine line) {
  const OrrPostTrainingRole *role = orr_post_training_parts_role(parts->params, line);
  return !role || role->state == ORR_ROLE_ON_GPU;
}

/* The line that says how large a role's state is: of a critic, its update. */
static const OrrPostTrainingLine owners[] = {ORR_LINE_UPDATE, ORR_LINE_REFERENCE, ORR_LINE_REWARDS,
                                             ORR_LINE_CRITIC};

static OrrPostTrainingLine owner_of(OrrPostTrainingLine line) {
  return line == ORR_LINE_FORWARD  ? ORR_LINE_UPDATE
         : line == ORR_LINE_VALUES ? ORR_LINE_CRITIC
                                   : line;
}

/* States on the GPU while @line is at work. */
static double resident(const OrrPostTrainingParts *parts, OrrPostTrainingLine line) {
  double sum = 0;
  for (guint i = 0; i < G_N_ELEMENTS(owners); i++) {
    const OrrPostTrainingPass *pass = &parts->passes[owners[i]];
    if (pass->is_there && (is_on_gpu(parts, owners[i]) || owner_of(line) == owners[i]))
      sum += pass->state_bytes;
  }
  return sum;
}

static void add_row(OrrPostTrainingMemoryRow *row, const OrrCluster *cluster, GArray *memory) {
  row->capacity_bytes = cluster->device.memory_bytes;
  row->fits = row->total_bytes <= row->capacity_bytes;
  g_array_append_vals(memory, row, 1);
}

/* @engine: bytes of an engine that stays meanwhile. */
static void add_trainer(const OrrPostTrainingParts *parts, OrrPostTrainingLine line, double engine,
                        GArray *memory) {
  const OrrPostTrainingPass *pass = &parts->passes[line];
  if (!pass->is_there) return;
  const double working = fmax(pass->peak_bytes - pass->state_bytes - pass->process_bytes, 0);
  const double states = resident(parts, line) + engine;
  add_row(&(OrrPostTrainingMemoryRow){.pool = "trainer",
                                      .phase = (char *)phases[line],
                                      .role = (char *)roles[line],
                                      .state_bytes = states,
                                      .working_bytes = working,
                                      .process_bytes = pass->process_bytes,
                                      .total_bytes = states + working + pass->process_bytes},
          &parts->update_cluster, memory);
}

/* Bytes of a GPU that the trainer leaves there during rollouts. */
static double left_behind(const OrrPostTrainingParts *parts) {
  const OrrPostTraining *p = parts->params;
  if (p->offload == ORR_OFFLOAD_ALL) return 0;
  const double gpus = (double)orr_cluster_n_gpus(&parts->update_cluster);
  const double parameters = orr_model_parameters(parts->model);
  double sum =
      parameters * ORR_RL_WEIGHT_BYTES / (double)orr_post_training_parts_shard_ranks(parts) +
      (p->offload == ORR_OFFLOAD_NOTHING ? parameters * ORR_RL_OPTIMIZER_BYTES / gpus : 0);
  for (guint i = 1; i < G_N_ELEMENTS(owners); i++)
    if (parts->passes[owners[i]].is_there && is_on_gpu(parts, owners[i]))
      sum += parts->passes[owners[i]].state_bytes;
  return sum;
}

static gboolean shares(const OrrPostTraining *p) {
  return p->pools.rollout_gpus == 0 || p->pools.hybrid;
}

GArray *orr_post_training_memory_new(const OrrPostTrainingParts *parts, double engine_bytes) {
  GArray *memory = g_array_new(FALSE, FALSE, sizeof(OrrPostTrainingMemoryRow));
  const double left = shares(parts->params) ? left_behind(parts) : 0;
  const double stays = shares(parts->params) && !parts->params->sleeps ? engine_bytes : 0;
  add_row(&(OrrPostTrainingMemoryRow){.pool = "rollouts",
                                      .phase = "rollout",
                                      .role = "engine",
                                      .state_bytes = engine_bytes + left,
                                      .total_bytes = engine_bytes + left},
          &parts->rollout_cluster, memory);
  static const OrrPostTrainingLine order[] = {ORR_LINE_FORWARD, ORR_LINE_REFERENCE,
                                              ORR_LINE_REWARDS, ORR_LINE_VALUES,
                                              ORR_LINE_CRITIC,  ORR_LINE_UPDATE};
  for (guint i = 0; i < G_N_ELEMENTS(order); i++) add_trainer(parts, order[i], stays, memory);
  return memory;
}

double orr_post_training_memory_peak(const GArray *memory) {
  double most = 0;
  for (guint i = 1; i < memory->len; i++) /* the first row is the engine's */
    most = fmax(most, g_array_index(memory, OrrPostTrainingMemoryRow, i).total_bytes);
  return most;
}

gboolean orr_post_training_memory_check_room(const OrrPostTrainingParts *parts, double engine_bytes,
                                             GError **error) {
  if (!shares(parts->params)) return TRUE;
  const double left = left_behind(parts), memory = parts->rollout_cluster.device.memory_bytes;
  if (left == 0 || engine_bytes + left <= memory) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "workload.offload: an engine's %.1f GiB and the trainer's %.1f GiB that stay do not fit the "
      "%.1f GiB of a GPU: lower rollout.engine.gpu-memory-utilization, or offload: all",
      engine_bytes / 0x1p30, left / 0x1p30, memory / 0x1p30);
}
