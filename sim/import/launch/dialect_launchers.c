/*
 * dialect_launchers.c - torchrun and deepspeed: how many processes, on how many nodes.
 */
#include <string.h>

#include "sim/import/launch/dialects_training.h"

/* "4", or "1:4" of an elastic job, which uses all it can. */
static gint64 count_of(OrrLaunchDraft *draft, const OrrLaunchSetting *setting) {
  const char *colon = strrchr(setting->value, ':');
  const char *text = colon ? colon + 1 : setting->value;
  char *end = NULL;
  const gint64 number = g_ascii_strtoll(text, &end, 10);
  if (end > text && !*end && number > 0) return number;
  orr_launch_draft_bad(draft, setting, "'%s' is not a number of nodes or processes",
                       setting->value);
  return 0;
}

static void set_nodes(OrrLaunchDraft *draft, OrrLaunchSetting *setting, const OrrLaunchRule *rule) {
  (void)rule;
  orr_launch_draft_set_nodes(draft, count_of(draft, setting), setting->written);
}

static void set_processes(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  static const char *const all[] = {"gpu", "auto", NULL};
  (void)rule;
  if (g_strv_contains(all, setting->value))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "all GPUs of a node");
  else
    orr_launch_draft_set_gpus_per_node(draft, count_of(draft, setting), setting->written);
}

#define WHERE .verdict = ORR_LAUNCH_IRRELEVANT, .why = "how the processes find each other"
#define LOGS .verdict = ORR_LAUNCH_IRRELEVANT, .why = "logging"
#define RESTART .verdict = ORR_LAUNCH_IRRELEVANT, .why = "what happens after a failure"

static const OrrLaunchRule torchrun_rules[] = {
    {.keys = "nnodes", .path = "cluster.nodes", .convert = set_nodes},
    {.keys = "nproc-per-node", .path = "cluster.gpus", .convert = set_processes},
    {.keys = "node-rank", WHERE},
    {.keys = "master-addr", WHERE},
    {.keys = "master-port", WHERE},
    {.keys = "local-addr", WHERE},
    {.keys = "rdzv-backend", WHERE},
    {.keys = "rdzv-endpoint", WHERE},
    {.keys = "rdzv-id", WHERE},
    {.keys = "rdzv-conf", WHERE},
    {.keys = "standalone", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "use-env", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "role", WHERE},
    {.keys = "start-method", WHERE},
    {.keys = "m module", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "no-python", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "run-path", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "max-restarts", RESTART},
    {.keys = "monitor-interval", RESTART},
    {.keys = "log-dir", LOGS},
    {.keys = "r redirects", LOGS},
    {.keys = "t tee", LOGS},
    {.keys = "local-ranks-filter", LOGS},
    {.keys = "logs-specs", LOGS},
};

const OrrLaunchDialect orr_dialect_torchrun = {
    .name = "torchrun",
    .sentence = "PyTorch's launcher: torchrun, torch.distributed.run and .launch.",
    .rules = torchrun_rules,
    .n_rules = G_N_ELEMENTS(torchrun_rules),
};

static const OrrLaunchRule deepspeed_rules[] = {
    {.keys = "num-nodes", .path = "cluster.nodes", .convert = set_nodes},
    {.keys = "num-gpus", .path = "cluster.gpus", .convert = set_processes},
    {.keys = "h hostfile", WHERE},
    {.keys = "i include", WHERE},
    {.keys = "e exclude", WHERE},
    {.keys = "master-port", WHERE},
    {.keys = "master-addr", WHERE},
    {.keys = "node-rank", WHERE},
    {.keys = "launcher", WHERE},
    {.keys = "launcher-args", WHERE},
    {.keys = "ssh-port", WHERE},
    {.keys = "module", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "no-python", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "no-local-rank", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "no-ssh", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "no-ssh-check", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "force-multi", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "venv-script", WHERE},
    {.keys = "save-pid", WHERE, .arity = ORR_LAUNCH_FLAG},
    {.keys = "enable-each-rank-log", LOGS},
    {.keys = "autotuning", .verdict = ORR_LAUNCH_NOT_SIMULATED, .why = "settings that it searches"},
    {.keys = "elastic-training", RESTART, .arity = ORR_LAUNCH_FLAG},
    {.keys = "min-elastic-nodes", RESTART},
    {.keys = "max-elastic-nodes", RESTART},
    {.keys = "bind-cores-to-rank",
     .verdict = ORR_LAUNCH_NOT_SIMULATED,
     .arity = ORR_LAUNCH_FLAG,
     .why = "which cores a process runs on"},
    {.keys = "bind-core-list",
     .verdict = ORR_LAUNCH_NOT_SIMULATED,
     .why = "which cores a process runs on"},
};

