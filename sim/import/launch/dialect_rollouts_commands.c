/*
 * dialect_rollouts_commands.c - the commands of launchers of post-training: which one a command
 * starts, by its script or by arguments that only it has, and its arguments as settings; the
 * software that each launcher calls, and its reward model. dialect_rollouts.c has the dialects and
 * the settings that several keys decide.
 */
#include "sim/import/launch/launch_trainer.h"
#include "workloads/stack.h"

static gboolean has_word(const OrrLaunchCommand *command, guint script, const char *beginning) {
  for (guint i = script; i < command->words->len; i++)
    if (g_str_has_prefix(((const OrrLaunchWord *)command->words->pdata[i])->text +
                             strspn(((const OrrLaunchWord *)command->words->pdata[i])->text, "+"),
                         beginning))
      return TRUE;
  return FALSE;
}

void orr_dialect_rollouts_commands_reward(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  OrrLaunchSetting *setting = orr_launch_draft_at(draft, "workload.reward.model", TRUE);
  const OrrLaunchSetting *on = orr_launch_draft_at(draft, "workload.reward", FALSE);
  const char *remote = orr_launch_draft_value(draft, dialect, "remote-rm-url");
  const char *actor = orr_launch_draft_get(draft, "model");
  if (!setting || !setting->value || setting->is_unresolved) return;
  const gboolean has_switch = strchr(setting->key, '.') != NULL; /* verl's, off by default */
  if (remote || (has_switch && !(on && orr_launch_draft_is_on(draft, dialect, on->key)))) {
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "no reward model runs here");
    return;
  }
  const char *name = orr_library_alias(draft->library, "model", setting->value, NULL);
  if (!name && !actor) return;
  orr_launch_draft_set(draft, "workload.reward.model", name ? name : actor, setting, NULL);
  if (!name)
    orr_launch_draft_remark(draft, "assumed: the reward model %s has the actor's shape",
                            setting->value);
}

/* Families of software: the newest release stands for what the launcher calls. */
static const struct {
  const OrrLaunchDialect *dialect;
  const char *update, *rollout;
} software[] = {{&orr_dialect_openrlhf, "transformers", "vllm"},
                {&orr_dialect_trl_grpo, "transformers", "vllm"},
                {&orr_dialect_areal, "transformers", "sglang"},
                {&orr_dialect_prime_rl, "transformers", "vllm"},
                {&orr_dialect_slime, "megatron-core", "sglang"},
                {&orr_dialect_megatron_grpo, "megatron-core", "vllm"}};

void orr_dialect_rollouts_commands_config(OrrLaunchDraft *draft) {
  static const char *const shipped[] = {"ppo_trainer", "ppo_megatron_trainer", NULL};
  const char *config = orr_launch_draft_value(draft, &orr_dialect_verl, "config-name");
  g_autofree char *base = config ? g_path_get_basename(config) : NULL;
  if (!base) return;
  if (g_str_has_suffix(base, ".yaml")) base[strlen(base) - strlen(".yaml")] = 0;
  g_autofree char *file = g_strconcat(base, ".yaml", NULL);
  if (!g_strv_contains(shipped, base) && !orr_launch_form_source(draft, file))
    orr_launch_config_skip(draft, &orr_dialect_verl, "config-name",
                           "it was not given: add it to the command line");
}

static void set_newest(OrrLaunchDraft *draft, const char *path, const char *family) {
  g_autofree char *name = orr_stack_newest(draft->library, family);
  if (name && !orr_launch_draft_get(draft, path))
    orr_launch_draft_set(draft, path, name, NULL, "assumed: the newest known release");
}

void orr_dialect_rollouts_commands_software(OrrLaunchDraft *draft,
                                            const OrrLaunchDialect *dialect) {
  for (guint i = 0; !draft->options->stack && i < G_N_ELEMENTS(software); i++) {
    if (software[i].dialect != dialect) continue;
    const char *sharding = orr_launch_draft_get(draft, "workload.update.optimizer.sharding.kind");
    const gboolean is_megatron = g_strcmp0(sharding, "distributed-optimizer") == 0;
    set_newest(draft, "workload.update.stack", is_megatron ? "megatron-core" : software[i].update);
    set_newest(draft, "workload.rollout.stack", software[i].rollout);
    orr_launch_draft_remark(draft, "software assumed: %s trains, %s rolls out",
                            orr_launch_draft_get(draft, "workload.update.stack"),
                            orr_launch_draft_get(draft, "workload.rollout.stack"));
  }
}

