/*
 * dialect_rollouts.c - post-training: verl, NeMo-RL, OpenRLHF, slime, and GRPO of TRL.
 *
 * Each has a table; what several keys decide together is the same for all of them, so
 * `finish` finds a setting by the path that its rule has:
 *
 *   model, cluster.nodes, cluster.gpus      the model's name, and the machine
 *   workload.prompt, workload.response      the longest lengths; means are assumed
 *   workload.update.sequence                the longest prompt and response together
 *   workload.update.batch.global            verl counts prompts, and TRL micro-batches
 *
 * Sources: verl/trainer/config/ppo_trainer.yaml of verl-project/verl 0.4 to 0.7 (train_batch_size
 * 1024, rollout.n 1, max_prompt_length 512, max_response_length 512, ppo_mini_batch_size 256);
 * examples/configs/grpo_math_1B.yaml of NVIDIA-NeMo/RL; openrlhf/cli/train_ppo_ray.py of
 * OpenRLHF 0.8 (rollout_batch_size 1024, n_samples_per_prompt 1, train_batch_size 128, prompt and
 * generate_max_len 1024, zero_stage 0); slime/utils/arguments.py of THUDM/slime;
 * trl/trainer/grpo_config.py of TRL 0.20 to 1.0 (num_generations 8, max_prompt_length 512,
 * max_completion_length 256, per_device_train_batch_size 8).
 */
#include <string.h>

#include "sim/import/launch/dialects.h"
#include "sim/import/launch/launch_config.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_trainer.h"

/* What a launcher has where its input says nothing; 0: it must. */
typedef struct {
  const OrrLaunchDialect *dialect;
  gint64 prompts, samples, prompt, response, mini;
  const char *sharding;
  gboolean counts_prompts; /* its mini-batch is of prompts */
  gboolean counts_steps;   /* its batch is of micro-batches, and says how many prompts there are */
} Launcher;

static const Launcher launchers[] = {
    {&orr_dialect_verl, 1024, 1, 512, 512, 256, "fsdp", .counts_prompts = TRUE},
    {&orr_dialect_nemo_rl, 32, 16, 0, 512, 512, "fsdp", FALSE, FALSE},
    {&orr_dialect_openrlhf, 1024, 1, 1024, 1024, 128, "ddp", FALSE, FALSE},
    {&orr_dialect_slime, 32, 8, 1024, 8192, 256, "distributed-optimizer", FALSE, FALSE},
    {&orr_dialect_trl_grpo, 0, 8, 512, 256, 8, "zero-3", .counts_steps = TRUE}};

static const Launcher *launcher_of(const OrrLaunchDraft *draft) {
  for (guint i = 0; i < G_N_ELEMENTS(launchers); i++)
    if (orr_launch_config_has(draft, launchers[i].dialect)) return &launchers[i];
  return NULL;
}

static gint64 number_at(OrrLaunchDraft *draft, const char *path, gint64 fallback) {
  const OrrLaunchSetting *setting = orr_launch_config_at(draft, path, FALSE);
  if (!setting || g_strcmp0(setting->value, "null") == 0) return fallback;
  return orr_launch_draft_int(draft, setting->dialect, setting->key, fallback);
}

static void set_number(OrrLaunchDraft *draft, const char *path, gint64 value,
                       const OrrLaunchSetting *source, const char *remark) {
  g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
  orr_launch_draft_set(draft, path, text, source, source ? NULL : remark);
}

static void set_machine(OrrLaunchDraft *draft) {
  const gint64 nodes = number_at(draft, "cluster.nodes", 0);
  const gint64 gpus = number_at(draft, "cluster.gpus", 0);
  const OrrLaunchSetting *by_nodes = orr_launch_config_at(draft, "cluster.nodes", FALSE),
                         *by_gpus = orr_launch_config_at(draft, "cluster.gpus", FALSE);
  if (nodes > 0) orr_launch_draft_set_nodes(draft, nodes, by_nodes->written);
  if (gpus > 0) orr_launch_draft_set_gpus_per_node(draft, gpus, by_gpus->written);
  if (gpus > 0 && draft->nodes < 1) orr_launch_draft_set_nodes(draft, 1, "1 node");
}

