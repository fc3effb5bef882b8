/*
 * machine.c - see machine.h.
 */
#include "sim/run/machine.h"

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

gboolean orr_machine_load(OrrLibrary *library, const char *name, OrrMachine *ret_machine, OrrDiags *diags) {
  g_autofree char *profile_path = orr_library_path(library, "profile", name);
  g_autofree char *device_path = orr_library_path(library, "device", name);
  *ret_machine = (OrrMachine){NULL, NULL};
  if (profile_path || !device_path) {
    ret_machine->profile = load_profile(library, name, diags);
    if (ret_machine->profile)
      ret_machine->device = load_device(library, orr_profile_device(ret_machine->profile), diags);
    return ret_machine->device != NULL;
  }
  ret_machine->device = load_device(library, name, diags);
  if (!ret_machine->device || !ret_machine->device->profile) return ret_machine->device != NULL;
  ret_machine->profile = load_profile(library, ret_machine->device->profile, diags);
  return ret_machine->profile != NULL;
}

void orr_machine_clear(OrrMachine *machine) {
  orr_profile_free(machine->profile);
  if (machine->device) orr_fields_clear(&orr_device_table, machine->device);
  g_clear_pointer(&machine->device, g_free);
}
