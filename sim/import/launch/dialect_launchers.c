/*
 * dialect_launchers.c - torchrun and deepspeed: how many processes, on how many nodes.
 */
#include "sim/import/launch/launch_private.h"

/* "4", or "1:4" of an elastic job, which uses all it can. */
static gint64 count_of(OrrLaunchDraft *draft, const OrrLaunchSetting *setting) {
  if (!setting->value) return 0; /* null in a config; its lack on a line is an error already */
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
  orr_launch_draft_set_nodes(draft, count_of(draft, setting), setting->written);
}

static void set_processes(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  static const char *const all[] = {"gpu", "auto", NULL};
  if (setting->value && g_strv_contains(all, setting->value))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "all GPUs of a node");
  else
    orr_launch_draft_set_gpus_per_node(draft, count_of(draft, setting), setting->written);
}

/* DeepSpeed's "host:0,1@other:0,1": the GPUs of each host; without a colon all of them. */
static void set_included(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  g_auto(GStrv) hosts = g_strsplit(setting->value ? setting->value : "", "@", -1);
  gint64 each = 0;
  for (guint i = 0; hosts[i]; i++) {
    const char *colon = strchr(hosts[i], ':');
    g_auto(GStrv) gpus = g_strsplit(colon ? colon + 1 : "", ",", -1);
    if (i > 0 && g_strv_length(gpus) != each)
      return orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                                    "nodes with unlike numbers of GPUs");
    each = g_strv_length(gpus);
  }
  orr_launch_draft_set_nodes(draft, MAX(g_strv_length(hosts), 1), setting->written);
  if (each > 0) orr_launch_draft_set_gpus_per_node(draft, each, NULL);
}

static const OrrLaunchConverter torchrun_converters[] = {
    {"nodes", set_nodes},
    {"processes", set_processes},
    {"included", set_included},
    {NULL, NULL},
};

const OrrLaunchDialect orr_dialect_torchrun = {
    .name = "torchrun",
    .is_one_node = TRUE,
    .converters = torchrun_converters,
};

const OrrLaunchDialect orr_dialect_deepspeed_launcher = {
    .name = "deepspeed-launcher",
    .converters = torchrun_converters,
};

/* --- Environment --- */

static const OrrLaunchDialect *const own = &orr_dialect_training_environment;

#include "sim/import/launch/own_keys.inc"

/* NCCL sends a message over one of its queue pairs since 2.20, unless NCCL_IB_SPLIT_DATA_ON_QPS
 * divides it (src/transport/net_ib.cc). */
static void finish_environment(OrrLaunchDraft *draft) {
  static const char *const path = "cluster.split-data-on-qps";
  if (find(draft, "nccl-ib-qps-per-connection") && !orr_launch_draft_get(draft, path))
    orr_launch_draft_set(draft, path, "false", NULL, "NCCL's default since 2.20");
}

const OrrLaunchDialect orr_dialect_training_environment = {
    .name = "training-environment",
    .finish = finish_environment,
};