/* The means of prompts and responses: launchers say the longest only. */
static void set_lengths(OrrLaunchDraft *draft, const Launcher *launcher) {
  const gint64 whole = number_at(draft, "workload.update.sequence", 0);
  gint64 prompt = number_at(draft, "workload.prompt.tokens", launcher->prompt);
  gint64 response = number_at(draft, "workload.response.tokens",
                              whole && !launcher->prompt ? whole / 2 : launcher->response);
  if (response >= whole && whole > 0) response = MAX(whole / 2, 1); /* the whole is the limit */
  if (prompt < 1) prompt = whole > response ? whole - response : response;
  orr_launch_draft_assume_count(draft, "workload.prompt.tokens", MAX(prompt / 2, 1),
                                "half of the longest: the input has no mean",
                                "how long are prompts on average? The input has the longest only");
  orr_launch_draft_set(draft, "workload.response.kind", "lognormal", NULL, "a long tail");
  orr_launch_draft_assume_count(
      draft, "workload.response.tokens", MAX(response / 2, 1),
      "half of the longest: the input has no mean",
      "how long are responses on average? The input has the longest only");
  const OrrLaunchSetting *longest = orr_launch_config_at(draft, "workload.response.tokens", FALSE);
  const gboolean is_written =
      longest && number_at(draft, "workload.response.tokens", 0) == response;
  set_number(draft, "workload.response.most", MAX(response, 1), is_written ? longest : NULL,
             longest ? "half of the longest sequence" : "the launcher's default");
  set_number(draft, "workload.update.sequence", whole > 0 ? whole : prompt + response,
             whole > 0 ? orr_launch_config_at(draft, "workload.update.sequence", FALSE) : NULL,
             "the longest prompt and response");
}

/* The trainer's batch in responses. */
static void set_batch(OrrLaunchDraft *draft, const Launcher *launcher) {
  const char *path = "workload.update.batch.global";
  const OrrLaunchSetting *source = orr_launch_config_at(draft, path, FALSE);
  const gint64 samples = number_at(draft, "workload.samples", launcher->samples);
  const gint64 micro = number_at(draft, "workload.update.batch.micro", launcher->mini);
  gint64 prompts = number_at(draft, "workload.prompts", launcher->prompts);
  gint64 batch = number_at(draft, path, launcher->counts_steps ? 1 : launcher->mini);
  if (launcher->counts_prompts) batch *= samples;
  if (orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, 1);
  if (launcher->counts_steps) batch *= MAX(micro, 1) * MAX(orr_launch_config_gpus(draft), 1);
  if (launcher->counts_steps) prompts = MAX(batch / MAX(samples, 1), 1);
  set_number(
      draft, "workload.prompts", prompts, orr_launch_config_at(draft, "workload.prompts", FALSE),
      launcher->counts_steps ? "a batch's responses / num_generations" : "the launcher's default");
  set_number(draft, "workload.samples", samples,
             orr_launch_config_at(draft, "workload.samples", FALSE), "the launcher's default");
  set_number(draft, path, MIN(batch, prompts * samples), source, "the launcher's default");
}

static void finish(OrrLaunchDraft *draft) {
  const Launcher *launcher = launcher_of(draft);
  const OrrLaunchSetting *model = orr_launch_config_at(draft, "model", FALSE);
  if (!launcher) return;
  if (model) orr_launch_config_put_model(draft, launcher->dialect, model->key);
  set_machine(draft);
  set_lengths(draft, launcher);
  set_batch(draft, launcher);
  if (!orr_launch_draft_get(draft, "workload.algorithm"))
    orr_launch_draft_set(draft, "workload.algorithm", "grpo", NULL, "no estimator is named");
  if (!orr_launch_draft_get(draft, "workload.update.optimizer.sharding.kind"))
    orr_launch_draft_set(draft, "workload.update.optimizer.sharding.kind", launcher->sharding, NULL,
                         "the launcher's default");
}

