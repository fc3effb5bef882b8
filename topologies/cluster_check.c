/*
 * cluster_check.c - whether the parts of a cluster's document agree, and its fabric can be built.
 */
#include "sim/base/idle.h"
#include "topologies/bill.h"
#include "topologies/fabric.h"

static void check_counts(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const gint64 nodes = orr_cluster_n_nodes(cluster), n_gpus = nodes * cluster->node.gpus;
  if (nodes == 0) orr_diags_error(diags, place, "the cluster has neither nodes nor gpus: give one");
  if (cluster->max_nodes && nodes > cluster->max_nodes)
    orr_diags_error(
        diags, place,
        "nodes is %ld, but the fabric was built for %ld (max-nodes; 0 builds as many as `nodes`)",
        nodes, cluster->max_nodes);
  if (cluster->gpus > n_gpus)
    orr_diags_error(diags, place, "gpus is %ld, but %ld nodes of %ld hold only %ld", cluster->gpus,
                    nodes, cluster->node.gpus, n_gpus);
}

static void check_domain(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  gint64 domain = cluster->node.scale_up_domain, gpus = cluster->node.gpus;
  if (domain % gpus != 0 && gpus % domain != 0)
    orr_diags_error(
        diags, place,
        "scale-up-domain is %ld: it must divide the %ld GPUs of a node, or be a multiple of them",
        domain, gpus);
  if (domain > 1 && !(cluster->device.scale_up_bytes_per_s > 0))
    orr_diags_error(diags, place,
                    "scale-up-domain is %ld, but device %s has no scale-up links: it must be 1",
                    domain, cluster->device.name ? cluster->device.name : "?");
}

static void check_nics(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  double nics = cluster->node.nics_per_gpu, sharers = nics > 0 ? 1 / nics : 0;
  gboolean whole = nics == floor(nics);
  gboolean shared = nics > 0 && nics < 1 && fabs(sharers - round(sharers)) < 1e-6;
  if (!whole && !(shared && cluster->node.gpus % llround(sharers) == 0))
    orr_diags_error(diags, place,
                    "nics-per-gpu is %g: it must be a whole number, or 1/n with n a divisor of the "
                    "%ld GPUs of a node",
                    nics, cluster->node.gpus);
}

/* Without GPUDirect RDMA each byte is copied through the host's memory, and so crosses the uplink
 * of the PCIe switch above GPU and NIC twice in each direction: NICs get at most half of it. */
static void check_host_path(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const OrrNodeShape *node = &cluster->node;
  const double half = orr_cluster_host_link_bytes_per_s(cluster) / 2;
  const double nics = MAX(1, node->nics_per_gpu) * node->nic_bytes_per_s * node->nic_efficiency;
  if (node->gpudirect_rdma || node->host.network_path != ORR_NETWORK_AUTO || half <= 0 ||
      nics <= half || orr_cluster_n_nodes(cluster) < 2)
    return;
  orr_diags_warning(
      diags, place,
      "gpudirect-rdma is false: NCCL has no LL128 over the network, and bytes still run at the "
      "NICs' %.3g GB/s, though each crosses PCIe to the host's memory and back: give node "
      "{nic-bandwidth} what remains, or host {network-path: bridge, gpus-per-switch: N, "
      "switch-bandwidth: %.3g GB/s} for N GPUs per PCIe uplink",
      nics / 1e9, half / 1e9);
}

static void check_idle(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const gboolean is_ecmp = cluster->routing == ORR_ROUTING_ECMP,
                 is_static = cluster->routing == ORR_ROUTING_STATIC;
  static const char unhashed[] = "only routing: ecmp hashes";
  const OrrIdleKey keys[] = {
      {"hash-draws", !is_ecmp, unhashed},
      {"hash-take", !is_ecmp, unhashed},
      {"hash-take", is_ecmp && cluster->hash_draws == 0, "hash-draws is 0"},
      {"split-data-on-qps", !is_ecmp, unhashed},
      {"queue-pairs", !is_ecmp && !is_static, "routing is neither ecmp nor static"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}

void orr_cluster_check(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  guint n_before = orr_diags_n_errors(diags);
  check_counts(cluster, place, diags);
  orr_device_check(&cluster->device, place, diags);
  check_domain(cluster, place, diags);
  check_nics(cluster, place, diags);
  check_host_path(cluster, place, diags);
  orr_host_shape_check(&cluster->node.host, cluster->node.gpus, place, diags);
  orr_storage_check(&cluster->storage, place, diags);
  orr_node_power_check(cluster, place, diags);
  check_idle(cluster, place, diags);
  if (orr_diags_n_errors(diags) != n_before) return;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 0, &error); /* a plan costs microseconds */
  if (!fabric)
    orr_diags_error(diags, place, "%s", error->message);
  else
    orr_bill_check_copper(fabric, place, diags);
}
