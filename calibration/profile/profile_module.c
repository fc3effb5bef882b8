/*
 * profile_module.c - the field tables of the section `modules`, and its checks.
 */
#include "calibration/profile/profile_module.h"

#include "calibration/profile/profile_private.h"
#include "sim/base/library.h"

#define RATE(key_, member_)                                                                        \
  ORR_FIELD_REAL(OrrProfileModuleDevice, key_, member_, ORR_UNIT_FLOP_PER_S, NULL,                 \
                 "Dense rate in " key_ "; where it has none, of the next wider format.",           \
                 .flags = ORR_FIELD_POSITIVE)

static const OrrFieldTable device_table = ORR_FIELDS(
    "profile-module-device", "A device of the rows.", OrrProfileModuleDevice,
    ORR_FIELD_TEXT(OrrProfileModuleDevice, "name", name, NULL, "The device."),
    ORR_COLUMN_TEXT(OrrProfileModuleDevice, "alias", alias,
                    "Its name in the tables of the source. Absent: none."),
    ORR_FIELD_TEXT(OrrProfileModuleDevice, "chip", chip, NULL,
                   "The generation of its chip; devices of one chip run the same kernels."),
    ORR_COLUMN_TEXT(OrrProfileModuleDevice, "standing", standing,
                    "The device whose profile lists the errors of these rows. Absent: itself."),
    ORR_POSITIVE_REAL(OrrProfileModuleDevice, "bandwidth", bandwidth_bytes_per_s,
                      ORR_UNIT_BYTES_PER_S, NULL, "Bandwidth of its memory."),
    RATE("bf16", bf16_flops), RATE("fp8", fp8_flops), RATE("fp4", fp4_flops));

#define WIDTH(key_, member_, fallback_, sentence_)                                                 \
  ORR_FIELD_REAL(OrrProfileModuleLayer, key_, member_, ORR_UNIT_NONE, fallback_, sentence_,        \
                 .flags = ORR_FIELD_UNSIGNED)

static const OrrFieldTable layer_table = ORR_FIELDS(
    "profile-module-layer", "What the work of a layer depends on, on one rank.",
    OrrProfileModuleLayer,
    ORR_FIELD_TEXT(OrrProfileModuleLayer, "name", name, NULL, "The layer's model."),
    WIDTH("hidden", hidden, "0", "Width of the residual stream; 0: a part without products."),
    WIDTH("weights", weights, "0", "Weights of its products that each rank has."),
    WIDTH("head-weights", head_weights, "0", "Weights of its products for each head."),
    WIDTH("key-width", key_width, "0", "Width of a stored entry, as a key."),
    WIDTH("value-width", value_width, "0", "The same as a value."),
    WIDTH("topk", topk, "0", "Entries that a query attends to; 0: all."),
    WIDTH("ratio", ratio, "1", "Tokens of an entry."),
    WIDTH("window", window, "0", "Last tokens that a query also attends to one by one."),
    WIDTH("index-heads", index_heads, "0", "Heads of the indexer."),
    WIDTH("index-width", index_width, "0", "Width of its keys."),
    WIDTH("index-weights", index_weights, "0", "Weights of its products."),
    WIDTH("channels", channels, "0", "Channels of the convolution for each head."),
    WIDTH("state", state, "0", "Elements of the state of a head."),
    WIDTH("output", output, "0", "Width of the result of a head with a state."),
    WIDTH("state-bytes", state_bytes, "0", "Bytes of an element of the state; 0: 4 (fp32)."));

#define NAME(key_, member_, sentence_)                                                             \
  ORR_FIELD_TEXT(OrrProfileModuleGroup, key_, member_, NULL, sentence_)

