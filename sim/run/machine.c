/*
 * machine.c - loads devices and profiles by name, and warns where a profile is of another device.
 */
#include "sim/run/machine.h"

#include "sim/base/yaml_tree.h"

static OrrDevice *load_device(OrrLibrary *library, const char *name, OrrPlace place,
                              OrrDiags *diags) {
  const OrrNode *tree = orr_library_borrow(library, "device", name, place, diags);
  if (!tree) return NULL;
  OrrDevice *device = g_new0(OrrDevice, 1);
  if (orr_field_read_uncertain(&orr_device_table, tree, library, diags, device, NULL))
    return device;
  orr_field_clear(&orr_device_table, device);
  g_free(device);
  return NULL;
}

static void free_profile(gpointer profile) { orr_profile_free(profile); }

/* The library has one tree of each document, so its address is a key. */
static const OrrProfile *load_profile(OrrLibrary *library, const char *name, OrrPlace place,
                                      OrrDiags *diags) {
  const OrrNode *tree = orr_library_borrow(library, "profile", name, place, diags);
  if (!tree) return NULL;
  g_autofree char *key = g_strdup_printf("profile of %p", (const void *)tree);
  OrrProfile *profile = orr_library_kept(library, key);
  if (profile) return profile;
  profile = orr_profile_read(tree, library, diags);
  if (profile) orr_library_keep(library, key, profile, free_profile);
  return profile;
}

static void free_tables(gpointer tables) { orr_cost_tables_free(tables); }

/* Tables depend on the profile and on the rates of the devices on which its rows were measured. So
 * machines share them where these are the library's devices, and not where a row's device is the
 * scenario's own, which may differ from it. */
static void share_tables(OrrLibrary *library, OrrMachine *machine) {
  const char *name = machine->device->name;
  const gboolean is_libraries =
      machine->measured_on && (machine->named || strcmp(name, machine->measured_on->name) == 0);
  if (machine->own || !is_libraries) return;
  g_autofree char *key =
      g_strdup_printf("tables of %p for %s", (const void *)machine->profile, name);
  machine->tables = orr_library_kept(library, key);
  if (machine->tables) return;
  machine->tables = orr_cost_tables_new(machine->profile);
  orr_library_keep(library, key, machine->tables, free_tables);
}

static gboolean own_device(OrrLibrary *library, const char *name, OrrMachine *machine,
                           OrrDiags *diags) {
  machine->device = machine->own = load_device(library, name, (OrrPlace){NULL, 0, 0}, diags);
  return machine->own != NULL;
}

/* Loads the device that the profile's rows were measured on. A library without that device is not
 * an error: the rows then count as the machine's own, and orr_machine_warn reports it. */
static gboolean load_measured_on(OrrLibrary *library, OrrMachine *machine, OrrDiags *diags) {
  const char *rows_of = orr_profile_device(machine->profile);
  g_autofree char *path = orr_library_path(library, "device", rows_of);
  if (!path || (machine->own && strcmp(machine->device->name, rows_of) == 0)) return TRUE;
  const OrrPlace place = {g_intern_string(orr_profile_name(machine->profile)), 0, 0};
  machine->measured_on = load_device(library, rows_of, place, diags);
  if (!machine->measured_on) return FALSE;
  const char *name = machine->device->name;
  if (machine->own || strcmp(name, rows_of) == 0) return TRUE;
  g_autofree char *own_path = orr_library_path(library, "device", name);
  machine->named = own_path ? load_device(library, name, place, diags) : NULL;
  return machine->named || !own_path;
}

/* The profile of machine->device. */
static gboolean find_profile(OrrLibrary *library, OrrMachine *machine, OrrDiags *diags) {
  const OrrDevice *device = machine->device;
  const char *name = device->profile ? device->profile : device->name;
  g_autofree char *path = orr_library_path(library, "profile", name);
  if (!path && !device->profile) return TRUE;
  machine->profile =
      load_profile(library, name, (OrrPlace){g_intern_string(device->name), 0, 0}, diags);
  if (!machine->profile || !load_measured_on(library, machine, diags)) return FALSE;
  share_tables(library, machine);
  return TRUE;
}

