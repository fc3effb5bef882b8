/*
 * post_training.c - the document of post-training, its checks, and its entry.
 */
#include "workloads/post_training/post_training.h"

#include "sim/base/idle.h"
#include "workloads/post_training/post_training_parts.h"

static const char *const offload_words[] = {"none", "optimizer", "all", NULL};

static const OrrFieldTable mode_table = ORR_FIELDS(
    "post-training-mode", "How rollouts and updates wait for each other.", OrrLoopMode,
    ORR_FIELD_WORD(OrrLoopMode, "kind", kind, orr_loop_kind_words, "synchronous",
                   "synchronous: rollouts of a step use the weights of the step before; "
                   "asynchronous: rollouts run ahead, up to `staleness`."),
    ORR_FIELD_REAL(OrrLoopMode, "staleness", staleness, ORR_UNIT_NONE, "0",
                   "Asynchronous: batches that rollouts may be ahead of the weights they began "
                   "with; k for k steps off-policy, also fractions.",
                   .min = 0, .max = 1e6),
    ORR_FIELD_WORD(OrrLoopMode, "on-update", on_update, orr_loop_on_update_words, "keep",
                   "Responses that are being written when new weights come: keep their cache and "
                   "go on (in-flight updates), recompute it, or drain, end before weights move."),
    ORR_FIELD_INT(OrrLoopMode, "streaming", streaming, "0",
                  "Groups that the trainer takes at once while the rest are rolled out; 0: all of "
                  "a whole step.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_REAL(OrrLoopMode, "over-sampling", oversampling, ORR_UNIT_FRACTION, "0",
                   "Synchronous: groups beyond `prompts`, as a fraction of it; the step ends when "
                   "`prompts` have.",
                   .min = 0, .max = 10),
    ORR_FIELD_WORD(OrrLoopMode, "unfinished", unfinished, orr_loop_unfinished_words, "drop",
                   "Samples that over-sampling leaves unfinished: drop them, or resume them with "
                   "the next weights (partial rollouts)."),
    ORR_FIELD_WORD(OrrLoopMode, "route", route, orr_loop_route_words, "sample",
                   "What the engine with the fewest sequences gets next: a sample, or a group, "
                   "whose prompt is then computed once."));

static const OrrFieldTable turn_table = ORR_FIELDS(
    "post-training-turns", "Responses in several turns, with tools.", OrrLoopTurns,
    ORR_FIELD_SECTION(OrrLoopTurns, "number", turns, &orr_lengths_table, "{tokens: 1}",
                      "Turns of a response, a tool's answer between two; `response` is the length "
                      "of a turn."),
    ORR_FIELD_SECTION(OrrLoopTurns, "answer", answer, &orr_lengths_table, "{tokens: 0}",
                      "Tokens of a tool's answer, which the engine reads."),
    ORR_FIELD_REAL(OrrLoopTurns, "latency", latency_s, ORR_UNIT_SECONDS, "0 s",
                   "Mean time that a tool takes.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrLoopTurns, "spread", spread, ORR_UNIT_NONE, "0",
                   "Its standard deviation, of the logarithm.", .min = 0, .max = 10),
    ORR_FIELD_INT(OrrLoopTurns, "workers", workers, "0", "Tools that run at once; 0: no limit.",
                  .min = 0, .max = 1e7));

static const OrrFieldTable verifier_table = ORR_FIELDS(
    "post-training-verifier", "What scores responses.", OrrLoopVerifier,
    ORR_FIELD_REAL(OrrLoopVerifier, "latency", latency_s, ORR_UNIT_SECONDS, "0 s",
                   "Mean time to score a response.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrLoopVerifier, "spread", spread, ORR_UNIT_NONE, "0",
                   "Its standard deviation, of the logarithm.", .min = 0, .max = 10),
    ORR_FIELD_INT(OrrLoopVerifier, "workers", workers, "0",
                  "Responses that are scored at once; 0: no limit.", .min = 0, .max = 1e7));

