/*
 * fuzz_launch_config.c - libFuzzer target: no bytes may break the readers of trainers' configs or
 * what their dialects make of them. The first byte selects: 't' TOML, 'p' Python, others YAML and
 * JSON; 'a' leaves model and nodes to be assumed.
 */
#include <string.h>

#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_form.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static OrrLibrary *library;
  static const OrrLaunchOptions options = {
      .cluster = "dgx-h100-superpod", .model = "llama-3.1-8b", .nodes = 2};
  static const OrrLaunchOptions bare = {.cluster = "dgx-h100-superpod"};
  if (!library) library = orr_library_new(NULL);
  if (size == 0) return 0;
  g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
  const gsize length = strlen(text);
  if (!g_utf8_validate(text, (gssize)length, NULL)) return 0; /* files are, or are refused */
  g_autoptr(OrrLaunchDraft) draft =
      orr_launch_draft_new(library, data[0] == 'a' ? &bare : &options);
  g_autoptr(GError) error = NULL;
  const char *name = data[0] == 't' ? "c.toml" : data[0] == 'p' ? "c.py" : "c.yaml";
  orr_launch_form_add_text(draft, name, text, length);
  orr_launch_form_read(draft);
  g_autofree char *scenario = orr_launch_draft_scenario(draft, &error);
  g_assert_true((scenario != NULL) == (error == NULL));
  return 0;
}
