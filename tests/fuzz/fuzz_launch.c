/*
 * fuzz_launch.c - libFuzzer target: no bytes may break the readers of launch lines and configs. A
 * scenario comes out, or an error, never both.
 */
#include <string.h>

#include "sim/import/launch/launch_form.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"run.sh", "config", "config.yaml", "config.toml"};
  static OrrLibrary *library;
  if (!library) library = orr_library_new(NULL);
  g_autofree char *text = g_strndup((const char *)data, size);
  if (!g_utf8_validate(text, -1, NULL)) return 0;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod", .gpus = 8, .choice = 1};
    g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
    g_autoptr(GError) error = NULL;
    orr_launch_form_add_text(draft, names[i], text, strlen(text));
    orr_launch_form_read(draft);
    g_autofree char *scenario = orr_launch_draft_scenario(draft, &error);
    g_autofree char *account = orr_launch_draft_account(draft);
    g_assert_true((scenario != NULL) == (error == NULL));
    g_assert_nonnull(account);
  }
  return 0;
}
