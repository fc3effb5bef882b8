/*
 * dialect_rollouts.c - post-training: verl, NeMo-RL, OpenRLHF, slime, AReaL, prime-rl, and GRPO of
 * TRL and of ms-swift's `megatron rlhf`.
 *
 * Each has a table; what several keys decide together is the same for all of them, so `finish`
 * finds a setting by the path that its rule has:
 *
 *   model, cluster.nodes, cluster.gpus      the model's name, and the machine
 *   workload.pools.rollout-gpus             GPUs, engines or nodes that only roll out
 *   workload.mode                           whether rollouts run ahead, and how far
 *   workload.prompt, workload.response      the longest lengths; means are assumed
 *   workload.update.sequence                the longest prompt and response together
 *   workload.update.batch.global            verl counts prompts, and TRL micro-batches
 *   workload.algorithm.reference            a key that is on, or not 0, where a reference model is
 *
 * Sources: verl/trainer/config/ppo_trainer.yaml and rollout/rollout.yaml of verl-project/verl 0.4
 * to 0.7; examples/configs/grpo_math_1B.yaml of NVIDIA-NeMo/RL; openrlhf/cli/train_ppo_ray.py of
 * OpenRLHF 0.9; slime/utils/arguments.py of THUDM/slime; trl/trainer/grpo_config.py of TRL 0.20 to
 * 1.0; orchestrator/config.py of PrimeIntellect-ai/prime-rl; examples/math of inclusionAI/AReaL;
 * docs/source_en/Megatron-SWIFT of modelscope/ms-swift 3.11 to 4.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_trainer.h"
#include "sim/import/launch/launch_serving.h"

/* What a launcher has where its input says nothing; 0: it must. */
typedef struct {
  const OrrLaunchDialect *dialect;
  gint64 prompts, samples, prompt, response, mini;
  const char *shares;        /* the key that makes rollouts and updates share GPUs; NULL: none */
  gboolean shares_by_itself; /* where that key is absent */
  gboolean adds_pool;        /* nodes and GPUs of the input are the trainer's alone */
  gboolean counts_prompts;   /* its mini-batch is of prompts */
  gboolean counts_steps; /* its batch is of micro-batches, and says how many prompts there are */
  gboolean counts_responses; /* its batch is of responses, and says how many prompts there are */
  gboolean has_reference;    /* a reference model where no key says */
  void (*settle)(OrrLaunchDraft *draft); /* what only this launcher decides; or NULL */
} Launcher;

static void settle_nemo_rl(OrrLaunchDraft *draft);
static void settle_slime(OrrLaunchDraft *draft);
static void settle_verl(OrrLaunchDraft *draft);

static const Launcher launchers[] = {
    {&orr_dialect_verl, 1024, 1, 512, 512, 256, .counts_prompts = TRUE, .settle = settle_verl},
    {&orr_dialect_nemo_rl, 32, 16, 0, 512, 512, "policy.generation.colocated.enabled",
     .shares_by_itself = TRUE, .has_reference = TRUE, .settle = settle_nemo_rl},
    {&orr_dialect_openrlhf, 1024, 1, 1024, 1024, 128, "colocate-all-models", .adds_pool = TRUE,
     .has_reference = TRUE},
    {&orr_dialect_slime, 32, 8, 1024, 8192, 256, "colocate", .adds_pool = TRUE,
     .settle = settle_slime},
    {&orr_dialect_areal, 0, 1, 1024, 1024, 0},
    {&orr_dialect_prime_rl, 0, 1, 0, 0, 0},
    {&orr_dialect_megatron_grpo, 0, 8, 2048, 512, 16, .counts_responses = TRUE,
     .has_reference = TRUE},
    {&orr_dialect_trl_grpo, 0, 8, 512, 256, 8, .counts_steps = TRUE}};

