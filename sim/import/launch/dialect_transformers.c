/*
 * dialect_transformers.c - the arguments of Hugging Face's Trainer and of the tools that build on
 * it (TRL, LLaMA-Factory, axolotl), on a command line or in YAML.
 *
 * Source: src/transformers/training_args.py, trl/trainer/sft_config.py,
 * LLaMA-Factory/src/llamafactory/hparams, axolotl/utils/schemas/config.py.
 */
#include <string.h>

#include "sim/import/launch/config_macros.h"
#include "sim/import/launch/dialects_training.h"
#include "sim/import/launch/launch_config.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchRule rules[] = {
    {.keys = "model-name-or-path base-model model-name pretrained-model-name-or-path model-id",
     LATER("model")},
    {.keys = "per-device-train-batch-size micro-batch-size per-gpu-train-batch-size",
     LATER("workload.batch.micro")},
    {.keys = "gradient-accumulation-steps", LATER("workload.batch.global")},
    {.keys = "max-seq-length max-length cutoff-len sequence-len model-max-length block-size "
             "max-seq-len",
     LATER("workload.sequence")},
    {.keys = "bf16", LATER("workload.precision"), .arity = ORR_LAUNCH_MAYBE},
    {.keys = "fp16", LATER("workload.precision"), .arity = ORR_LAUNCH_MAYBE},
    {.keys = "gradient-checkpointing use-gradient-checkpointing",
     LATER("workload.recompute"),
     .arity = ORR_LAUNCH_MAYBE},
    {.keys = "fsdp", LATER("workload.optimizer.sharding"), .arity = ORR_LAUNCH_MANY},
    {.keys = "deepspeed", LATER("workload.optimizer.sharding"), .arity = ORR_LAUNCH_MAYBE},
    {.keys = "zero-stage", LATER("workload.optimizer.sharding")},
    {.keys = "offload", LATER("workload.offload.optimizer"), .arity = ORR_LAUNCH_MAYBE},
    {.keys = "finetuning-type adapter", LATER("workload.lora")},
    {.keys = "use-peft use-lora", LATER("workload.lora"), .arity = ORR_LAUNCH_MAYBE},
    {.keys = "lora-rank lora-r", LATER("workload.lora.rank")},
    {.keys = "load-in-4bit quantization-bit",
     LATER("workload.lora.quantised"),
     .arity = ORR_LAUNCH_MAYBE},
    {.keys = "optim optimizer", LATER("workload.optimizer.kind")},
    {.keys = "attn-implementation flash-attn flash-attention use-flash-attention-2 "
             "use-flash-attn",
     LATER("workload.attention"),
     .arity = ORR_LAUNCH_MAYBE},
    {.keys = "tensor-parallel-size", COUNT("workload.parallel.tp")},
    {.keys = "context-parallel-size sequence-parallel-degree", COUNT("workload.parallel.cp")},
    {.keys = "packing sample-packing neat-packing group-by-length pad-to-sequence-len "
             "padding-free eval-sample-packing eval-packing",
     SKIPPED("lengths of documents: sequences are whole ones; see workload.packing", "true false")},
    {.keys = "torch-compile", SKIPPED("torch.compile", "false")},
    {.keys = "use-liger-kernel enable-liger-kernel use-unsloth liger-* neftune-noise-alpha",
     SKIPPED("kernels of their own", "false")},
    {.keys = "auto-find-batch-size", SKIPPED("a batch that is halved until it fits", "false")},
    {.keys = "tf32", SKIPPED("tf32 where nothing narrower is used", "false true")},
    {.keys = "load-in-8bit", SKIPPED("weights in 8 bits", "false")},
    {.keys = "stage", SKIPPED("training other than of the next token", "sft pt")},
    {.keys = "rl dpo* kto* ppo* beta pref-*", SKIPPED("training by preferences", "")},
    {.keys = "use-peft-lora use-qlora lora", SKIPPED("adapters: see workload.lora", "false null")},
    {.keys = "lora-* peft-* unfreeze-* freeze-* use-dora use-rslora additional-target adapter-*",
     NUMERICS},
    {.keys = "fsdp-config* fsdp-*",
     SKIPPED("more about FSDP: Accelerate's config has it", "{} false")},
    {.keys = "num-warmup-steps use-reentrant", NUMERICS},
    {.keys = "learning-rate lr-* warmup-* weight-decay adam-* max-grad-norm seed data-seed "
             "label-* optim-* cosine-* min-lr* loss* eps gradient-checkpointing-kwargs* "
             "*-ratio gradient-clipping rope-* sdp-attention xformers-attention",
     NUMERICS},
    {.keys = "dataset* data-* train-file validation-file *-dataset* template max-samples "
             "overwrite-cache preprocessing-* dataloader-* chat-* eval-dataset* train-on-* "
             "val-set-size test-* tokenizer* special-tokens* tokens* remove-unused-columns "
             "streaming text-column* mix-strategy buffer-size token* messages* mask-* "
             "prompt-template* instruction* block* include-* media* image-* video-*",
     DATA},
    {.keys = "num-train-epochs num-epochs max-steps do-train do-eval do-predict eval-* "
             "evaluation-strategy per-device-eval-batch-size predict-* early-* "
             "per-gpu-eval-batch-size evaluation* evals-* prediction-* ignore-data-skip",
     ODDS},
    {.keys = "output-dir save-* overwrite-output-dir resume-* saves-* hub-* push-to-hub "
             "load-best* metric-* greater-* auto-resume* checkpoint* adapter-name*",
     SAVES},
    {.keys = "report-to logging-* run-name wandb-* mlflow-* comet-* plot-* log-* disable-tqdm "
             "include-num* include-tokens* swanlab* profile* special-* debug verbose use-wandb "
             "use-tensorboard trackio*",
     LOGS},
    {.keys = "local-rank ddp-* trust-remote-code model-type is-* model-revision low-cpu-mem-usage "
             "torch-dtype config-name cache-dir use-fast* use-auth-token ray-* strict "
             "torchdynamo torch-empty-cache* use-cache revision* dtype config-* resize-* plugins",
     WHERE},
};

