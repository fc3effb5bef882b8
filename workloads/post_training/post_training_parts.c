/*
 * post_training_parts.c - fills the parts, checks them, and replays their lines.
 */
#include "workloads/post_training/post_training_parts.h"

static const char *const line_names[ORR_N_LINES] = {
    "update", "log-probabilities", "reference", "reward", "values", "critic"};

/* --- Pools --- */

static OrrCluster first_gpus(const OrrCluster *cluster, gint64 gpus) {
  OrrCluster part = *cluster;
  part.max_nodes = orr_cluster_n_built_nodes(cluster);
  part.nodes = 0;
  part.gpus = gpus;
  return part;
}

gint64 orr_post_training_parts_own_gpus(const OrrPostTraining *p, const OrrCluster *cluster) {
  return orr_cluster_n_gpus(cluster) - p->beside.gpus;
}

static gint64 rollout_gpus(const OrrPostTraining *p, const OrrCluster *cluster) {
  return p->pools.rollout_gpus > 0 ? p->pools.rollout_gpus
                                   : orr_post_training_parts_own_gpus(p, cluster);
}

gint64 orr_post_training_parts_engine_gpus(const OrrPostTraining *p) {
  return p->rollout.parallel.tp * p->rollout.parallel.pp * MAX(p->rollout.parallel.dp_attention, 1);
}

gint64 orr_post_training_parts_shard_ranks(const OrrPostTrainingParts *parts) {
  const OrrTraining *t = &parts->params->update;
  const OrrShardingKind *sharding = (const OrrShardingKind *)t->optimizer.sharding.entry;
  const gint64 all = orr_cluster_n_gpus(&parts->update_cluster);
  if (sharding->shards_weights) return all;
  return MIN(all, t->parallel.tp * t->parallel.pp * t->parallel.ep);
}

/* --- Roles --- */

const OrrPostTrainingRole *orr_post_training_parts_role(const OrrPostTraining *p,
                                                        OrrPostTrainingLine line) {
  const OrrPostTrainingRole *const roles[ORR_N_LINES] = {NULL,       NULL,       &p->reference,
                                                         &p->reward, &p->critic, &p->critic};
  return roles[line];
}

static gboolean is_there(const OrrPostTraining *p, OrrPostTrainingLine line) {
  const OrrRlAlgorithm *algorithm = (const OrrRlAlgorithm *)(gconstpointer)p->algorithm.entry;
  const OrrRlPasses *passes = p->algorithm.params;
  const gboolean there[ORR_N_LINES] = {TRUE,
                                       passes->old_pass,
                                       passes->reference_pass,
                                       p->reward.model.name != NULL,
                                       algorithm->has_critic,
                                       algorithm->has_critic};
  return there[line];
}

static gboolean is_training(OrrPostTrainingLine line) {
  return line == ORR_LINE_UPDATE || line == ORR_LINE_CRITIC;
}

static gboolean has_own_shape(const OrrPostTrainingRole *role) {
  return role && (role->model.name || role->tp > 0 || role->pp > 0 || role->ep > 0);
}

static OrrPostTrainingLine shared_line(const OrrPostTraining *p, OrrPostTrainingLine line) {
  if (has_own_shape(orr_post_training_parts_role(p, line))) return line;
  return is_training(line) ? ORR_LINE_UPDATE : ORR_LINE_FORWARD;
}

/* --- Parts as workloads --- */

/* A load that is never read: engines are asked for the time of their steps alone. */
static OrrChoice some_load(void) {
  const OrrEntry *entry = orr_registry_find(&orr_arrival_registry, "closed-loop");
  OrrChoice load = {.entry = entry, .params = g_malloc0(entry->params->size)};
  orr_field_defaults(entry->params, load.params);
  return load;
}

