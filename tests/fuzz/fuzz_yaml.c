/*
 * fuzz_yaml.c - libFuzzer target: no bytes may break the YAML reader, and what it accepts survives
 * writing and reading.
 *
 * Rules held here: no tree means an error; a tree without errors, written and read again, is the
 * same tree.
 */
#include "sim/base/yaml.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse((const char *)data, size, "fuzz", diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_true(g_utf8_validate(findings, -1, NULL));
  if (!tree) g_assert_cmpuint(orr_diags_n_errors(diags), >, 0);
  if (!tree || orr_diags_n_errors(diags) > 0) return 0;
  g_autofree char *text = orr_yaml_text(tree);
  g_autoptr(OrrNode) again = orr_yaml_parse(text, strlen(text), "fuzz-again", diags);
  g_autofree char *new_findings = orr_diags_text(diags);
  g_assert_cmpstr(new_findings, ==, "");
  g_assert_true(orr_node_equal(tree, again));
  return 0;
}
