/*
 * dialect_container.c - what stands around a server: the image that it runs in, the packages that
 * were installed, the machine that a manifest asks for.
 *
 * An image's tag names the release, and so the stack: vllm/vllm-openai:v0.9.1,
 * lmsysorg/sglang:v0.5.6.post2-cu130, nvcr.io/nvidia/tensorrt-llm/release:1.1.0rc2,
 * nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.5.0. NVIDIA's own images of vLLM and SGLang are
 * tagged by month (25.09-py3), which names no release.
 */
#include <string.h>

#include "sim/import/launch/dialects_serving.h"
#include "sim/import/launch/launch_serving.h"

static const char *family_of(const char *image) {
  static const struct {
    const char *part, *family;
  } families[] = {
      {"dynamo/tensorrtllm", "dynamo-trtllm"},
      {"tensorrt-llm", "trtllm"},
      {"tensorrt_llm", "trtllm"},
      {"tensorrtllm", "trtllm"},
      {"sglang", "sglang"},
      {"vllm", "vllm"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(families); i++)
    if (strstr(image, families[i].part)) return families[i].family;
  return NULL;
}

static void convert_image(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  (void)rule;
  const char *image = setting->value ? setting->value : "";
  const char *slash = strrchr(image, '/'), *colon = strchr(slash ? slash : image, ':');
  const char *family = family_of(image);
  if (strstr(image, "ai-dynamo") && !g_str_has_prefix(family ? family : "", "dynamo"))
    family = NULL; /* its tag is Dynamo's release */
  if (family && colon && orr_launch_serving_stack(draft, family, colon + 1, setting)) return;
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                         "its tag names no release that the library knows");
}

/* "vllm==0.9.1", "sglang[all]==0.5.6", "sglang[all]>=0.4.6". */
static void convert_package(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            const OrrLaunchRule *rule) {
  (void)rule;
  const char *text = setting->value ? setting->value : "", *version = strpbrk(text, "=<>~");
  const char *family = family_of(text);
  if (family && version && orr_launch_serving_stack(draft, family, version, setting)) return;
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "names no release");
}

/* NVIDIA's operator labels each node with its GPU. The first match counts. */
static const struct {
  const char *part, *cluster;
} machines[] = {
    {"gb300", "gb300-nvl72"},      {"gb200", "gb200-nvl72"},
    {"b300", "dgx-b300-superpod"}, {"b200", "dgx-b200-superpod"},
    {"h200", "aws-p5en"},          {"h100", "dgx-h100-superpod"},
    {"a100", "dgx-a100-superpod"}, {"l40s", "l40s-server"},
    {"gh200", "alps-gh200"},       {"rtx-pro-6000", "rtx-pro-6000-server"},
};

static void convert_machine(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            const OrrLaunchRule *rule) {
  g_autofree char *lower = g_ascii_strdown(setting->value ? setting->value : "", -1);
  for (guint i = 0; i < G_N_ELEMENTS(machines); i++) {
    if (!strstr(lower, machines[i].part)) continue;
    orr_launch_draft_set(draft, rule->path, machines[i].cluster, setting, NULL);
    return;
  }
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the library has no such GPU");
}

static const OrrLaunchRule rules[] = {
    ORR_SERVING_MAPS(VALUE, "image", "workload.stack", convert_image),
    ORR_SERVING_MAPS(VALUE, "package", "workload.stack", convert_package),
    ORR_SERVING_MAPS(VALUE, "gpu-product", "cluster.base", convert_machine),
    ORR_SERVING_MAPS(VALUE, "replicas", "workload.replicas", orr_launch_convert_later),
    ORR_SERVING_IGNORES(VALUE, "gpus", "the server's parallelism says how many GPUs it uses"),
    ORR_SERVING_IGNORES(VALUE, "option.*", "how the container is run"),
};

const OrrLaunchDialect orr_dialect_container = {
    .name = "container",
    .sentence = "Images, packages and manifests around a server.",
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
};
