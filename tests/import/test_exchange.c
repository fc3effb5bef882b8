/*
 * test_exchange.c - files of other simulators become documents that are accepted and say what the
 * files say, and a cluster comes back from the format that we write.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "models/model.h"
#include "sim/base/yaml.h"
#include "sim/import/exchange/exchange_format.h"
#include "sim/import/topology/topology_text.h"
#include "sim/run/scenario.h"
#include "workloads/training/training.h"

static OrrLibrary *library;

/* The document of files in tests/import/exchange (NULL-terminated), or "refused: MESSAGE"; notes
 * follow as lines "- ...". */
static char *import_files(const OrrExchangeAnswers *answers, const char *const *names) {
  g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) notes = NULL;
  g_autoptr(GError) error = NULL;
  for (guint i = 0; names[i]; i++)
    g_ptr_array_add(files,
                    g_test_build_filename(G_TEST_DIST, "import", "exchange", names[i], NULL));
  g_ptr_array_add(files, NULL);
  g_autofree char *text =
      orr_exchange_read(library, (char **)files->pdata, answers, &notes, &error);
  if (!text) return g_strconcat("refused: ", error->message, NULL);
  GString *all = g_string_new(text);
  for (guint i = 0; i < notes->len; i++)
    g_string_append_printf(all, "# - %s\n", (char *)notes->pdata[i]);
  return g_string_free(all, FALSE);
}

#define IMPORT(answers_, ...)                                                                      \
  import_files(&(OrrExchangeAnswers)answers_, (const char *const[]){__VA_ARGS__, NULL})
#define ARG(...)                                                                                   \
  { __VA_ARGS__ }

static void assert_has(const char *text, const char *wanted) {
  if (!strstr(text, wanted)) g_error("expected '%s' in:\n%s", wanted, text);
}

static void read_cluster(const char *text, OrrCluster *ret_cluster) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "imported", diags);
  memset(ret_cluster, 0, sizeof *ret_cluster);
  if (tree && orr_field_read(&orr_cluster_table, tree, library, diags, ret_cluster))
    orr_cluster_check(ret_cluster, tree->place, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
}

static OrrScenario *read_scenario(const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "imported", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  g_autofree char *findings = orr_diags_text(diags);
  if (!scenario) g_error("%s:\n%s", findings, text);
  return scenario;
}

/* --- ASTRA-sim --- */

#define GIB 1073741824.0

/* 8 accelerators at 400 GB/s, two of such at 50, of 2^30 B; a switch is crossed over two links.
 * Written again, the network is the same. */
static void test_astra_network(void) {
  g_autofree char *text = IMPORT(ARG(.device = "h100-sxm"), "astra-2d.yml");
  OrrCluster cluster;
  read_cluster(text, &cluster);
  g_assert_cmpint(cluster.nodes, ==, 2);
  g_assert_cmpint(cluster.node.gpus, ==, 8);
  g_assert_cmpfloat_with_epsilon(cluster.device.scale_up_bytes_per_s, 400 * GIB, 100);
  g_assert_cmpfloat_with_epsilon(cluster.node.nic_bytes_per_s, 50 * GIB, 100);
  g_assert_cmpfloat_with_epsilon(cluster.node.scale_up_latency_s, 2 * 936.25e-9, 1e-15);
  g_assert_cmpfloat_with_epsilon(cluster.node.nic_latency_s, 2000e-9, 1e-15);
  g_autofree char *again = orr_topology_text("astra-sim", &cluster, NULL);
  assert_has(again, "topology: [ Switch, Switch ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 400, 50 ]\n"
                    "latency: [ 936.25, 1000 ]\n");
  orr_field_clear(&orr_cluster_table, &cluster);
}

/* Each of 4 fully connected NPUs has 3 links of 100 GB/s; pods at half of the nodes' rate are a
 * fat-tree of 2:1. A pod's route has three switches, a leaf's one: (3000 - 2000) / 2 = 500 ns
 * each. */
static void test_astra_pods(void) {
  g_autofree char *text = IMPORT(ARG(.device = "h100-sxm"), "astra-3d.yml");
  OrrCluster cluster;
  read_cluster(text, &cluster);
  g_assert_cmpfloat_with_epsilon(cluster.device.scale_up_bytes_per_s, 300 * GIB, 100);
  g_assert_cmpint(cluster.nodes, ==, 8);
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&cluster, 1, NULL);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_assert_cmpfloat_with_epsilon(orr_fabric_route(fabric, 0, 4, 0, links), 2000e-9, 1e-12);
  g_assert_cmpfloat_with_epsilon(orr_fabric_route(fabric, 0, 16, 0, links), 3000e-9, 1e-12);
  assert_has(text, "oversubscription: 2\n");
  orr_field_clear(&orr_cluster_table, &cluster);
}

static void test_astra_torus(void) {
  g_autofree char *text = IMPORT(ARG(.device = "tpu-v4"), "astra-torus.yml");
  OrrCluster cluster;
  read_cluster(text, &cluster);
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&cluster, 1, NULL);
  g_assert_cmpint(orr_fabric_n_gpus(fabric), ==, 32);
  g_assert_cmpuint(orr_fabric_hops(fabric, 0, 4), ==, 5); /* 4 links: half of the way around 8 */
  orr_field_clear(&orr_cluster_table, &cluster);
}

