/*
 * dialect_trees.c - trainers whose config is a tree of few keys: nanotron, torchtune, MaxText,
 * NeMo AutoModel; and the fine-tuning of prime-rl, NeMo-RL and OpenRLHF. Their tables map most
 * keys; this file completes the model, the machine, the batch and the sharding, alike for all.
 *
 * Sources: nanotron/config of huggingface/nanotron; recipes/configs of pytorch/torchtune (FSDP over
 * all GPUs, LoRA in builders named lora_*); MaxText/configs/base.yml of AI-Hypercomputer/maxtext
 * (max_target_length is 2,048, remat_policy full; without model_name the dimensions are
 * base_emb_dim 2,048, 16 layers and heads, base_mlp_dim 7,168 and a vocabulary of 32,000), its
 * decoders' get_remat_policy; nemo_automodel/recipes of NVIDIA-NeMo/Automodel;
 * prime_rl/configs/sft.py of PrimeIntellect-ai/prime-rl 0.6 (a batch of 128, one GPU);
 * examples/configs/sft.yaml of NVIDIA-NeMo/RL (32 sequences of 1,024); openrlhf/cli/train_sft.py
 * and train_dpo.py of OpenRLHF 0.9 (ZeRO-2, 128 sequences of 2,048, pairs of 512, in micro-batches
 * of 8, bf16, no adapters). What a config leaves out is assumed: a sequence of 4,096.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_trainer.h"
#include "workloads/stack.h"

/* Values that a trainer's keys leave open. */
typedef struct {
  const char *sharding;  /* where no key says */
  const char *sequence;  /* assumed */
  const char *recompute; /* the trainer's default; NULL: none */
  gboolean by_device;    /* its batch counts devices, whatever a replica has of them */
  void (*set_machine)(OrrLaunchDraft *draft); /* from keys of its own; or NULL */
  const char *global, *micro;                 /* the trainer's default batches; NULL: none */
} Tree;

static const Tree *tree_of(const OrrLaunchDraft *draft) {
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings)
    if (setting->dialect->tree) return setting->dialect->tree;
  return NULL;
}

static gint64 count_at(OrrLaunchDraft *draft, const char *path, gint64 fallback) {
  const OrrLaunchSetting *setting = orr_launch_draft_at(draft, path, TRUE);
  if (!setting || orr_launch_config_is_null(draft, setting->dialect, setting->key)) return fallback;
  return orr_launch_draft_int(draft, setting->dialect, setting->key, fallback);
}

/* MaxText's own model, where no name is given: its dimensions, or base.yml's. */
static void set_maxtext_model(OrrLaunchDraft *draft) {
  static const struct {
    const char *key, *path, *value;
  } rows[] = {{"base-emb-dim", "model.hidden", "2048"},
              {"base-num-query-heads", "model.heads", "16"},
              {"base-num-kv-heads", "model.kv-heads", "16"},
              {"base-mlp-dim", "model.ffn", "7168"},
              {"base-num-decoder-layers", "model.layers", "16"},
              {"head-dim", "model.head-dim", "128"},
              {"vocab-size", "model.vocab", "32000"}};
  const char *name = orr_launch_config_text(draft, &orr_dialect_maxtext, "model-name");
  const gboolean is_named = name && g_ascii_strcasecmp(name, "default") != 0;
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_maxtext, rows[i].key);
    if (setting && (is_named || draft->options->model))
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "the model's name says another");
    else if (setting)
      orr_launch_draft_settle(draft, &orr_dialect_maxtext, rows[i].key);
    else if (!is_named && !draft->options->model)
      orr_launch_draft_set(draft, rows[i].path, rows[i].value, NULL, "MaxText's default");
  }
  if (is_named || draft->options->model) return;
  orr_launch_draft_set(draft, "model.context", "2048", NULL, "MaxText's default");
  orr_launch_draft_set(draft, "model.tied-embeddings", "false", NULL, "MaxText's default");
}

