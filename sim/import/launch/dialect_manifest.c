/*
 * dialect_manifest.c - the keys of manifests, Helm values, Compose files and tasks around a
 * server's command. A key is its path without the numbers of lists:
 * "spec.template.spec.containers.resources.limits.cpu". The commands are other dialects'.
 *
 * Sources: Kubernetes' API reference 1.33 (Pod, Deployment); values.yaml of vLLM's production
 * stack 0.1.7, of vLLM's and llm-d's charts; KServe 0.16; the Compose specification; SkyPilot and
 * dstack.
 */
#include "sim/import/launch/launch_serving.h"

/* LMCache's buffers in units of 2^30 bytes, where it is on; of each rank: orr_launch_serving_finish
 * multiplies them. */
static void convert_buffer(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                           const OrrLaunchRule *rule) {
  double size = 0;
  const gboolean is_on = orr_launch_draft_is_on(
      draft, setting->dialect, "servingenginespec.modelspec.lmcacheconfig.enabled");
  if (!is_on || !setting->value || !*setting->value) {
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                           "LMCache is off, or has no such tier");
  } else if (!orr_launch_serving_number(setting->value, &size) || size < 0) {
    orr_launch_draft_bad(draft, setting, "'%s' is not a size in GB", setting->value);
  } else {
    g_autofree char *text = g_strdup_printf("%.9g GiB", size);
    orr_launch_draft_set(draft, rule->path, text, setting, NULL);
  }
}

static const OrrLaunchConverter converters[] = {
    {"buffer", convert_buffer},
    {NULL, NULL},
};

const OrrLaunchDialect orr_dialect_manifest = {
    .name = "manifest",
    .converters = converters,
};