static void test_astra_system(void) {
  g_autofree char *text = IMPORT(ARG(.device = "h100-sxm"), "astra-system.json", "astra-2d.yml");
  g_autoptr(OrrScenario) scenario = read_scenario(text);
  assert_has(text, "algorithm: ring\n");
  assert_has(text, "preferred-dataset-splits");
}

/* --- Calculon --- */

static void test_calculon(void) {
  g_autofree char *text = IMPORT(ARG(.device = "a100-80gb-sxm"), "calculon-execution.json",
                                 "calculon-system.json", "calculon-application.json");
  g_autoptr(OrrScenario) scenario = read_scenario(text);
  const OrrTraining *job = scenario->workload.params;
  g_assert_cmpint(scenario->model.hidden, ==, 12288);
  g_assert_cmpint(scenario->model.layers, ==, 96);
  g_assert_cmpint(job->parallel.tp, ==, 8);
  g_assert_cmpint(job->parallel.pp, ==, 8);
  g_assert_false(job->parallel.sequence_parallel);
  g_assert_cmpint(scenario->cluster.nodes, ==, 8);
  g_assert_cmpfloat(scenario->cluster.device.fp16_flops, ==, 312e12);
  g_assert_cmpfloat(scenario->cluster.node.nic_bytes_per_s, ==, 25e9);
  /* of the first network: 0.8, and 1 us of a collective over the 7 steps of its ring */
  g_assert_cmpfloat(scenario->cluster.device.scale_up_efficiency, ==, 0.8);
  g_assert_cmpfloat_with_epsilon(scenario->cluster.node.scale_up_latency_s, 1e-6 / 7, 1e-15);
  assert_has(text, "chunks: 3}");
  assert_has(text, "recompute: full");
  assert_has(text, "execution keys that have no place here: tensor_par_net");
}

static void test_calculon_cluster(void) {
  g_autofree char *text = IMPORT(ARG(.cluster = "dgx-a100-superpod"), "calculon-execution.json",
                                 "calculon-application.json");
  g_autoptr(OrrScenario) scenario = read_scenario(text);
  g_assert_cmpint(orr_cluster_n_gpus(&scenario->cluster), ==, 64);
}

/* --- AIConfigurator --- */

static void test_aiconfigurator(void) {
  g_autofree char *text =
      IMPORT(ARG(.cluster = "dgx-h100-superpod", .choose = "exp_agg"), "aiconfigurator.yaml");
  g_autoptr(OrrScenario) scenario = read_scenario(text);
  g_assert_nonnull(scenario->sweep);
  g_assert_cmpstr(scenario->cluster.device.name, ==, "h200-sxm");
  assert_has(text, "workload.parallel.tp: [1, 2, 4, 8]");
  assert_has(text, "model: qwen3-32b");
  assert_has(text, "stack: trtllm-1.0\n");
  assert_has(text,
             "# The whole question: orrery plan serving --model qwen3-32b --cluster "
             "dgx-h100-superpod --gpus 8 --input 4000 --output 500 --ttft 1000ms --tpot 40ms");
  assert_has(text, "fmha_quant_mode");
}

static void test_refused(void) {
  static const struct {
    OrrExchangeAnswers answers;
    const char *files[3], *message;
  } cases[] = {
      {{NULL}, {"astra-2d.yml"}, "add --device NAME"},
      {{.device = "h100-sxm"}, {"astra-system.json"}, "needs its network.yml"},
      {{.device = "h100-sxm"}, {"astra-2d.yml", "calculon-system.json"}, "another format"},
      {{.cluster = "dgx-h100-superpod"},
       {"aiconfigurator.yaml"},
       "2 experiments: add --choose NAME"},
      {{.cluster = "dgx-h100-superpod", .choose = "exp_disagg"},
       {"aiconfigurator.yaml"},
       "a question, not a scenario: orrery plan serving"},
      {{.device = "h100-sxm"}, {"calculon-application.json"}, "both needed"},
      {{NULL}, {"calculon-application.json", "calculon-execution.json"}, "add --cluster NAME"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = import_files(&cases[i].answers, cases[i].files);
    assert_has(text, "refused: ");
    assert_has(text, cases[i].message);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new(NULL);
  g_test_add_func("/import/exchange/aiconfigurator", test_aiconfigurator);
  g_test_add_func("/import/exchange/astra-network", test_astra_network);
  g_test_add_func("/import/exchange/astra-pods", test_astra_pods);
  g_test_add_func("/import/exchange/astra-system", test_astra_system);
  g_test_add_func("/import/exchange/astra-torus", test_astra_torus);
  g_test_add_func("/import/exchange/calculon", test_calculon);
  g_test_add_func("/import/exchange/calculon-cluster", test_calculon_cluster);
  g_test_add_func("/import/exchange/refused", test_refused);
  const int failed = g_test_run();
  orr_library_free(library);
  return failed;
}
