/*
 * dialect_transformers.c - the arguments of Hugging Face's Trainer and of the tools that build on
 * it (TRL, LLaMA-Factory, axolotl, ms-swift), on a command line or in YAML. Where the tools differ
 * in their defaults, launch_trainer.h has them.
 *
 * Source: src/transformers/training_args.py, trl/trainer/sft_config.py,
 * LLaMA-Factory/src/llamafactory/hparams, axolotl/utils/schemas/config.py.
 */
#include "sim/import/launch/launch_trainer.h"
#include "workloads/stack.h"

static const OrrLaunchDialect *const own = &orr_dialect_transformers;

#include "sim/import/launch/own_keys.inc"

/* --- Batch, sequence --- */

static gboolean is_auto(OrrLaunchDraft *draft, const char *key) {
  return orr_launch_config_says(draft, own, key, "auto");
}

static gint64 degree(OrrLaunchDraft *draft, const char *name) {
  g_autofree char *path = g_strconcat("workload.parallel.", name, NULL);
  return orr_launch_draft_degree(draft, path);
}

/* A number of DeepSpeed's config; 0: "auto", or it is not there. */
static gint64 of_deepspeed(OrrLaunchDraft *draft, const char *key) {
  const OrrLaunchDialect *deepspeed = &orr_dialect_deepspeed;
  return orr_launch_config_says(draft, deepspeed, key, "auto")
             ? 0
             : MIN(orr_launch_config_count(draft, deepspeed, key, 0), 1 << 20);
}

static void refuse_deepspeed(OrrLaunchDraft *draft, const char *key, const char *instead) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_deepspeed, key);
  orr_launch_draft_bad(draft, setting, "%s, but %s: DeepSpeed stops there", setting->value,
                       instead);
}

/* Accumulation that Accelerate writes into DeepSpeed's config; 0: it does not say it. */
static gint64 of_accelerate(OrrLaunchDraft *draft) {
  static const char *const key = "deepspeed-config.gradient-accumulation-steps";
  const OrrLaunchDialect *accelerate = &orr_dialect_accelerate;
  const gint64 mine = MIN(count(draft, "gradient-accumulation-steps", 0), 1 << 20),
               theirs = orr_launch_config_says(draft, accelerate, key, "auto")
                            ? 0
                            : MIN(orr_launch_config_count(draft, accelerate, key, 0), 1 << 20);
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, accelerate, key);
  if (mine > 0 && theirs > 0 && mine != theirs)
    orr_launch_draft_bad(draft, setting, "%s, but %s %ld: Transformers stops there", setting->value,
                         find(draft, "gradient-accumulation-steps")->written, mine);
  return theirs;
}

/* The argument @key, which DeepSpeed's config may have as @theirs; 0: neither says it. */
static gint64 agreed(OrrLaunchDraft *draft, const char *key, const char *theirs) {
  const gint64 mine = is_auto(draft, key) ? 0 : MIN(count(draft, key, 0), 1 << 20),
               other = of_deepspeed(draft, theirs);
  if (mine > 0 && other > 0 && mine != other)
    refuse_deepspeed(draft, theirs, find(draft, key)->written);
  return mine > 0 ? mine : other;
}

/* Micro-batches a step and GPU, where nothing says it. ms-swift's default makes batches of at
 * least 16 sequences. */
static gint64 default_accumulation(OrrLaunchDraft *draft, gint64 micro) {
  enum { SWIFT_BATCH = 16 };
  const gint64 together = MAX(micro, 1) * MAX(orr_launch_config_gpus(draft), 1);
  const gboolean is_swift = g_strcmp0(orr_launch_wrappers_name(draft, own), "ms-swift") == 0;
  const gboolean is_left = is_auto(draft, "gradient-accumulation-steps");
  return is_swift && !is_left ? (SWIFT_BATCH + together - 1) / together : 1;
}

