/* test_launch_image.c - which release the tag of an image names, and whose. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_form.h"

/* @stack: of the scenario; NULL: the newest known, with a remark about the tag. */
static const struct {
  const char *image, *command, *stack;
} images[] = {
    {"vllm/vllm-openai:v0.9.1", "vllm serve", "vllm-0.9"},
    {"vllm/vllm-openai:v0.8.5", "vllm serve", "vllm-0.8"},
    {"vllm/vllm-openai:v0.7.3", "vllm serve", "vllm-0.6"},
    {"vllm/vllm-openai:v0.4.0", "vllm serve", "vllm-0.3"},
    {"docker.io/vllm/vllm-openai:v0.9.1-cu128", "vllm serve", "vllm-0.9"},
    {"harbor.local:5000/hub/vllm/vllm-openai:v0.11.0", "vllm serve", "vllm-0.11"},
    {"rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "vllm serve", "vllm-0.9"},
    {"763104351884.dkr.ecr.eu-west-1.amazonaws.com/vllm:0.9-gpu-py312", "vllm serve", "vllm-0.9"},
    {"public.ecr.aws/deep-learning-containers/vllm:0.11.0-gpu-py312", "vllm serve", "vllm-0.11"},
    {"lmsysorg/sglang:v0.4.9.post2-cu126", "python3 -m sglang.launch_server --model-path",
     "sglang-0.4"},
    {"nvcr.io/nvidia/tensorrt-llm/release:1.1.0rc2", "trtllm-serve", "trtllm-1.1"},
    {"nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.5.0", "trtllm-serve", "dynamo-trtllm-0.5"},
    {"lmcache/vllm-openai:v0.3.9post2", "vllm serve", NULL},
    {"quay.io/modh/vllm:rhoai-2.20-cuda", "vllm serve", NULL},
    {"registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.2", "vllm serve", NULL},
    {"nvcr.io/nvidia/vllm:25.09-py3", "vllm serve", NULL},
    {"nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.5.0", "vllm serve", NULL},
    {"public.ecr.aws/q9t5s3a7/vllm-ci-postmerge-repo:0fe52d7", "vllm serve", NULL},
    {"nvcr.io/nvidia/sglang:25.10-py3", "python3 -m sglang.launch_server --model-path", NULL},
    {"example.com/sglang-fork:v0.3", "python3 -m sglang.launch_server --model-path", NULL},
};

static void assert_stack(OrrLibrary *library, const char *line, const char *expected) {
  static const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  orr_launch_form_add_text(draft, "run.sh", line, strlen(line));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, NULL);
  g_autofree char *warnings = orr_launch_draft_warnings(draft);
  g_autofree char *stack = g_strdup_printf("stack: %s  # image", expected);
  const gboolean is_remarked = strstr(warnings, "the tag is not a release of") != NULL;
  g_assert_nonnull(text);
  if ((strstr(text, stack) != NULL) != (expected != NULL) || is_remarked != (expected == NULL))
    g_error("%s: %s%s", line, text, warnings);
}

static void test_releases(void) {
  OrrLibrary *library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(images); i++) {
    g_autofree char *line = g_strdup_printf("docker run --gpus all %s %s Qwen/Qwen3-8B --port 80\n",
                                            images[i].image, images[i].command);
    assert_stack(library, line, images[i].stack);
  }
  orr_library_free(library);
}

/* What runs the program in an image without being called docker: Pyxis, whose registries end in
 * '#', and Apptainer. */
static void test_runners(void) {
  static const char *const before[] = {
      "srun -N 1 --container-image=vllm/vllm-openai:v0.6.6 --container-mounts=/m:/m",
      "srun --container-image docker://ghcr.io#vllm/vllm-openai:v0.6.6 --overlap",
      "apptainer exec --nv docker://vllm/vllm-openai:v0.6.6",
  };
  OrrLibrary *library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(before); i++) {
    g_autofree char *line = g_strdup_printf("%s vllm serve Qwen/Qwen3-8B --port 80\n", before[i]);
    assert_stack(library, line, "vllm-0.6");
  }
  orr_library_free(library);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch-image/releases", test_releases);
  g_test_add_func("/launch-image/runners", test_runners);
  return g_test_run();
}
