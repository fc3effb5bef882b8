/*
 * cuda_library.c - opens the libraries of CUDA or HIP at run time and fills tables of their
 * functions.
 */
#include <dlfcn.h>

#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/vendor.h"

static void *open_any(const char *const *files) {
  for (const char *const *file = files; *file; file++) {
    void *library = dlopen(*file, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    g_autofree char *path = g_build_filename(ORR_VENDOR_LIBRARIES, *file, NULL);
    if ((library = dlopen(path, RTLD_NOW | RTLD_LOCAL))) return library;
  }
  return NULL;
}

/* Keeps libraries open until the process ends, because these libraries do not unload cleanly. */
gboolean orr_cuda_library_open(const char *const *files, const OrrCudaSymbol *symbols, guint n,
                               void *table, GError **error) {
  void *library = open_any(files);
  if (!library)
    return orr_fault_set(error, ORR_FAULT_USAGE, "%s was not found (LD_LIBRARY_PATH, %s)", files[0],
                         ORR_VENDOR_LIBRARIES);
  for (guint i = 0; i < n; i++) {
    void *function = dlsym(library, symbols[i].name);
    if (!function && !symbols[i].is_optional)
      return orr_fault_set(error, ORR_FAULT_USAGE, "%s has no %s: it is too old", files[0],
                           symbols[i].name);
    memcpy((char *)table + symbols[i].offset, &function, sizeof function);
  }
  return TRUE;
}
