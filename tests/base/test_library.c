/*
 * test_library.c - names become trees: search order, bases, schema, names.
 *
 * Each test works in a folder of its own: `user` (given first) and `shipped`.
 */
#include "sim/base/library.h"

#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/field.h"
#include "sim/base/yaml.h"

static const OrrPlace asked = {"t.yaml", 3, 10};

typedef struct {
  char *root, *user, *shipped;
  OrrLibrary *library;
  OrrDiags *diags;
} Fixture;

static void put(const char *folder, const char *path, const char *text) {
  g_autofree char *file = g_build_filename(folder, path, NULL);
  g_autofree char *parent = g_path_get_dirname(file);
  g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
  g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static void set_up(Fixture *fixture, gconstpointer data) {
  (void)data;
  fixture->root = g_dir_make_tmp("orrery-library-XXXXXX", NULL);
  fixture->user = g_build_filename(fixture->root, "user", NULL);
  fixture->shipped = g_build_filename(fixture->root, "shipped", NULL);
  const char *folders[] = {fixture->user, NULL};
  g_setenv("ORRERY_SHIPPED", fixture->shipped, TRUE);
  g_unsetenv("ORRERY_PATH");
  fixture->library = orr_library_new(folders);
  fixture->diags = orr_diags_new();
}

static void remove_tree(const char *path) {
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *child = g_build_filename(path, name, NULL);
    remove_tree(child);
  }
  g_remove(path);
}

static void tear_down(Fixture *fixture, gconstpointer data) {
  (void)data;
  remove_tree(fixture->root);
  orr_library_free(fixture->library);
  orr_diags_free(fixture->diags);
  g_free(fixture->root);
  g_free(fixture->user);
  g_free(fixture->shipped);
}

static void assert_told(Fixture *fixture, const char *wanted) {
  g_autofree char *text = orr_diags_text(fixture->diags);
  if (!strstr(text, wanted)) g_error("'%s' is not in '%s'", wanted, text);
}

static void test_search_order(Fixture *fixture, gconstpointer data) {
  (void)data;
  put(fixture->shipped, "topologies/devices/a.yaml", "{schema: device/1, from: shipped}");
  put(fixture->shipped, "topologies/devices/b.yaml", "{schema: device/1, from: shipped}");
  put(fixture->user, "devices/a.yaml", "{schema: device/1, from: user}"); /* flat */
  g_autoptr(OrrNode) a = orr_library_load(fixture->library, "device", "a", asked, fixture->diags);
  g_autoptr(OrrNode) b = orr_library_load(fixture->library, "device", "b", asked, fixture->diags);
  g_assert_cmpstr(orr_node_get_text(a, "from"), ==, "user");
  g_assert_cmpstr(orr_node_get_text(b, "from"), ==, "shipped");
  g_auto(GStrv) names = orr_library_names(fixture->library, "devices");
  g_assert_cmpuint(g_strv_length(names), ==, 2);
  g_assert_cmpstr(names[0], ==, "a");
  g_assert_cmpstr(names[1], ==, "b");
  g_assert_cmpstr(orr_library_shipped(fixture->library), ==, fixture->shipped);
}

static void test_orrery_path(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = g_strdup_printf("/nowhere::%s", fixture->user);
  put(fixture->user, "models/zoo/m.yaml", "schema: model/1");
  g_setenv("ORRERY_PATH", path, TRUE);
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_unsetenv("ORRERY_PATH");
  g_autofree char *found = orr_library_path(library, "model", "m");
  g_assert_nonnull(found);
  g_assert_true(g_str_has_prefix(found, fixture->user));
}

/* c over b over a: the topmost wins key by key, no `base` is left, and the second load (from
 * memory) is equal. */