const OrrLaunchDialect orr_dialect_deepspeed_launcher = {
    .name = "deepspeed-launcher",
    .sentence = "The options of the deepspeed command in front of the script.",
    .rules = deepspeed_rules,
    .n_rules = G_N_ELEMENTS(deepspeed_rules),
};

/* --- Environment --- */

/* NCCL_ALGO: one algorithm for all collectives; lists and per-function forms are not simulated. */
static void set_algorithm(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  static const struct {
    const char *theirs, *ours;
  } names[] = {{"Ring", "ring"},          {"Tree", "tree"}, {"NVLS", "nvls"},
               {"NVLSTree", "nvls-tree"}, {"PAT", "pat"},   {"CollNetDirect", "collnet"},
               {"CollNet", "collnet"}};
  for (guint i = 0; setting->value && i < G_N_ELEMENTS(names); i++) {
    if (g_ascii_strcasecmp(setting->value, names[i].theirs) != 0) continue;
    orr_launch_draft_set(draft, rule->path, names[i].ours, setting, NULL);
    return;
  }
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                         "a choice of algorithms by function or list");
}

static void set_allocator(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  if (setting->value && strstr(setting->value, "expandable_segments:True"))
    orr_launch_draft_set(draft, rule->path, "expandable", setting, NULL);
}

static void set_blocking(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  if (g_strcmp0(setting->value, "1") == 0)
    orr_launch_draft_set(draft, rule->path, "blocking", setting, NULL);
}

static const OrrLaunchRule environment_rules[] = {
    {.keys = "nccl-algo", .path = "workload.collectives", .convert = set_algorithm},
    {.keys = "pytorch-cuda-alloc-conf pytorch-alloc-conf",
     .path = "workload.memory.allocator",
     .convert = set_allocator},
    {.keys = "nccl-proto",
     .verdict = ORR_LAUNCH_NOT_SIMULATED,
     .why = "a forced protocol of training's collectives"},
    {.keys =
         "nccl-nvls-enable nccl-p2p-disable nccl-shm-disable nccl-ib-disable nccl-p2p-level "
         "nccl-cross-nic nccl-max-nchannels nccl-min-nchannels nccl-buffsize nccl-net-gdr-level",
     .verdict = ORR_LAUNCH_NOT_SIMULATED,
     .why = "how NCCL uses its channels and links"},
    {.keys = "cuda-launch-blocking", .path = "workload.launches", .convert = set_blocking},
    {.keys = "nccl-* cuda-* nvte-* torch-* pytorch-*",
     .verdict = ORR_LAUNCH_IRRELEVANT,
     .why = "time limits, logs, devices and fine tuning"},
    {.keys = "test.*",
     .verdict = ORR_LAUNCH_IRRELEVANT,
     .why = "how Megatron-LM's own tests run and are judged"},
};

const OrrLaunchDialect orr_dialect_training_environment = {
    .name = "training-environment",
    .sentence = "Environment variables of a training job: NCCL's, CUDA's and PyTorch's.",
    .rules = environment_rules,
    .n_rules = G_N_ELEMENTS(environment_rules),
};