static const OrrFieldTable group_table = ORR_FIELDS(
    "profile-module-group", "Rows of one kernel.", OrrProfileModuleGroup,
    NAME("op", op, "What was measured (calibration/cost/cost_module.h)."),
    NAME("device", device, "One of `devices`."),
    NAME("engine", engine, "The engine that runs the kernels."),
    NAME("kernel", kernel, "The kernel, as the source names it."),
    NAME("weights", weights, "Format of the products' weights."),
    NAME("cache", cache, "Format of the cache."), NAME("layer", layer, "One of `layers`."),
    ORR_COLUMN_TEXT(OrrProfileModuleGroup, "mode", mode,
                    "How the input was made, where the source says so. Absent: it does not."),
    NAME("rows", rows,
         "Five numbers for each row: heads, sequences, queries and keys of each, microseconds."));

static const OrrFieldTable table_table = ORR_FIELDS(
    "profile-module-table", "Rows whose errors of the roofline resemble each other.",
    OrrProfileModuleTable,
    ORR_FIELD_TEXT(OrrProfileModuleTable, "name", name, NULL, "Name of the table."),
    ORR_FIELD_TEXT(OrrProfileModuleTable, "kind", kind, NULL, "sparse or linear."),
    ORR_FIELD_TEXT(OrrProfileModuleTable, "source", source, NULL, "Who measured it, with what."),
    ORR_POSITIVE_REAL(OrrProfileModuleTable, "floor", floor_s, ORR_UNIT_SECONDS, NULL,
                      "The shortest time, beneath which no work brings a call."),
    ORR_FIELD_REALS(OrrProfileModuleTable, "scales", scales, ORR_UNIT_NONE, NULL,
                    "Doublings of sequences, queries, keys, heads and work over which errors of "
                    "the roofline stay alike.",
                    .min = 0.01, .max = 1000),
    ORR_FIELD_REALS(OrrProfileModuleTable, "differences", differences, ORR_UNIT_NONE, NULL,
                    "Squared distance to a row of another device, chip, engine, kernel, weights' "
                    "format, cache's format, layer, mode, op.",
                    .min = 0, .max = 100),
    ORR_POSITIVE_REAL(OrrProfileModuleTable, "variance", variance, ORR_UNIT_NONE, NULL,
                      "Variance of the logarithm of time over roofline."),
    ORR_POSITIVE_REAL(OrrProfileModuleTable, "noise", noise, ORR_UNIT_NONE, NULL,
                      "Variance of repeated measurements."),
    ORR_FIELD_SECTIONS(OrrProfileModuleTable, "groups", groups, &group_table, NULL,
                       "The rows, by kernel."));

const OrrFieldTable orr_profile_modules_table = ORR_FIELDS(
    "profile-modules", "Measured sparse and linear attention.", OrrProfileModules,
    ORR_OPTIONAL_SECTIONS(OrrProfileModules, "devices", devices, &device_table,
                          "The devices of the rows."),
    ORR_OPTIONAL_SECTIONS(OrrProfileModules, "layers", layers, &layer_table,
                          "The layers of the rows."),
    ORR_OPTIONAL_SECTIONS(OrrProfileModules, "tables", tables, &table_table, "The rows."));

const OrrProfileModuleDevice *orr_profile_module_device(const OrrProfileModules *modules,
                                                        const char *name) {
  for (guint i = 0; name && i < orr_profile_length(modules->devices); i++) {
    const OrrProfileModuleDevice *device = modules->devices->pdata[i];
    if (strcmp(device->name, name) == 0 || g_strcmp0(device->alias, name) == 0) return device;
  }
  return NULL;
}

const OrrProfileModuleLayer *orr_profile_module_layer(const OrrProfileModules *modules,
                                                      const char *name) {
  for (guint i = 0; name && i < orr_profile_length(modules->layers); i++) {
    const OrrProfileModuleLayer *layer = modules->layers->pdata[i];
    if (strcmp(layer->name, name) == 0) return layer;
  }
  return NULL;
}

/* --- modules of another profile --- */