static void fill_rollout(OrrPostTrainingParts *parts, const OrrCluster *cluster) {
  const OrrPostTraining *p = parts->params;
  parts->rollout = p->rollout;
  parts->rollout.load = some_load();
  parts->rollout.replicas = rollout_gpus(p, cluster) / orr_post_training_parts_engine_gpus(p);
  parts->rollout.requests = p->prompts * p->samples;
  parts->rollout.input = p->prompt;
  parts->rollout.output = p->response;
  parts->rollout.input.is_derived = parts->rollout.output.is_derived = TRUE;
}

static gint64 longest_of(const OrrPostTrainingParts *parts) {
  const gint64 own = parts->params->rollout.engine.max_model_len;
  return own > 0 ? own : parts->model->context;
}

/* A packed micro-batch has documents as long as prompts and responses together. */
static void fill_documents(const OrrPostTrainingParts *parts, OrrTraining *t) {
  const OrrPostTraining *p = parts->params;
  OrrLengths documents = p->response; /* of its kind, scaled */
  const double mean = orr_lengths_mean(&documents), prompt = orr_lengths_mean(&p->prompt),
               turns = fmax(orr_lengths_mean(&p->turns.turns), 1);
  const double answer = orr_lengths_mean(&p->turns.answer);
  const double all = fmin(prompt + turns * mean + (turns - 1) * answer, (double)t->sequence);
  const double tokens = documents.tokens > 0 ? (double)documents.tokens * all / mean : all;
  documents.tokens = MAX(llround(tokens), 1);
  documents.mean = all;
  documents.is_derived = TRUE;
  documents.least = 1;
  documents.most = MIN(longest_of(parts), t->sequence);
  t->packing.documents = documents;
  t->packing.cut = TRUE; /* micro-batches are full: their number is counted in tokens */
}

static void split_as(OrrParallel *parallel, const OrrPostTrainingRole *role) {
  if (!role) return;
  if (role->tp > 0) parallel->tp = role->tp;
  if (role->pp > 0) parallel->pp = role->pp;
  if (role->ep > 0) parallel->ep = role->ep;
  if (role->tp > 0 || role->pp > 0) parallel->dp = 0;
  if (role->model.name && role->model.moe.experts == 0 && role->ep == 0) parallel->ep = 1;
}

/* The actor's cut is for its own layers. */
static void split_evenly(OrrTraining *t) {
  t->split.first = t->split.last = 0;
  t->split.layout = (char *)"none";
}

/* A pass that trains nothing moves no state. */
static void as_evaluation(OrrTraining *t) {
  t->evaluation = TRUE;
  t->reference = FALSE;
  t->offload.optimizer = 0;
  t->offload.activations = 0;
  t->checkpoint.every = 0;
}

static void fill_line(OrrPostTrainingParts *parts, OrrPostTrainingLine line) {
  const OrrPostTraining *p = parts->params;
  OrrTraining t = p->update;
  t.steps = 1;
  split_as(&t.parallel, orr_post_training_parts_role(p, line));
  if (has_own_shape(orr_post_training_parts_role(p, line))) split_evenly(&t);
  if (!is_training(line)) as_evaluation(&t);
  /* never trained, so loaded in 16 bits (word "weights"), whatever the actor's masters are */
  if (line == ORR_LINE_REFERENCE || line == ORR_LINE_REWARDS) t.optimizer.master = 1;
  if (t.sequence == 0) t.sequence = longest_of(parts);
  if (p->packing == ORR_PASS_PACKED) fill_documents(parts, &t);
  const gint64 model_gpus = t.parallel.tp * t.parallel.pp * MAX(t.parallel.cp, 1);
  const gint64 all = orr_cluster_n_gpus(&parts->update_cluster);
  parts->dp[line] = t.parallel.dp > 0 ? t.parallel.dp : MAX(all / model_gpus, 1);
  const gint64 rounds = t.parallel.pp > 1 ? 2 * t.parallel.pp : 1;
  for (int i = 0; i < 2; i++) {
    t.batch.global_size = parts->dp[line] * t.batch.micro * rounds * (i + 1);
    parts->trainings[line][i] = t;
  }
  parts->passes[line] =
      (OrrPostTrainingPass){.as = shared_line(p, line), .is_there = is_there(p, line)};
}

