/*
 * dialect_accelerate.c - Hugging Face Accelerate's YAML, and the options of `accelerate launch`.
 *
 * Source: src/accelerate/commands/launch.py, commands/config/config_args.py and
 * utils/dataclasses.py of huggingface/accelerate, v0.12 to v1.12.
 */
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_accelerate;

#include "sim/import/launch/own_keys.inc"

/* num_processes counts the GPUs of all machines. Before the trainer's keys make a global batch. */
static void set_machine(OrrLaunchDraft *draft) {
  const gint64 gpus = count(draft, "num-processes", 0), nodes = count(draft, "num-machines", 1);
  if (gpus < 1 || nodes < 1) return;
  orr_launch_draft_set_nodes(draft, nodes, "num_machines");
  orr_launch_draft_set_gpus_per_node(draft, MAX(gpus / nodes, 1), "num_processes");
}

static void set_fsdp(OrrLaunchDraft *draft) {
  const char *strategy = "fsdp-config.fsdp-sharding-strategy";
  const char *reshard = "fsdp-config.fsdp-reshard-after-forward";
  const char *replicas = "parallelism-config.parallelism-config-dp-replicate-size";
  const char *shards = "parallelism-config.parallelism-config-dp-shard-size";
  const char *contexts = "parallelism-config.parallelism-config-cp-size"; /* mesh dp_shard_cp */
  const char *when = text_of(draft, reshard);
  if (when && strchr(when, '_')) strategy = reshard; /* a strategy's name, as of Accelerate 1.8 */
  const char *text = text_of(draft, strategy);
  const gboolean hybrid =
      (text && (strstr(text, "HYBRID") || g_ascii_strtoll(text, NULL, 10) >= 4)) ||
      count(draft, replicas, 1) > 1;
  const gboolean keeps =
      text && (strstr(text, "SHARD_GRAD_OP") || strstr(text, "ZERO2") || strcmp(text, "2") == 0);
  const gboolean none = text && (strstr(text, "NO_SHARD") || strcmp(text, "3") == 0);
  const char *key = text ? strategy : is_on(draft, "use-fsdp") ? "use-fsdp" : "distributed-type";
  orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind",
                        none     ? "ddp"
                        : hybrid ? "hsdp"
                                 : "fsdp",
                        key);
  if (hybrid && count(draft, shards, 0) > 1)
    orr_launch_config_put_count(draft, own, "workload.optimizer.sharding.group",
                                count(draft, shards, 0) * count(draft, contexts, 1), shards);
  if (keeps || (find(draft, reshard) && !is_on(draft, reshard)))
    orr_launch_config_put(draft, own, "workload.optimizer.sharding.reshard-after-forward", "false",
                          keeps ? strategy : reshard);
  settle(draft, "fsdp-config.fsdp-activation-checkpointing fsdp-config.fsdp-offload-params");
}

static void set_deepspeed(OrrLaunchDraft *draft) {
  const char *stage = "deepspeed-config.zero-stage",
             *file = "deepspeed-config.deepspeed-config-file";
  const gint64 n = count(draft, stage, find(draft, file) ? 0 : 2);
  const char *path = text_of(draft, file);
  OrrLaunchSetting *setting = find(draft, stage);
  if (setting && (n < 0 || n > 3)) orr_launch_draft_bad(draft, setting, "a stage is 0 to 3");
  g_autofree char *kind = g_strdup_printf("zero-%ld", CLAMP(n, 1, 3));
  if (path && !orr_launch_form_source(draft, path)) orr_launch_config_assume_zero(draft, path);
  if (path) return;
  orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind", n ? kind : "none",
                        setting ? stage : "distributed-type");
  settle(draft, "deepspeed-config.offload-optimizer-device deepspeed-config.offload-param-device");
}

/* Batch, sequence and model are the script's; a config alone does not have them. */
static void assume_script(OrrLaunchDraft *draft) {
  static const struct {
    const char *name, *path, *value, *why, *question;
  } needs[] = {{"sequence", "workload.sequence", "4096",
                "since Accelerate's config has no length; --set sequence=N says another",
                "how long are sequences? Accelerate's config does not say: give the script's "
                "launch line, too, or add --set sequence=N"},
               {"micro", "workload.batch.micro", "1",
                "since Accelerate's config has no batch; --set micro=N says another",
                "how many sequences has a micro-batch? Accelerate's config does not say: give the "
                "script's launch line, too, or add --set micro=N"}};
  if (orr_launch_config_has_trainer(draft, own)) return;
  for (guint i = 0; i < G_N_ELEMENTS(needs); i++) {
    const char *value = orr_launch_draft_variable(draft, needs[i].name);
    if (value)
      orr_launch_draft_set(draft, needs[i].path, value, NULL, "--set");
    else
      orr_launch_draft_assume(draft, needs[i].path, needs[i].value, needs[i].why,
                              needs[i].question);
  }
  const char *micro = orr_launch_draft_get(draft, "workload.batch.micro");
  if (micro)
    orr_launch_config_put_global(
        draft, g_ascii_strtoll(micro, NULL, 10),
        count(draft, "deepspeed-config.gradient-accumulation-steps", 1),
        count(draft, "parallelism-config.parallelism-config-tp-size", 1) *
            count(draft, "parallelism-config.parallelism-config-cp-size", 1),
        "micro-batch x accumulation x replicas");
}

static void finish(OrrLaunchDraft *draft) {
  const char *named = text_of(draft, "accelerate-config");
  orr_launch_config_miss_file(draft, own, "config-file");
  if (named && strchr(named, '.')) orr_launch_config_miss_file(draft, own, "accelerate-config");
  settle(draft, "mixed-precision");
  if (is_on(draft, "use-fsdp") || orr_launch_config_says(draft, own, "distributed-type", "FSDP"))
    set_fsdp(draft);
  else if (orr_launch_config_says(draft, own, "distributed-type", "DEEPSPEED") ||
           find(draft, "deepspeed-config.zero-stage"))
    set_deepspeed(draft);
  else if (orr_launch_config_says(draft, own, "distributed-type", "MULTI_GPU"))
    orr_launch_config_put(draft, own, "workload.optimizer.sharding.kind", "ddp",
                          "distributed-type");
  assume_script(draft);
}

const OrrLaunchDialect orr_dialect_accelerate = {
    .name = "accelerate",
    .kind = "training",
    .begin = set_machine,
    .finish = finish,
    .signs = "distributed_type compute_environment fsdp_config deepspeed_config parallelism_config",
};