static const OrrFieldTable pool_table = ORR_FIELDS(
    "post-training-pools", "Which GPUs do what.", OrrPostTrainingPools,
    ORR_FIELD_INT(OrrPostTrainingPools, "rollout-gpus", rollout_gpus, "0",
                  "GPUs that only roll out; the others only train. 0: both take turns on all.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_SECTION(OrrPostTrainingPools, "rollout-device", rollout_device, &orr_device_table,
                      NULL, "The device of rollouts; absent: the cluster's.", .document = "device",
                      .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_BOOL(OrrPostTrainingPools, "hybrid", hybrid, "false",
                   "The trainer's GPUs roll out, too, from a step's begin until the trainer has "
                   "its first batch; what they have not finished moves to the others."));

static const OrrFieldTable cost_table = ORR_FIELDS(
    "post-training-driver", "What the process in the middle takes.", OrrLoopCosts,
    ORR_FIELD_REAL(OrrLoopCosts, "sample", sample_s, ORR_UNIT_SECONDS, "0 s",
                   "The driver's time per response: gathering, advantages, dealing.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrLoopCosts, "batch", batch_s, ORR_UNIT_SECONDS, "0 s",
                   "The driver's time per batch that the trainer takes: one in a step, more with "
                   "mode.streaming.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrLoopCosts, "pass", pass_s, ORR_UNIT_SECONDS, "0 s",
                   "Its time per response and pass or update, counted with that phase: sending the "
                   "batch to the trainer's processes and gathering their answers.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrLoopCosts, "update", update_s, ORR_UNIT_SECONDS, "0 s",
                   "Its time per update of a batch, counted with the update.",
                   .flags = ORR_FIELD_UNSIGNED));

static const char *const state_words[] = {"gpu", "host", NULL};

static const OrrFieldTable role_table = ORR_FIELDS(
    "post-training-role", "A model in addition to the actor, on the trainer's GPUs.",
    OrrPostTrainingRole,
    ORR_FIELD_SECTION(OrrPostTrainingRole, "model", model, &orr_model_table, NULL,
                      "Its model; absent: the actor's.", .document = "model",
                      .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_INT(OrrPostTrainingRole, "tp", tp, "0", "Tensor parallelism; 0: the actor's.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_INT(OrrPostTrainingRole, "pp", pp, "0", "Pipeline stages; 0: the actor's.", .min = 0,
                  .max = 1e6),
    ORR_FIELD_INT(OrrPostTrainingRole, "ep", ep, "0", "Expert parallelism; 0: the actor's.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_WORD(OrrPostTrainingRole, "state", state, state_words, "gpu",
                   "Where its weights, and a critic's optimizer, lie while others compute: host "
                   "saves memory, and copies take time."));

static const OrrFieldTable beside_table = ORR_FIELDS(
    "post-training-beside", "Another job on the same fabric.", OrrPostTrainingBeside,
    ORR_FIELD_INT(OrrPostTrainingBeside, "gpus", gpus, "0",
                  "GPUs of the cluster that another job has; 0: there is none.", .min = 0,
                  .max = 1e6),
    ORR_FIELD_CHOICE(OrrPostTrainingBeside, "placement", placement, &orr_job_placement_registry,
                     "spread", "Which GPUs those are; the rest are this workload's, in order."),
    ORR_FIELD_SECTION(OrrPostTrainingBeside, "traffic", traffic, &orr_collective_bench_table,
                      "{collective: all-to-all, begin: 1 GiB, end: 1 GiB}",
                      "What it sends while weights are broadcast; it should outlast a message."));

static const OrrFieldTable table = ORR_FIELDS(
    "post-training", "Reinforcement learning of a language model.", OrrPostTraining,
    ORR_WORKLOAD_STACK_FIELD(OrrPostTraining),
    ORR_FIELD_CHOICE(OrrPostTraining, "algorithm", algorithm, &orr_rl_algorithm_registry, "grpo",
                     "The algorithm: what is computed besides rollouts and updates."),
    ORR_FIELD_INT(OrrPostTraining, "prompts", prompts, NULL, "Prompts of a step.", .min = 1,
                  .max = 1e6),
    ORR_FIELD_INT(OrrPostTraining, "samples", samples, "1",
                  "Responses to each prompt: the size of a group.", .min = 1, .max = 1e5),
    ORR_FIELD_SECTION(OrrPostTraining, "prompt", prompt, &orr_lengths_table, "{tokens: 200}",
                      "Lengths of prompts."),
    ORR_FIELD_SECTION(OrrPostTraining, "response", response, &orr_lengths_table, NULL,
                      "Lengths of responses; of their turns where there are several."),
    ORR_FIELD_INT(
        OrrPostTraining, "steps", steps, "3",
        "Steps to simulate; where there are more, the first one is not part of the means. With a "
        "staleness of 1 or more a round is 1 + staleness steps: at least three rounds are "
        "simulated, and the first is not counted.",
        .min = 1, .max = 1e5),
    ORR_FIELD_REAL(
        OrrPostTraining, "run-steps", run_steps, ORR_UNIT_NONE, NULL,
        "Steps of the whole run; the simulated ones are a sample of them: for run_days and "
        "cost_per_run; absent: neither is computed.",
        .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrPostTraining, "epochs", epochs, "1", "Updates over the samples of a step.",
                  .min = 1, .max = 1000),
    ORR_FIELD_SECTION(OrrPostTraining, "mode", mode, &mode_table, "{}",
                      "How rollouts and updates wait for each other."),
    ORR_FIELD_SECTION(OrrPostTraining, "turns", turns, &turn_table, "{}",
                      "Responses in several turns, with tools."),
    ORR_FIELD_SECTION(OrrPostTraining, "verifier", verifier, &verifier_table, "{}",
                      "What scores responses."),
    ORR_FIELD_SECTION(OrrPostTraining, "pools", pools, &pool_table, "{}", "Which GPUs do what."),
    ORR_FIELD_SECTION(OrrPostTraining, "driver", costs, &cost_table, "{}",
                      "What the process in the middle takes."),
    ORR_FIELD_CHOICE(OrrPostTraining, "sync", sync, &orr_weight_sync_registry, "ipc",
                     "How new weights come to the engines."),
    ORR_FIELD_BOOL(OrrPostTraining, "quantized-sync", quantized_sync, "false",
                   "Weights are sent in the engines' format; false: in 16 bits."),
    ORR_FIELD_WORD(OrrPostTraining, "offload", offload, offload_words, "optimizer",
                   "What a trainer that shares its GPUs keeps in host memory during rollouts: "
                   "nothing, optimizer state and gradients, or all."),
    ORR_FIELD_BOOL(OrrPostTraining, "sleep", sleeps, "true",
                   "Whether engines that share the trainer's GPUs leave their memory to it during "
                   "updates, as in vLLM's sleep mode; false: weights and cache stay."),
    ORR_FIELD_REAL(OrrPostTraining, "wake", wake_s, ORR_UNIT_SECONDS, "0 s",
                   "Time to wake engines that share the trainer's GPUs, and to put them to sleep.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_WORD(OrrPostTraining, "balance", balance, orr_pass_balance_words, "in-order",
                   "How samples are dealt to the trainer's replicas: as they come, or by tokens, "
                   "longest first."),
    ORR_FIELD_WORD(OrrPostTraining, "packing", packing, orr_pass_packing_words, "packed",
                   "packed: samples fill micro-batches of update.sequence tokens; padded: "
                   "update.batch.micro samples, each as long as the longest."),
    ORR_FIELD_SECTION(OrrPostTraining, "beside", beside, &beside_table, "{}",
                      "Another job on the same fabric."),
    ORR_FIELD_SECTION(OrrPostTraining, "critic", critic, &role_table, "{}",
                      "The critic, where the algorithm has one."),
    ORR_FIELD_SECTION(OrrPostTraining, "reference", reference, &role_table, "{}",
                      "The reference model, where the algorithm computes its log-probabilities."),
    ORR_FIELD_SECTION(OrrPostTraining, "reward", reward, &role_table, "{}",
                      "A reward model, which scores all responses on the trainer's GPUs; without a "
                      "model the verifier alone scores."),
    ORR_FIELD_SECTION(OrrPostTraining, "rollout", rollout, &orr_serving_table, "{}",
                      "The engines, as a workload of kind serving describes them; the loop decides "
                      "which requests come, and how many."),
    ORR_FIELD_SECTION(OrrPostTraining, "update", update, &orr_training_table, NULL,
                      "The trainer, as a workload of kind training describes it; batch.global is "
                      "in samples of an optimizer step."));

/* --- Checks --- */

static void check_mode(const OrrPostTraining *p, OrrPlace place, OrrDiags *diags) {
  const OrrLoopMode *mode = &p->mode;
  const gboolean is_shared = p->pools.rollout_gpus == 0;
  const OrrPlace at = orr_node_place_in(place, "mode");
  if (mode->kind == ORR_LOOP_ASYNCHRONOUS && mode->staleness <= 0)
    orr_diags_error(diags, at,
                    "mode asynchronous with a staleness of 0 is synchronous: want a staleness "
                    "above 0, or kind: synchronous");
  if (mode->kind == ORR_LOOP_SYNCHRONOUS && mode->staleness > 0)
    orr_diags_error(diags, at, "mode synchronous has no staleness: want kind: asynchronous");
  if (mode->kind == ORR_LOOP_ASYNCHRONOUS && is_shared)
    orr_diags_error(diags, at,
                    "mode asynchronous rolls out while it trains: set pools.rollout-gpus");
  if (mode->kind == ORR_LOOP_ASYNCHRONOUS && mode->oversampling > 0)
    orr_diags_error(diags, at, "mode.over-sampling is for synchronous rollouts");
  if (mode->unfinished == ORR_LOOP_RESUME && mode->oversampling <= 0)
    orr_diags_error(diags, at,
                    "mode.unfinished: resume needs over-sampling: set mode.over-sampling above 0");
  if (mode->streaming > 0 && is_shared)
    orr_diags_error(diags, at, "mode.streaming trains while rollouts run: set pools.rollout-gpus");
}

static void check_hybrid(const OrrPostTraining *p, gint64 all, OrrPlace at, OrrDiags *diags) {
  const gint64 engine = orr_post_training_parts_engine_gpus(p), own = p->pools.rollout_gpus;
  if (!p->pools.hybrid) return;
  if (own == 0)
    orr_diags_error(diags, at,
                    "pools.hybrid is for two pools: set pools.rollout-gpus; without it all GPUs "
                    "take turns");
  else if (own < all && (all - own) % engine != 0)
    orr_diags_error(diags, at,
                    "pools.hybrid: the %ld GPUs that train are not whole engines of %ld GPUs",
                    all - own, engine);
  if (p->pools.rollout_device.name)
    orr_diags_error(diags, at, "pools.hybrid: all engines are equal: leave out rollout-device");
}

static void check_pools(const OrrPostTraining *p, const OrrCluster *cluster, OrrPlace place,
                        OrrDiags *diags) {
  const OrrWeightSync *sync = (const OrrWeightSync *)(gconstpointer)p->sync.entry;
  const gint64 all = orr_post_training_parts_own_gpus(p, cluster), own = p->pools.rollout_gpus;
  const gint64 engine = orr_post_training_parts_engine_gpus(p);
  const OrrPlace at = orr_node_place_in(place, "pools");
  if (own >= all)
    orr_diags_error(diags, at, "pools.rollout-gpus %ld leaves no GPU to train: there are %ld", own,
                    all);
  else if ((own > 0 ? own : all) % engine != 0)
    orr_diags_error(
        diags, at,
        "%ld GPUs to roll out are not whole engines of tp * pp * dp-attention = %ld GPUs",
        own > 0 ? own : all, engine);
  if (own == 0 && p->pools.rollout_device.name)
    orr_diags_error(diags, at,
                    "pools.rollout-device needs GPUs of its own: set pools.rollout-gpus");
  check_hybrid(p, all, at, diags);
  const char *refusal = own > 0 ? sync->refuses_apart : sync->refuses_shared;
  if (refusal)
    orr_diags_error(diags, orr_node_place_in(place, "sync"), "sync %s: %s", sync->entry.name,
                    refusal);
}

static void check_lengths(const OrrPostTraining *p, OrrPlace place, OrrDiags *diags) {
  const struct {
    const char *key;
    const OrrLengths *lengths;
  } all[] = {{"prompt", &p->prompt}, {"response", &p->response}, {"turns.number", &p->turns.turns}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    orr_lengths_check(all[i].lengths, G_MAXINT32, all[i].key, orr_node_place_in(place, all[i].key),
                      diags);
}

static void check_beside(const OrrPostTraining *p, const OrrCluster *cluster, OrrPlace place,
                         OrrDiags *diags) {
  const OrrWeightSync *sync = (const OrrWeightSync *)(gconstpointer)p->sync.entry;
  const OrrPlace at = orr_node_place_in(place, "beside");
  if (p->beside.gpus >= orr_cluster_n_gpus(cluster))
    orr_diags_error(diags, at, "beside.gpus %ld leaves no GPU: the cluster has %ld", p->beside.gpus,
                    orr_cluster_n_gpus(cluster));
  else if (p->beside.gpus > 0 && !sync->sends)
    orr_diags_error(diags, at,
                    "beside: sync %s sends nothing over the fabric: there is nothing to slow",
                    sync->entry.name);
}

/* Keys of serving that say what comes and who serves it: here the loop says so. */
static const char *const idle_rollout_keys[] = {"replicas",
                                                "router",
                                                "admission",
                                                "autoscaling",
                                                "start",
                                                "on-failure",
                                                "disaggregation",
                                                "max-concurrency",
                                                "requests",
                                                "input",
                                                "output",
                                                "shared-prefix",
                                                "samples",
                                                "beam-search",
                                                "images",
                                                "distinct-images",
                                                "encoders",
                                                "slo",
                                                "classes",
                                                "regions",
                                                "between-regions",
                                                "longest-queue",
                                                "least-good",
                                                "engine.lora",
                                                "engine.cache-tiers",
                                                NULL};

typedef struct {
  const char *key;
  GString *text; /* of all members at or below @key */
} KeyText;

static void add_if_below(const char *path, const char *text, void *user) {
  KeyText *one = user;
  const gsize n = strlen(one->key);
  if (g_str_has_prefix(path, one->key) && (path[n] == '\0' || path[n] == '.'))
    g_string_append_printf(one->text, "%s=%s\n", path, text);
}

static gboolean differs(const OrrServing *a, const OrrServing *b, const char *key) {
  g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
  orr_field_flatten(&orr_serving_table, a, add_if_below, &(KeyText){key, one});
  orr_field_flatten(&orr_serving_table, b, add_if_below, &(KeyText){key, other});
  return !g_string_equal(one, other);
}

static void check_rollout(const OrrServing *rollout, OrrPlace place, OrrDiags *diags) {
  OrrServing defaults = {0};
  orr_field_defaults(&orr_serving_table, &defaults);
  for (const char *const *key = idle_rollout_keys; *key; key++) {
    g_autofree char *path = g_strconcat("rollout.", *key, NULL);
    if (differs(rollout, &defaults, *key))
      orr_diags_error(diags, orr_node_place_in(place, path),
                      "%s is not for rollouts: prompts, samples, pools and mode of the loop decide "
                      "the requests and the engines that serve them",
                      path);
  }
  orr_field_clear(&orr_serving_table, &defaults);
}

/* Settings that nothing here reads: the answer does not move with them. */
static void check_idle(const OrrPostTraining *p, OrrPlace place, OrrDiags *diags) {
  const OrrRlAlgorithm *algorithm = (const OrrRlAlgorithm *)(gconstpointer)p->algorithm.entry;
  const OrrServingFormats *formats = &p->rollout.formats;
  const gboolean is_wide = !orr_quantized((OrrQuantization)formats->quantization) &&
                           orr_dtype_bytes((OrrDtype)formats->precision) >= ORR_RL_WEIGHT_BYTES;
  const gboolean calls_tools = orr_lengths_mean(&p->turns.turns) > 1;
  const char *const tools = "responses have one turn: no tool is called";
  const OrrIdleKey keys[] = {
      {"quantized-sync", is_wide, "rollout's weights are in 16 bits"},
      {"critic", algorithm && !algorithm->has_critic, "the algorithm has no critic"},
      {"mode.on-update", p->mode.kind == ORR_LOOP_SYNCHRONOUS,
       "mode is synchronous: nothing is written while weights move"},
      {"turns.answer", !calls_tools, tools},
      {"turns.latency", !calls_tools, tools},
      {"turns.spread", !calls_tools, tools},
      {"turns.workers", !calls_tools, tools},
      {"verifier.spread", p->verifier.latency_s <= 0, "verifier.latency is 0"},
      {"verifier.workers", p->verifier.latency_s <= 0, "verifier.latency is 0"},
      {"update.steps", TRUE, "steps of the loop are workload.steps"},
      {"update.run-tokens", TRUE, "run-steps says how long the run is"},
      {"update.packing", p->packing == ORR_PASS_PACKED, "workload.packing packs the samples"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
  if (p->update.evaluation)
    orr_diags_error(diags, orr_node_place_in(place, "update.evaluation"),
                    "update.evaluation is not for post-training: its update trains");
}

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrPostTraining *p = data;
  const guint before = orr_diags_n_errors(diags);
  check_idle(p, place, diags);
  check_mode(p, place, diags);
  check_beside(p, cluster, place, diags);
  if (orr_diags_n_errors(diags) == before) check_pools(p, cluster, place, diags);
  check_lengths(p, place, diags);
  check_rollout(&p->rollout, place, diags);
  if (orr_tasks_are_on(&p->rollout.tasks))
    orr_diags_error(diags, orr_node_place_in(place, "rollout.tasks"),
                    "rollout.tasks is not for rollouts: turns and tools of agents are `turns`");
  if (p->rollout.parallel.feed.gpus > 0)
    orr_diags_error(diags, orr_node_place_in(place, "rollout.parallel"),
                    "rollout.parallel.feed-forward is not for rollouts: their engines compute "
                    "feed-forwards where attention is");
  if (p->rollout.load.entry || p->rollout.groups)
    orr_diags_error(diags, orr_node_place_in(place, "rollout"),
                    "rollout.load and rollout.groups are not for rollouts: the loop makes the "
                    "requests, and all engines are equal");
  if (orr_diags_n_errors(diags) == before)
    orr_post_training_compile_check(p, model, cluster, place, diags);
}

static void work_free(OrrWork *base) {
  OrrPostTrainingWork *work = (OrrPostTrainingWork *)base;
  orr_loop_sim_free(work->history);
  if (work->memory) g_array_unref(work->memory);
  ORR_FREE(work->missing, work);
}

/* The loop has run when the work is compiled. */
static gboolean begin(OrrWork *work, const OrrLivePlace *place, GError **error) { return TRUE; }

static gboolean finish(OrrWork *work, GError **error) { return TRUE; }

static void times(const OrrWork *base, double *ret_end_s, double *ret_answer_s) {
  *ret_end_s = ((const OrrPostTrainingWork *)base)->history->end_s;
  *ret_answer_s = 0;
}

static const OrrWorkloadSection sections[] = {
    {"rollout", "serving", NULL}, {"update", "training", NULL}, {NULL, NULL, NULL}};

const OrrWorkloadKind orr_post_training_kind = {
    .entry = {"post-training",
              "Reinforcement learning: rollouts by serving, updates by training, weights between.",
              &table},
    .is_alone = TRUE,
    .sections = sections,
    .check = check,
    .compile = orr_post_training_compile,
    .work_free = work_free,
    .begin = begin,
    .finish = finish,
    .times = times,
};