/* Lines of the scenario that a launcher's own defaults make. */
static const struct {
  const OrrLaunchDialect *dialect;
  const char *path, *value;
} defaults[] = {
    {&orr_dialect_verl, "workload.algorithm", "ppo"},
    {&orr_dialect_verl, "workload.offload", "none"},
    {&orr_dialect_verl, "workload.rollout.parallel.tp", "2"},
    {&orr_dialect_verl, "workload.rollout.engine.gpu-memory-utilization", "0.5"},
    {&orr_dialect_verl, "workload.rollout.engine.max-num-seqs", "1024"},
    {&orr_dialect_verl, "workload.rollout.engine.max-num-batched-tokens", "8192"},
    {&orr_dialect_nemo_rl, "workload.update.batch.micro", "4"},
    {&orr_dialect_nemo_rl, "workload.rollout.engine.gpu-memory-utilization", "0.6"},
    {&orr_dialect_nemo_rl, "workload.update.optimizer.sharding.kind", "fsdp"},
    {&orr_dialect_openrlhf, "workload.algorithm", "ppo"},
    {&orr_dialect_openrlhf, "workload.offload", "none"},
    {&orr_dialect_openrlhf, "workload.sleep", "false"},
    {&orr_dialect_openrlhf, "workload.packing", "padded"},
    {&orr_dialect_openrlhf, "workload.update.batch.micro", "4"},
    {&orr_dialect_openrlhf, "workload.rollout.engine.gpu-memory-utilization", "0.95"},
    {&orr_dialect_openrlhf, "workload.update.optimizer.sharding.kind", "zero-2"},
    {&orr_dialect_slime, "workload.offload", "all"},
    {&orr_dialect_slime, "workload.update.optimizer.sharding.kind", "distributed-optimizer"},
    {&orr_dialect_areal, "workload.update.optimizer.sharding.kind", "fsdp"},
    {&orr_dialect_prime_rl, "workload.update.optimizer.sharding.kind", "fsdp"},
    {&orr_dialect_megatron_grpo, "workload.offload", "none"},
    {&orr_dialect_megatron_grpo, "workload.sleep", "false"},
    {&orr_dialect_megatron_grpo, "workload.rollout.engine.gpu-memory-utilization", "0.9"},
    {&orr_dialect_megatron_grpo, "workload.update.batch.micro", "1"},
    {&orr_dialect_megatron_grpo, "workload.update.optimizer.sharding.kind",
     "distributed-optimizer"},
    {&orr_dialect_trl_grpo, "workload.rollout.engine.gpu-memory-utilization", "0.3"},
    {&orr_dialect_trl_grpo, "workload.offload", "none"},
    {&orr_dialect_trl_grpo, "workload.sleep", "false"},
    {&orr_dialect_trl_grpo, "workload.packing", "padded"},
    {&orr_dialect_trl_grpo, "workload.update.recompute", "full"},
    {&orr_dialect_trl_grpo, "workload.update.optimizer.sharding.kind", "ddp"}};

static const char by_default[] = "the launcher's default";

static const Launcher *launcher_of(const OrrLaunchDraft *draft) {
  for (guint i = 0; i < G_N_ELEMENTS(launchers); i++)
    if (orr_launch_config_has(draft, launchers[i].dialect)) return &launchers[i];
  return NULL;
}

static gint64 number_at(OrrLaunchDraft *draft, const char *path, gint64 fallback) {
  const OrrLaunchSetting *setting = orr_launch_draft_at(draft, path, FALSE);
  if (!setting || g_strcmp0(setting->value, "null") == 0) return fallback;
  return orr_launch_draft_int(draft, setting->dialect, setting->key, fallback);
}

static void set_number(OrrLaunchDraft *draft, const char *path, gint64 value,
                       const OrrLaunchSetting *source, const char *remark) {
  orr_launch_draft_set_number(draft, path, value, source, source ? NULL : remark);
}

/* The engine lowers its own number of sequences to the tokens of a step. */
static gboolean is_above_tokens(OrrLaunchDraft *draft, const char *path, const char *value) {
  static const char tokens[] = "workload.rollout.engine.max-num-batched-tokens";
  return g_str_has_suffix(path, ".max-num-seqs") && orr_launch_draft_get(draft, tokens) &&
         orr_launch_draft_degree(draft, tokens) < g_ascii_strtoll(value, NULL, 10);
}

/* Which of the two leaves GPUs to the other, where both have GPUs of their own. */
static gboolean is_void(OrrLaunchDraft *draft, const char *path) {
  return orr_launch_draft_get(draft, "workload.pools.rollout-gpus") &&
         (g_str_equal(path, "workload.offload") || g_str_equal(path, "workload.sleep"));
}

static void set_defaults(OrrLaunchDraft *draft, const Launcher *launcher) {
  for (guint i = 0; i < G_N_ELEMENTS(defaults); i++)
    if (defaults[i].dialect == launcher->dialect &&
        !orr_launch_draft_get(draft, defaults[i].path) && !is_void(draft, defaults[i].path) &&
        !is_above_tokens(draft, defaults[i].path, defaults[i].value))
      orr_launch_draft_set(draft, defaults[i].path, defaults[i].value, NULL, by_default);
}