static void set_model(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *model = orr_launch_draft_at(draft, "model", TRUE);
  if (orr_launch_config_has(draft, &orr_dialect_maxtext)) set_maxtext_model(draft);
  if (model) orr_launch_config_put_model(draft, model->dialect, model->key);
  if (!orr_launch_draft_get(draft, "model.layers") || draft->options->model) return;
  orr_launch_draft_set(draft, "model.name", "from-the-config", NULL, NULL);
  orr_launch_draft_set(draft, "model.norm", "rmsnorm", NULL, "the trainer's Llama");
  orr_launch_draft_set(draft, "model.position", "rope", NULL, "the trainer's Llama");
  orr_launch_draft_set(draft, "model.bias", "false", NULL, "the trainer's Llama");
  if (!orr_launch_draft_get(draft, "model.activation"))
    orr_launch_draft_set(draft, "model.activation", "swiglu", NULL, "the trainer's Llama");
}

/* [deployment]: num_nodes of gpus_per_node, or some GPUs of one node. */
static void set_prime_rl_machine(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *own = &orr_dialect_prime_rl_sft;
  const gint64 nodes = orr_launch_config_count(draft, own, "deployment.num-nodes", 1);
  const gint64 per_node = orr_launch_config_count(draft, own, "deployment.gpus-per-node", 8);
  const gint64 some =
      orr_launch_config_count(draft, own, "deployment.num-train-gpus",
                              orr_launch_config_count(draft, own, "deployment.num-gpus", 1));
  if (orr_launch_config_gpus(draft) > 0) return;
  orr_launch_draft_set_nodes(draft, MAX(nodes, 1), "the config's deployment");
  orr_launch_draft_set_gpus_per_node(draft, nodes > 1 ? per_node : some, NULL);
  if (!orr_launch_draft_get(draft, "workload.batch.global"))
    orr_launch_draft_set(draft, "workload.batch.global", "128", NULL, "prime-rl's default");
}

/* Adapters are of all linear layers, where @key is on. */
static void set_adapters(OrrLaunchDraft *draft, const OrrLaunchDialect *own, const char *key,
                         const char *rank) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, rank);
  if (orr_launch_draft_is_on(draft, own, key)) {
    orr_launch_draft_set(draft, "workload.lora.rank", "8", NULL, "NeMo-RL's default");
    orr_launch_draft_settle(draft, own, rank);
    orr_launch_draft_set(draft, "workload.lora.targets", "[qkv, projection, fc1, fc2]", NULL,
                         "NeMo-RL's default: all linear layers");
  } else if (setting) {
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "adapters are not enabled");
  }
}

/* NeMo-RL's configs have the settings of both trainers: Megatron Core, and AutoModel's FSDP. */
static void set_nemo_rl(OrrLaunchDraft *draft) {
  static const char megatron[] =
      "policy.megatron-cfg.tensor-model-parallel-size "
      "policy.megatron-cfg.pipeline-model-parallel-size policy.megatron-cfg.context-parallel-size "
      "policy.megatron-cfg.expert-model-parallel-size "
      "policy.megatron-cfg.expert-tensor-parallel-size policy.megatron-cfg.sequence-parallel "
      "policy.megatron-cfg.activation-checkpointing "
      "policy.megatron-cfg.distributed-data-parallel-config.overlap-grad-reduce "
      "policy.megatron-cfg.distributed-data-parallel-config.overlap-param-gather "
      "policy.megatron-cfg.distributed-data-parallel-config.grad-reduce-in-fp32";
  static const char torch[] = "policy.dtensor-cfg.tensor-parallel-size "
                              "policy.dtensor-cfg.context-parallel-size "
                              "policy.dtensor-cfg.expert-parallel-size "
                              "policy.dtensor-cfg.activation-checkpointing";
  const OrrLaunchDialect *own = &orr_dialect_nemo_rl_sft;
  const gboolean is_megatron = orr_launch_draft_is_on(draft, own, "policy.megatron-cfg.enabled");
  const gint64 nodes = orr_launch_config_count(draft, own, "cluster.num-nodes", 1);
  const gint64 gpus = orr_launch_config_count(draft, own, "cluster.gpus-per-node", 1);
  orr_dialect_rollouts_choose(draft, own, is_megatron ? megatron : torch,
                              is_megatron ? torch : megatron, "of the trainer that is not enabled");
  set_adapters(draft, own,
               is_megatron ? "policy.megatron-cfg.peft.enabled"
                           : "policy.dtensor-cfg.lora-cfg.enabled",
               is_megatron ? "policy.megatron-cfg.peft.dim" : "policy.dtensor-cfg.lora-cfg.dim");
  if (!draft->options->stack) {
    g_autofree char *stack =
        orr_stack_newest(draft->library, is_megatron ? "megatron-core" : "automodel");
    if (stack)
      orr_launch_draft_set(draft, "workload.stack", stack, NULL,
                           is_megatron ? "NeMo-RL trains by Megatron Core"
                                       : "NeMo-RL trains by AutoModel's FSDP");
  }
  if (orr_launch_config_gpus(draft) > 0) return;
  orr_launch_draft_set_nodes(draft, MAX(nodes, 1), "the config's cluster");
  orr_launch_draft_set_gpus_per_node(draft, gpus, NULL);
}

