/*
 * dialect_megatron_test.c - the YAML of Megatron-LM's own functional tests, which holds the options
 * of a run, and of Megatron-MoE-ModelZoo's benchmarks:
 *
 *   ENV_VARS: {CUDA_DEVICE_MAX_CONNECTIONS: 1}
 *   MODEL_ARGS:
 *     --num-layers: 32
 *     --sequence-parallel: true      a flag; false leaves it out
 *     --global-batch-size: ${GBS}    a variable of the script around it: --set GBS=256
 *
 * Source: tests/functional_tests/shell_test_utils/_run_training.sh of NVIDIA/Megatron-LM.
 */
#include "sim/import/launch/launch_trainer.h"

/* Options of models other than a GPT, by how they begin. */
static const char *const foreign[] = {"encoder-", "decoder-",   "bert-",        "img-",
                                      "retro-",   "vision-",    "mask-",        "ict-",
                                      "dino-",    "biencoder-", "num-channels", NULL};

static gboolean is_foreign(const OrrLaunchSetting *setting) {
  for (const char *const *begin = foreign; *begin; begin++)
    if (g_str_has_prefix(setting->key, *begin))
      return !g_str_has_suffix(setting->key, "-pipeline-num-layers"); /* a GPT's, in stages */
  return strcmp(setting->key, "tokenizer-type") == 0 && setting->value &&
         g_str_has_prefix(setting->value, "Bert");
}

static void add_argument(OrrLaunchDraft *draft, const char *key, const OrrNode *value) {
  const char *text = value->kind == ORR_NODE_SCALAR ? value->text : NULL;
  if (!text)
    return orr_diags_error(draft->diags, value->place, "%s: a word or a number is allowed here",
                           key);
  if (strcmp(text, "false") == 0) return; /* the script leaves the flag out */
  const gboolean is_flag = strcmp(text, "true") == 0;
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, &orr_dialect_megatron, key, is_flag ? NULL : text, value->place);
  setting->is_unresolved = strstr(text, "${") != NULL;
  if (setting->is_unresolved) setting->unresolved = orr_config_resolve_unresolved(text);
  if (is_foreign(setting))
    orr_diags_error(draft->diags, value->place,
                    "%s: a model with an encoder, images or retrieval is not a GPT, which alone "
                    "is read",
                    setting->written);
}

/* A key that is the test's own. */
static void add_plain(OrrLaunchDraft *draft, const char *key, const OrrNode *value) {
  g_autofree char *path = g_strconcat("test.", key, NULL);
  orr_launch_config_add(draft, &orr_dialect_training_environment, value, path);
}

/* Variables of NCCL, CUDA and PyTorch; the others are the test's. */
static void add_environment(OrrLaunchDraft *draft, const OrrNode *variables) {
  const OrrLaunchDialect *dialect = &orr_dialect_training_environment;
  ORR_EACH_PAIR(key, value, variables) {
    g_autofree char *lower = g_ascii_strdown(key->text, -1);
    g_strdelimit(lower, "_", '-');
    if (orr_launch_rule_find(dialect, lower))
      orr_launch_config_add(draft, dialect, value, key->text);
    else
      add_plain(draft, key->text, value);
  }
}

void orr_dialect_megatron_test(OrrLaunchDraft *draft, const OrrNode *tree) {
  const OrrNode *arguments = orr_node_get(tree, "MODEL_ARGS");
  ORR_EACH_PAIR(key, value, tree) {
    if (value == arguments) continue;
    if (strcmp(key->text, "ENV_VARS") == 0 && value->kind == ORR_NODE_MAP)
      add_environment(draft, value);
    else
      add_plain(draft, key->text, value);
  }
  ORR_EACH_PAIR(key, value, arguments) add_argument(draft, key->text, value);
}
