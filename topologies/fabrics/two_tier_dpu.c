/*
 * two_tier_dpu.c - two-tier-dpu: leaves and spines, with the servers of a file system, which are
 * DPUs, under every leaf.
 *
 *        spine     spine
 *         |  \    / |           leaf-spine, oversubscription: of NICs and DPUs together
 *        leaf      leaf
 *       / | \     / | \
 *     n0 n1 dpu0 n2 n3 dpu1      server i of cluster.storage under leaf i mod leaves
 *
 * A DPU (BlueField) in front of an enclosure of flash serves it over the network by itself, without
 * a storage host (NVMe over Fabrics targets on DPUs: NVIDIA DOCA SNAP). Storage is spread over the
 * machine, rather than in one corner whose links all reads and writes crowd: of the bytes that the
 * nodes of a leaf exchange with S servers spread over L leaves, (L - 1) / L cross spines, evenly.
 * cluster.storage gives the servers' rates. Without storage the fabric is a fat-tree of two levels.
 *
 *   bisection, one direction    (ports + servers) * port / (2 * oversubscription)
 *
 *   storage: {servers: 16, server-bandwidth: 20 GB/s, attach: fabric}
 *   fabric: {kind: two-tier-dpu, radix: 64, nodes-per-leaf: 3}
 */
#include "topologies/fabrics/clos.h"

typedef struct {
  OrrClosParams clos;
  gint64 nodes_per_leaf;
} Params;

typedef struct {
  OrrClos clos;
  gint64 node_ports;   /* NIC ports of all nodes that the fabric is built for */
  gint64 first_server; /* the port of server 0 */
  gint64 leaf_nics;    /* NICs of a full leaf */
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "two-tier-dpu", "Parameters of the fabric two-tier-dpu.", Params, ORR_CLOS_FIELDS(Params),
    ORR_FIELD_INT(Params, "nodes-per-leaf", nodes_per_leaf, "0",
                  "Nodes under a leaf; 0: as many as its ports allow next to one DPU.", .min = 0,
                  .max = 1e7));

static gboolean check(const OrrCluster *cluster, const Params *params, GError **error) {
  const char *text = NULL;
  if (params->clos.levels != 2)
    text = "levels is 3: two-tier-dpu has two, leaves and spines (for three use fat-tree with "
           "storage at its last ports)";
  else if (cluster->storage.servers > 0 && cluster->storage.attach != ORR_STORAGE_FABRIC)
    text =
        "its DPUs are the servers of cluster.storage, which says attach: own: set attach: fabric";
  if (text) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return !text;
}

/* The NICs of the whole nodes on a leaf, next to an even fraction of the servers. */
static gint64 nics_of_leaf(const OrrClosSpec *spec, const Params *params, gint64 each,
                           gint64 node_ports, gint64 servers) {
  gint64 nics = params->nodes_per_leaf > 0 ? params->nodes_per_leaf * each
                                           : orr_clos_widest_leaf(spec, 1) / each * each;
  const gint64 widest = orr_clos_widest_leaf(spec, 1);
  while (params->nodes_per_leaf == 0 && nics > each) {
    const gint64 leaves = (node_ports + nics - 1) / nics;
    if (nics + (servers + leaves - 1) / leaves <= widest) break;
    nics -= each;
  }
  return MAX(nics, each);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  const gint64 each = orr_node_shape_n_ports(&cluster->node), servers = cluster->storage.servers;
  if (!check(cluster, params, error)) return NULL;
  g_autofree Plan *plan = g_new0(Plan, 1);
  OrrClosSpec spec = orr_clos_spec(cluster, &params->clos, n_ports, port_bytes_per_s);
  plan->first_server = n_ports - servers;
  plan->node_ports = plan->first_server / each * each;
  plan->leaf_nics = nics_of_leaf(&spec, params, each, plan->node_ports, servers);
  spec.leaves = (plan->node_ports + plan->leaf_nics - 1) / plan->leaf_nics;
  spec.leaf_ports = plan->leaf_nics + (servers + spec.leaves - 1) / spec.leaves;
  spec.n_ports = plan->node_ports + servers;
  return orr_clos_init(&plan->clos, &spec, error) ? g_steal_pointer(&plan) : NULL;
}

static gint64 leaf_of(const Plan *plan, gint64 port) {
  if (port >= plan->first_server) return (port - plan->first_server) % plan->clos.spec.leaves;
  return port / plan->leaf_nics;
}

static guint route(gconstpointer data, gint64 src_port, gint64 dst_port, guint64 hash,
                   GArray *links) {
  const Plan *plan = data;
  return orr_clos_route(&plan->clos, leaf_of(plan, src_port), leaf_of(plan, dst_port), hash, links);
}

const OrrFabricKind orr_two_tier_dpu = {
    .entry =
        {.name = "two-tier-dpu",
         .sentence =
             "Leaves and spines, with the file system's servers, which are DPUs, under every leaf.",
         .params = &params_table},
    .plan = plan_new,
    .route = route,
    ORR_CLOS_ANSWERS,
};
