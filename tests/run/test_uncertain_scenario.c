/*
 * test_uncertain_scenario.c - numbers with bounds in scenarios: where they are found, what is laid
 * over what, and where they are refused.
 */
#include <glib/gstdio.h>

#include "tests/workloads/scenario_fixture.h"

static const char text[] =
    "schema: scenario/1\nname: t\ncluster: {base: toy, nodes: 1}\n"
    "model: llama-3.1-8b\nworkload: {kind: serving, load: {kind: poisson, rate: 4}, requests: 1,"
    " input: {tokens: 8}, output: {tokens: 8}}\n";

/* A cluster of the test's own, whose document has bounds. */
static const char toy[] =
    "schema: cluster/1\nbase: dgx-h100-superpod\nname: toy\n"
    "node: {nic-bandwidth: {value: 400 Gb/s, low: 390 Gb/s, high: 400 Gb/s}}\n";

/* A workload of the test's own, with bounds in a list. */
static const char mixed[] =
    "schema: workload/1\nkind: serving\nload: {kind: poisson, rate: 4}\nrequests: 1\n"
    "input: {tokens: 8}\noutput: {tokens: 8}\n"
    "classes: [{name: a, share: {value: 1, low: 1, high: 2}}, {name: b, share: 1}]\n";

static OrrLibrary *library;
static char *folder;

static void put(const char *kind, const char *name, const char *content) {
  g_autofree char *parent = g_build_filename(folder, kind, NULL);
  g_autofree char *file = g_build_filename(parent, name, NULL);
  g_assert_cmpint(g_mkdir(parent, 0700), ==, 0);
  g_assert_true(g_file_set_contents(file, content, -1, NULL));
}

static void take_away(const char *kind, const char *name) {
  g_autofree char *parent = g_build_filename(folder, kind, NULL);
  g_autofree char *file = g_build_filename(parent, name, NULL);
  g_unlink(file);
  g_rmdir(parent);
}

static OrrScenario *read(const char *document, const char *sets, char **ret_findings) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = tree_of(document, sets, diags);
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  *ret_findings = g_strchomp(orr_diags_text(diags));
  return scenario;
}

/* @wanted: the paths of the numbers with bounds, with blanks between. */
static void assert_paths(const char *sets, const char *wanted) {
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(text, sets, &findings);
  g_autoptr(GString) paths = g_string_new(NULL);
  g_assert_cmpstr(findings, ==, "");
  for (guint i = 0; i < scenario->uncertain->len; i++)
    g_string_append_printf(paths, "%s%s", i > 0 ? " " : "",
                           ((const OrrUncertain *)scenario->uncertain->pdata[i])->path);
  g_assert_cmpstr(paths->str, ==, wanted);
}

static void test_where(void) {
  assert_paths("", "cluster.node.nic-bandwidth");
  assert_paths("cluster.node.nic-bandwidth=400 Gb/s", "");
  assert_paths("cluster.node.nic-bandwidth=400 Gb/s;"
               "workload.load.rate={value: 4, low: 3, high: 5}",
               "workload.load.rate");
  assert_paths("model.layers={value: 32, low: 30, high: 34};seed={value: 1, low: 1, high: 9}",
               "cluster.node.nic-bandwidth model.layers seed");
  assert_paths("cluster.device.memory-bandwidth={value: 3 TB/s, low: 2 TB/s, high: 4 TB/s}",
               "cluster.device.memory-bandwidth cluster.node.nic-bandwidth");
}

/* A stack sets the engine's host times and more; a number with bounds over them stays whole. */
static void test_above_a_stack(void) {
  const char *sets = "cluster.node.nic-bandwidth=400 Gb/s;"
                     "workload.engine.gpu-memory-utilization={value: 0.8, low: 0.7, high: 90 %};"
                     "workload.engine.max-num-seqs={value: 64, low: 32, high: 128}";
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(text, sets, &findings);
  g_autofree char *resolved = scenario ? orr_scenario_resolved(scenario) : NULL;
  g_assert_cmpstr(findings, ==, "");
  g_assert_cmpuint(scenario->uncertain->len, ==, 2);
  g_assert_nonnull(strstr(resolved, "max-num-seqs: 64\n"));
  g_assert_null(strstr(resolved, "high:"));
}