/* --- Backends --- */

void orr_dialect_rollouts_choose(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *chosen, const char *other, const char *why) {
  g_auto(GStrv) keys = g_strsplit(chosen, " ", -1), others = g_strsplit(other, " ", -1);
  for (char **key = keys; *key; key++)
    if (orr_launch_config_text(draft, dialect, *key)) orr_launch_draft_settle(draft, dialect, *key);
  for (char **key = others; *key; key++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, *key);
    if (setting) orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "%s", why);
  }
}

/* NeMo-RL's configs have the settings of both trainers. */
static void settle_nemo_rl(OrrLaunchDraft *draft) {
  static const char megatron[] =
      "policy.megatron-cfg.tensor-model-parallel-size "
      "policy.megatron-cfg.pipeline-model-parallel-size policy.megatron-cfg.context-parallel-size "
      "policy.megatron-cfg.expert-model-parallel-size policy.megatron-cfg.activation-checkpointing "
      "policy.megatron-cfg.sequence-parallel";
  static const char dtensor[] =
      "policy.dtensor-cfg.tensor-parallel-size policy.dtensor-cfg.context-parallel-size "
      "policy.dtensor-cfg.activation-checkpointing";
  static const char packs[] = "policy.sequence-packing.enabled";
  const OrrLaunchDialect *own = &orr_dialect_nemo_rl;
  const gboolean is_megatron = orr_launch_draft_is_on(draft, own, "policy.megatron-cfg.enabled");
  orr_dialect_rollouts_choose(draft, own, is_megatron ? megatron : dtensor,
                              is_megatron ? dtensor : megatron,
                              "of the trainer that is not enabled");
  if (!orr_launch_draft_is_on(draft, own, packs) &&
      !orr_launch_draft_is_on(draft, own, "policy.dynamic-batching.enabled"))
    orr_launch_draft_set(draft, "workload.packing", "padded",
                         orr_launch_draft_find(draft, own, packs), "neither packs samples");
}

/* An engine's GPUs are split by tensors within each of SGLang's groups of attention. Megatron's
 * experts are split like its other layers where nothing says otherwise; its options are the model
 * where no checkpoint of a known one is named. */
static void settle_slime(OrrLaunchDraft *draft) {
  if (number_at(draft, "workload.update.parallel.ep", 1) > 1 &&
      number_at(draft, "workload.update.parallel.etp", 0) < 1)
    set_number(draft, "workload.update.parallel.etp",
               number_at(draft, "workload.update.parallel.tp", 1), NULL, "Megatron's default");
  static const char engine[] = "workload.rollout.parallel.tp";
  static const char groups[] = "workload.rollout.parallel.dp-attention";
  orr_dialect_megatron_model(draft);
  const gint64 gpus = number_at(draft, engine, 0), n = number_at(draft, groups, 1);
  if (gpus > 0)
    set_number(draft, engine, n > 1 && gpus % n == 0 ? gpus / n : gpus,
               orr_launch_draft_at(draft, engine, FALSE), NULL);
  if (n > 1) set_number(draft, groups, n, orr_launch_draft_at(draft, groups, FALSE), NULL);
}

/* What verl's actor keeps in host memory during rollouts; both are off where a line lacks them. The
 * weights alone are not simulated. */
static void set_offload(OrrLaunchDraft *draft) {
  static const char weights[] = "actor-rollout-ref.actor.fsdp-config.param-offload";
  static const char optimizer[] = "actor-rollout-ref.actor.fsdp-config.optimizer-offload";
  const OrrLaunchDialect *own = &orr_dialect_verl;
  OrrLaunchSetting *of_weights = orr_launch_draft_find(draft, own, weights);
  const OrrLaunchSetting *of_optimizer = orr_launch_draft_find(draft, own, optimizer);
  const gboolean weights_go = of_weights && orr_launch_draft_is_on(draft, own, weights);
  const gboolean optimizer_goes = of_optimizer && orr_launch_draft_is_on(draft, own, optimizer);
  const OrrLaunchSetting *source = of_optimizer ? of_optimizer : of_weights;
  if (weights_go && !optimizer_goes)
    orr_launch_draft_judge(draft, of_weights, ORR_LAUNCH_NOT_SIMULATED,
                           "weights in host memory without the optimizer");
  if (source)
    orr_launch_draft_set(draft, "workload.offload",
                         !optimizer_goes ? "none"
                         : weights_go    ? "all"
                                         : "optimizer",
                         source, NULL);
}

