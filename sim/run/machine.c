/*
 * machine.c - see machine.h.
 */
#include "sim/run/machine.h"

#include <string.h>

static OrrDevice *load_device(OrrLibrary *library, const char *name, OrrDiags *diags) {
  g_autoptr(OrrNode) tree = orr_library_load(library, "device", name, (OrrPlace){NULL, 0, 0}, diags);
  if (!tree) return NULL;
  OrrDevice *device = g_new0(OrrDevice, 1);
  if (orr_fields_read(&orr_device_table, tree, library, diags, device)) return device;
  orr_fields_clear(&orr_device_table, device);
  g_free(device);
  return NULL;
}

static OrrProfile *load_profile(OrrLibrary *library, const char *name, OrrDiags *diags) {
  g_autoptr(OrrNode) tree = orr_library_load(library, "profile", name, (OrrPlace){NULL, 0, 0}, diags);
  return tree ? orr_profile_read(tree, library, diags) : NULL;
}

static gboolean load_profiled(OrrLibrary *library, const char *name, gboolean is_device, OrrMachine *machine,
                              OrrDiags *diags) {
  machine->profile = load_profile(library, name, diags);
  if (!machine->profile) return FALSE;
  const char *rows_of = orr_profile_device(machine->profile);
  machine->device = load_device(library, is_device ? name : rows_of, diags);
  if (!machine->device || !is_device || strcmp(name, rows_of) == 0) return machine->device != NULL;
  machine->measured_on = load_device(library, rows_of, diags);
  return machine->measured_on != NULL;
}

gboolean orr_machine_load(OrrLibrary *library, const char *name, OrrMachine *ret_machine, OrrDiags *diags) {
  g_autofree char *profile_path = orr_library_path(library, "profile", name);
  g_autofree char *device_path = orr_library_path(library, "device", name);
  *ret_machine = (OrrMachine){NULL};
  if (profile_path || !device_path) return load_profiled(library, name, device_path != NULL, ret_machine, diags);
  ret_machine->device = load_device(library, name, diags);
  if (!ret_machine->device || !ret_machine->device->profile) return ret_machine->device != NULL;
  ret_machine->profile = load_profile(library, ret_machine->device->profile, diags);
  return ret_machine->profile != NULL;
}

OrrCostModel *orr_machine_costs(const OrrMachine *machine, GError **error) {
  const OrrDevice *measured_on = machine->measured_on ? machine->measured_on : machine->device;
  return orr_cost_model_new_scaled(machine->profile, measured_on, machine->device, error);
}

static void free_device(OrrDevice *device) {
  if (device) orr_fields_clear(&orr_device_table, device);
  g_free(device);
}

gboolean orr_machine_load_device(OrrLibrary *library, const char *name, OrrMachine *ret_machine, OrrDiags *diags) {
  *ret_machine = (OrrMachine){NULL, load_device(library, name, diags)};
  return ret_machine->device != NULL;
}

void orr_machine_clear(OrrMachine *machine) {
  orr_profile_free(machine->profile);
  free_device(machine->device);
  free_device(machine->measured_on);
  *machine = (OrrMachine){NULL};
}