#define ROLLOUTS                                                                                   \
  .kind = "post-training", .has_own_options = TRUE, .is_trainer = TRUE, .finish = finish

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
    ROLLOUTS,
};
const OrrLaunchDialect orr_dialect_trl_grpo = {
    .name = "trl-grpo",
    .signs = "reward_funcs num_generations",
    ROLLOUTS,
};

/* --- The command line --- */

static gboolean has_word(const OrrLaunchCommand *command, guint script, const char *beginning) {
  for (guint i = script; i < command->words->len; i++)
    if (g_str_has_prefix(((const OrrLaunchWord *)command->words->pdata[i])->text +
                             strspn(((const OrrLaunchWord *)command->words->pdata[i])->text, "+"),
                         beginning))
      return TRUE;
  return FALSE;
}

static gboolean knows_verl(const OrrLaunchCommand *command, guint script) {
  return has_word(command, script, "verl.trainer.") ||
         has_word(command, script, "actor_rollout_ref.");
}

static void read_verl(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  orr_launch_argv_hydra(draft, &orr_dialect_verl, command->words, script + 1);
}

static gboolean knows_nemo_rl(const OrrLaunchCommand *command, guint script) {
  return has_word(command, script, "grpo.num_prompts_per_step") ||
         (has_word(command, script, "policy.") && has_word(command, script, "grpo."));
}

static void read_nemo_rl(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  orr_launch_argv_hydra(draft, &orr_dialect_nemo_rl, command->words, script + 1);
}

static gboolean knows_openrlhf(const OrrLaunchCommand *command, guint script) {
  return has_word(command, script, "openrlhf.cli.train_ppo");
}

static void read_openrlhf(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, &orr_dialect_openrlhf, command->words, script + 1, rest);
}

static gboolean knows_slime(const OrrLaunchCommand *command, guint script) {
  return has_word(command, script, "--rollout-batch-size") &&
         has_word(command, script, "--n-samples-per-prompt");
}

static void read_slime(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, &orr_dialect_slime, command->words, script + 1, rest);
}

static gboolean knows_trl(const OrrLaunchCommand *command, guint script) {
  return has_word(command, script, "--num_generations") ||
         has_word(command, script, "--reward_funcs");
}

static void read_trl(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, &orr_dialect_trl_grpo, command->words, script + 1, rest);
}

const OrrLaunchTrainer orr_trainer_verl = {.name = "verl",
                                           .scripts = "verl.trainer.main_ppo recipe.dapo.main_dapo "
                                                      "main_ppo.py main_dapo.py",
                                           .knows = knows_verl,
                                           .rolls_out = TRUE,
                                           .read = read_verl};
const OrrLaunchTrainer orr_trainer_nemo_rl = {.name = "nemo-rl",
                                              .scripts = "run_grpo*.py",
                                              .knows = knows_nemo_rl,
                                              .rolls_out = TRUE,
                                              .read = read_nemo_rl};
const OrrLaunchTrainer orr_trainer_openrlhf = {.name = "openrlhf",
                                               .scripts = "openrlhf.cli.train_ppo*",
                                               .knows = knows_openrlhf,
                                               .rolls_out = TRUE,
                                               .read = read_openrlhf};
const OrrLaunchTrainer orr_trainer_slime = {
    .name = "slime", .scripts = "", .knows = knows_slime, .rolls_out = TRUE, .read = read_slime};
const OrrLaunchTrainer orr_trainer_trl_grpo = {.name = "trl-grpo",
                                               .scripts = "grpo.py",
                                               .knows = knows_trl,
                                               .rolls_out = TRUE,
                                               .read = read_trl};