static void assert_refused(const char *document, const char *sets, const char *wanted) {
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(document, sets, &findings);
  g_assert_null(scenario);
  g_assert_cmpstr(findings, ==, wanted);
}

static void test_refused(void) {
  static const char jobs[] =
      "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 2}\n"
      "jobs:\n"
      "  - {name: a, gpus: 8, workload: {kind: collectives, begin: 1 MiB, end: 1 MiB, ranks: 2}}\n"
      "  - {name: b, gpus: 8, start: {value: 1 s, low: 0 s, high: 2 s},"
      " workload: {kind: collectives, begin: 1 MiB, end: 1 MiB, ranks: 2}}\n";
  assert_refused(text, "workload.load.rate={value: 4, low: 5, high: 6}",
                 "set workload.load.rate:1:1: error: the bounds of 'rate' must be low <= value <= "
                 "high, found low 5, value 4, high 6");
  assert_refused(text, "workload.engine.scheduler={value: vllm, low: 1, high: 2}",
                 "set workload.engine.scheduler:1:1: error: 'scheduler' takes no bounds (value, "
                 "low, high): it is not a number");
  assert_refused(jobs, "",
                 "test.yaml:6:31: error: jobs.1.start: a scenario of jobs takes no bounds (value, "
                 "low, high): write a number");
}

/* Replays set a number as --set does, which reaches lists of the scenario alone. */
static void test_lists(void) {
  static const char named[] =
      "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
      "model: llama-3.1-8b\nworkload: mixed\n";
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(named, "", &findings);
  g_assert_null(scenario);
  g_assert_nonnull(strstr(findings, "workloads/mixed.yaml:7:28: error: workload.classes.0.share: "
                                    "a number in a list of another document takes no bounds"));
  assert_paths("cluster.node.nic-bandwidth=400 Gb/s;workload.classes=[{name: a, share: {value: 1, "
               "low: 1, high: 2}}, {name: b, share: 1}]",
               "workload.classes.0.share");
}

/* Each takes replays, and a check. */
static void test_too_many(void) {
  g_autoptr(GString) classes = g_string_new("workload.classes=[");
  for (guint i = 0; i < 51; i++)
    g_string_append_printf(classes, "{name: c%u, share: {value: 1, low: 1, high: 2}}, ", i);
  g_string_append(classes, "{name: last}]");
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(text, classes->str, &findings);
  g_assert_null(scenario);
  g_assert_nonnull(
      strstr(findings, "error: 52 numbers have bounds (value, low, high); at most 50"));
}

/* {value, low, high} must not be taken for a section: no key of a scenario has one of these names
 * but the definition of bounds itself. */
static void test_names(void) {
  g_autofree char *schema = orr_field_json_schema(&orr_scenario_table, "scenario");
  for (const char *const *key = orr_node_uncertain_keys; *key; key++) {
    g_autofree char *property = g_strdup_printf("\"%s\":{", *key);
    const char *first = strstr(schema, property);
    g_assert_nonnull(first);
    g_assert_null(strstr(first + 1, property));
  }
}

int main(int argc, char **argv) {
  g_autoptr(GError) error = NULL;
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-uncertain-XXXXXX", &error);
  const char *folders[] = {folder, NULL};
  g_assert_no_error(error);
  put("clusters", "toy.yaml", toy);
  put("workloads", "mixed.yaml", mixed);
  library = orr_library_new(folders);
  g_test_add_func("/uncertain-scenario/where", test_where);
  g_test_add_func("/uncertain-scenario/above-a-stack", test_above_a_stack);
  g_test_add_func("/uncertain-scenario/refused", test_refused);
  g_test_add_func("/uncertain-scenario/lists", test_lists);
  g_test_add_func("/uncertain-scenario/too-many", test_too_many);
  g_test_add_func("/uncertain-scenario/names", test_names);
  const int status = g_test_run();
  orr_library_free(library);
  take_away("clusters", "toy.yaml");
  take_away("workloads", "mixed.yaml");
  g_rmdir(folder);
  g_free(folder);
  return status;
}