static void test_bases(Fixture *fixture, gconstpointer data) {
  (void)data;
  put(fixture->shipped, "topologies/clusters/a.yaml",
      "{schema: cluster/1, x: 1, y: 1, z: {p: 1, q: 1}}");
  put(fixture->shipped, "topologies/clusters/b.yaml",
      "{schema: cluster/1, base: a, y: 2, z: {q: 2}}");
  g_autoptr(OrrDiags) parse = orr_diags_new();
  const char *text = "{base: b, x: 3}";
  g_autoptr(OrrNode) section = orr_yaml_parse(text, strlen(text), "t.yaml", parse);
  const char *wanted_text = "{schema: cluster/1, x: 3, y: 2, z: {p: 1, q: 2}}";
  g_autoptr(OrrNode) wanted = orr_yaml_parse(wanted_text, strlen(wanted_text), "w", parse);
  g_autoptr(OrrNode) first =
      orr_library_expand(fixture->library, "cluster", section, fixture->diags);
  g_autoptr(OrrNode) second =
      orr_library_expand(fixture->library, "cluster", section, fixture->diags);
  g_assert_true(orr_node_equal(first, wanted));
  g_assert_true(orr_node_equal(second, wanted));
}

static void test_cycle(Fixture *fixture, gconstpointer data) {
  (void)data;
  put(fixture->shipped, "topologies/devices/a.yaml", "{schema: device/1, base: b}");
  put(fixture->shipped, "topologies/devices/b.yaml", "{schema: device/1, base: c}");
  put(fixture->shipped, "topologies/devices/c.yaml", "{schema: device/1, base: b}");
  g_assert_null(orr_library_load(fixture->library, "device", "a", asked, fixture->diags));
  assert_told(fixture, "c.yaml:1:26: error: 'base' goes in a circle: b -> c -> b");
  g_assert_cmpuint(orr_diags_n_errors(fixture->diags), ==, 1);
}

static void test_unknown_name(Fixture *fixture, gconstpointer data) {
  (void)data;
  put(fixture->shipped, "topologies/devices/h100-sxm.yaml", "schema: device/1");
  g_assert_null(orr_library_load(fixture->library, "device", "h10-sxm", asked, fixture->diags));
  assert_told(
      fixture,
      "t.yaml:3:10: error: unknown device 'h10-sxm': did you mean 'h100-sxm'? (known: h100-sxm)");
  g_assert_null(
      orr_library_load(fixture->library, "device", "../devices/h100-sxm", asked, fixture->diags));
  g_assert_null(orr_library_load(fixture->library, "device", "", asked, fixture->diags));
  g_assert_cmpuint(orr_diags_n_errors(fixture->diags), ==, 3);
}