/* Whether the file @path says that it is a document of @kind. */
static gboolean is_of_kind(const char *path, const char *kind) {
  g_autoptr(OrrDiags) unread = orr_diags_new(); /* the reader of the document reports its faults */
  g_autoptr(OrrNode) root = orr_yaml_tree_read_file(path, unread);
  const OrrNode *schema = root ? orr_node_get(root, "schema") : NULL;
  return schema && schema->kind == ORR_NODE_SCALAR && g_str_has_prefix(schema->text, kind);
}

/* A path names the same file, whatever the kind that is looked for: the file says its kind. */
static void keep_its_kind(char **profile_path, char **device_path) {
  if (!*profile_path || !*device_path || strcmp(*profile_path, *device_path) != 0) return;
  g_clear_pointer(is_of_kind(*profile_path, "profile/") ? device_path : profile_path, g_free);
}

gboolean orr_machine_load(OrrLibrary *library, const char *name, OrrMachine *ret_machine,
                          OrrDiags *diags) {
  g_autofree char *profile_path = orr_library_path(library, "profile", name);
  g_autofree char *device_path = orr_library_path(library, "device", name);
  keep_its_kind(&profile_path, &device_path);
  *ret_machine = (OrrMachine){NULL};
  if (device_path && !profile_path)
    return own_device(library, name, ret_machine, diags) &&
           find_profile(library, ret_machine, diags);
  ret_machine->profile = load_profile(library, name, (OrrPlace){NULL, 0, 0}, diags);
  if (!ret_machine->profile) return FALSE;
  const char *device = device_path ? name : orr_profile_device(ret_machine->profile);
  return own_device(library, device, ret_machine, diags) &&
         load_measured_on(library, ret_machine, diags);
}

gboolean orr_machine_of(OrrLibrary *library, const OrrDevice *device, OrrMachine *ret_machine,
                        OrrDiags *diags) {
  *ret_machine = (OrrMachine){.device = device};
  return find_profile(library, ret_machine, diags);
}

gboolean orr_machine_load_device(OrrLibrary *library, const char *name, OrrMachine *ret_machine,
                                 OrrDiags *diags) {
  *ret_machine = (OrrMachine){NULL};
  return own_device(library, name, ret_machine, diags);
}

static void free_device(OrrDevice *device) {
  if (device) orr_field_clear(&orr_device_table, device);
  g_free(device);
}

void orr_machine_clear(OrrMachine *machine) {
  free_device(machine->own);
  free_device(machine->measured_on);
  free_device(machine->named);
  *machine = (OrrMachine){NULL};
}

OrrCostModel *orr_machine_costs(const OrrMachine *machine, GError **error) {
  const OrrDevice *measured_on = machine->measured_on ? machine->measured_on : machine->device;
  OrrCostModel *cost = orr_cost_model_new_scaled(machine->profile, measured_on, machine->named,
                                                 machine->device, error);
  if (cost && machine->tables) orr_cost_model_share(cost, machine->tables);
  return cost;
}

void orr_machine_warn(const OrrMachine *machine, GPtrArray *warnings) {
  const char *device = machine->device->name;
  if (!machine->profile)
    return g_ptr_array_add(
        warnings,
        g_strdup_printf(
            "optimistic: no measured kernels of %s; all are modelled from its datasheet", device));
  const char *rows_of = orr_profile_device(machine->profile);
  const gboolean is_other = strcmp(rows_of, device) != 0;
  if (!orr_profile_has_kernels(machine->profile))
    g_ptr_array_add(
        warnings,
        orr_profile_has_library_products(machine->profile)
            ? g_strdup_printf("only matrix products measured on %s: the other kernels are "
                              "modelled from its datasheet",
                              device)
            : g_strdup_printf("optimistic: no measured kernels of %s; all are modelled from its "
                              "datasheet",
                              device));
  else if (!machine->device->profile && is_other)
    g_ptr_array_add(
        warnings,
        g_strdup_printf("no kernels measured on %s: the kernels of %s are scaled to its datasheet",
                        device, rows_of));
  if (!machine->measured_on && (is_other || !machine->own))
    g_ptr_array_add(warnings, g_strdup_printf("the library has no device %s, on which the profile "
                                              "was measured: its rows count as %s's",
                                              rows_of, device));
}
