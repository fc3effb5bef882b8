/*
 * test_machine.c - a device and its profile, found by name or from a scenario: both give the same
 * costs.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/machine.h"

static char *folder;
static OrrLibrary *library;

static void put(const char *subfolder, const char *name, const char *text) {
  g_autofree char *path = g_build_filename(folder, subfolder, NULL),
                  *file = g_build_filename(path, name, NULL);
  g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
  g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static void remove_file(const char *subfolder, const char *name) {
  g_autofree char *path = g_build_filename(folder, subfolder, name, NULL);
  g_remove(path);
}

static void load(const char *name, OrrMachine *ret_machine) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  gboolean is_loaded = orr_machine_load(library, name, ret_machine, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  g_assert_true(is_loaded);
}

static double gemm_seconds(const OrrMachine *machine) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCostModel) model = orr_machine_costs(machine, &error);
  g_assert_no_error(error);
  OrrOperator op =
      orr_operator_gemm("test", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 4096, 4096, 4096});
  return orr_cost_operator(model, &op).time_s;
}

/* @what is part of the first warning; NULL: no warning. */
static void assert_warned(const OrrMachine *machine, const char *what) {
  g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
  orr_machine_warn(machine, warnings);
  g_assert_cmpuint(warnings->len, ==, what ? 1 : 0);
  if (what && !strstr(warnings->pdata[0], what))
    g_error("'%s' does not say '%s'", (char *)warnings->pdata[0], what);
}

/* A measured device, one that uses another device's rows, one with a datasheet alone, and a bare
 * one: each by name, and from a device that a scenario holds. */
static void test_both_ways(void) {
  static const char *const names[] = {"h100-sxm", "a100-40gb-sxm", "l40s", "bare"};
  static const char *const warnings[] = {NULL, "the kernels of a100-80gb-sxm are scaled",
                                         "only matrix products measured",
                                         "optimistic: no measured kernels of bare"};
  put("devices", "bare.yaml", "schema: device/1\nbase: h100-sxm\nname: bare\n");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_auto(OrrMachine) by_name = {NULL}, of = {NULL};
    load(names[i], &by_name);
    g_assert_cmpstr(by_name.device->name, ==, names[i]);
    g_assert_true(orr_machine_of(library, by_name.device, &of, diags));
    g_assert_cmpfloat(gemm_seconds(&by_name), ==, gemm_seconds(&of));
    assert_warned(&by_name, warnings[i]);
    assert_warned(&of, warnings[i]);
  }
  remove_file("devices", "bare.yaml");
}

/* A device with twice the rates and bandwidth of the device that its rows were measured on takes
 * half the time, but for the overhead of 2.6 us. */
static void test_changed_device(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) plain = {NULL}, changed = {NULL};
  load("h100-sxm", &plain);
  OrrDevice twice = *plain.device;
  twice.bf16_flops *= 2;
  twice.memory_bytes_per_s *= 2;
  g_assert_true(orr_machine_of(library, &twice, &changed, diags));
  g_assert_nonnull(changed.measured_on);
  g_assert_cmpfloat_with_epsilon(gemm_seconds(&changed) / gemm_seconds(&plain), 0.5, 0.02);
}

/* The costs of a device of @own, whose bandwidth is @times the library's. */
static double seconds_of(OrrLibrary *own, const char *name, double times, OrrCostTables **tables) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) by_name = {NULL}, machine = {NULL};
  g_assert_true(orr_machine_load_device(own, name, &by_name, diags));
  OrrDevice device = *by_name.device;
  device.memory_bytes_per_s *= times;
  device.bf16_flops *= times;
  g_assert_true(orr_machine_of(own, &device, &machine, diags));
  *tables = machine.tables;
  return gemm_seconds(&machine);
}

/* Machines of one library share their tables, and give the answers of a fresh library in whichever
 * order they are asked. */