static void assert_schema(Fixture *fixture, const char *text, const char *wanted) {
  put(fixture->root, "s.yaml", text);
  g_autofree char *path = g_build_filename(fixture->root, "s.yaml", NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) root = orr_library_read_file(fixture->library, "scenario", path, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_true(wanted ? root == NULL : root != NULL);
  if (!strstr(found, wanted ? wanted : "")) g_error("'%s' is not in '%s'", wanted, found);
}

static void test_schema(Fixture *fixture, gconstpointer data) {
  (void)data;
  assert_schema(fixture, "schema: scenario/1", NULL);
  assert_schema(
      fixture, "name: x",
      "s.yaml:1:1: error: missing key 'schema': a scenario begins with 'schema: scenario/1'");
  assert_schema(fixture, "schema: model/1",
                "s.yaml:1:9: error: 'schema' must be 'scenario/1' here, found 'model/1'");
  assert_schema(fixture, "schema: scenario/2",
                "'schema' must be 'scenario/1' here, found 'scenario/2'");
  assert_schema(fixture, "schema: [a]", "'schema' must be 'scenario/1'");
  assert_schema(fixture, "- a", "s.yaml:1:1: error: a document must be a map");
  assert_schema(fixture, "{schema: scenario/1, base: [a]}",
                "s.yaml:1:28: error: 'base' must be the name of a scenario");
}

/* A section, an item of a list and a choice may each be a document's name. */
typedef struct {
  char *name;
  gint64 gpus;
} Device;

typedef struct {
  Device device;
  OrrChoice workload;
} World;

static const OrrField device_fields[] = {
    ORR_FIELD_TEXT(Device, "name", name, NULL, "Its name."),
    ORR_FIELD_INT(Device, "gpus", gpus, "1", "How many."),
};
static const OrrFieldTable device_table =
    ORR_FIELD_TABLE("device", "A device.", Device, device_fields);
static const OrrEntry training = {"training", "Trains.", &device_table};
static const OrrEntry *const workload_entries[] = {&training, NULL};
static const OrrRegistry workloads = {"workload", workload_entries};
static const OrrField world_fields[] = {
    ORR_FIELD_SECTION(World, "device", device, &device_table, NULL, "The device.",
                      .document = "device"),
    ORR_FIELD_CHOICE(World, "workload", workload, &workloads, NULL, "The work.",
                     .document = "workload"),
};
static const OrrFieldTable world_table = ORR_FIELD_TABLE("world", "A world.", World, world_fields);

static char *read_world(Fixture *fixture, const char *text, World *out) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "t.yaml", diags);
  g_assert_nonnull(node);
  orr_field_read(&world_table, node, fixture->library, diags, out);
  return g_strchomp(orr_diags_text(diags));
}

static void assert_world(Fixture *fixture, const char *text, gint64 device_gpus,
                         gint64 workload_gpus) {
  World world;
  g_autofree char *found = read_world(fixture, text, &world);
  g_assert_cmpstr(found, ==, "");
  g_assert_cmpint(world.device.gpus, ==, device_gpus);
  g_assert_true(world.workload.entry == &training);
  g_assert_cmpint(((const Device *)world.workload.params)->gpus, ==, workload_gpus);
  orr_field_clear(&world_table, &world);
}

static void test_sections_by_name(Fixture *fixture, gconstpointer data) {
  (void)data;
  World world;
  put(fixture->shipped, "topologies/devices/h100.yaml", "{schema: device/1, name: h, gpus: 8}");
  put(fixture->shipped, "workloads/recipes/big.yaml",
      "{schema: workload/1, kind: training, name: w, gpus: 64}");
  assert_world(fixture, "{device: h100, workload: big}", 8, 64);
  assert_world(fixture, "{device: {base: h100, gpus: 4}, workload: {base: big, gpus: 32}}", 4, 32);
  assert_world(fixture, "{device: {name: x}, workload: {kind: training, name: w}}", 1, 1);
  g_autofree char *found = read_world(fixture, "{device: h10, workload: trainig}", &world);
  g_assert_cmpstr(found, ==,
                  "t.yaml:1:10: error: unknown device 'h10': did you mean 'h100'? (known: h100)\n"
                  "t.yaml:1:25: error: unknown workload 'trainig': did you mean 'training'? "
                  "(allowed: training)");
  orr_field_clear(&world_table, &world);
}

/* A path below a name makes the name a base. */
static void test_set_below_a_name(Fixture *fixture, gconstpointer data) {
  (void)fixture;
  (void)data;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const char *text = "{device: h100, workload: big}";
  const char *wanted_text = "{device: {base: h100, gpus: 2}, workload: {base: big, gpus: 3}}";
  g_autoptr(OrrNode) root = orr_yaml_parse(text, strlen(text), "t.yaml", diags);
  g_autoptr(OrrNode) wanted = orr_yaml_parse(wanted_text, strlen(wanted_text), "t.yaml", diags);
  g_assert_true(orr_field_set(&world_table, root, "device.gpus", "2", NULL));
  g_assert_true(orr_field_set(&world_table, root, "workload.gpus", "3", NULL));
  g_assert_true(orr_node_equal(root, wanted));
}

