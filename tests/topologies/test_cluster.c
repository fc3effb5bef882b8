/*
 * test_cluster.c - clusters as documents: what is read, filled in and refused, and where.
 */
#include "sim/base/library.h"
#include "tests/topologies/cluster_fixture.h"
#include "tests/run/shared_library.h"

static void load(OrrLibrary *library, const char *name, OrrCluster *cluster) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace nowhere = {"test", 0, 0};
  g_autoptr(OrrNode) root = orr_library_load(library, "cluster", name, nowhere, diags);
  if (root && orr_field_read(&orr_cluster_table, root, library, diags, cluster))
    orr_cluster_check(cluster, root->place, diags);
  g_autofree char *text = orr_diags_text(diags);
  g_assert_cmpstr(text, ==, "");
  g_assert_nonnull(root);
}

static void test_shipped(void) {
  const char *const wanted[] = {"dgx-a100-superpod", "dgx-h100-superpod", "gb200-nvl72", NULL};
  OrrLibrary *library = shared_library();
  g_auto(GStrv) names = orr_library_names(library, "cluster");
  for (guint i = 0; wanted[i]; i++)
    g_assert_true(g_strv_contains((const char *const *)names, wanted[i]));
  for (guint i = 0; names[i]; i++) {
    OrrCluster cluster;
    load(library, names[i], &cluster);
    g_assert_cmpstr(cluster.name, ==, names[i]);
    g_assert_nonnull(cluster.source);
    cluster.nodes = cluster.max_nodes; /* all that it was built for must fit too */
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrFabric) fabric = orr_fabric_new(&cluster, 1, &error);
    g_assert_no_error(error);
    g_assert_cmpint(orr_fabric_n_gpus(fabric), ==, cluster.max_nodes * cluster.node.gpus);
    g_clear_pointer(&fabric, orr_fabric_free);
    orr_field_clear(&orr_cluster_table, &cluster);
  }
}

static void test_counts(void) {
  FIXTURE(all, 1, "nodes", "3");
  FIXTURE(some, 1, "nodes", "3", "gpus", "5", "max-nodes", "6");
  g_assert_cmpint(orr_cluster_n_gpus(&all.cluster), ==, 12);
  g_assert_cmpint(orr_cluster_n_built_nodes(&all.cluster), ==, 3);
  g_assert_cmpint(orr_cluster_n_gpus(&some.cluster), ==, 5);
  g_assert_cmpint(orr_cluster_n_built_nodes(&some.cluster), ==, 6);
}

static void test_dump_reads_back(void) {
  FIXTURE(fixture, 1, "fabric",
          "{kind: nvlink-domain, scale-out: {kind: fat-tree, oversubscription: 2}}");
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) dump = orr_field_dump(&orr_cluster_table, &fixture.cluster);
  OrrCluster again;
  g_assert_true(orr_field_read(&orr_cluster_table, dump, NULL, diags, &again));
  g_autoptr(OrrNode) second = orr_field_dump(&orr_cluster_table, &again);
  g_assert_true(orr_node_equal(dump, second));
  orr_field_clear(&orr_cluster_table, &again);
}

static void test_refuses_counts(void) {
  ASSERT_REFUSED("nodes is 9, but the fabric was built for 8", "nodes", "9", "max-nodes", "8");
  ASSERT_REFUSED("gpus is 17, but 4 nodes of 4 hold only 16", "gpus", "17");
  ASSERT_REFUSED("nodes", "nodes", "0");
  ASSERT_REFUSED("gpus", "node.gpus", "0");
}

static void test_refuses_domains(void) {
  ASSERT_REFUSED("scale-up-domain is 3: it must divide the 4 GPUs", "node.scale-up-domain", "3");
  ASSERT_REFUSED("scale-up-domain is 6", "node.scale-up-domain", "6");
  ASSERT_REFUSED("kind: nvlink-domain, scale-out: fat-tree", "node.scale-up-domain", "8");
  ASSERT_REFUSED("no scale-up links", "device.scale-up-bandwidth", "0 B/s");
}

/* Parts of a package as devices of their own. */
static void test_refuses_partitions(void) {
  ASSERT_REFUSED("mode cpx, nps1: parts of a package", "device.compute-partition", "cpx");
  ASSERT_REFUSED("mode spx, nps4", "device.memory-partition", "nps4");
  FIXTURE(whole, 1, "device.compute-partition", "spx", "device.memory-partition", "nps1");
}

