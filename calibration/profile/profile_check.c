/*
 * profile_check.c - the checks that all sections of a profile share: axes, rows, repeats.
 */
#include "calibration/profile/profile_private.h"

OrrPlace orr_profile_check_place(const OrrNode *map, const char *key) {
  const OrrNode *node = orr_node_get(map, key);
  return node ? node->place : map->place;
}

/* The length of the list of numbers in @text; 0, with a finding, where it is not one. */
static guint check_numbers(const OrrNode *map, const char *key, const char *text, gboolean holes,
                           OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) numbers = orr_profile_numbers(text, holes, &error);
  if (!numbers)
    orr_diags_error(diags, orr_profile_check_place(map, key), "%s: %s", key, error->message);
  else if (numbers->len == 0)
    orr_diags_error(diags, orr_profile_check_place(map, key), "%s: no numbers", key);
  return numbers ? numbers->len : 0;
}

guint orr_profile_check_axis(const OrrNode *map, const char *key, const char *text,
                             OrrDiags *diags) {
  guint n = check_numbers(map, key, text, FALSE, diags);
  g_autoptr(GArray) axis = n ? orr_profile_numbers(text, FALSE, NULL) : NULL;
  for (guint i = 1; i < n; i++)
    if (g_array_index(axis, double, i) <= g_array_index(axis, double, i - 1)) {
      orr_diags_error(diags, orr_profile_check_place(map, key), "%s: value %u does not rise", key,
                      i + 1);
      return 0;
    }
  return n;
}

void orr_profile_check_row(const OrrNode *map, const char *text, guint wanted, gboolean holes,
                           OrrDiags *diags) {
  guint n = check_numbers(map, "us", text, holes, diags);
  if (n && wanted && n != wanted)
    orr_diags_error(diags, orr_profile_check_place(map, "us"),
                    "us: %u values, but the axes need %u", n, wanted);
}

void orr_profile_check_unique(GHashTable *seen, char *key, const OrrNode *map, OrrDiags *diags) {
  if (g_hash_table_contains(seen, key))
    orr_diags_error(diags, map->place, "duplicate row: %s", key);
  g_hash_table_add(seen, key);
}