static void test_shared_tables(void) {
  static const char *const names[] = {"h100-sxm", "a100-40gb-sxm"};
  const char *const folders[] = {folder, NULL};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    double alone[2], before[2], after[2];
    OrrCostTables *tables[2], *again;
    g_autoptr(OrrLibrary) up = orr_library_new(folders), down = orr_library_new(folders);
    for (int k = 0; k < 2; k++) {
      g_autoptr(OrrLibrary) fresh = orr_library_new(folders);
      alone[k] = seconds_of(fresh, names[i], 1 + k, &again);
      before[k] = seconds_of(up, names[i], 1 + k, &tables[k]);
      after[1 - k] = seconds_of(down, names[i], 2 - k, &again);
    }
    g_assert_true(tables[0] && tables[0] == tables[1]);
    for (int k = 0; k < 2; k++) {
      g_assert_cmpfloat(before[k], ==, alone[k]);
      g_assert_cmpfloat(after[k], ==, alone[k]);
    }
  }
}

static const char profile_text[] =
    "schema: profile/1\nname: strange\ndevice: nowhere\ngemm:\n"
    "- dtype: bf16\n  source: s\n  m: \"4096\"\n  rows:\n  - {n: 4096, k: 4096, us: \"321\"}\n";

/* Rows measured on a device that the library lacks count as the machine's own, with a warning. Such
 * a profile without a device is an error, since nothing can scale or model its gaps. A device that
 * names a profile that does not exist is an error. */
static void test_unknown(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) machine = {NULL}, alone = {NULL}, missing = {NULL};
  put("profiles", "strange.yaml", profile_text);
  put("devices", "mine.yaml", "schema: device/1\nbase: h100-sxm\nname: mine\nprofile: strange\n");
  put("devices", "lost.yaml", "schema: device/1\nbase: h100-sxm\nname: lost\nprofile: strang\n");
  load("mine", &machine);
  g_assert_null(machine.tables);
  g_assert_cmpfloat_with_epsilon(gemm_seconds(&machine), 321e-6, 1e-12);
  assert_warned(&machine, "the library has no device nowhere");
  g_assert_false(orr_machine_load(library, "strange", &alone, diags));
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 1);
  g_assert_false(orr_machine_load(library, "lost", &missing, diags));
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_nonnull(strstr(findings, "strange")); /* the nearest name */
  remove_file("profiles", "strange.yaml");
  remove_file("devices", "mine.yaml");
  remove_file("devices", "lost.yaml");
}

/* The shipped modules are read when a model needs them, a user's at once: their faults, a name
 * that does not exist and a profile without modules are findings. */
static void test_borrowed_modules(void) {
  static const char head[] = "schema: profile/1\nname: attention-modules\ndevice: h100-sxm\n";
  static const char *const wrong[][2] = {
      {"modules-of: nowhere\nmodules: {}\n", "unknown profile 'nowhere'"},
      {"modules: {}\n", "no modules of its own"},
      {"modules: {tables: [{name: t, kind: round, source: s, floor: 1 us, scales: [1, 1, 1, 1, 1], "
       "differences: [1, 1, 1, 1, 1, 1, 1, 1, 1], variance: 1, noise: 1, groups: []}]}\n",
       "kind is 'round'"}};
  const char *const folders[] = {folder, NULL};
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_autoptr(OrrLibrary) own = orr_library_new(folders);
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_auto(OrrMachine) machine = {NULL};
    g_autofree char *text = g_strconcat(head, wrong[i][0], NULL);
    put("profiles", "attention-modules.yaml", text);
    g_assert_false(orr_machine_load(own, i ? "h100-sxm" : "attention-modules", &machine, diags));
    g_autofree char *findings = orr_diags_text(diags);
    g_assert_nonnull(strstr(findings, wrong[i][1]));
    remove_file("profiles", "attention-modules.yaml");
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-machine-XXXXXX", NULL);
  const char *const folders[] = {folder, NULL};
  library = orr_library_new(folders);
  g_test_add_func("/machine/borrowed-modules", test_borrowed_modules);
  g_test_add_func("/machine/both-ways", test_both_ways);
  g_test_add_func("/machine/changed-device", test_changed_device);
  g_test_add_func("/machine/shared-tables", test_shared_tables);
  g_test_add_func("/machine/unknown", test_unknown);
  int status = g_test_run();
  orr_library_free(library);
  remove_file("devices", "");
  remove_file("profiles", "");
  g_rmdir(folder);
  return status;
}
