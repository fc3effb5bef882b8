/*
 * dialect_serving_environment.c - environment variables that a server reads.
 *
 * A variable's key is its prefix and the rest: NCCL_NVLS_ENABLE is nccl.nvls-enable. Sources:
 * NCCL's manual, "Environment Variables"; vllm/envs.py; sglang/srt/environ.py.
 */
#include "sim/import/launch/launch_private.h"

/* The algorithm of NCCL counts where the engine has no all-reduce of its own. */
static void convert_algorithm(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule) {
  static const char *const known[][2] = {
      {"Ring", "ring"}, {"Tree", "tree"}, {"NVLS", "nvls"}, {"NVLSTree", "nvls-tree"}};
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  gboolean has_own = TRUE;
  ORR_EACH_POINTER(const OrrLaunchSetting, other, settings)
    if (strcmp(other->key, "disable-custom-all-reduce") == 0) has_own = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(known) && !has_own; i++) {
    if (g_ascii_strcasecmp(known[i][0], setting->value ? setting->value : "") != 0) continue;
    orr_launch_draft_set(draft, rule->path, known[i][1], setting, NULL);
    return;
  }
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                         has_own ? "the engine's own all-reduce comes first"
                                 : "a choice of several algorithms");
}

static const OrrLaunchConverter converters[] = {
    {"algorithm", convert_algorithm},
    {NULL, NULL},
};

const OrrLaunchDialect orr_dialect_environment = {
    .name = "server-environment",
    .converters = converters,
};