static const OrrLaunchDialect *const own = &orr_dialect_transformers;

static gint64 count(OrrLaunchDraft *draft, const char *key, gint64 fallback) {
  return orr_launch_config_count(draft, own, key, fallback);
}

static gboolean is_on(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_draft_is_on(draft, own, key);
}

/* --- Batch, sequence --- */

static gboolean is_auto(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_config_says(draft, own, key, "auto");
}

static gint64 degree(OrrLaunchDraft *draft, const char *name) {
  g_autofree char *path = g_strconcat("workload.parallel.", name, NULL);
  const char *text = orr_launch_draft_get(draft, path);
  return text ? MAX(g_ascii_strtoll(text, NULL, 10), 1) : 1;
}

static void set_batch(OrrLaunchDraft *draft) {
  const char *micro = "per-device-train-batch-size", *length = "max-seq-length";
  const gint64 one = is_auto(draft, micro) ? 1 : count(draft, micro, 8);
  if (orr_launch_draft_find(draft, own, micro))
    orr_launch_config_put_count(draft, own, "workload.batch.micro", one, micro);
  else
    orr_launch_draft_set(draft, "workload.batch.micro", "8", NULL, "the Trainer's default");
  orr_launch_config_put_global(draft, one,
                               is_auto(draft, "gradient-accumulation-steps")
                                   ? 1
                                   : count(draft, "gradient-accumulation-steps", 1),
                               degree(draft, "tp") * degree(draft, "cp"),
                               "micro-batch x accumulation x replicas");
  if (count(draft, length, 0) > 0)
    orr_launch_config_put_count(draft, own, "workload.sequence", count(draft, length, 0), length);
  else if (orr_launch_draft_variable(draft, "sequence"))
    orr_launch_draft_set(draft, "workload.sequence", orr_launch_draft_variable(draft, "sequence"),
                         NULL, "--set sequence");
  else
    orr_launch_draft_ask(draft, "how long are sequences? Add --set sequence=TOKENS");
}

/* --- Sharding --- */

/* DeepSpeed's examples: --zero_stage 3 --offload. */
static void set_zero(OrrLaunchDraft *draft, const char *path) {
  static const char *const kinds[] = {"ddp", "zero-1", "zero-2", "zero-3"};
  const gint64 stage = count(draft, "zero-stage", -1);
  if (stage >= 0 && stage < (gint64)G_N_ELEMENTS(kinds))
    orr_launch_config_put(draft, own, path, kinds[stage], "zero-stage");
  if (is_on(draft, "offload"))
    orr_launch_config_put(draft, own, "workload.offload.optimizer", "1", "offload");
}

