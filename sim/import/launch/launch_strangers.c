/*
 * launch_strangers.c - programs whose configs and commands are known and not read, so that a
 * refusal can name them.
 */
#include "sim/import/launch/launch_private.h"

static const char write_one[] = "write a scenario ('orrery new training'), and orrery check it";

static const struct {
  const char *name;
  const char *keys;  /* of a config, "a.b" lies deeper; any of them is enough */
  const char *words; /* parts of a command's words; any of them is enough */
  const char *remedy;
  gboolean is_on_trainer; /* takes the arguments of a trainer that is read, and its own */
} strangers[] = {
    {"AReaL", "", "areal.launcher", "give its YAML alone"},
    {"LitGPT", "train.lr_warmup_steps train.max_seq_length", "litgpt", write_one},
    {"lingua", "grad_acc_steps distributed.fsdp_type", "apps.main.train lingua", write_one},
    {"Levanter", "trainer.train_batch_size trainer.num_train_steps", "levanter", write_one},
    {"fms-fsdp", "", "main_training_llama.py main_training_mamba.py", write_one},
    {"ColossalAI", "", "colossalai", write_one},
    {"OpenRLHF", "", "openrlhf.cli.", "only its train_ppo_ray, train_sft and train_dpo are read"},
    {"verl's fine-tuning", "", "verl.trainer.fsdp_sft_trainer verl.trainer.sft_trainer",
     "only its main_ppo is read"},
    {"NeMo-RL's reward models and distillation",
     "rm.max_num_steps distillation.num_prompts_per_step", "run_rm.py run_distillation",
     "only its GRPO, SFT and DPO are read"},
    {"NeMo-RL's DPO", "", "run_dpo.py", "give its YAML alone"},
    {"Hugging Face TGI", "", "text-generation-launcher text-generation-inference",
     "it serves as vLLM 0.2 did; write a scenario ('orrery new serving')"},
    {"llama.cpp", "", "llama-server llama-cli", "it is not simulated"},
    {"Ollama", "", "ollama", "it is not simulated"},
    {"LMDeploy", "", "lmdeploy", "it is not simulated"},
};

static gboolean has_key(const OrrNode *tree, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  for (char **key = keys; *key && tree; key++) tree = orr_node_get(tree, *key);
  return tree != NULL;
}

static gboolean has_any_key(const OrrNode *tree, const char *paths) {
  g_auto(GStrv) all = g_strsplit(paths, " ", -1);
  for (char **path = all; *path; path++)
    if (**path && has_key(tree, *path)) return TRUE;
  return FALSE;
}

char *orr_launch_strangers_config(const OrrNode *tree) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++)
    if (has_any_key(tree, strangers[i].keys))
      return g_strdup_printf("a config of %s, which is not read: %s", strangers[i].name,
                             strangers[i].remedy);
  return NULL;
}

gboolean orr_launch_strangers_is_likely(const char *text) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++) {
    g_auto(GStrv) all = g_strsplit(strangers[i].keys, " ", -1);
    for (char **path = all; *path; path++) {
      const char *dot = strrchr(*path, '.');
      if (**path && strstr(text, dot ? dot + 1 : *path)) return TRUE;
    }
  }
  return FALSE;
}

static gboolean has_any_word(const OrrLaunchCommand *command, const char *parts) {
  g_auto(GStrv) all = g_strsplit(parts, " ", -1);
  for (guint i = 0; i < command->words->len; i++)
    for (char **part = all; *part; part++)
      if (**part && strstr(((const OrrLaunchWord *)command->words->pdata[i])->text, *part))
        return TRUE;
  return FALSE;
}

char *orr_launch_strangers_command(const OrrLaunchCommand *command, gboolean is_trainer) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++)
    if ((!is_trainer || strangers[i].is_on_trainer) && has_any_word(command, strangers[i].words))
      return g_strdup_printf("a command of %s, which is not read: %s", strangers[i].name,
                             strangers[i].remedy);
  return NULL;
}