/* The profile that has @profile's modules; the library owns it, and reads it once. */
static const OrrProfile *find_lender(const OrrProfile *profile, OrrPlace place, OrrDiags *diags) {
  g_autofree char *key = g_strconcat("modules of ", profile->modules_of, NULL);
  OrrProfile *lender = orr_library_kept(profile->library, key);
  if (lender) return lender;
  const OrrNode *tree =
      orr_library_borrow(profile->library, "profile", profile->modules_of, place, diags);
  lender = tree ? orr_profile_read(tree, NULL, diags) : NULL;
  if (lender) orr_library_keep(profile->library, key, lender, (GDestroyNotify)orr_profile_free);
  if (lender && !lender->modules.tables)
    orr_diags_error(diags, place, "profile '%s' has no modules of its own", profile->modules_of);
  return lender;
}

static gboolean borrows(const OrrProfile *profile) {
  return profile->modules_of && profile->library && !profile->modules.tables;
}

void orr_profile_modules_find(const OrrProfile *profile, OrrPlace place, OrrDiags *diags) {
  if (!borrows(profile)) return;
  g_autofree char *path = orr_library_path(profile->library, "profile", profile->modules_of);
  if (!path || !g_str_has_prefix(path, orr_library_shipped(profile->library)))
    find_lender(profile, place, diags);
}

const OrrProfileModules *orr_profile_modules(const OrrProfile *profile) {
  if (!borrows(profile)) return &profile->modules;
  g_autoptr(OrrDiags) unread = orr_diags_new();
  const OrrPlace place = {g_intern_string(profile->name), 0, 0};
  const OrrProfile *lender = find_lender(profile, place, unread);
  return lender ? &lender->modules : &profile->modules;
}

/* --- checks --- */

static void check_length(const OrrNode *map, const char *key, const GArray *numbers, guint wanted,
                         OrrDiags *diags) {
  if (numbers->len != wanted)
    orr_diags_error(diags, orr_profile_check_place(map, key), "%s has %u numbers: want %u", key,
                    numbers->len, wanted);
}

static void check_group(const OrrProfileModules *modules, const OrrProfileModuleGroup *group,
                        const OrrNode *map, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) numbers = orr_profile_numbers(group->rows, FALSE, &error);
  if (!orr_profile_module_device(modules, group->device))
    orr_diags_error(diags, orr_profile_check_place(map, "device"), "'%s' is not among `devices`",
                    group->device);
  if (!orr_profile_module_layer(modules, group->layer))
    orr_diags_error(diags, orr_profile_check_place(map, "layer"), "'%s' is not among `layers`",
                    group->layer);
  if (!numbers)
    orr_diags_error(diags, orr_profile_check_place(map, "rows"), "rows: %s", error->message);
  else if (numbers->len == 0 || numbers->len % ORR_MODULE_NUMBERS)
    orr_diags_error(diags, orr_profile_check_place(map, "rows"),
                    "%u numbers are not whole rows: a row is heads, sequences, queries, keys, "
                    "microseconds",
                    numbers->len);
}

void orr_profile_modules_check(const OrrProfileModules *modules, const OrrNode *map,
                               OrrDiags *diags) {
  const OrrNode *tables = map ? orr_node_get(map, "tables") : NULL;
  for (guint i = 0; tables && i < orr_profile_length(modules->tables); i++) {
    const OrrProfileModuleTable *table = modules->tables->pdata[i];
    const OrrNode *of = tables->items->pdata[i], *groups = orr_node_get(of, "groups");
    if (strcmp(table->kind, "sparse") != 0 && strcmp(table->kind, "linear") != 0)
      orr_diags_error(diags, orr_profile_check_place(of, "kind"),
                      "kind is '%s': want sparse or linear", table->kind);
    check_length(of, "scales", table->scales, ORR_MODULE_SCALES, diags);
    check_length(of, "differences", table->differences, ORR_MODULE_DIFFERENCES, diags);
    for (guint g = 0; g < table->groups->len; g++)
      check_group(modules, table->groups->pdata[g], groups->items->pdata[g], diags);
  }
}