static void test_kinds(Fixture *fixture, gconstpointer data) {
  (void)fixture;
  (void)data;
  g_assert_cmpstr(orr_document_kind_find("models")->subfolder, ==, "models/zoo");
  g_assert_cmpstr(orr_document_kind_find("profile")->plural, ==, "profiles");
  g_assert_null(orr_document_kind_find("planet"));
}

#define ADD(path_, function_) g_test_add(path_, Fixture, NULL, set_up, function_, tear_down)

/* `model: ./own.yaml` is beside the document that says so, `base: ../up.yaml` beside that one;
 * circles are found. */
static void test_paths(Fixture *fixture, gconstpointer data) {
  (void)data;
  put(fixture->root, "work/asking.yaml", "{}");
  put(fixture->root, "work/own.yaml", "{schema: device/1, base: ../up.yaml, b: 2}");
  put(fixture->root, "up.yaml", "{schema: device/1, a: 1, b: 1}");
  put(fixture->root, "work/circle.yaml", "{schema: device/1, base: ../work/circle.yaml}");
  g_autofree char *asking = g_build_filename(fixture->root, "work", "asking.yaml", NULL);
  const OrrPlace place = {g_intern_string(asking), 1, 1};
  g_autoptr(OrrNode) own =
      orr_library_load(fixture->library, "device", "./own.yaml", place, fixture->diags);
  g_assert_nonnull(own);
  g_assert_cmpstr(orr_node_get_text(own, "a"), ==, "1");
  g_assert_cmpstr(orr_node_get_text(own, "b"), ==, "2");
  g_assert_null(
      orr_library_load(fixture->library, "device", "./circle.yaml", place, fixture->diags));
  g_assert_null(orr_library_load(fixture->library, "device", "./none.yaml", place, fixture->diags));
  g_assert_null(orr_library_load(fixture->library, "device", "./own", place,
                                 fixture->diags)); /* no .yaml: a name */
  g_autofree char *findings = orr_diags_text(fixture->diags);
  g_assert_nonnull(strstr(findings, "'base' goes in a circle: "));
  g_assert_nonnull(strstr(findings, "/work/none.yaml: error: cannot be read: No such file"));
  g_assert_nonnull(strstr(findings, "unknown device './own'"));
}

/* A document of the user's in place of a shipped one is remembered, once; one of its own name is
 * not. */
static void test_shadows(Fixture *fixture, gconstpointer data) {
  (void)data;
  put(fixture->user, "devices/x.yaml", "{schema: device/1}");
  put(fixture->user, "devices/y.yaml", "{schema: device/1, base: x}");
  put(fixture->shipped, "topologies/devices/x.yaml", "{schema: device/1}");
  put(fixture->shipped, "topologies/devices/z.yaml", "{schema: device/1}");
  const char *const names[] = {"z", "y", "x"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autoptr(OrrNode) tree =
        orr_library_load(fixture->library, "device", names[i], asked, fixture->diags);
    g_assert_nonnull(tree);
  }
  const GPtrArray *shadows = orr_library_shadows(fixture->library);
  g_assert_cmpuint(shadows->len, ==, 1);
  g_assert_nonnull(strstr(shadows->pdata[0], "device 'x' is read from "));
  g_assert_nonnull(strstr(shadows->pdata[0], "/user/devices/x.yaml in place of the shipped one"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("/library/search-order", test_search_order);
  ADD("/library/orrery-path", test_orrery_path);
  ADD("/library/bases", test_bases);
  ADD("/library/cycle", test_cycle);
  ADD("/library/unknown-name", test_unknown_name);
  ADD("/library/schema", test_schema);
  ADD("/library/sections-by-name", test_sections_by_name);
  ADD("/library/set-below-a-name", test_set_below_a_name);
  ADD("/library/kinds", test_kinds);
  ADD("/library/paths", test_paths);
  ADD("/library/shadows", test_shadows);
  return g_test_run();
}
