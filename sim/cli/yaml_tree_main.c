/*
 * yaml_tree_main.c - the build's program that writes the binary forms of shipped documents:
 *
 *   yaml-tree FOLDER FILE.yaml...    writes FOLDER/FILE.yaml.tree of each
 */
#include "sim/base/file.h"
#include "sim/base/yaml.h"
#include "sim/base/yaml_tree.h"

static gboolean write_form(const char *folder, const char *path, GError **error) {
  gsize length = 0, size = 0;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = orr_file_read(path, ORR_YAML_MAX_BYTES, &length, error);
  g_autoptr(OrrNode) root = text ? orr_yaml_parse(text, length, path, diags) : NULL;
  if (!text || !orr_diags_check(diags, error)) return FALSE;
  g_autoptr(GBytes) bytes = orr_yaml_tree_bytes(root, text, length);
  g_autofree char *name = g_path_get_basename(path), *form = g_strconcat(name, ".tree", NULL);
  g_autofree char *to = g_build_filename(folder, form, NULL);
  const char *data = g_bytes_get_data(bytes, &size);
  return orr_file_write(to, data, (gssize)size, error);
}

int main(int argc, char **argv) {
  g_autoptr(GError) error = NULL;
  for (int i = 2; i < argc; i++)
    if (!write_form(argv[1], argv[i], &error)) {
      fprintf(stderr, "yaml-tree: %s: %s\n", argv[i], error->message);
      return 1;
    }
  return 0;
}