static void put_micro(OrrLaunchDraft *draft, gint64 micro) {
  const char *key = "per-device-train-batch-size", *theirs = "train-micro-batch-size-per-gpu",
             *path = "workload.batch.micro";
  g_autofree char *text = g_strdup_printf("%ld", micro);
  if (find(draft, key))
    orr_launch_config_put(draft, own, path, text, key);
  else if (of_deepspeed(draft, theirs) > 0)
    orr_launch_config_put(draft, &orr_dialect_deepspeed, path, text, theirs);
  else
    orr_launch_draft_set(draft, path, text, NULL,
                         of_deepspeed(draft, "train-batch-size") > 0
                             ? "train_batch_size / accumulation / replicas"
                             : "the Trainer's default");
}

/* Two of DeepSpeed's train_batch_size, micro-batch and accumulation give the third. */
static void set_batch(OrrLaunchDraft *draft) {
  const char *micro = "per-device-train-batch-size", *theirs = "train-micro-batch-size-per-gpu",
             *whole = "train-batch-size";
  const gint64 split = degree(draft, "tp") * degree(draft, "cp") * degree(draft, "pp"),
               all = of_deepspeed(draft, whole), shards = count(draft, "dp-shard-size", 0);
  gint64 one = agreed(draft, micro, theirs),
         steps = agreed(draft, "gradient-accumulation-steps", "gradient-accumulation-steps");
  const gint64 launchers = of_accelerate(draft);
  if (steps == 0) steps = launchers;
  if (all > 0 && one > 0 && steps > 0 && all % (one * steps) == 0)
    orr_launch_config_take_gpus(draft, all / (one * steps) * split,
                                "train_batch_size / micro-batch / accumulation");
  if (shards > 0 && shards < 1 << 20) /* axolotl's world: all degrees and the experts' together */
    orr_launch_config_take_gpus(
        draft, shards * MAX(count(draft, "dp-replicate-size", 1), 1) * split * degree(draft, "ep"),
        "the product of the config's degrees");
  draft->copies = count(draft, "dp-replicate-size", 1);
  if (orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, split);
  const gint64 replicas = orr_launch_config_gpus(draft) / MAX(split, 1);
  if (one == 0 && all > 0 && replicas > 0)
    one = MAX(1, all / (MAX(steps, 1) * replicas));
  else if (one == 0)
    one = is_auto(draft, micro) ? 1 : 8;
  if (steps == 0 && all > 0 && replicas > 0)
    steps = MAX(1, all / (one * replicas));
  else if (steps == 0)
    steps = default_accumulation(draft, one);
  if (all > 0 && replicas > 0 && all != one * steps * replicas) {
    g_autofree char *product = g_strdup_printf("%ld x %ld x %ld (micro-batch, accumulation, "
                                               "replicas) is %ld",
                                               one, steps, replicas, one * steps * replicas);
    refuse_deepspeed(draft, whole, product);
  }
  put_micro(draft, one);
  orr_launch_config_put_global(draft, one, steps, split, "micro-batch x accumulation x replicas");
}

static void set_sequence(OrrLaunchDraft *draft) {
  const char *length = "max-seq-length";
  if (count(draft, length, 0) > 0)
    settle(draft, length);
  else if (orr_launch_draft_variable(draft, "sequence"))
    orr_launch_draft_set(draft, "workload.sequence", orr_launch_draft_variable(draft, "sequence"),
                         NULL, "--set sequence");
  else
    orr_launch_draft_assume(draft, "workload.sequence", "2048",
                            "since the input has no length; --set sequence=N says another",
                            "how long are sequences? Add --set sequence=TOKENS");
}

/* --- Sharding --- */

/* ms-swift has configs of its own for DeepSpeed, by name. */
static gboolean set_named_zero(OrrLaunchDraft *draft) {
  static const char *const names[] = {"zero0", "zero1",         "zero2", "zero2_offload",
                                      "zero3", "zero3_offload", NULL};
  const char *name = text_of(draft, "deepspeed");
  if (!name || !g_strv_contains(names, name)) return FALSE;
  settle(draft, "deepspeed");
  return TRUE;
}

