/*
 * settings.c - splits "PATH=VALUE" at the first '=' and sets the field that the path names.
 */
#include "sim/base/settings.h"

#include "sim/base/paths.h"

static gboolean apply(const OrrFieldTable *table, OrrNode *tree, const char *setting,
                      GError **error) {
  const char *equals = strchr(setting, '=');
  if (!equals || equals == setting)
    return orr_fault_set(error, ORR_FAULT_USAGE, "--set takes PATH=VALUE, found '%s'", setting);
  const char *file = tree->place.file;
  g_autofree char *path = g_strndup(setting, (gsize)(equals - setting));
  g_autofree char *value =
      orr_relative_value(equals + 1, file && g_file_test(file, G_FILE_TEST_EXISTS) ? file : NULL);
  if (orr_field_set(table, tree, path, value, error)) return TRUE;
  g_prefix_error(error, "--set %s: ", setting);
  return FALSE;
}

gboolean orr_settings_apply(const OrrFieldTable *table, OrrNode *tree, char *const *settings,
                            GError **error) {
  for (; settings && *settings; settings++)
    if (!apply(table, tree, *settings, error)) return FALSE;
  return TRUE;
}

void orr_settings_append(GString *out, const char *setting) {
  const char *equals = strchr(setting, '='), *name = equals;
  while (name > setting && name[-1] != '.') name--;
  g_string_append_printf(out, "%s%.*s %s", out->len ? ", " : "", (int)(equals - name), name,
                         equals + 1);
}
