/*
 * test_topology_round.c - every shipped cluster, written as NCCL's XML together with ibnetdiscover
 * or Slurm's topology.conf, imports to an equal machine, within what the formats say.
 *
 * Compared, for the machine that the fabric was built for (at most MOST_NODES nodes of it):
 *
 *   XML                GPUs of a node, NVLink domain, NICs per GPU, nominal rate of a NIC, GPUs per
 *                      PCIe switch and host bridge, the device where the XML identifies it
 *   + ibnetdiscover    nodes; the number of switches and cables at each level of a Clos, and of all
 *                      links; for pairs of GPUs of different nodes: switches on the route, links on
 *                      it, and the nominal bandwidth of its narrowest link, within 0.5 %
 *   + topology.conf or topology.yaml
 *                      nodes; for pairs of GPUs at the same place of different nodes: switches on
 *                      the route, and the nominal bandwidth of its narrowest link
 *
 * Not in these formats, and not compared: efficiencies, latencies, transport, routing, memory,
 * ports on the GPU's own board (network-path: apart), which NCCL's XML puts behind PCIe. A
 * dragonfly's cables come back, not its routes, which go by groups and not by the fewest switches.
 * A format that has no words for a cluster refuses it: `refused` lists which (the RoCE cluster has
 * cables of 406 Gb/s, so that its 1:7 holds). Kinds of fabric that no shipped cluster has follow,
 * as ibnetdiscover.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/yaml.h"
#include "sim/import/topology/cluster_plan.h"
#include "sim/import/topology/topology_text.h"
#include "topologies/fabric.h"

enum { MOST_NODES = 320, N_PAIRS = 60 };

/* Machines and formats, besides tori of TPUs, whose chips are their own switches. */
static const char *const refused[] = {"alps-gh200slurm",
                                      "alps-gh200slurm-yaml",
                                      "llama3-24k-roceibnetdiscover",
                                      "trn1-32xlargeibnetdiscover",
                                      "trn2-48xlargeibnetdiscover",
                                      "trn2-ultraserveribnetdiscover",
                                      "trn2-ultraserverslurm",
                                      "trn2-ultraserverslurm-yaml",
                                      NULL};

/* What a file that lists nodes by leaf does not state: leaves of one node each, and a torus within
 * the node. */
static const char *const unstated[] = {"gaudi2-hls", "gaudi3-hls", "trn1-32xlarge", "trn2-48xlarge",
                                       NULL};

static void read_cluster(OrrLibrary *library, const OrrNode *tree, OrrCluster *ret_cluster) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  memset(ret_cluster, 0, sizeof *ret_cluster);
  if (orr_field_read(&orr_cluster_table, tree, library, diags, ret_cluster))
    orr_cluster_check(ret_cluster, tree->place, diags);
  g_autofree char *text = orr_diags_text(diags);
  if (orr_diags_n_errors(diags)) g_error("%s", text);
}

/* The machine that was built, no larger than the test has time for. Routes of other kinds than a
 * Clos's are its own. */
static void plain(OrrCluster *cluster) {
  cluster->nodes = MIN(orr_cluster_n_built_nodes(cluster), MOST_NODES);
  cluster->nodes -= cluster->nodes % MAX(1, cluster->node.scale_up_domain / cluster->node.gpus);
  cluster->max_nodes = cluster->gpus = 0;
  cluster->routing = ORR_ROUTING_ECMP;
}

