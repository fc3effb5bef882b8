/*
 * shared_library.h - one library for all runs of a test program. It keeps the documents that it
 * read and the tables of costs that were built of them; a program that opens a library for each
 * run spends most of its time on these.
 */
#pragma once

#include "sim/run/machine.h"

static inline OrrLibrary *shared_library(void) {
  static OrrLibrary *library = NULL;
  if (!library) library = orr_library_new(NULL);
  return library;
}

/* Reads the profile of the @device and builds its tables: children started afterwards find them.
 */
static inline void shared_costs(const char *device) {
  static GHashTable *built = NULL;
  if (!built) built = g_hash_table_new(g_str_hash, g_str_equal);
  if (!g_hash_table_add(built, (gpointer)device)) return;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) by_name = {NULL}, machine = {NULL};
  g_assert_true(orr_machine_load_device(shared_library(), device, &by_name, diags));
  g_assert_true(orr_machine_of(shared_library(), by_name.device, &machine, diags));
  g_autoptr(OrrCostModel) cost = orr_machine_costs(&machine, NULL);
  orr_cost_build_all(cost);
}