/* AutoModel's mesh: replicas of groups that shard, over the sequence's parts, too. */
static void set_automodel_machine(OrrLaunchDraft *draft) {
  static const char key[] = "distributed.dp-replicate-size",
                    group[] = "workload.optimizer.sharding";
  const OrrLaunchDialect *own = &orr_dialect_automodel;
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, own, key);
  /* samples of at most dataset.seq_length fill sequences of packed_sequence_size */
  orr_launch_draft_settle(draft, own, "dataset.seq-length packed-sequence.packed-sequence-size");
  const gint64 apart = orr_launch_draft_degree(draft, "workload.parallel.tp") *
                       orr_launch_draft_degree(draft, "workload.parallel.pp");
  const gint64 replicas = orr_launch_config_count(draft, own, key, 1);
  if (!setting || replicas < 2) return;
  draft->copies = replicas;
  if (orr_launch_config_gpus(draft) < 1)
    orr_launch_draft_assume_gpus(draft,
                                 apart * orr_launch_draft_degree(draft, "workload.parallel.cp"));
  const gint64 gpus = orr_launch_config_gpus(draft);
  if (gpus % (apart * replicas) != 0 || gpus < apart * replicas)
    return orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                                  "groups of replicas that shard: all GPUs do");
  g_autofree char *kind = g_strconcat(group, ".kind", NULL);
  g_autofree char *size = g_strconcat(group, ".group", NULL);
  orr_launch_config_put(draft, own, kind, "hsdp", key);
  orr_launch_config_put_count(draft, own, size, gpus / (apart * replicas), key);
}

/* Replicas that a config names, where nobody knows how many GPUs shard the weights. */
static void judge_maxtext_replicas(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"dcn-data-parallelism", "ici-data-parallelism"};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_maxtext, keys[i]);
    if (setting && orr_launch_draft_int(draft, &orr_dialect_maxtext, keys[i], 1) > 1)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "replicas that hold whole weights: all GPUs shard them");
  }
}

/* Axes of MaxText's mesh, with base.yml's degrees. */
static const struct {
  const char *key;
  gint64 fallback;
  gboolean is_shard, is_replica;
} maxtext_axes[] = {{"dcn-data-parallelism", -1, FALSE, TRUE},
                    {"ici-data-parallelism", 1, FALSE, TRUE},
                    {"ici-fsdp-parallelism", -1, TRUE},
                    {"dcn-fsdp-parallelism", 1, TRUE},
                    {"ici-fsdp-transpose-parallelism", 1, TRUE},
                    {"ici-expert-parallelism", 1, TRUE},
                    {"ici-tensor-parallelism", 1},
                    {"ici-context-parallelism", 1},
                    {"ici-pipeline-parallelism", 1},
                    {"dcn-pipeline-parallelism", 1}};

/* An axis whose degree the input has, for an error's place. */
static const OrrLaunchSetting *maxtext_axis(OrrLaunchDraft *draft) {
  OrrLaunchSetting *setting = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(maxtext_axes) && !setting; i++)
    setting = orr_launch_draft_find(draft, &orr_dialect_maxtext, maxtext_axes[i].key);
  return setting;
}

/* The degree of an axis. The only one of -1 takes the GPUs that are left, where all are known. */
static gint64 degree_of(OrrLaunchDraft *draft, guint axis) {
  const OrrLaunchDialect *own = &orr_dialect_maxtext;
  const gint64 all = orr_launch_config_gpus(draft);
  gint64 others = 1;
  guint n_open = 0;
  for (guint i = 0; i < G_N_ELEMENTS(maxtext_axes); i++) {
    const gint64 one =
        orr_launch_draft_int(draft, own, maxtext_axes[i].key, maxtext_axes[i].fallback);
    if (i == axis && one != -1) return one;
    n_open += one == -1;
    others = MIN(others * CLAMP(one, 1, 1 << 24), 1 << 24);
  }
  if (n_open == 1 && all >= others && all % others == 0) return all / others;
  if (n_open == 1 && all > 0 && maxtext_axis(draft))
    orr_launch_draft_bad(
        draft, maxtext_axis(draft),
        "the degrees multiply to %ld devices, and there are %ld: MaxText stops there", others, all);
  return -1;
}

