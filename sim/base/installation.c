/*
 * installation.c - finds the program's folder through /proc, and the mark of a build folder.
 */
#include "sim/base/installation.h"

#include <sys/stat.h>

#define MARK "orrery-source-tree" /* meson.build writes it */

char *orr_installation_program(void) {
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  return program ? g_path_get_dirname(program) : g_get_current_dir();
}

static gboolean has_same_owner(const char *mark) {
  struct stat program, facts;
  return stat("/proc/self/exe", &program) == 0 && stat(mark, &facts) == 0 &&
         program.st_uid == facts.st_uid;
}

/* The path in the mark of @folder, or NULL. */
static char *read_mark(const char *folder) {
  g_autofree char *mark = g_build_filename(folder, MARK, NULL), *source = NULL;
  if (!has_same_owner(mark) || !g_file_get_contents(mark, &source, NULL, NULL)) return NULL;
  return g_steal_pointer(&source);
}

char *orr_installation_build(char **ret_source) {
  g_autofree char *beside = orr_installation_program();
  g_autofree char *above = g_path_get_dirname(beside), *name = g_path_get_basename(beside);
  char *folder = strcmp(name, "tests") == 0 ? above : beside;
  g_autofree char *source = read_mark(folder);
  if (!source) return NULL;
  if (ret_source) *ret_source = g_strdup(g_strstrip(source));
  return g_strdup(folder);
}

char **orr_installation_folders(const char *relative, const char *installed) {
  g_autoptr(GStrvBuilder) folders = g_strv_builder_new();
  g_autofree char *program = orr_installation_program();
  g_autofree char *near = g_canonicalize_filename(relative, program);
  g_strv_builder_add(folders, near);
  if (strcmp(near, installed) != 0) g_strv_builder_add(folders, installed);
  return g_strv_builder_end(folders);
}
