/*
 * dialect_container.c - what stands around a server: the image that it runs in, the packages that
 * were installed, the machine that a manifest asks for.
 *
 * The tag of an engine's own image is its release, and so names the stack: vllm/vllm-openai:v0.9.1.
 * Another product's tag is that product's: LMCache's, OpenShift AI's, Dynamo's, a month of NVIDIA's
 * (25.09-py3). There the newest stack answers, with a remark.
 */
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

/* Repositories whose tags are the release of an engine, of any registry or mirror; "*" is a
 * region. To add one: a row. Sources: vLLM's release pipeline (.buildkite), the changelogs of AWS's
 * Deep Learning Containers, SGLang's docker/, NGC. */
static const struct {
  const char *repository, *family;
} releases[] = {
    {"vllm/vllm-openai", "vllm"},
    {"vllm/vllm-openai-rocm", "vllm"},
    {"vllm/vllm-tpu", "vllm-tpu"},
    {"ascend/vllm-ascend", "vllm-ascend"},
    {"q9t5s3a7/vllm-release-repo", "vllm"},
    {"763104351884.dkr.ecr.*.amazonaws.com/vllm", "vllm"},
    {"deep-learning-containers/vllm", "vllm"},
    {"lmsysorg/sglang", "sglang"},
    {"763104351884.dkr.ecr.*.amazonaws.com/sglang", "sglang"},
    {"deep-learning-containers/sglang", "sglang"},
    {"tensorrt-llm/release", "trtllm"},
    {"tensorrt-llm/devel", "trtllm"},
    {"ai-dynamo/tensorrtllm-runtime", "dynamo-trtllm"}, /* the stack is by Dynamo's release */
};

/* The family whose release the tags of @repository are; NULL: they are another product's. */
static const char *family_of_tags(const char *repository) {
  for (guint i = 0; i < G_N_ELEMENTS(releases); i++) {
    g_autofree char *mirrored = g_strconcat("*/", releases[i].repository, NULL);
    if (g_pattern_match_simple(releases[i].repository, repository) ||
        g_pattern_match_simple(mirrored, repository))
      return releases[i].family;
  }
  return NULL;
}

/* What follows an engine's name in a tag, "0.9.1_20250702" of "rocm6.4.1_vllm_0.9.1_20250702";
 * NULL: no release does. */
static const char *named_in_tag(const char *tag, const char *family) {
  const char *name = strstr(tag, family);
  const char *release = name ? name + strlen(family) : "";
  release += strspn(release, "-_v");
  return g_ascii_isdigit(*release) ? release : NULL;
}

/* Whether a tag says nothing at all, so that the newest is meant. */
static gboolean is_newest(const char *tag) {
  static const char *const words[] = {"latest", "nightly", "dev", "main"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (g_str_has_prefix(tag, words[i])) return TRUE;
  return FALSE;
}

static void convert_image(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  const char *image = setting->value ? setting->value : "";
  const char *slash = strrchr(image, '/'), *colon = strchr(slash ? slash : image, ':');
  const char *engine = family_of(image), *tag = colon ? colon + 1 : "latest";
  g_autofree char *repository = g_strndup(image, colon ? (gsize)(colon - image) : strlen(image));
  const char *family = family_of_tags(repository);
  const char *named = engine ? named_in_tag(tag, engine) : NULL;
  if (family && orr_launch_serving_stack(draft, family, tag, setting)) return;
  if (named && orr_launch_serving_stack(draft, engine, named, setting)) return;
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                         "its tag names no release that the library knows");
  if (engine && !is_newest(tag) && !orr_launch_draft_options(draft)->stack)
    orr_launch_draft_remark(draft,
                            "%s: the tag is not a release of %s; --stack NAME says which it holds, "
                            "else the newest known answers",
                            image, engine);
}

/* "vllm==0.9.1", "sglang[all]==0.5.6", "sglang[all]>=0.4.6". */
static void convert_package(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            const OrrLaunchRule *rule) {
  const char *text = setting->value ? setting->value : "", *version = strpbrk(text, "=<>~");
  const char *family = family_of(text);
  if (family && version && orr_launch_serving_stack(draft, family, version, setting)) return;
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "names no release");
}

static const OrrLaunchConverter converters[] = {
    {"image", convert_image},
    {"package", convert_package},
    {NULL, NULL},
};

const OrrLaunchDialect orr_dialect_container = {
    .name = "container",
    .is_for_all = TRUE,
    .only_word = "package",
    .converters = converters,
};