/* verl's trainer is FSDP, or Megatron by the name of its config. The model's recomputation switch
 * is FSDP's; Megatron has its own, which is off (verl/trainer/config/engine/megatron.yaml). */
static void settle_verl(OrrLaunchDraft *draft) {
  static const char sharding[] = "workload.update.optimizer.sharding.kind",
                    granularity[] = "actor-rollout-ref.actor.megatron.override-transformer-config."
                                    "recompute-granularity",
                    recompute[] = "workload.update.recompute";
  const char *config = orr_launch_draft_value(draft, &orr_dialect_verl, "config-name");
  const char *kind = config && strstr(config, "megatron") ? "distributed-optimizer" : "fsdp";
  orr_dialect_rollouts_commands_config(draft);
  if (!orr_launch_draft_get(draft, sharding))
    orr_launch_draft_set(draft, sharding, kind, NULL, "the trainer of verl's config");
  const gboolean is_fsdp = strcmp(orr_launch_draft_get(draft, sharding), "fsdp") == 0;
  const char *own = is_fsdp ? "actor-rollout-ref.model.enable-gradient-checkpointing" : granularity;
  if (!orr_launch_draft_find(draft, &orr_dialect_verl, own))
    orr_launch_draft_set(draft, recompute, is_fsdp ? "full" : "none", NULL, by_default);
  orr_launch_trainer_verl_groups(draft);
  set_offload(draft);
}

/* --- The machine --- */

/* GPUs that only roll out. OpenRLHF counts engines, NeMo-RL nodes or GPUs of its one node. */
static gint64 pool_of(OrrLaunchDraft *draft, const Launcher *launcher) {
  const OrrLaunchSetting *pool = orr_launch_draft_at(draft, "workload.pools.rollout-gpus", TRUE);
  const gboolean says =
      launcher->shares && orr_launch_draft_find(draft, launcher->dialect, launcher->shares);
  const gboolean shares = says ? orr_launch_draft_is_on(draft, launcher->dialect, launcher->shares)
                               : launcher->shares_by_itself;
  if (!pool || shares) return 0;
  const gint64 count = number_at(draft, "workload.pools.rollout-gpus", 0);
  if (strstr(pool->key, "engines"))
    return count * orr_launch_draft_degree(draft, "workload.rollout.parallel.tp");
  if (!g_str_has_suffix(pool->key, "resources.gpus-per-node")) return count;
  const gint64 nodes = orr_launch_config_count(
      draft, launcher->dialect, "policy.generation.colocated.resources.num-nodes", 1);
  return count * MAX(nodes, 1);
}

/* The launcher's own setting for @path: what starts its processes counts them in another way. */
static const OrrLaunchSetting *own_at(OrrLaunchDraft *draft, const Launcher *launcher,
                                      const char *path) {
  const OrrLaunchSetting *setting = orr_launch_draft_at(draft, path, FALSE);
  return setting && setting->dialect == launcher->dialect ? setting : NULL;
}

static void set_machine(OrrLaunchDraft *draft, const Launcher *launcher) {
  const OrrLaunchSetting *by_nodes = own_at(draft, launcher, "cluster.nodes"),
                         *by_gpus = own_at(draft, launcher, "cluster.gpus");
  const gint64 nodes = by_nodes ? number_at(draft, "cluster.nodes", 0) : 0;
  const gint64 gpus = by_gpus ? number_at(draft, "cluster.gpus", 0) : 0;
  const gint64 pool = pool_of(draft, launcher);
  if (nodes > 0) orr_launch_draft_set_nodes(draft, nodes, by_nodes->written);
  if (gpus > 0) orr_launch_draft_set_gpus_per_node(draft, gpus, by_gpus->written);
  if (gpus > 0 && draft->nodes < 1) orr_launch_draft_set_nodes(draft, 1, "1 node");
  if (pool < 1) return;
  const OrrLaunchSetting *source = orr_launch_draft_at(draft, "workload.pools.rollout-gpus", TRUE);
  set_number(draft, "workload.pools.rollout-gpus", pool, source, NULL);
  if (!launcher->adds_pool || gpus < 1) return;
  orr_launch_draft_set_gpus_per_node(draft, gpus * MAX(draft->nodes, 1) + pool, NULL);
  orr_launch_draft_set_nodes(draft, 1, "GPUs of the trainer and of the engines");
}