OrrPostTrainingParts *orr_post_training_parts_new(const OrrPostTraining *p, const OrrModel *model,
                                                  const OrrCluster *cluster) {
  OrrPostTrainingParts *parts = g_new0(OrrPostTrainingParts, 1);
  const gint64 all = orr_post_training_parts_own_gpus(p, cluster);
  parts->params = p;
  parts->model = model;
  parts->whole = *cluster;
  parts->rollout_cluster = first_gpus(cluster, rollout_gpus(p, cluster));
  if (p->pools.rollout_device.name) parts->rollout_cluster.device = p->pools.rollout_device;
  parts->update_cluster = first_gpus(cluster, all - p->pools.rollout_gpus);
  fill_rollout(parts, cluster);
  for (OrrPostTrainingLine line = 0; line < ORR_N_LINES; line++) {
    const OrrPostTrainingRole *role = orr_post_training_parts_role(p, line);
    g_autoptr(OrrDiags) diags = orr_diags_new(); /* orr_post_training_parts_check reports them */
    parts->models[line] = role && role->model.name ? role->model : *model;
    if (role && role->model.name) orr_model_settle(&parts->models[line], (OrrPlace){0}, diags);
    fill_line(parts, line);
  }
  return parts;
}

void orr_post_training_parts_free(OrrPostTrainingParts *parts) {
  if (!parts) return;
  ORR_FREE(parts->rollout.load.params, parts);
}

static const char *key_of(OrrPostTrainingLine line) {
  static const char *const keys[ORR_N_LINES] = {"update", "update", "reference",
                                                "reward", "critic", "critic"};
  return keys[line];
}

/* Each replica needs a sample of each batch; NeMo RL and verl stop where shares are unequal. */
static void check_shares(const OrrPostTrainingParts *parts, OrrPlace place, OrrDiags *diags) {
  const gint64 samples = parts->params->prompts * parts->params->samples;
  const gint64 batch = MIN(parts->params->update.batch.global_size, samples);
  const gint64 replicas = parts->dp[ORR_LINE_UPDATE];
  if (batch < replicas)
    orr_diags_error(
        diags, place,
        "update.batch.global: a batch of %ld samples is less than one for each of the %ld replicas",
        batch, replicas);
  else if (batch % replicas != 0)
    orr_diags_warning(diags, place,
                      "update.batch.global: a batch of %ld samples gives %ld replicas unequal "
                      "shares; NeMo RL and verl stop there",
                      batch, replicas);
}

void orr_post_training_parts_check(const OrrPostTrainingParts *parts, OrrPlace place,
                                   OrrDiags *diags) {
  const OrrPostTraining *p = parts->params;
  orr_serving_kind.check(&parts->rollout, parts->model, &parts->rollout_cluster,
                         orr_node_place_in(place, "rollout"), diags);
  check_shares(parts, orr_node_place_in(place, "update.batch.global"), diags);
  for (OrrPostTrainingLine line = 0; line < ORR_N_LINES; line++) {
    const OrrPostTrainingRole *role = orr_post_training_parts_role(p, line);
    const OrrPlace at = orr_node_place_in(place, key_of(line));
    const guint before = orr_diags_n_errors(diags);
    if (!parts->passes[line].is_there || parts->passes[line].as != line) continue;
    if (line == ORR_LINE_VALUES || line == ORR_LINE_FORWARD) continue; /* as the one that trains */
    OrrModel model = role && role->model.name ? role->model : *parts->model;
    if (role && role->model.name) orr_model_settle(&model, at, diags);
    if (orr_diags_n_errors(diags) == before)
      orr_training_kind.check(&parts->trainings[line][0], &model, &parts->update_cluster, at,
                              diags);
  }
}

