/*
 * engine_load.c - loads the SimGrid engine when the first one is made.
 *
 * libsimgrid brings some twenty libraries (Debian builds it with ns-3). Loading and leaving them
 * takes 10 ms and 20 MB: more than the whole of a short command, and most commands need no SimGrid.
 * So engine_simgrid.cpp is a module of its own, orrery-simgrid.so, which nothing links with.
 *
 * The module is searched
 *   in the build folder, for a program that runs from there;
 *   next to the program;
 *   in the folder of an installation that was moved (../lib/orrery from the program);
 *   where `meson install` put it.
 *
 * Invariants
 *  1. The module is never unloaded: libraries below it keep pointers to their own code.
 *  2. Program and module agree about the structs that they share, or the module is refused.
 */
#include <dlfcn.h>

#include "sim/base/installation.h"
#include "sim/engine/engine_private.h"

/* meson defines these for this file alone. */
#ifndef ORR_LIB_DIR
#define ORR_LIB_DIR "/usr/lib/orrery"
#endif
#ifndef ORR_DATA_DIR
#define ORR_DATA_DIR "/usr/share/orrery"
#endif

#define MODULE "orrery-simgrid.so"

/* Whether the module was built with the structs of this program. */
static gboolean fits(void *module) {
  const OrrEngineLayout *layout = dlsym(module, "orr_engine_simgrid_layout");
  const OrrEngineLayout own = ORR_ENGINE_LAYOUT;
  return layout && memcmp(layout, &own, sizeof own) == 0;
}

/* NULL where there is no such file, or @ret_why says why it cannot be used. */
static const OrrEngineClass *load_from(const char *folder, char **ret_why) {
  g_autofree char *path = g_build_filename(folder, MODULE, NULL);
  if (*ret_why || !g_file_test(path, G_FILE_TEST_IS_REGULAR)) return NULL;
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const OrrEngineClass *found =
      module && fits(module) ? dlsym(module, "orr_engine_simgrid_class") : NULL;
  if (!found)
    *ret_why = module ? g_strdup_printf("%s belongs to another build", path) : g_strdup(dlerror());
  return found;
}

/* "lib/orrery": the module's folder without the prefix, which it has in common with the data's. */
static const char *below_prefix(void) {
  const char *lib = ORR_LIB_DIR, *data = ORR_DATA_DIR, *name = lib;
  for (; *lib && *lib == *data; lib++, data++)
    if (*lib == '/') name = lib + 1;
  return name;
}

const OrrEngineClass *orr_engine_load_simgrid(GError **error) {
  static const OrrEngineClass *loaded = NULL;
  g_autofree char *why = NULL;
  if (loaded) return loaded;
  g_autofree char *build = orr_installation_build(NULL), *beside = orr_installation_program();
  g_autofree char *near = g_strconcat("../", below_prefix(), NULL);
  g_auto(GStrv) installed = orr_installation_folders(near, ORR_LIB_DIR);
  const char *const folders[] = {build ? build : beside, installed[0], installed[1], NULL};
  for (guint i = 0; !loaded && folders[i]; i++) loaded = load_from(folders[i], &why);
  g_autofree char *searched = g_strjoinv(", ", (char **)folders);
  if (!loaded)
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "the SimGrid engine cannot be loaded: %s%s",
                why ? why : "no " MODULE " in ", why ? "" : searched);
  return loaded;
}
