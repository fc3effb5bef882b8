/*
 * engine_load.c - loads the SimGrid engine when the first one is made.
 *
 * libsimgrid brings some twenty libraries (Debian builds it with ns-3). Loading and leaving them
 * takes 10 ms and 20 MB: more than the whole of a short command, and most commands need no SimGrid.
 * So engine_simgrid.cpp is a module of its own, orrery-simgrid.so, which nothing links with.
 *
 * The module is searched
 *   in the build folder, for a program that runs from there;
 *   beside the program;
 *   where `meson install` put it;
 *   in the build folder, for a program that was copied from there.
 *
 * Invariants
 *  1. The module is never unloaded: libraries below it keep pointers to their own code.
 *  2. Program and module agree about the structs that they share, or the module is refused.
 */
#include <dlfcn.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/engine/engine_load.h"

/* meson defines these for this file alone. */
#ifndef ORR_BUILD_DIR
#define ORR_BUILD_DIR ""
#endif
#ifndef ORR_LIB_DIR
#define ORR_LIB_DIR "/usr/lib/orrery"
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

const OrrEngineClass *orr_engine_load_simgrid(GError **error) {
  static const OrrEngineClass *loaded = NULL;
  g_autofree char *why = NULL;
  g_autofree char *program = loaded ? NULL : g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *beside = g_path_get_dirname(program ? program : ".");
  const gboolean built_here = program && g_str_has_prefix(program, ORR_BUILD_DIR "/");
  const char *const folders[] = {built_here ? ORR_BUILD_DIR : beside, ORR_LIB_DIR, ORR_BUILD_DIR};
  for (guint i = 0; !loaded && i < G_N_ELEMENTS(folders); i++) loaded = load_from(folders[i], &why);
  if (!loaded)
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "the SimGrid engine cannot be loaded: %s",
                why ? why : "no " MODULE " beside the program or in " ORR_LIB_DIR);
  return loaded;
}
