/*
 * test_size.h - how many random cases a long test takes: all, or with ORRERY_TEST_SIZE=small, as
 * `make sanitize` sets it, the first few. Sanitizers look for faults of the code, which is the same
 * in each; the plain run holds every case to its law.
 */
#pragma once

#include <glib.h>

static inline guint test_size(guint all, guint few) {
  return g_strcmp0(g_getenv("ORRERY_TEST_SIZE"), "small") == 0 ? few : all;
}