/* The keys of fsdp_config, FSDP 1's with "fsdp_" before them. */
static void set_fsdp_config(OrrLaunchDraft *draft) {
  const char *reshard = "fsdp-config.reshard-after-forward";
  const char *value = text_of(draft, reshard);
  const gboolean keeps = value && !strstr(value, "FULL_SHARD") &&
                         (!is_on(draft, reshard) || strstr(value, "SHARD_GRAD_OP"));
  if (keeps)
    orr_launch_config_put(draft, own, "workload.optimizer.sharding.reshard-after-forward", "false",
                          reshard);
  settle(draft, "fsdp-config.activation-checkpointing fsdp-config.offload-params");
}

/* axolotl's current form: fsdp_version and fsdp_config, without a key `fsdp`; or the degrees of
 * open-instruct. FALSE: neither is there. */
static gboolean set_fsdp2(OrrLaunchDraft *draft, const char *path) {
  static const char *const signs[] = {"fsdp-version", "fsdp-config.reshard-after-forward",
                                      "fsdp-config.auto-wrap-policy", "dp-shard-size"};
  const char *strategy = text_of(draft, "fsdp-config.sharding-strategy");
  const gboolean is_hybrid =
      count(draft, "dp-replicate-size", 1) > 1 || (strategy && strstr(strategy, "HYBRID"));
  const gboolean is_whole = strategy && strstr(strategy, "NO_SHARD");
  if (g_strcmp0(orr_launch_wrappers_name(draft, own), "axolotl") != 0 &&
      !find(draft, "dp-shard-size"))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(signs); i++) {
    if (!find(draft, signs[i])) continue;
    orr_launch_config_put(draft, own, path,
                          is_whole    ? "ddp"
                          : is_hybrid ? "hsdp"
                                      : "fsdp",
                          signs[i]);
    if (is_hybrid && count(draft, "dp-shard-size", 0) > 1)
      orr_launch_config_put_count(draft, own, "workload.optimizer.sharding.group",
                                  count(draft, "dp-shard-size", 0) * degree(draft, "cp"),
                                  "dp-shard-size");
    return TRUE;
  }
  return FALSE;
}