static gboolean knows_verl(const OrrLaunchCommand *command, guint script) {
  return !has_word(command, script, "verl.trainer.fsdp_sft") &&
         !has_word(command, script, "verl.trainer.sft") &&
         (has_word(command, script, "verl.trainer.") ||
          has_word(command, script, "actor_rollout_ref."));
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
  return has_word(command, script, "openrlhf.cli.train_ppo") ||
         has_word(command, script, "--vllm_num_engines");
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
  const OrrLaunchWord *word = command->words->pdata[script];
  if (g_str_has_suffix(word->text, "train_async.py"))
    orr_launch_draft_add(draft, &orr_dialect_slime, "train-async", "true", word->place);
  const guint first = draft->settings->len;
  orr_launch_argv(draft, &orr_dialect_slime, command->words, script + 1, rest);
  orr_launch_translate(draft, &orr_dialect_slime, first);
}

/* num_steps_per_rollout: a rollout's responses are this many batches. slime stops where another
 * global_batch_size is given, too (slime/utils/arguments.py). */
void orr_dialect_rollouts_commands_slime(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *own = &orr_dialect_slime;
  const OrrLaunchSetting *steps = orr_launch_draft_find(draft, own, "num-steps-per-rollout");
  const OrrLaunchSetting *given = orr_launch_draft_find(draft, own, "global-batch-size");
  const gint64 n = orr_launch_draft_int(draft, own, "num-steps-per-rollout", 0);
  if (n < 1) return;
  const gint64 responses = orr_launch_draft_int(draft, own, "rollout-batch-size", 32) *
                           orr_launch_draft_int(draft, own, "n-samples-per-prompt", 8);
  const gint64 global = MAX(responses / n, 1);
  if (given && orr_launch_draft_int(draft, own, "global-batch-size", global) != global)
    orr_launch_draft_bad(draft, given,
                         "'%s' is not %ld, a rollout's responses / "
                         "num_steps_per_rollout",
                         given->value, global);
  if (given) return;
  g_autofree char *batch = g_strdup_printf("%ld", global);
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, own, "global-batch-size", batch, steps->place);
  g_free(setting->written);
  setting->written = g_strdup_printf("a rollout's responses / %s", steps->written);
}

static gboolean knows_trl(const OrrLaunchCommand *command, guint script) {
  return has_word(command, script, "--num_generations") ||
         has_word(command, script, "--reward_funcs");
}

static void read_trl(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, &orr_dialect_trl_grpo, command->words, script + 1, rest);
  orr_launch_trainer_hand_on(draft, &orr_dialect_trl_grpo, command, script);
}

static void read_megatron(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, &orr_dialect_megatron_grpo, command->words, script + 1, rest);
}

/* `megatron rlhf` with rewards: a loop. Training by preferences is not one. */
static gboolean knows_megatron(const OrrLaunchCommand *command, guint script) {
  return script > 0 && has_word(command, script - 1, "megatron") && knows_trl(command, script);
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
                                               .scripts =
                                                   "openrlhf.cli.train_ppo* train_ppo_ray.py",
                                               .knows = knows_openrlhf,
                                               .rolls_out = TRUE,
                                               .read = read_openrlhf};
const OrrLaunchTrainer orr_trainer_slime = {
    .name = "slime", .scripts = "", .knows = knows_slime, .rolls_out = TRUE, .read = read_slime};
const OrrLaunchTrainer orr_trainer_megatron_grpo = {
    .name = "megatron-grpo", .knows = knows_megatron, .rolls_out = TRUE, .read = read_megatron};
const OrrLaunchTrainer orr_trainer_trl_grpo = {.name = "trl-grpo",
                                               .scripts = "grpo.py trl.scripts.grpo trl:grpo",
                                               .knows = knows_trl,
                                               .rolls_out = TRUE,
                                               .read = read_trl};