static char *stored(const char *text) {
  char *path = g_build_filename(g_get_tmp_dir(), "orrery-round-XXXXXX", NULL);
  g_close(g_mkstemp(path), NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  return path;
}

static void import_into(OrrLibrary *library, const char *inside, const char *outside,
                        const char *device, OrrCluster *ret_cluster) {
  g_autoptr(OrrDump) dump = orr_dump_new();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *first = stored(inside), *second = outside ? stored(outside) : NULL;
  char *files[] = {first, second, NULL};
  for (guint i = 0; files[i]; i++) {
    orr_dump_read(dump, files[i], diags);
    g_unlink(files[i]);
  }
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  const OrrTopologyAnswers answers = {.device = device};
  g_autoptr(OrrClusterPlan) plan = orr_cluster_plan_new(dump, &answers, files, library, &error);
  g_assert_no_error(error);
  g_autoptr(OrrNode) tree = orr_yaml_parse(plan->text, strlen(plan->text), "imported", diags);
  g_assert_nonnull(tree);
  read_cluster(library, tree, ret_cluster);
}

/* --- Comparing --- */

#define SAME(name_, member_)                                                                       \
  if (fabs((double)a->member_ - (double)b->member_) > 1e-9 * fabs((double)a->member_))             \
  g_error("%s: " #member_ " was %g, came back as %g", name_, (double)a->member_, (double)b->member_)

static void compare_nodes(const char *name, const OrrCluster *a, const OrrCluster *b) {
  SAME(name, nodes);
  SAME(name, node.gpus);
  SAME(name, node.scale_up_domain);
  SAME(name, node.nics_per_gpu);
  SAME(name, node.nic_bytes_per_s);
  SAME(name, node.host.gpus_per_switch);
  SAME(name, node.host.gpus_per_bridge);
}

typedef struct {
  guint hops, links;
  double bytes_per_s; /* nominal, of the narrowest link */
} Way;

static Way way_of(const OrrFabric *fabric, const OrrCluster *cluster, gint64 src, gint64 dst) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Way way = {.hops = orr_fabric_hops(fabric, src, dst), .bytes_per_s = INFINITY};
  const double reached =
      cluster->node.nic_efficiency * orr_transport_packet_fraction(orr_fabric_transport(fabric));
  orr_fabric_route(fabric, src, dst, 0, links);
  way.links = links->len;
  for (guint i = 0; i < links->len; i++) {
    const guint32 link = g_array_index(links, guint32, i);
    const char *kind = orr_fabric_link_kind(fabric, link);
    if (strcmp(kind, "nic") == 0 || strcmp(kind, "fabric") == 0)
      way.bytes_per_s = MIN(way.bytes_per_s, orr_fabric_link_bandwidth(fabric, link) / reached);
  }
  return way;
}

static void compare_pair(const char *name, const OrrFabric *const fabrics[2],
                         const OrrCluster *const clusters[2], gint64 src, gint64 dst) {
  const Way a = way_of(fabrics[0], clusters[0], src, dst);
  const Way b = way_of(fabrics[1], clusters[1], src, dst);
  if (a.hops != b.hops || a.links != b.links)
    g_error("%s: GPU %d to %d was %u switches and %u links, came back as %u and %u", name, (int)src,
            (int)dst, a.hops, a.links, b.hops, b.links);
  if (!(fabs(b.bytes_per_s / a.bytes_per_s - 1) < 5e-3) && a.bytes_per_s != b.bytes_per_s)
    g_error("%s: GPU %d to %d had %g B/s, came back with %g", name, (int)src, (int)dst,
            a.bytes_per_s, b.bytes_per_s);
}

/* Pairs spread over the machine; @same: at the same place of their nodes. */
static void compare_pairs(const char *name, const OrrFabric *const fabrics[2],
                          const OrrCluster *const clusters[2], gboolean same) {
  const gint64 gpus = clusters[0]->node.gpus, nodes = clusters[0]->nodes;
  for (gint64 i = 0; i < N_PAIRS && nodes > 1; i++) {
    const gint64 a = i * 7919 % nodes, b = (i < 20 ? i + 1 : i * 104729) % nodes;
    const gint64 at = i * 31 % gpus, other = same ? at : i * 17 % gpus;
    if (a != b) compare_pair(name, fabrics, clusters, a * gpus + at, b * gpus + other);
  }
}

static gboolean is_clos_level(const OrrFabricLevel *level) { return level->switches_above > 0; }

/* Levels between switches. A fabric of cables by name has one for each entry: only the sum of its
 * cables is compared. */
static void compare_levels(const char *name, const OrrFabric *const fabrics[2]) {
  gint64 links[2] = {0};
  g_autoptr(GArray) a = orr_fabric_levels(fabrics[0]);
  g_autoptr(GArray) b = orr_fabric_levels(fabrics[1]);
  for (guint i = 0; i < a->len; i++) links[0] += g_array_index(a, OrrFabricLevel, i).links;
  for (guint i = 0; i < b->len; i++) links[1] += g_array_index(b, OrrFabricLevel, i).links;
  if (links[0] != links[1])
    g_error("%s: had %d cables, came back with %d", name, (int)links[0], (int)links[1]);
  for (guint i = 0; a->len == b->len && i < a->len; i++) {
    const OrrFabricLevel *x = &g_array_index(a, OrrFabricLevel, i),
                         *y = &g_array_index(b, OrrFabricLevel, i);
    if (is_clos_level(x) && is_clos_level(y) &&
        (x->switches != y->switches || x->switches_above != y->switches_above ||
         x->links != y->links))
      g_error("%s: level %s had %d and %d switches, came back with %d and %d", name, x->name,
              (int)x->switches, (int)x->switches_above, (int)y->switches, (int)y->switches_above);
  }
}

static void compare(const char *name, const char *format, const OrrCluster *a,
                    const OrrCluster *b) {
  g_autoptr(GError) error = NULL;
  const gboolean is_slurm = g_str_has_prefix(format, "slurm");
  compare_nodes(name, a, b);
  g_autoptr(OrrFabric) before = orr_fabric_new(a, 1, &error);
  g_assert_no_error(error);
  g_autoptr(OrrFabric) after = orr_fabric_new(b, 1, &error);
  g_assert_no_error(error);
  const OrrFabric *const fabrics[] = {before, after};
  const OrrCluster *const clusters[] = {a, b};
  if (!is_slurm) compare_levels(name, fabrics);
  if (!((const OrrFabricKind *)a->fabric.entry)->detour)
    compare_pairs(name, fabrics, clusters, is_slurm);
}

/* --- Every cluster --- */

static void round_trip(OrrLibrary *library, const OrrNode *tree, const char *name,
                       const char *format) {
  g_autoptr(GError) error = NULL;
  g_autofree char *key = g_strconcat(name, format, NULL);
  OrrCluster before, after;
  read_cluster(library, tree, &before);
  plain(&before);
  g_autofree char *outside = orr_topology_text(format, &before, &error);
  if (g_str_has_prefix(name, "tpu-") || g_strv_contains(refused, key)) {
    g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  } else {
    if (!outside) g_error("%s as %s: %s", name, format, error->message);
    g_autofree char *inside = orr_topology_text("nccl-xml", &before, &error);
    g_assert_no_error(error);
    const gboolean is_known = strstr(inside, "<gpu ") != NULL;
    import_into(library, inside, outside, is_known ? NULL : "h100-sxm", &after);
    if (is_known) g_assert_cmpstr(after.device.name, ==, before.device.name);
    plain(&after);
    if (before.node.host.network_path == ORR_NETWORK_APART)
      after.node.host.network_path = before.node.host.network_path;
    if (!g_str_has_prefix(format, "slurm") || !g_strv_contains(unstated, name))
      compare(key, format, &before, &after);
    orr_field_clear(&orr_cluster_table, &after);
  }
  orr_field_clear(&orr_cluster_table, &before);
}

static OrrNode *load(OrrLibrary *library, const char *name) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  return orr_library_load(library, "cluster", name, (OrrPlace){NULL, 0, 0, NULL}, diags);
}