/* Engines on GPUs of their own get weights over the network. */
static void set_sync(OrrLaunchDraft *draft, const Launcher *launcher) {
  if (orr_launch_draft_get(draft, "workload.pools.rollout-gpus") && !launcher->dialect->stack)
    orr_launch_draft_set(draft, "workload.sync", "broadcast", NULL, by_default);
}

/* Rollouts that run ahead want GPUs of their own. */
static void set_mode(OrrLaunchDraft *draft, const Launcher *launcher) {
  OrrLaunchSetting *ahead = orr_launch_draft_at(draft, "workload.mode.kind", TRUE);
  const OrrLaunchSetting *far = orr_launch_draft_at(draft, "workload.mode.staleness", TRUE);
  const gboolean is_on = ahead && orr_launch_draft_is_on(draft, launcher->dialect, ahead->key);
  if (is_on && !orr_launch_draft_get(draft, "workload.pools.rollout-gpus"))
    return orr_launch_draft_judge(draft, ahead, ORR_LAUNCH_NOT_SIMULATED,
                                  "rollouts that run ahead on GPUs that they share");
  if (!is_on || orr_launch_draft_get(draft, "workload.mode.kind")) return;
  orr_launch_draft_set(draft, "workload.mode.kind", "asynchronous", ahead, NULL);
  set_number(draft, "workload.mode.staleness", number_at(draft, "workload.mode.staleness", 1), far,
             by_default);
}

/* --- Lengths and batches --- */

/* The library's model has the context of its release; later ones of that shape have longer. */
static void lengthen_context(OrrLaunchDraft *draft, gint64 needed) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const char *name = orr_launch_draft_get(draft, "model");
  const char *own = orr_launch_draft_get(draft, "model.context"); /* of the line's dimensions */
  if (own && g_ascii_strtoll(own, NULL, 10) < needed)
    set_number(draft, "model.context", needed, NULL, "as long as the launcher's sequences");
  const OrrNode *model =
      name ? orr_library_borrow(draft->library, "model", name, (OrrPlace){0}, ignored) : NULL;
  const char *text = model ? orr_node_get_text(model, "context") : NULL;
  double context = 0;
  if (!text || !orr_quantity_parse(text, ORR_UNIT_NONE, &context, NULL) ||
      (double)needed <= context)
    return;
  ORR_EACH_POINTER(OrrLaunchLine, line, draft->lines) {
    if (strcmp(line->path, "model") != 0) continue;
    g_free(line->path);
    line->path = g_strdup("model.base");
  }
  orr_launch_draft_set_number(draft, "model.context", needed, NULL,
                              "assumed: as long as the launcher's sequences");
  orr_launch_draft_remark(draft,
                          "assumed: a context of %ld tokens, since the launcher's sequences are as "
                          "long; the library's model has %s",
                          needed, text);
}

/* Turns of a response: verl's config has the most of them only. 1: there is one. */
static gint64 set_turns(OrrLaunchDraft *draft, const Launcher *launcher) {
  OrrLaunchSetting *on = orr_launch_draft_at(draft, "workload.turns", TRUE);
  const gint64 most = number_at(draft, "workload.turns.number", 0);
  if (!on || !orr_launch_draft_is_on(draft, launcher->dialect, on->key)) return 1;
  if (most < 1) {
    orr_launch_draft_judge(
        draft, on, ORR_LAUNCH_NOT_SIMULATED,
        "turns with tools, and the input lacks their number: set workload.turns");
    return 1;
  }
  const gint64 mean = (most + 1) / 2;
  orr_launch_draft_assume_count(draft, "workload.turns.number.tokens", mean,
                                "half of the most turns; tools answer at once, without tokens: set "
                                "workload.turns",
                                "how many turns has a response on average?");
  return mean;
}

/* The longest response: of the whole sequence, what the mean prompt leaves. */
static gint64 longest_response(OrrLaunchDraft *draft, gint64 response, gint64 whole,
                               gint64 prompt) {
  OrrLaunchSetting *longest = orr_launch_draft_at(draft, "workload.response.tokens", FALSE);
  if (whole < 1 || response <= whole - prompt) return response;
  const gint64 rest = MAX(whole - prompt, 1);
  if (longest)
    orr_launch_draft_judge(draft, longest, ORR_LAUNCH_MAPPED,
                           "at most %ld, which the mean prompt leaves of the "
                           "longest sequence",
                           rest);
  return rest;
}