static void test_refuses_nics(void) {
  ASSERT_REFUSED("nics-per-gpu is 0.3: it must be a whole number, or 1/n", "node.nics-per-gpu",
                 "0.3");
  ASSERT_REFUSED("nics-per-gpu is 1.5", "node.nics-per-gpu", "1.5");
  ASSERT_REFUSED("nics-per-gpu is 0.125", "node.nics-per-gpu",
                 "0.125"); /* eight GPUs of a node of four */
  ASSERT_REFUSED("nics-per-gpu is 0, but 4 nodes need a network", "node.nics-per-gpu", "0");
}

static void test_refuses_fabrics(void) {
  ASSERT_REFUSED("'levels' must be between 2 and 3, found '4'", "fabric",
                 "{kind: fat-tree, levels: 4}");
  ASSERT_REFUSED("'oversubscription' must be between 1 and 1000", "fabric",
                 "{kind: fat-tree, oversubscription: 0.5}");
  ASSERT_REFUSED("rail-optimized", "fabric", "rail-optimised");
  ASSERT_REFUSED("fabric nvlink-domain: scale-out is nvlink-domain", "fabric",
                 "{kind: nvlink-domain, scale-out: nvlink-domain}");
}

/* What the fabric refuses is reported at the place that the caller names: the document's
 * section. */
static void test_refuses_at_the_place(void) {
  FIXTURE(fixture, 1, "nodes", "8", "fabric", "{kind: fat-tree, radix: 8}");
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace place = {"x.yaml", 7, 3};
  fixture.cluster.nodes = 9; /* 8-port switches of two levels join 8 nodes of 4 */
  orr_cluster_check(&fixture.cluster, place, diags);
  g_autofree char *text = orr_diags_text(diags);
  g_assert_true(g_str_has_prefix(text, "x.yaml:7:3: error: fabric fat-tree: two levels"));
}

/* Nodes of a DGX H100: a NIC of 400 Gb/s reaches 48 GB/s (0.96); half of Gen5 x16 is 31.5 GB/s.
 * Nothing to say with GPUDirect RDMA, with slower NICs, or where the path is described. */
static void test_host_path(void) {
  static const struct {
    double nic_gb_s;
    int path;
    gboolean gpudirect, is_said;
  } rows[] = {{50, ORR_NETWORK_AUTO, FALSE, TRUE},
              {50, ORR_NETWORK_AUTO, TRUE, FALSE},
              {32, ORR_NETWORK_AUTO, FALSE, FALSE},
              {50, ORR_NETWORK_BRIDGE, FALSE, FALSE}};
  FIXTURE(fixture, 1, "nodes", "2");
  fixture.cluster.node.host_link_bytes_per_s = 63e9;
  fixture.cluster.node.nics_per_gpu = 1;
  fixture.cluster.node.nic_efficiency = 0.96;
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    fixture.cluster.node.nic_bytes_per_s = rows[i].nic_gb_s * 1e9;
    fixture.cluster.node.host.network_path = rows[i].path;
    fixture.cluster.node.gpudirect_rdma = rows[i].gpudirect;
    orr_cluster_check(&fixture.cluster, (OrrPlace){"x.yaml", 7, 3}, diags);
    g_autofree char *text = orr_diags_text(diags);
    g_assert_cmpint(strstr(text, "NICs' 48 GB/s") && strstr(text, "switch-bandwidth: 31.5 GB/s"),
                    ==, rows[i].is_said);
  }
}

static void test_sentences(void) {
  for (size_t i = 0; i < orr_cluster_table.n_fields; i++)
    g_assert_true(g_str_has_suffix(orr_cluster_table.fields[i].sentence, "."));
  for (size_t i = 0; i < orr_node_shape_table.n_fields; i++)
    g_assert_true(g_str_has_suffix(orr_node_shape_table.fields[i].sentence, "."));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cluster/shipped", test_shipped);
  g_test_add_func("/cluster/counts", test_counts);
  g_test_add_func("/cluster/dump-reads-back", test_dump_reads_back);
  g_test_add_func("/cluster/refuses/counts", test_refuses_counts);
  g_test_add_func("/cluster/refuses/partitions", test_refuses_partitions);
  g_test_add_func("/cluster/refuses/domains", test_refuses_domains);
  g_test_add_func("/cluster/refuses/nics", test_refuses_nics);
  g_test_add_func("/cluster/refuses/fabrics", test_refuses_fabrics);
  g_test_add_func("/cluster/refuses/at-the-place", test_refuses_at_the_place);
  g_test_add_func("/cluster/host-path", test_host_path);
  g_test_add_func("/cluster/sentences", test_sentences);
  return g_test_run();
}
