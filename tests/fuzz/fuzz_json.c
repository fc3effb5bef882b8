/*
 * fuzz_json.c - libFuzzer target: no bytes may break the JSON reader, which comes to the end of the
 * text or says why not.
 */
#include <string.h>

#include "sim/base/json.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrJson json = orr_json_begin((const char *)data, size, "fuzz", diags);
  json.names_keys = TRUE;
  while (orr_json_peek(&json)) {
    const char *before = json.at;
    orr_json_skip(&json);
    g_assert_true(json.is_bad || json.at > before);
  }
  g_assert_true(json.is_bad == (orr_diags_n_errors(diags) > 0));
  g_assert_cmpuint(orr_diags_n_errors(diags), <=, 1);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_true(g_utf8_validate(findings, -1, NULL));
  return 0;
}