/* --- Replays --- */

/* The line through a step with @m micro-batches, @once_j, and one with twice as many, @twice_j. */
static void split_j(double m, double once_j, double twice_j, double *ret_fixed, double *ret_each) {
  *ret_each = fmax(twice_j - once_j, 0) / m;
  *ret_fixed = fmax(once_j - m * *ret_each, 0);
}

static OrrPassTime time_of(const OrrPostTrainingParts *parts, double m, const OrrPartTimes *once,
                           const OrrPartTimes *twice) {
  const double each_s = fmax(twice->seconds - once->seconds, 0) / m;
  OrrPassTime time = {.fixed_s = fmax(once->seconds - m * each_s, 0), .each_s = each_s};
  if (!orr_device_power_is_known(&parts->update_cluster.device.power)) return time;
  const OrrJoules a = once->gpu_joules, b = twice->gpu_joules;
  split_j(m, a.compute, b.compute, &time.fixed_j.compute, &time.each_j.compute);
  split_j(m, a.memory, b.memory, &time.fixed_j.memory, &time.each_j.memory);
  split_j(m, a.network, b.network, &time.fixed_j.network, &time.each_j.network);
  return time;
}

static void fill_pass(OrrPostTrainingParts *parts, OrrPostTrainingLine line,
                      const OrrPartTimes *times) {
  OrrPostTrainingPass *pass = &parts->passes[line];
  const OrrTraining *t = &parts->trainings[line][0];
  const double m = t->parallel.pp > 1 ? 2.0 * (double)t->parallel.pp : 1;
  pass->time = time_of(parts, m, &times[0], &times[1]);
  pass->peak_bytes = times[1].gpu_bytes;
  pass->state_bytes = times[1].state_bytes;
  pass->process_bytes = times[1].process_bytes;
  pass->shape = (OrrPassShape){.replicas = parts->dp[line],
                               .micro = t->batch.micro,
                               .micro_tokens = (double)(t->sequence * t->batch.micro),
                               .padded_tokens = (double)t->sequence,
                               .balance = (OrrPassBalance)parts->params->balance,
                               .packing = (OrrPassPacking)parts->params->packing};
}

/* The lines of others are replayed where one that is there shares them. */
static gboolean is_needed(const OrrPostTrainingParts *parts, OrrPostTrainingLine line) {
  for (OrrPostTrainingLine other = 0; other < ORR_N_LINES; other++)
    if (parts->passes[other].is_there && parts->passes[other].as == line) return TRUE;
  return FALSE;
}

static void share_lines(OrrPostTrainingParts *parts) {
  for (OrrPostTrainingLine line = 0; line < ORR_N_LINES; line++) {
    OrrPostTrainingPass *pass = &parts->passes[line];
    const gboolean is_there = pass->is_there;
    if (pass->as == line) continue;
    *pass = parts->passes[pass->as];
    pass->is_there = is_there;
  }
}

gboolean orr_post_training_parts_replay(OrrPostTrainingParts *parts, const OrrParts *runs,
                                        GError **error) {
  OrrPart list[2 * ORR_N_LINES];
  OrrPartTimes times[2 * ORR_N_LINES];
  guint n = 0;
  for (OrrPostTrainingLine line = 0; line < ORR_N_LINES; line++)
    for (int i = 0; i < 2 && is_needed(parts, line); i++)
      list[n++] = (OrrPart){.name = line_names[line],
                            .kind = &orr_training_kind,
                            .params = &parts->trainings[line][i],
                            .model = &parts->models[line],
                            .cluster = &parts->update_cluster};
  if (!runs->replay(runs->user, list, n, times, error)) return FALSE;
  n = 0;
  for (OrrPostTrainingLine line = 0; line < ORR_N_LINES; line++) {
    if (!is_needed(parts, line)) continue;
    fill_pass(parts, line, &times[n]);
    n += 2;
  }
  share_lines(parts);
  return TRUE;
}
