/*
 * dialect_sglang_router.c - the router in front of SGLang's servers: `python -m
 * sglang_router.launch_router`, and `sglang_router.launch_server`, which starts --dp-size servers,
 * too, and has the router's options as --router-*.
 *
 * Source: sgl-router, py_src/sglang_router/router_args.py, launch_server.py.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_private.h"

/* Addresses of more servers than the input has lines for. */
static void compare_servers(OrrLaunchDraft *draft) {
  const char *urls = orr_launch_draft_value(draft, &orr_dialect_sglang_router, "worker-urls");
  const char *replicas = orr_launch_draft_get(draft, "workload.replicas");
  g_auto(GStrv) all = g_strsplit(urls ? urls : "", " ", -1);
  const guint asked = g_strv_length(all);
  const guint64 there = replicas ? g_ascii_strtoull(replicas, NULL, 10) : 1;
  if (asked > 1 && asked != there)
    orr_launch_draft_remark(draft,
                            "--worker-urls has %u servers, and the input starts %" G_GUINT64_FORMAT
                            ": set workload.replicas, and cluster.gpus, to their real numbers",
                            asked, there);
}

static void finish(OrrLaunchDraft *draft) {
  static const char *const thresholds[] = {"cache-threshold", "balance-abs-threshold",
                                           "balance-rel-threshold"};
  orr_launch_draft_settle(draft, &orr_dialect_sglang_router, "policy");
  const char *router = orr_launch_draft_get(draft, "workload.router.kind");
  for (guint i = 0; i < G_N_ELEMENTS(thresholds); i++) {
    OrrLaunchSetting *setting =
        orr_launch_draft_find(draft, &orr_dialect_sglang_router, thresholds[i]);
    if (g_strcmp0(router, "prefix-aware") == 0)
      orr_launch_draft_settle(draft, &orr_dialect_sglang_router, thresholds[i]);
    else if (setting)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "only cache_aware uses it");
  }
  compare_servers(draft);
}

const OrrLaunchDialect orr_dialect_sglang_router = {
    .name = "sglang-router",
    .is_for_all = TRUE,
    .shares_load = TRUE,
    .has_own_options = TRUE,
    .takes_no_words = TRUE,
    .kind = "serving",
    .finish = finish,
};