/* Where the replicas are said, and one axis of shards takes whatever GPUs are left. */
static void assume_maxtext_gpus(OrrLaunchDraft *draft) {
  gint64 split = 1, copies = 1;
  guint n_open = 0;
  for (guint i = 0; i < G_N_ELEMENTS(maxtext_axes); i++) {
    const gint64 one = orr_launch_draft_int(draft, &orr_dialect_maxtext, maxtext_axes[i].key,
                                            maxtext_axes[i].fallback);
    gint64 *product = maxtext_axes[i].is_replica ? &copies : &split;
    if (one < 1 && !maxtext_axes[i].is_shard) return;
    n_open += one < 1;
    if (!maxtext_axes[i].is_shard) *product = MIN(*product * CLAMP(one, 1, 1 << 20), 1 << 20);
  }
  if (n_open != 1 || copies < 2) return;
  draft->copies = copies;
  orr_launch_draft_assume_gpus(draft, split);
}

/* The product of all degrees is the GPUs, unless one (-1, as base.yml has it for two) takes the
 * rest; replicas of whole weights lie on the axes `data`. */
static void set_maxtext_machine(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *own = &orr_dialect_maxtext;
  gint64 gpus = 1, shards = 1, replicas = 1;
  const gboolean says_slice = orr_launch_draft_int(draft, own, "ici-fsdp-parallelism", -1) > 0,
                 says_shards =
                     says_slice && orr_launch_draft_int(draft, own, "dcn-fsdp-parallelism", 1) > 1;
  if (g_strcmp0(orr_launch_draft_get(draft, "workload.optimizer.sharding.kind"), "ddp") == 0)
    orr_launch_draft_settle(draft, own, "shard-optimizer-over-data");
  if (orr_launch_draft_int(draft, own, "dcn-tensor-parallelism", 1) != 1) /* or another axis */
    return judge_maxtext_replicas(draft);
  if (orr_launch_config_gpus(draft) < 1) assume_maxtext_gpus(draft);
  for (guint i = 0; i < G_N_ELEMENTS(maxtext_axes); i++) {
    const char *key = maxtext_axes[i].key;
    gint64 one = degree_of(draft, i);
    const gboolean is_left = says_shards || (says_slice && g_str_has_prefix(key, "dcn-"));
    if (one == -1 && maxtext_axes[i].is_replica && is_left && orr_launch_config_gpus(draft) < 1) {
      one = 1; /* the slices or hosts that are left */
      orr_launch_draft_remark(draft, "assumed: one replica, on the GPUs that shard the weights");
    }
    if (one < 1) return judge_maxtext_replicas(draft);
    gpus = MIN(gpus * MIN(one, 1 << 24), 1 << 24);
    if (maxtext_axes[i].is_shard) shards = MIN(shards * MIN(one, 1 << 24), 1 << 24);
    if (maxtext_axes[i].is_replica) replicas = MIN(replicas * MIN(one, 1 << 24), 1 << 24);
  }
  if (replicas > 1 && shards > 1) {
    orr_launch_draft_set(draft, "workload.optimizer.sharding.kind", "hsdp", NULL,
                         "replicas on the axes data");
    orr_launch_draft_set_number(draft, "workload.optimizer.sharding.group", shards, NULL,
                                "the axes fsdp and expert");
  }
  if (maxtext_axis(draft) || orr_launch_config_gpus(draft) < 1)
    orr_launch_config_take_world(draft, maxtext_axis(draft), gpus, "MaxText");
}

/* The setting by which a config trains by DPO; NULL: it does not. */
static OrrLaunchSetting *find_pairs(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *nemo = &orr_dialect_nemo_rl_sft;
  OrrLaunchSetting *loss = orr_launch_draft_find(draft, &orr_dialect_torchtune, "loss.-component-");
  if (loss && loss->value && g_str_has_suffix(loss->value, "DPOLoss")) return loss;
  OrrLaunchSetting *steps = orr_launch_draft_find(draft, nemo, "dpo.max-num-steps");
  if (!steps) steps = orr_launch_draft_find(draft, nemo, "dpo.max-num-epochs");
  return steps ? steps : orr_launch_draft_find(draft, &orr_dialect_openrlhf_sft, "train-dpo");
}

