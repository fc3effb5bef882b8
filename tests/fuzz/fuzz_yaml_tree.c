/*
 * fuzz_yaml_tree.c - libFuzzer target: no bytes may break the reader of binary trees, and the form
 * of a YAML text is its tree.
 *
 * Rules held here: what the reader accepts, with a checksum that fits, can be walked, copied and
 * written as YAML; a text without findings, as a form and back, is the same tree.
 */
#include "sim/base/yaml_tree.h"

#include <stdint.h>
#include <string.h>

#include "sim/base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Magic, checksum, bytes of the source, bytes of words, nodes; then 20 bytes for each node, and the
 * source (yaml_tree.c). */
static void read_form(const uint8_t *data, size_t size) {
  guint64 header[5];
  if (size < sizeof header) return;
  memcpy(header, data, sizeof header);
  const guint64 n_source = header[2], n_nodes = header[4];
  if (n_source > size || n_nodes > size) return;
  const guint64 source = sizeof header + n_nodes * 20;
  if (source + n_source > size) return;
  guint8 *form = g_memdup2(data, size);
  orr_yaml_tree_seal(form, size);
  g_autofree char *text = g_memdup2(data + source, n_source);
  g_autoptr(GBytes) bytes = g_bytes_new_take(form, size);
  g_autoptr(OrrYamlTree) tree = orr_yaml_tree_new(bytes, text, n_source, "fuzz");
  if (!tree) return;
  g_autoptr(OrrNode) root = orr_yaml_tree_root(tree);
  g_autoptr(OrrNode) copy = orr_node_copy(root);
  g_assert_true(orr_node_equal(root, copy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_form(data, size);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) root = orr_yaml_parse((const char *)data, size, "fuzz", diags);
  if (!root || orr_diags_n_errors(diags) > 0) return 0;
  g_autoptr(GBytes) bytes = orr_yaml_tree_bytes(root, (const char *)data, size);
  g_autoptr(OrrYamlTree) tree = orr_yaml_tree_new(bytes, (const char *)data, size, "fuzz");
  g_assert_nonnull(tree);
  g_autoptr(OrrNode) read = orr_yaml_tree_root(tree);
  g_assert_true(orr_node_equal(root, read));
  return 0;
}