static void set_sharding(OrrLaunchDraft *draft) {
  const char *fsdp = text_of(draft, "fsdp");
  const char *file = text_of(draft, "deepspeed");
  const char *path = "workload.optimizer.sharding.kind";
  settle(draft, "zero-stage offload"); /* of DeepSpeed's examples */
  set_fsdp_config(draft);
  if (set_named_zero(draft) || set_fsdp2(draft, path)) return;
  if (file && strchr(file, '.') && !orr_launch_form_source(draft, file))
    orr_launch_config_assume_zero(draft, file);
  if (fsdp && *fsdp && strcmp(fsdp, "[]") != 0) {
    orr_launch_config_put(draft, own, path,
                          strstr(fsdp, "no_shard") ? "ddp"
                          : strstr(fsdp, "hybrid") ? "hsdp"
                                                   : "fsdp",
                          "fsdp");
    if (!strstr(fsdp, "auto_wrap"))
      orr_launch_draft_remark(draft,
                              "%s has no auto_wrap, so all layers are one unit of FSDP: each layer "
                              "by itself is simulated, with less memory and more overlap",
                              find(draft, "fsdp")->written);
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

/* The meaning of a switch for adapters without further settings: model/args of LLaVA's train.py,
 * and TRL's trl/trainer/model_config.py with PEFT's targets of a Llama. */
static const struct {
  const char *key, *rank, *targets, *why;
} adapters[] = {
    {"lora-enable", "64", "[qkv, projection, fc1, fc2]", "LLaVA's default"},
    {"use-peft", "16", "[q, v]", "TRL's default"},
    {"lora-rank", "8", "[q, v]", "PEFT's default: q_proj and v_proj"},
};

/* Whether the input trains adapters. A rank alone says so, unless a tool has a switch for them. */
static gboolean has_adapters(OrrLaunchDraft *draft) {
  const char *kind = text_of(draft, "finetuning-type");
  if (find(draft, "finetuning-type")) return kind && strstr(kind, "lora");
  for (guint i = 0; i < 2; i++)
    if (find(draft, adapters[i].key)) return is_on(draft, adapters[i].key);
  if (orr_launch_wrappers_name(draft, own) || count(draft, "lora-rank", 0) < 1) return FALSE;
  orr_launch_draft_remark(draft, "%s alone is taken for training of adapters",
                          find(draft, "lora-rank")->written);
  return TRUE;
}

static void set_lora(OrrLaunchDraft *draft) {
  static const char rank[] = "workload.lora.rank", targets[] = "workload.lora.targets";
  const char *kind = text_of(draft, "finetuning-type");
  const gboolean narrow = is_on(draft, "load-in-4bit") || (kind && g_str_equal(kind, "qlora"));
  OrrLaunchSetting *source = find(draft, "lora-rank");
  guint i = 0;
  if (!has_adapters(draft)) {
    if (kind && !strstr(kind, "full"))
      orr_launch_config_skip(draft, own, "finetuning-type",
                             "another way to train a part of the weights: all are trained");
    if (source)
      orr_launch_draft_judge(draft, source, ORR_LAUNCH_IRRELEVANT,
                             "no key switches adapters on: all weights are trained");
    return;
  }
  while (i + 1 < G_N_ELEMENTS(adapters) && !find(draft, adapters[i].key)) i++;
  orr_launch_draft_set(draft, rank, adapters[i].rank, NULL, adapters[i].why);
  if (count(draft, "lora-rank", 0) > 0)
    orr_launch_config_put_count(draft, own, rank, count(draft, "lora-rank", 0), "lora-rank");
  settle(draft, "lora-target-modules lora-target-linear lora-dropout");
  if (!orr_launch_draft_get(draft, targets))
    orr_launch_draft_set(draft, targets, adapters[i].targets, NULL, adapters[i].why);
  if (narrow)
    orr_launch_config_put(draft, own, "workload.lora.quantised", "true",
                          is_on(draft, "load-in-4bit") ? "load-in-4bit" : "finetuning-type");
}

static void set_precision(OrrLaunchDraft *draft) {
  settle(draft, "torch-dtype pure-bf16 fp16 bf16"); /* the last wins */
  if (!orr_launch_draft_get(draft, "workload.precision"))
    orr_launch_draft_set(draft, "workload.precision", "fp32", NULL, "neither bf16 nor fp16");
}

/* Transformers casts all logits to fp32 (loss/loss_utils.py, ForCausalLMLoss), unless kernels
 * compute loss and output layer together. */
static void set_loss(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"use-liger-kernel", "cut-cross-entropy"};
  const char *tp = orr_launch_draft_get(draft, "workload.parallel.tp");
  const gboolean is_split = tp && !g_str_equal(tp, "1");
  const char *loss = orr_launch_draft_get(draft, "workload.loss");
  if (is_split && g_strcmp0(loss, "cut") == 0) { /* by a plugin */
    orr_launch_draft_set(draft, "workload.loss", "fused", NULL, "logits are split over GPUs");
    orr_launch_config_skip(draft, own, "plugins",
                           "a loss without all logits is not simulated with tensor parallelism: "
                           "taken as loss: fused");
  }
  if (!is_split) settle(draft, "use-liger-kernel cut-cross-entropy");
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    if (!is_split || !is_on(draft, keys[i])) continue;
    orr_launch_draft_set(draft, "workload.loss", "fused", NULL, "logits are split over GPUs");
    orr_launch_config_skip(draft, own, keys[i],
                           "a loss without all logits is not simulated with tensor parallelism: "
                           "taken as loss: fused");
  }
  if (!orr_launch_draft_get(draft, "workload.loss"))
    orr_launch_draft_set(draft, "workload.loss", "torch", NULL,
                         "Transformers' default: PyTorch's cross entropy on fp32 logits");
}

/* --- The training state --- */

/* The key by which weights are loaded in 16 bits; NULL: in fp32. */
static const char *narrow_key(OrrLaunchDraft *draft) {
  const char *type = text_of(draft, "torch-dtype");
  const gboolean as_products = orr_launch_wrappers_load_narrow(draft, own);
  if (is_on(draft, "pure-bf16")) return "pure-bf16";
  if (type) return strstr(type, "16") || g_str_equal(type, "half") ? "torch-dtype" : NULL;
  if (as_products && is_on(draft, "bf16")) return "bf16";
  return as_products && is_on(draft, "fp16") ? "fp16" : NULL;
}