/* The means of prompts and responses: launchers say the longest only. */
static void set_lengths(OrrLaunchDraft *draft, const Launcher *launcher) {
  const gint64 whole = number_at(draft, "workload.update.sequence", 0);
  gint64 prompt = number_at(draft, "workload.prompt.tokens", launcher->prompt);
  gint64 response = number_at(draft, "workload.response.tokens",
                              whole && !launcher->prompt ? whole / 2 : launcher->response);
  if (prompt < 1) prompt = whole > response ? whole - response : whole > 0 ? whole / 2 : response;
  const gint64 mean = MAX(prompt / 2, 1), given = response, turns = set_turns(draft, launcher);
  response = MAX(longest_response(draft, response, whole, mean), 1);
  orr_launch_draft_assume_count(draft, "workload.prompt.tokens", mean,
                                "half of the longest: the input has no mean",
                                "how long are prompts on average? The input has the longest only");
  orr_launch_draft_set(draft, "workload.response.kind", "lognormal", NULL, "a long tail");
  orr_launch_draft_assume_count(
      draft, "workload.response.tokens", MAX(response / 2 / turns, 1),
      turns > 1 ? "half of the longest, in each turn its part"
                : "half of the longest: the input has no mean",
      "how long are responses on average? The input has the longest only");
  const OrrLaunchSetting *longest = orr_launch_draft_at(draft, "workload.response.tokens", FALSE);
  set_number(draft, "workload.response.most", MAX(response / turns, 1),
             response == given && turns == 1 ? longest : NULL,
             turns > 1           ? "of each turn"
             : response != given ? "the longest sequence less the mean prompt"
                                 : "the launcher's default");
  lengthen_context(draft, mean + response);
  if (orr_launch_draft_get(draft, "workload.update.sequence")) return; /* the launcher's own */
  set_number(draft, "workload.update.sequence", whole > 0 ? whole : prompt + response,
             whole > 0 ? orr_launch_draft_at(draft, "workload.update.sequence", FALSE) : NULL,
             "the longest prompt and response");
}

/* verl's ppo_micro_batch_size, before it was per GPU, counts all replicas' samples. */
static void divide_micro(OrrLaunchDraft *draft) {
  const char *path = "workload.update.batch.micro";
  const OrrLaunchSetting *source = orr_launch_draft_at(draft, path, FALSE);
  if (!source || !g_str_has_suffix(source->key, "ppo-micro-batch-size")) return;
  const gint64 split = number_at(draft, "workload.update.parallel.tp", 1) *
                       number_at(draft, "workload.update.parallel.pp", 1) *
                       number_at(draft, "workload.update.parallel.cp", 1);
  const gint64 replicas = MAX(orr_launch_config_gpus(draft) / MAX(split, 1), 1);
  set_number(draft, path, MAX(number_at(draft, path, 1) / replicas, 1), source, "of all replicas");
}

/* Keys that fill micro-batches by tokens: verl's actor (use_dynamic_bsz, dp_actor.py,
 * update_policy: tokens of a GPU times the GPUs that share a sequence); NeMo-RL's bins. */
static const struct {
  const OrrLaunchDialect *dialect;
  const char *on, *tokens;
  gint64 fallback;     /* 0: as many as the micro-batch's sequences have */
  gboolean is_per_gpu; /* the limit is of each GPU that shares a sequence */
} fills[] = {{&orr_dialect_verl, "actor-rollout-ref.actor.use-dynamic-bsz",
              "actor-rollout-ref.actor.ppo-max-token-len-per-gpu", 16384, TRUE},
             {&orr_dialect_nemo_rl, "policy.sequence-packing.enabled",
              "policy.sequence-packing.train-mb-tokens", 0, FALSE},
             {&orr_dialect_nemo_rl, "policy.dynamic-batching.enabled",
              "policy.dynamic-batching.train-mb-tokens", 0, FALSE}};

/* Micro-batches of as many samples as @tokens hold: one long sequence, with samples packed. */
static void fill_micro(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, guint i,
                       gint64 tokens) {
  static const char micro[] = "workload.update.batch.micro";
  const OrrLaunchSetting *on = orr_launch_draft_find(draft, dialect, fills[i].on);
  const OrrLaunchSetting *source = orr_launch_draft_find(draft, dialect, fills[i].tokens);
  OrrLaunchSetting *samples = orr_launch_draft_at(draft, micro, FALSE);
  if (samples)
    orr_launch_draft_judge(draft, samples, ORR_LAUNCH_IRRELEVANT,
                           "%s fills micro-batches by their tokens", on->written);
  set_number(draft, micro, 1, on, NULL);
  orr_launch_draft_set_number(draft, "workload.update.sequence", tokens, source,
                              !source               ? by_default
                              : fills[i].is_per_gpu ? "on each GPU that shares a sequence"
                                                    : NULL);
}

