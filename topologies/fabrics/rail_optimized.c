/*
 * rail_optimized.c - rail-optimized: NIC i of every node of a group on leaf i of that group.
 *
 *        spines / cores            what joins rails, and groups
 *        |    |    |    |
 *      leaf0 leaf1 leaf2 leaf3     a group's leaves, one a rail
 *       | \   | \   | \   | \
 *      n0 n1 n0 n1 n0 n1 n0 n1     nodes of the group (NVIDIA: a scalable unit, SU)
 *
 * GPUs at the same position in their nodes have one switch between them within a group. With two
 * levels all leaves share the spines. With three levels the leaves of one rail have their own
 * spines (a pod is a rail of up to groups-per-pod groups), and cores join the rails: between GPUs
 * of the same rail are three switches, of different rails five.
 *
 * Source: NVIDIA DGX SuperPOD reference architectures RA-09950-001 (DGX A100: SU of 20 nodes, HDR),
 * RA-11333-001 (DGX H100: SU of 32 nodes, NDR). The rule in clos.h reproduces the switch counts
 * that NVIDIA publishes for 2 to 64 SU of 32 nodes (for the DGX B200, with the same SU and
 * switches): tests/topologies/fabrics/test_rail_optimized.c.
 *
 * The fabric carries traffic between rails over its spines. NCCL's PXN, which first crosses to the
 * right rail over NVLink, is modelled by the collectives.
 *
 * Bisection as in fat_tree.c: N * B / (2 * o1), with three levels N * B / (2 * o1 * o2) for cuts
 * through rails.
 *
 *   fabric: {kind: rail-optimized, levels: 3, radix: 40, nodes-per-group: 20, groups-per-pod: 7}
 */
#include "topologies/fabrics/clos.h"

typedef struct {
  OrrClosParams clos;
  gint64 nodes_per_group;
  gint64 groups_per_pod;
} Params;

typedef struct {
  OrrClos clos;
  gint64 rails; /* NIC ports per node */
  gint64 nodes_per_group;
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "rail-optimized", "Parameters of the fabric rail-optimized.", Params, ORR_CLOS_FIELDS(Params),
    ORR_FIELD_INT(Params, "nodes-per-group", nodes_per_group, "0",
                  "Nodes per group (a scalable unit): their NICs of one rail share a leaf; 0: as "
                  "many as a leaf's ports allow.",
                  .min = 0, .max = 1e7),
    ORR_FIELD_INT(Params, "groups-per-pod", groups_per_pod, "0",
                  "With three levels, groups per pod: their leaves of one rail share spines; 0: as "
                  "many as the radix allows.",
                  .min = 0, .max = 1e7));

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  g_autofree Plan *plan = g_new0(Plan, 1);
  OrrClosSpec spec = orr_clos_spec(cluster, &params->clos, n_ports, port_bytes_per_s);
  plan->rails = orr_node_shape_n_ports(&cluster->node);
  plan->nodes_per_group =
      params->nodes_per_group ? params->nodes_per_group : orr_clos_widest_leaf(&spec, 1);
  gint64 nodes = n_ports / plan->rails;
  gint64 groups = (nodes + plan->nodes_per_group - 1) / plan->nodes_per_group;
  spec.leaf_ports = plan->nodes_per_group;
  spec.leaves = groups * plan->rails;
  spec.stride = plan->rails;
  spec.by_rail = TRUE;
  spec.leaves_per_pod = params->groups_per_pod;
  return orr_clos_init(&plan->clos, &spec, error) ? g_steal_pointer(&plan) : NULL;
}

/* Leaf g * rails + r serves rail r of group g. */
static gint64 port_leaf(const Plan *plan, gint64 port) {
  return port / plan->rails / plan->nodes_per_group * plan->rails + port % plan->rails;
}

static guint route(gconstpointer data, gint64 src_port, gint64 dst_port, guint64 hash,
                   GArray *links) {
  const Plan *plan = data;
  if (plan->clos.spec.by_destination)
    hash /= (guint64)plan->rails; /* ports of one leaf belong to neighbouring nodes */
  return orr_clos_route(&plan->clos, port_leaf(plan, src_port), port_leaf(plan, dst_port), hash,
                        links);
}

const OrrFabricKind orr_rail_optimized = {
    .entry = {.name = "rail-optimized",
              .sentence =
                  "One leaf per rail and group of nodes; spines join leaves, cores join rails.",
              .params = &params_table},
    .plan = plan_new,
    .route = route,
    ORR_CLOS_ANSWERS,
    .n_orbits = orr_clos_n_orbits,
    .orbit = orr_clos_orbit,
};