static void set_pairs(OrrLaunchDraft *draft) {
  OrrLaunchSetting *pairs = find_pairs(draft);
  if (pairs) orr_launch_pairs_set(draft, pairs, &(OrrLaunchPairs){.has_reference = TRUE});
}

/* Adapters are of all linear layers where only their rank is given. */
static void set_openrlhf(OrrLaunchDraft *draft) {
  if (orr_launch_draft_find(draft, &orr_dialect_openrlhf_sft, "train-dpo") &&
      !orr_launch_draft_get(draft, "workload.sequence"))
    orr_launch_draft_set(draft, "workload.sequence", "512", NULL, "train_dpo's default");
  if (!orr_launch_draft_get(draft, "workload.precision"))
    orr_launch_draft_set(draft, "workload.precision", "bf16", NULL, "OpenRLHF's default");
  if (orr_launch_draft_get(draft, "workload.lora.rank") &&
      !orr_launch_draft_get(draft, "workload.lora.targets"))
    orr_launch_draft_set(draft, "workload.lora.targets", "[qkv, projection, fc1, fc2]", NULL,
                         "OpenRLHF's default: all-linear");
}

/* All degrees together are the GPUs, where the config says how many replicas there are. */
static void set_machine(OrrLaunchDraft *draft, gint64 split) {
  const gint64 replicas = count_at(draft, "workload.parallel.dp", 0);
  const gint64 experts = orr_launch_config_has(draft, &orr_dialect_nanotron) /* beside dp */
                             ? orr_launch_draft_degree(draft, "workload.parallel.ep")
                             : 1;
  if (replicas > 0)
    orr_launch_config_take_world(draft, orr_launch_draft_at(draft, "workload.parallel.dp", TRUE),
                                 MIN(replicas, 1 << 24) * split * MAX(experts, 1), "the trainer");
}

/* MaxText counts the batch by devices, whatever they share: a step trains devices x
 * per_device_batch_size x accumulation sequences (configs/types.py, global_batch_size_to_train_on;
 * 12 for each device by default, and 0.5 is one for two of them). A replica's micro-batch has the
 * sequences of tp x cp devices, and each of its stages adds as many. */
static void set_maxtext_batch(OrrLaunchDraft *draft) {
  const char *key = "per-device-batch-size";
  const OrrLaunchSetting *source = orr_launch_draft_find(draft, &orr_dialect_maxtext, key);
  const gint64 share = orr_launch_draft_degree(draft, "workload.parallel.tp") *
                       orr_launch_draft_degree(draft, "workload.parallel.cp");
  double of_device = 12;
  if (source && (source->is_unresolved || !source->value)) return;
  if (source && (!orr_quantity_parse(source->value, ORR_UNIT_NONE, &of_device, NULL) ||
                 !(of_device > 0 && of_device < 1e6)))
    return orr_launch_draft_bad(draft, source, "'%s' is not a number of sequences", source->value);
  const double micro = of_device * (double)share;
  if (micro != (double)(gint64)micro)
    return orr_launch_draft_bad(
        draft, source, "%g sequences of each of %ld devices are not a whole number for a replica",
        of_device, share);
  orr_launch_draft_set_number(draft, "workload.batch.micro", (gint64)micro, source,
                              source && share == 1 ? NULL
                              : source             ? "of each device of a replica"
                                                   : "MaxText's default, 12 of each device");
}

/* torchtune makes the model under torch's default dtype, and so its gradients and Adam's moments
 * (recipes, training.set_default_dtype). Masters on the host are in fp32 here. Its loss of the
 * output layer's products works on vocabularies that tensor parallelism splits. */