static void test_clusters(gconstpointer format) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_auto(GStrv) names = orr_library_names(library, "cluster");
  g_assert_cmpuint(g_strv_length(names), >, 10);
  for (guint i = 0; names[i]; i++) {
    g_autoptr(OrrNode) tree = load(library, names[i]);
    round_trip(library, tree, names[i], format);
  }
}

/* Fabrics that no shipped cluster has, for 12 nodes of 8 NICs. */
static const char *const fabrics[] = {
    "{kind: clos, down: 16x3x2}",
    "{kind: clos, down: 8x3x4, oversubscription: 2x1}",
    "{kind: dragonfly-plus, hosts-per-leaf: 4, leaves-per-group: 4, spines-per-group: 4, "
    "global-per-spine: 5}",
    "{kind: fat-tree, radix: 24}",
    "{kind: fat-tree, levels: 3, radix: 24, oversubscription: 2}",
    "{kind: hyperx, shape: 4x3, hosts-per-switch: 8}",
    "{kind: rail-only, radix: 64}",
    "{kind: rail-only, radix: 8, nodes-per-leaf: 4}",
    "{kind: rail-optimized}", /* one group: its leaves have no cable to another node's same rail */
    "{kind: rail-optimized, levels: 3, radix: 16, nodes-per-group: 3, groups-per-pod: 2}",
    "{kind: two-tier-dpu, radix: 64, nodes-per-leaf: 3}",
};

static void test_fabrics(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(fabrics); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrNode) tree = load(library, "dgx-h100-superpod");
    const char *const sets[] = {"nodes", "12", "max-nodes", "0", "fabric", fabrics[i]};
    for (guint k = 0; k < G_N_ELEMENTS(sets); k += 2) {
      orr_field_set(&orr_cluster_table, tree, sets[k], sets[k + 1], &error);
      g_assert_no_error(error);
    }
    round_trip(library, tree, fabrics[i], "ibnetdiscover");
  }
}

/* Formats that have nodes and cables in one file. Not in them: PCIe. */
static void test_alone(gconstpointer format) {
  static const char *const names[] = {"dgx-h100-superpod", "dgx-b200-superpod", "mi300x-roce",
                                      "aws-p5en", "grand-teton-h100-96gb"};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrNode) tree = load(library, names[i]);
    OrrCluster before, after;
    read_cluster(library, tree, &before);
    plain(&before);
    g_autofree char *text = orr_topology_text(format, &before, &error);
    g_assert_no_error(error);
    import_into(library, text, NULL, before.device.name, &after);
    plain(&after);
    before.node.host.gpus_per_switch = after.node.host.gpus_per_switch;
    before.node.host.gpus_per_bridge = after.node.host.gpus_per_bridge;
    compare(names[i], format, &before, &after);
    orr_field_clear(&orr_cluster_table, &after);
    orr_field_clear(&orr_cluster_table, &before);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/topology-round/ibnetdiscover", "ibnetdiscover", test_clusters);
  g_test_add_data_func("/topology-round/slurm", "slurm", test_clusters);
  g_test_add_data_func("/topology-round/slurm-yaml", "slurm-yaml", test_clusters);
  g_test_add_func("/topology-round/fabrics", test_fabrics);
  g_test_add_data_func("/topology-round/infragraph", "infragraph", test_alone);
  g_test_add_data_func("/topology-round/simai", "simai", test_alone);
  return g_test_run();
}