static gboolean is_by_deepspeed(OrrLaunchDraft *draft) {
  const char *kind = orr_launch_draft_get(draft, "workload.optimizer.sharding.kind");
  return text_of(draft, "deepspeed") ||
         orr_launch_draft_find(draft, &orr_dialect_deepspeed, "zero-optimization.stage") ||
         orr_launch_draft_find(draft, &orr_dialect_accelerate, "deepspeed-config.zero-stage") ||
         (kind && g_str_has_prefix(kind, "zero"));
}

/* Accelerate's FSDP widens the weights that it trains to fp32 where products are mixed. */
static gboolean is_widened(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *accelerate = &orr_dialect_accelerate;
  const char *kind = orr_launch_draft_get(draft, "workload.optimizer.sharding.kind");
  const gboolean is_mixed =
      (is_on(draft, "bf16") && !orr_launch_config_says(draft, own, "bf16", "full")) ||
      is_on(draft, "fp16") || orr_launch_draft_is_on(draft, accelerate, "mixed-precision");
  return is_mixed && !is_on(draft, "pure-bf16") &&
         (g_strcmp0(kind, "fsdp") == 0 || g_strcmp0(kind, "hsdp") == 0 ||
          orr_launch_draft_is_on(draft, accelerate, "use-fsdp") ||
          orr_launch_config_says(draft, accelerate, "distributed-type", "FSDP"));
}

/* Weights that are loaded in 16 bits stay so, and PyTorch's Adam has state of their format, unless
 * DeepSpeed or Accelerate's FSDP keeps fp32 weights. Adapters (PEFT) are in fp32. */
static void set_state(OrrLaunchDraft *draft) {
  const char *key = narrow_key(draft);
  const char *precision = orr_launch_draft_get(draft, "workload.precision");
  if (!key || is_by_deepspeed(draft) || is_widened(draft) ||
      orr_launch_draft_get(draft, "workload.lora.rank"))
    return;
  if (g_strcmp0(precision, "fp16") == 0 ||
      orr_launch_draft_get(draft, "workload.offload.optimizer"))
    return orr_launch_draft_remark(
        draft,
        "%s: weights, gradients and the optimizer's state are all in 16 bits; "
        "fp32 weights and state are simulated, so memory is overstated",
        find(draft, key)->written);
  orr_launch_config_put(draft, own, "workload.optimizer.master", "weights", key);
  orr_launch_config_put(draft, own, "workload.optimizer.moments", "bf16", key);
  orr_launch_config_put(draft, own, "workload.data-parallel.gradients", "same", key);
}

static void set_recompute(OrrLaunchDraft *draft) {
  const char *on = "gradient-checkpointing", *off = "disable-gradient-checkpointing";
  const gboolean is_factory = find(draft, off) != NULL;
  const char *key = is_factory && !is_on(draft, off)  ? off
                    : !is_factory && is_on(draft, on) ? on
                                                      : NULL;
  if (key) orr_launch_config_put(draft, own, "workload.recompute", "full", key);
  if (key == on && orr_launch_config_says(draft, own, on, "offload"))
    orr_launch_config_skip(draft, own, on, "inputs of layers in the host's memory");
}

/* The modules are Transformers', whatever shards them. Under LLaMA-Factory's mca, Megatron's layers
 * train, and nothing says their release. */
static void set_stack(OrrLaunchDraft *draft) {
  if (draft->options->stack) return;
  const char *kind = orr_launch_draft_get(draft, "workload.optimizer.sharding.kind");
  g_autofree char *newest = orr_stack_newest(draft->library, "transformers");
  if (newest && g_strcmp0(kind, "distributed-optimizer") != 0) {
    orr_launch_draft_set(draft, "workload.stack", newest, NULL, "the newest known");
    return;
  }
  orr_launch_draft_set(draft, "workload.stack", "none", NULL, "Megatron's layers");
  orr_launch_draft_remark(draft, "Megatron trains here, and its release is unknown: kernels and "
                                 "links alone are simulated, not the host's time.");
}