static void set_tune_state(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *tune = &orr_dialect_torchtune;
  const OrrLaunchSetting *dtype = orr_launch_draft_find(draft, tune, "dtype");
  if (orr_launch_config_has(draft, tune) &&
      orr_launch_draft_degree(draft, "workload.parallel.tp") > 1 &&
      g_strcmp0(orr_launch_draft_get(draft, "workload.loss"), "chunked") == 0) {
    orr_launch_draft_set(draft, "workload.loss", "fused", NULL, "over split logits");
    orr_launch_draft_remark(draft, "the loss under tensor parallelism keeps all logits here: "
                                   "torchtune computes it in chunks");
  }
  if (!dtype) return;
  if (!orr_launch_draft_get(draft, "workload.offload.optimizer"))
    return orr_launch_draft_settle(draft, tune, "dtype");
  orr_launch_draft_set(draft, "workload.optimizer.master", "fp32", NULL, "on the host");
  orr_launch_draft_set(draft, "workload.optimizer.moments", "fp32", NULL, "on the host");
  orr_launch_draft_set(draft, "workload.data-parallel.gradients", "fp32", NULL,
                       "the host's optimizer");
  if (g_strcmp0(dtype->value, "bf16") == 0)
    orr_launch_draft_remark(draft,
                            "%s: weights, gradients and the optimizer's state are all in 16 bits; "
                            "fp32 weights and state are simulated, so memory is overstated",
                            dtype->written);
}

static void finish(OrrLaunchDraft *draft) {
  const Tree *tree = tree_of(draft);
  const gint64 pp = orr_launch_draft_degree(draft, "workload.parallel.pp");
  const gint64 split = orr_launch_draft_degree(draft, "workload.parallel.tp") * pp *
                       orr_launch_draft_degree(draft, "workload.parallel.cp");
  if (!tree) return;
  set_model(draft);
  if (tree->set_machine) tree->set_machine(draft);
  set_machine(draft, split);
  orr_launch_draft_assume(draft, "workload.sequence", tree->sequence,
                          "since the config has no length; --model and a line of the scenario "
                          "say another",
                          "how long are sequences? The config has no length");
  if (tree->by_device) set_maxtext_batch(draft);
  if (tree->micro && !orr_launch_draft_get(draft, "workload.batch.micro"))
    orr_launch_draft_set(draft, "workload.batch.micro", tree->micro, NULL, "the trainer's default");
  if (tree->global && !orr_launch_draft_get(draft, "workload.batch.global"))
    orr_launch_draft_set(draft, "workload.batch.global", tree->global, NULL,
                         "the trainer's default");
  if (!orr_launch_draft_get(draft, "workload.batch.micro"))
    orr_launch_draft_assume(draft, "workload.batch.micro", "1", "since the config has none",
                            "how many sequences has a micro-batch?");
  if (tree->recompute && !orr_launch_draft_get(draft, "workload.recompute"))
    orr_launch_draft_set(draft, "workload.recompute", tree->recompute, NULL,
                         "the trainer's default");
  if (!orr_launch_draft_get(draft, "workload.batch.global"))
    orr_launch_config_put_global(
        draft, orr_launch_draft_degree(draft, "workload.batch.micro") * (tree->by_device ? pp : 1),
        count_at(draft, "workload.batch.global", 1), split,
        tree->by_device ? "sequences of a device x accumulation x devices"
                        : "micro-batch x accumulation x replicas");
  if (!orr_launch_draft_get(draft, "workload.optimizer.sharding.kind"))
    orr_launch_draft_set(draft, "workload.optimizer.sharding.kind", tree->sharding, NULL,
                         "the trainer's default");
  if (pp > 1 &&
      g_strcmp0(orr_launch_draft_get(draft, "workload.optimizer.sharding.kind"), "ddp") == 0)
    orr_launch_draft_set(draft, "workload.optimizer.sharding.kind", "none", NULL,
                         "gradients are reduced after the pipeline's last backward");
  set_tune_state(draft);
  set_pairs(draft);
}

/* To add one whose keys a table maps: the table, an entry here, and a line in dialects.inc. */
#define TREE(...)                                                                                  \
  .kind = "training", .is_trainer = TRUE, .has_own_options = TRUE, .finish = finish,               \
  .tree = &(const Tree) {                                                                          \
    __VA_ARGS__                                                                                    \
  }

const OrrLaunchDialect orr_dialect_nanotron = {
    .name = "nanotron",
    TREE("zero-1", "4096"),
    .signs = "parallelism.tp_mode tokens.batch_accumulation_per_replica parallelism.pp_engine",
};
const OrrLaunchDialect orr_dialect_torchtune = {
    .name = "torchtune",
    TREE("fsdp", "4096"),
    .signs = "model._component_",
};
const OrrLaunchDialect orr_dialect_maxtext = {
    .name = "maxtext",
    TREE("fsdp", "2048", "full", TRUE, .set_machine = set_maxtext_machine),
    .signs = "per_device_batch_size max_target_length",
};
const OrrLaunchDialect orr_dialect_automodel = {
    .name = "automodel",
    TREE("fsdp", "4096", .set_machine = set_automodel_machine),
    .stack = "automodel",
    .signs = "step_scheduler.global_batch_size",
};

