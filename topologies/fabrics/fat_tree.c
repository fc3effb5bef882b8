/*
 * fat_tree.c - fat-tree: consecutive nodes under a leaf, leaves under spines, spines under cores.
 *
 *            core     core
 *             |   \ /  |           spine-core, core-oversubscription
 *            spine    spine
 *             |   \ /  |           leaf-spine, oversubscription
 *            leaf     leaf
 *           n0 n1 n2 n3 n4 n5      all NICs of a node on its leaf
 *
 * Two levels of k-port switches join k^2/2 NICs without blocking, three levels k^3/4 (Leiserson
 * 1985; Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture",
 * SIGCOMM 2008). A leaf holds as many whole nodes as its ports allow unless nodes-per-leaf or
 * leaf-ports says otherwise; links and switches above follow (clos.h).
 *
 * Bisection, one direction, of N NICs of B bytes/s under full leaves: 
 *   two levels     N * B / (2 * o1)
 *   three levels   N * B / (2 * o1 * o2)
 *
 *   fabric: {kind: fat-tree, levels: 3, radix: 64, oversubscription: 4, core-oversubscription: 1}
 */
#include "topologies/fabrics/clos.h"

typedef struct {
  OrrClosParams clos;
  gint64 nodes_per_leaf;
  gint64 leaf_ports;
  gint64 leaves_per_pod;
} Params;

typedef struct {
  OrrClos clos;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "fat-tree", "Parameters of the fabric fat-tree.", Params, ORR_CLOS_FIELDS(Params),
    ORR_FIELD_INT(Params, "nodes-per-leaf", nodes_per_leaf, "0",
                  "Nodes under a leaf; 0: as many as its ports allow.", .min = 0, .max = 1e7),
    ORR_FIELD_INT(
        Params, "leaf-ports", leaf_ports, "0",
        "NIC ports under a leaf, if these are not whole nodes; 0: as nodes-per-leaf says.",
        .min = 0, .max = 1e7),
    ORR_FIELD_INT(
        Params, "leaves-per-pod", leaves_per_pod, "0",
        "With three levels, leaves that share their spines; 0: as many as the radix allows.",
        .min = 0, .max = 1e7));

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  gint64 node_ports = orr_node_shape_n_ports(&cluster->node);
  OrrClosSpec spec = orr_clos_spec(cluster, &params->clos, n_ports, port_bytes_per_s);
  if (params->nodes_per_leaf && params->leaf_ports)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "nodes-per-leaf is %ld and leaf-ports is %ld: give one of them",
                          params->nodes_per_leaf, params->leaf_ports);
  spec.leaf_ports =
      params->nodes_per_leaf ? params->nodes_per_leaf * node_ports : params->leaf_ports;
  if (!spec.leaf_ports) spec.leaf_ports = orr_clos_widest_leaf(&spec, node_ports);
  spec.leaves = (n_ports + spec.leaf_ports - 1) / spec.leaf_ports;
  spec.leaves_per_pod = params->leaves_per_pod;
  g_autofree Plan *plan = g_new0(Plan, 1);
  return orr_clos_init(&plan->clos, &spec, error) ? g_steal_pointer(&plan) : NULL;
}

static guint route(gconstpointer data, gint64 src_port, gint64 dst_port, guint64 hash,
                   GArray *links) {
  const Plan *plan = data;
  gint64 leaf_ports = plan->clos.spec.leaf_ports;
  return orr_clos_route(&plan->clos, src_port / leaf_ports, dst_port / leaf_ports, hash, links);
}

const OrrFabricKind orr_fat_tree = {
    .entry = {.name = "fat-tree",
              .sentence = "Folded Clos of two or three levels: consecutive nodes share a leaf.",
              .params = &params_table},
    .plan = plan_new,
    .route = route,
    ORR_CLOS_ANSWERS,
    .n_orbits = orr_clos_n_orbits,
    .orbit = orr_clos_orbit,
};