/* What fills micro-batches; a limit without its switch says nothing. */
static void set_fill(OrrLaunchDraft *draft, const Launcher *launcher, gint64 longest) {
  for (guint i = 0; i < G_N_ELEMENTS(fills); i++) {
    if (fills[i].dialect != launcher->dialect) continue;
    OrrLaunchSetting *limit = orr_launch_draft_find(draft, launcher->dialect, fills[i].tokens);
    OrrLaunchSetting *on = orr_launch_draft_find(draft, launcher->dialect, fills[i].on);
    if (!on || !orr_launch_draft_is_on(draft, launcher->dialect, fills[i].on)) {
      if (limit)
        orr_launch_draft_judge(draft, limit, ORR_LAUNCH_IRRELEVANT, "takes effect with %s",
                               fills[i].on);
      continue;
    }
    const gint64 each =
        orr_launch_config_count(draft, launcher->dialect, fills[i].tokens, fills[i].fallback);
    const gint64 tokens = fills[i].is_per_gpu
                              ? each * orr_launch_draft_degree(draft, "workload.update.parallel.cp")
                              : each;
    if (g_strcmp0(orr_launch_draft_get(draft, "workload.packing"), "padded") == 0)
      orr_launch_draft_judge(draft, on, ORR_LAUNCH_NOT_SIMULATED,
                             "micro-batches by tokens of samples that are padded");
    else if (tokens > 0 && tokens < longest)
      orr_launch_draft_bad(draft, limit ? limit : on,
                           "%ld tokens of a micro-batch are fewer than the longest "
                           "prompt and response, %ld",
                           tokens, longest);
    else if (tokens > 0)
      fill_micro(draft, launcher->dialect, i, tokens);
  }
}

/* The trainer's batch in responses. */
static void set_batch(OrrLaunchDraft *draft, const Launcher *launcher) {
  const char *path = "workload.update.batch.global";
  if (orr_launch_draft_get(draft, path) && launcher->mini == 0) return; /* the launcher's own */
  const OrrLaunchSetting *source = orr_launch_draft_at(draft, path, FALSE);
  const gint64 samples = number_at(draft, "workload.samples", launcher->samples);
  const gint64 micro = number_at(draft, "workload.update.batch.micro", launcher->mini);
  gint64 prompts = number_at(draft, "workload.prompts", launcher->prompts);
  gint64 batch = number_at(draft, path, launcher->counts_steps ? 1 : launcher->mini);
  if (launcher->counts_prompts) batch *= samples;
  if (orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, 1);
  divide_micro(draft);
  if (launcher->counts_steps) batch *= MAX(micro, 1) * MAX(orr_launch_config_gpus(draft), 1);
  if (launcher->counts_steps) prompts = MAX(batch / MAX(samples, 1), 1);
  if (launcher->counts_responses)
    prompts = MAX(number_at(draft, "workload.prompts", batch) / MAX(samples, 1), 1);
  set_number(
      draft, "workload.prompts", prompts, orr_launch_draft_at(draft, "workload.prompts", FALSE),
      launcher->counts_steps || launcher->counts_responses ? "a batch's responses / num_generations"
                                                           : "the launcher's default");
  set_number(draft, "workload.samples", samples,
             orr_launch_draft_at(draft, "workload.samples", FALSE), "the launcher's default");
  set_number(draft, path, MIN(batch, prompts * samples), source, "the launcher's default");
}

/* --- What is computed --- */

static gboolean is_zero(const char *text) {
  double number = 1;
  return orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL) && number == 0;
}

/* Whether a reference model's pass is made: some key is on, or a coefficient is not 0; a key that
 * skips it turns it off. */
static gboolean has_reference(OrrLaunchDraft *draft, const Launcher *launcher) {
  gboolean any = FALSE, says = FALSE;
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings) {
    const char *path = setting->rule ? setting->rule->path : NULL;
    if (g_strcmp0(path, "workload.algorithm.reference") != 0) continue;
    const gboolean is_on = orr_launch_draft_is_on(draft, setting->dialect, setting->key) &&
                           !(setting->value && is_zero(setting->value));
    const gboolean skips = strstr(setting->key, "skip") != NULL;
    if (skips && is_on) return FALSE;
    says |= !skips;
    any |= !skips && is_on;
  }
  return says ? any : launcher->has_reference;
}

