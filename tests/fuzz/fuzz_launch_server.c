/*
 * fuzz_launch_server.c - libFuzzer target: no bytes may break the readers of lines that start
 * servers, of manifests and of the configs that they name.
 *
 * The first byte chooses how the text comes: as a script, as a manifest, or as the config that a
 * line of vLLM or TensorRT-LLM names. Rules held here: no scenario means an error; a scenario is
 * YAML.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
static const char vllm[] = "vllm serve Qwen/Qwen3-8B --config config.yaml\n";
static const char trtllm[] = "trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options config.yaml\n";

static void add_sources(OrrLaunchDraft *draft, uint8_t how, const char *text, size_t size) {
  switch (how % 4) {
  case 0:
    orr_launch_form_add_text(draft, "paste.sh", text, size);
    break;
  case 1:
    orr_launch_form_add_text(draft, "manifest.yaml", text, size);
    break;
  case 2:
    orr_launch_form_add_text(draft, "paste.sh", vllm, strlen(vllm));
    orr_launch_form_add_text(draft, "config.yaml", text, size);
    break;
  default:
    orr_launch_form_add_text(draft, "paste.sh", trtllm, strlen(trtllm));
    orr_launch_form_add_text(draft, "config.yaml", text, size);
  }
}

static void check_yaml(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "scenario", diags);
  g_assert_nonnull(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static OrrLibrary *library;
  if (!library) library = orr_library_new(NULL);
  if (size < 2 || !g_utf8_validate((const char *)data + 1, (gssize)size - 1, NULL)) return 0;
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  add_sources(draft, data[0], (const char *)data + 1, size - 1);
  orr_launch_form_read(draft);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_assert_true((text != NULL) == (error == NULL));
  if (text) check_yaml(text);
  return 0;
}
