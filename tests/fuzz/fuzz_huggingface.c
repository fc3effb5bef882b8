/*
 * fuzz_huggingface.c - libFuzzer target: no bytes may break the importer of Hugging Face configs;
 * what it writes is YAML that reads back.
 */
#include <string.h>

#include "models/import_huggingface.h"
#include "sim/base/yaml.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(GError) error = NULL;
  g_autofree char *left_out = NULL, *warnings = NULL;
  g_autofree char *text =
      orr_import_huggingface(fuzz_file(data, size), "fuzz", &left_out, &warnings, &error);
  g_assert_true((text != NULL) == (error == NULL));
  if (!text) return 0;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "imported", diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  g_assert_nonnull(tree);
  return 0;
}