/* An empty table turns a feature on: [model.ac]. */
static void read_prime_rl(OrrLaunchDraft *draft, const OrrNode *tree) {
  const OrrNode *ac = orr_node_get(orr_node_get(tree, "model"), "ac");
  orr_launch_config_add(draft, &orr_dialect_prime_rl_sft, tree, NULL);
  if (ac && ac->kind == ORR_NODE_MAP)
    orr_launch_draft_add(draft, &orr_dialect_prime_rl_sft, "model.ac", "true", ac->place);
}

const OrrLaunchDialect orr_dialect_prime_rl_sft = {
    .name = "prime-rl-sft",
    TREE("fsdp", "4096", .set_machine = set_prime_rl_machine),
    .signs = "data.seq_len",
    .read = read_prime_rl,
};

const OrrLaunchDialect orr_dialect_areal_sft = {
    .name = "areal-sft",
    TREE("fsdp", "4096", .set_machine = orr_dialect_areal_layout),
    .signs = "model.mb_spec",
};
const OrrLaunchDialect orr_dialect_nemo_rl_sft = {
    .name = "nemo-rl-sft",
    TREE("fsdp", "1024", .set_machine = set_nemo_rl, .global = "32", .micro = "1"),
    .signs = "sft.max_num_steps sft.max_num_epochs dpo.max_num_steps dpo.max_num_epochs",
};
const OrrLaunchDialect orr_dialect_openrlhf_sft = {
    .name = "openrlhf-sft",
    TREE("zero-2", "2048", .set_machine = set_openrlhf, .global = "128", .micro = "8"),
};

/* --- The command line --- */

static gboolean has_beginning(const OrrLaunchCommand *command, guint script, const char *word) {
  for (guint i = script; i < command->words->len; i++)
    if (g_str_has_prefix(((const OrrLaunchWord *)command->words->pdata[i])->text, word))
      return TRUE;
  return FALSE;
}

static gboolean knows_maxtext(const OrrLaunchCommand *command, guint script) {
  return has_beginning(command, script, "MaxText") || has_beginning(command, script, "maxtext.") ||
         has_beginning(command, script, "per_device_batch_size=");
}

static void read_maxtext(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  orr_launch_argv_hydra(draft, &orr_dialect_maxtext, command->words, script + 1);
}

/* @word among the words, or at the end of one ("../train_sft.py"). */
static gboolean names_script(const OrrLaunchCommand *command, guint script, const char *word) {
  return script < command->words->len &&
         g_str_has_suffix(((const OrrLaunchWord *)command->words->pdata[script])->text, word);
}

/* OpenRLHF's script of 2023 has a name that others have, too. */
static gboolean knows_openrlhf_sft(const OrrLaunchCommand *command, guint script) {
  return names_script(command, script, "openrlhf.cli.train_sft") ||
         names_script(command, script, "openrlhf.cli.train_dpo") ||
         (names_script(command, script, "train_sft.py") &&
          has_beginning(command, script, "--micro_train_batch_size"));
}

static void read_openrlhf_sft(OrrLaunchDraft *draft, const OrrLaunchCommand *command,
                              guint script) {
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  const OrrLaunchWord *word = command->words->pdata[script];
  if (names_script(command, script, "train_dpo"))
    orr_launch_draft_add(draft, &orr_dialect_openrlhf_sft, "train-dpo", "true", word->place);
  orr_launch_argv(draft, &orr_dialect_openrlhf_sft, command->words, script + 1, rest);
}

const OrrLaunchTrainer orr_trainer_openrlhf_sft = {.name = "openrlhf-sft",
                                                   .scripts = "",
                                                   .is_named = TRUE,
                                                   .knows = knows_openrlhf_sft,
                                                   .read = read_openrlhf_sft};

const OrrLaunchTrainer orr_trainer_maxtext = {
    .name = "maxtext", .scripts = "", .knows = knows_maxtext, .read = read_maxtext};