static void set_sharding(OrrLaunchDraft *draft) {
  const char *fsdp = orr_launch_config_text(draft, own, "fsdp");
  const char *file = orr_launch_config_text(draft, own, "deepspeed");
  const char *path = "workload.optimizer.sharding.kind";
  set_zero(draft, path);
  if (file && strchr(file, '.') && !orr_launch_form_source(draft, file))
    orr_launch_draft_ask(draft, "what stands in %s? Give it as a file, too", file);
  if (fsdp && *fsdp && strcmp(fsdp, "[]") != 0) {
    orr_launch_config_put(draft, own, path,
                          strstr(fsdp, "no_shard") ? "ddp"
                          : strstr(fsdp, "hybrid") ? "hsdp"
                                                   : "fsdp",
                          "fsdp");
    if (strstr(fsdp, "shard_grad_op"))
      orr_launch_config_put(draft, own, "workload.optimizer.sharding.reshard-after-forward",
                            "false", "fsdp");
    if (strstr(fsdp, "offload")) {
      orr_launch_config_put(draft, own, "workload.offload.optimizer", "1", "fsdp");
      orr_launch_config_put(draft, own, "workload.offload.parameters", "true", "fsdp");
    }
  } else if ((!file || !strchr(file, '.')) && !orr_launch_draft_get(draft, path)) {
    orr_launch_draft_set(draft, path, "ddp", NULL, "the Trainer's default");
  }
}

static void set_lora(OrrLaunchDraft *draft) {
  const char *kind = orr_launch_config_text(draft, own, "finetuning-type");
  const gboolean has = is_on(draft, "use-peft") || (kind && strstr(kind, "lora"));
  const gboolean narrow = is_on(draft, "load-in-4bit") || (kind && g_str_equal(kind, "qlora"));
  if (!has) return;
  g_autofree char *rank = g_strdup_printf("%" G_GINT64_FORMAT, count(draft, "lora-rank", 8));
  orr_launch_draft_set(draft, "workload.lora.rank", rank,
                       orr_launch_draft_find(draft, own, "lora-rank"), NULL);
  if (narrow)
    orr_launch_config_put(draft, own, "workload.lora.quantised", "true",
                          is_on(draft, "load-in-4bit") ? "load-in-4bit" : "finetuning-type");
}

static void finish(OrrLaunchDraft *draft) {
  const char *optimizer = orr_launch_config_text(draft, own, "optim");
  orr_launch_config_put_model(draft, own, "model-name-or-path");
  set_batch(draft);
  if (is_on(draft, "bf16"))
    orr_launch_config_put(draft, own, "workload.precision", "bf16", "bf16");
  else if (is_on(draft, "fp16"))
    orr_launch_config_put(draft, own, "workload.precision", "fp16", "fp16");
  else if (!orr_launch_draft_get(draft, "workload.precision"))
    orr_launch_draft_set(draft, "workload.precision", "fp32", NULL, "neither bf16 nor fp16");
  if (is_on(draft, "gradient-checkpointing"))
    orr_launch_config_put(draft, own, "workload.recompute", "full", "gradient-checkpointing");
  if (orr_launch_config_says(draft, own, "attn-implementation", "eager"))
    orr_launch_config_put(draft, own, "workload.attention", "unfused", "attn-implementation");
  else if (is_on(draft, "attn-implementation"))
    orr_launch_config_put(draft, own, "workload.attention", "flash-2", "attn-implementation");
  if (optimizer && !strstr(optimizer, "adam"))
    orr_launch_config_skip(draft, own, "optim",
                           "an optimizer other than Adam, which is simulated instead");
  set_sharding(draft);
  set_lora(draft);
  orr_launch_draft_remark(draft, "No stack of Transformers is known: kernels and links alone are "
                                 "simulated, and the host's time is not.");
}

const OrrLaunchDialect orr_dialect_transformers = {
    .name = "transformers",
    .sentence = "Arguments of Hugging Face's Trainer, TRL, LLaMA-Factory and axolotl.",
    .kind = "training",
    .has_own_options = TRUE,
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
    .finish = finish,
};

static void read_tree(OrrLaunchDraft *draft, const OrrNode *tree) {
  orr_launch_config_add(draft, own, tree, NULL);
}

const OrrLaunchConfig orr_config_transformers = {
    .name = "transformers",
    .signs = "per_device_train_batch_size base_model model_name_or_path",
    .read = read_tree,
};

static void read(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  orr_launch_argv(draft, own, command->words, script + 1, rest);
}

static gboolean knows(const OrrLaunchCommand *command, guint script) {
  for (guint i = script + 1; i < command->words->len; i++) {
    g_autofree char *text = g_strdup(((const OrrLaunchWord *)command->words->pdata[i])->text);
    if (g_str_has_prefix(g_strdelimit(text, "_", '-'), "--per-device-train-batch-size"))
      return TRUE;
  }
  return FALSE;
}

const OrrLaunchTrainer orr_trainer_transformers = {
    .name = "transformers",
    .scripts = "run_clm.py sft.py",
    .knows = knows,
    .read = read,
};
