/*
 * registry.c - finds entries by name and lists their names.
 */
#include "sim/base/registry.h"

const OrrEntry *orr_registry_find(const OrrRegistry *registry, const char *name) {
  for (const OrrEntry *const *entry = registry->entries; *entry; entry++)
    if (g_str_equal((*entry)->name, name)) return *entry;
  return NULL;
}

const char **orr_registry_names(const OrrRegistry *registry) {
  guint n = 0;
  while (registry->entries[n]) n++;
  const char **names = g_new0(const char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = registry->entries[i]->name;
  return names;
}