static void set_algorithm(OrrLaunchDraft *draft, const Launcher *launcher) {
  const OrrLaunchSetting *old =
      orr_launch_draft_at(draft, "workload.algorithm.old-log-probs", TRUE);
  const gboolean has_old = !old || orr_launch_draft_is_on(draft, launcher->dialect, old->key);
  const gboolean has_one = has_reference(draft, launcher);
  if (!orr_launch_draft_get(draft, "workload.algorithm"))
    orr_launch_draft_set(draft, "workload.algorithm", "grpo", NULL, "no estimator is named");
  if (has_one && has_old) return;
  g_autofree char *text =
      g_strdup_printf("{kind: %s%s%s}", orr_launch_draft_get(draft, "workload.algorithm"),
                      has_one ? "" : ", reference: false", has_old ? "" : ", old-log-probs: false");
  orr_launch_draft_set(draft, "workload.algorithm", text, NULL,
                       has_one ? old->written : "no KL term, so no reference model");
}

/* Accelerate's and DeepSpeed's settings of the trainer apply to the update, unless the launcher's
 * own keys set it. */
static void adopt_lines(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"batch.",     "data-parallel.", "memory.",   "offload.",
                                     "optimizer.", "parallel.",      "precision", "recompute"};
  for (guint i = draft->lines->len; i-- > 0;) {
    OrrLaunchLine *line = draft->lines->pdata[i];
    if (!g_str_has_prefix(line->path, "workload.")) continue;
    const char *rest = line->path + strlen("workload.");
    gboolean is_trainers = FALSE;
    for (guint k = 0; k < G_N_ELEMENTS(keys); k++) is_trainers |= g_str_has_prefix(rest, keys[k]);
    if (!is_trainers) continue;
    char *path = g_strconcat("workload.update.", rest, NULL);
    const gboolean is_said = orr_launch_draft_get(draft, path) != NULL;
    g_free(line->path);
    line->path = path;
    if (is_said) g_ptr_array_remove_index(draft->lines, i);
  }
}

void orr_dialect_rollouts_finish(OrrLaunchDraft *draft) {
  const Launcher *launcher = launcher_of(draft);
  const OrrLaunchSetting *model = orr_launch_draft_at(draft, "model", FALSE);
  if (!launcher) return;
  adopt_lines(draft);
  if (model) orr_launch_config_put_model(draft, launcher->dialect, model->key);
  orr_dialect_rollouts_commands_reward(draft, launcher->dialect);
  if (launcher->settle) launcher->settle(draft);
  set_machine(draft, launcher);
  set_sync(draft, launcher);
  set_mode(draft, launcher);
  set_lengths(draft, launcher);
  set_batch(draft, launcher);
  set_fill(draft, launcher, orr_launch_draft_degree(draft, "workload.update.sequence"));
  set_defaults(draft, launcher);
  orr_dialect_rollouts_commands_software(draft, launcher->dialect);
  set_algorithm(draft, launcher);
  orr_launch_config_miss_file(draft, launcher->dialect, "config");
}

#define ROLLOUTS                                                                                   \
  .kind = "post-training", .has_own_options = TRUE, .is_trainer = TRUE,                            \
  .finish = orr_dialect_rollouts_finish

const OrrLaunchDialect orr_dialect_verl = {
    .name = "verl",
    .stack = "verl",
    .signs = "actor_rollout_ref",
    ROLLOUTS,
};
const OrrLaunchDialect orr_dialect_nemo_rl = {
    .name = "nemo-rl",
    .stack = "nemo-rl",
    .signs = "grpo.num_prompts_per_step",
    ROLLOUTS,
};
const OrrLaunchDialect orr_dialect_openrlhf = {
    .name = "openrlhf",
    ROLLOUTS,
};
const OrrLaunchDialect orr_dialect_slime = {
    .name = "slime",
    .begin = orr_dialect_rollouts_commands_slime,
    ROLLOUTS,
};
const OrrLaunchDialect orr_dialect_megatron_grpo = {
    .name = "megatron-grpo",
    ROLLOUTS,
};
const OrrLaunchDialect orr_dialect_trl_grpo = {
    .name = "trl-grpo",
    .signs = "reward_funcs num_generations",
    ROLLOUTS,
};