static void begin(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *infers = find(draft, "infer-backend");
  if (infers)
    orr_diags_error(draft->diags, infers->place,
                    "%s: a config of inference by LLaMA-Factory, not of training: give the "
                    "server's command",
                    infers->written);
  orr_launch_wrappers_begin(draft, own);
}

static void finish(OrrLaunchDraft *draft) {
  const gboolean is_named = find(draft, "model-name-or-path") != NULL;
  orr_launch_config_put_model(draft, own, is_named ? "model-name-or-path" : "model-name");
  set_batch(draft);
  set_sequence(draft);
  set_precision(draft);
  set_recompute(draft);
  settle(draft, "attn-implementation");
  set_sharding(draft);
  set_lora(draft);
  set_state(draft);
  set_loss(draft);
  orr_launch_wrappers_pairs(draft, own);
  orr_launch_config_miss_file(draft, own, "config");
  set_stack(draft);
}

const OrrLaunchDialect orr_dialect_transformers = {
    .name = "transformers",
    .kind = "training",
    .is_trainer = TRUE,
    .has_own_options = TRUE,
    .begin = begin,
    .finish = finish,
    .signs = "per_device_train_batch_size base_model model_name_or_path tuner_type train_type "
             "cutoff_len",
};

/* "llamafactory-cli train X.yaml": the arguments are in a file. */
static void ask_file(OrrLaunchDraft *draft, const OrrLaunchWord *word) {
  const gboolean is_config =
      g_str_has_suffix(word->text, ".yaml") || g_str_has_suffix(word->text, ".yml");
  if (is_config && !orr_launch_form_source(draft, word->text))
    orr_launch_draft_ask(draft, "what does %s contain? Give it as a file, too", word->text);
}

/* A script that trains by preferences says so by its name (trl/scripts/dpo.py). open-instruct's
 * compute the reference's log-probabilities before training and keep them (open_instruct/dpo.py,
 * dpo_tune_cache.py, dpo_utils.py's build_reference_logprobs_cache). */
static void read_pairs(OrrLaunchDraft *draft, const OrrLaunchWord *script) {
  const char *kind = orr_launch_scripts_pairs(script->text);
  if (!kind) return;
  orr_launch_draft_add(draft, own, "rl", kind, script->place);
  if (strstr(script->text, "open_instruct/") && !g_str_has_suffix(script->text, "dpo_tune.py"))
    orr_launch_draft_add(draft, own, "reference-logprobs-cache", "true", script->place);
}

/* TRL's scripts have its defaults, whatever their arguments are; open-r1's build on them. */
static void read_trl(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  const OrrLaunchWord *word = command->words->pdata[script];
  const OrrLaunchWord *program = script ? command->words->pdata[script - 1] : word;
  if (g_str_has_prefix(word->text, "trl.scripts.") || strstr(word->text, "trl/scripts/") ||
      strstr(word->text, "open_r1/") || strcmp(program->text, "trl") == 0)
    orr_launch_draft_add(draft, own, "trl-script", word->text, word->place);
}

static void read(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  read_pairs(draft, command->words->pdata[script]);
  read_trl(draft, command, script);
  orr_launch_argv(draft, own, command->words, script + 1, rest);
  orr_launch_trainer_hand_on(draft, own, command, script);
  for (guint i = 0; i < rest->len; i++) ask_file(draft, rest->pdata[i]);
}

static gboolean knows(const OrrLaunchCommand *command, guint script) {
  for (guint i = script + 1; i < command->words->len; i++) {
    g_autofree char *text = g_strdup(((const OrrLaunchWord *)command->words->pdata[i])->text);
    g_strdelimit(text, "_", '-');
    if (g_str_has_prefix(text, "--per-device-train-batch-size") ||
        g_str_has_prefix(text, "--model-name-or-path"))
      return TRUE;
  }
  return FALSE;
}

const OrrLaunchTrainer orr_trainer_transformers = {
    .name = "transformers",
    .scripts = "run_clm.py run_mlm.py sft.py sft pt train axolotl.cli.train",
    .knows = knows,
    .takes_pairs = TRUE,
    .read = read,
};
