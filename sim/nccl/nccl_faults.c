/*
 * nccl_faults.c - the known faults as settings of a scenario.
 *
 * A fault that the machine does not have a part for adds nothing. Parts are taken in the middle of
 * the machine: the first node is the root of NCCL's trees and carries less than others.
 *
 *   nic-missing   NCCL reduces its channels to what the node with the fewest NICs has (n - 1 of n),
 *                 or two GPUs of that node share one NIC (half for both)
 *   no-gdr        data goes through host memory, so it crosses the PCIe switch's uplink twice: it
 *                 carries half of its rate, for one GPU or for two (measured on a DGX A100 without
 *                 GPUDirect RDMA: 10.6 GB/s for two GPUs on a Gen4 uplink of 24, github
 *                 microsoft/vidur issue 43)
 *   sockets       one Ethernet port per node; 30 us for a hop through two kernels' TCP stacks is an
 *                 assumption
 *   slow-host     a hop takes no less than 10 to 80 us: NCCL's proxy thread waits for a CPU (shared
 *                 by hyper-threads, in a deep sleep state, pinned to the wrong socket). The range
 *                 is an assumption, and the fit picks the value
 */
#include "sim/nccl/nccl_diagnosis.h"

typedef struct {
  const OrrNcclSite *site;
  const OrrNcclFault *fault;
  GArray *suspects;
} Add;

static void clear_suspect(gpointer data) {
  OrrNcclSuspect *suspect = data;
  g_free(suspect->strength);
  g_strfreev(suspect->settings);
}

/* Adds a suspect with the settings @first, ... up to NULL, which it takes. */
static void add(const Add *at, char *strength, char *first, ...) G_GNUC_NULL_TERMINATED;
static void add(const Add *at, char *strength, char *first, ...) {
  g_autoptr(GPtrArray) settings = g_ptr_array_new();
  va_list more;
  va_start(more, first);
  for (char *one = first; one; one = va_arg(more, char *)) g_ptr_array_add(settings, one);
  va_end(more);
  g_ptr_array_add(settings, NULL);
  ORR_APPEND(at->suspects, OrrNcclSuspect,
             {at->fault, strength, (char **)g_ptr_array_free(g_steal_pointer(&settings), FALSE)});
}

static gboolean crosses_network(const Add *at) {
  const OrrNcclCurveQuestion *q = at->site->question;
  const gint64 last = (q->ranks - 1) * q->stride;
  return !orr_fabric_same_domain(at->site->fabric, 0, last) &&
         orr_fabric_node(at->site->fabric, 0) != orr_fabric_node(at->site->fabric, last) &&
         at->site->cluster->node.nics_per_gpu > 0;
}

/* A GPU that takes part, on the node in the middle. */
static gint64 middle_gpu(const Add *at) {
  const gint64 per_node = at->site->cluster->node.gpus;
  return at->site->question->nodes / 2 * per_node;
}

static char *percent(double left) { return g_strdup_printf("at %g %%", 100 * left); }

static const double fractions[] = {0.75, 0.5, 0.25, 0.1};

static char *nic_fault(gint64 gpu, double left) {
  return g_strdup_printf("{at: 0 s, fault: {kind: nic, gpu: %ld, bandwidth: %g %%}}", gpu,
                         100 * left);
}

static void add_missing_nic(const Add *at) {
  const OrrNodeShape *node = &at->site->cluster->node;
  const double n = (double)node->gpus * node->nics_per_gpu;
  const gint64 gpu = middle_gpu(at);
  if (!crosses_network(at) || n < 2) return;
  add(at, g_strdup_printf("its traffic spread over the other %g", n - 1),
      g_strdup_printf("cluster.node.nic-bandwidth=%.0f B/s", node->nic_bytes_per_s * (n - 1) / n),
      NULL);
  const double left = node->nics_per_gpu > 1 ? 1 - 1 / node->nics_per_gpu : 0.5;
  g_autofree char *one = nic_fault(gpu, left), *other = nic_fault(gpu + 1, left);
  add(at, g_strdup("its traffic on its neighbour's"),
      g_strdup_printf("faults=[%s, %s]", one, other), NULL);
}

static void add_slow_nic(const Add *at) {
  for (guint i = 0; crosses_network(at) && i < G_N_ELEMENTS(fractions); i++) {
    g_autofree char *one = nic_fault(middle_gpu(at), fractions[i]);
    add(at, percent(fractions[i]), g_strdup_printf("faults=[%s]", one), NULL);
  }
}

/* The NICs of the first GPU of each node, of at most 64 nodes. */
static void add_slow_rail(const Add *at) {
  const OrrNcclCurveQuestion *q = at->site->question;
  const gint64 per_node = at->site->cluster->node.gpus, n = MIN(q->nodes, 64);
  const gboolean has_rails = q->stride < per_node && per_node > 1;
  for (guint i = 0; crosses_network(at) && has_rails && i < G_N_ELEMENTS(fractions); i++) {
    g_autoptr(GString) list = g_string_new("faults=[");
    for (gint64 node = 0; node < n; node++) {
      g_autofree char *one = nic_fault(node * per_node, fractions[i]);
      g_string_append_printf(list, "%s%s", node ? ", " : "", one);
    }
    g_string_append_c(list, ']');
    add(at, percent(fractions[i]), g_strdup(list->str), NULL);
  }
}

/* The first link between switches on the way from the first to the last rank. Newly allocated;
 * NULL: they share a leaf. */
static char *uplink_of(const Add *at) {
  const OrrNcclCurveQuestion *q = at->site->question;
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_fabric_route(at->site->fabric, 0, (q->ranks - 1) * q->stride, 0, links);
  ORR_EACH_VALUE(const guint32, link, links)
    if (g_str_equal(orr_fabric_link_kind(at->site->fabric, link), "fabric"))
      return orr_fabric_link_name(at->site->fabric, link);
  return NULL;
}

static void add_uplink(const Add *at) {
  g_autofree char *name = crosses_network(at) ? uplink_of(at) : NULL;
  for (guint i = 0; name && i < G_N_ELEMENTS(fractions); i++)
    add(at, percent(fractions[i]),
        g_strdup_printf("faults=[{at: 0 s, fault: {kind: link, name: '%s', bandwidth: %g %%}}]",
                        name, 100 * fractions[i]),
        NULL);
}

static void add_host_path(const Add *at, gint64 gpus) {
  add(at, g_strdup_printf("%ld GPU%s per PCIe uplink", gpus, gpus == 1 ? "" : "s"),
      g_strdup("cluster.node.gpudirect-rdma=false"),
      g_strdup("cluster.node.host.network-path=bridge"),
      g_strdup_printf("cluster.node.host.gpus-per-switch=%ld", gpus),
      g_strdup_printf("cluster.node.host.switch-bandwidth=%.0f B/s",
                      orr_cluster_host_link_bytes_per_s(at->site->cluster) / 2),
      NULL);
}

static void add_no_gdr(const Add *at) {
  const OrrNodeShape *node = &at->site->cluster->node;
  if (!crosses_network(at) || !node->gpudirect_rdma) return;
  add(at, g_strdup("the path through the host as fast as the NIC"),
      g_strdup("cluster.node.gpudirect-rdma=false"), NULL);
  if (orr_cluster_host_link_bytes_per_s(at->site->cluster) <= 0) return;
  if (node->host.gpus_per_switch != 2) add_host_path(at, 1);
  if (node->gpus % 2 == 0) add_host_path(at, 2);
}

static void add_fewer_nics(const Add *at) {
  const OrrNodeShape *node = &at->site->cluster->node;
  for (gint64 part = 2; crosses_network(at) && part <= 8; part *= 2) {
    const double n = (double)node->gpus * node->nics_per_gpu / (double)part;
    const double each = node->nics_per_gpu / (double)part;
    if (n < 1 || (each > 1 && each != floor(each))) continue;
    add(at, g_strdup_printf("%g of %g", n, n * (double)part),
        g_strdup_printf("cluster.node.nics-per-gpu=%.17g", each), NULL);
  }
}

static void add_sockets(const Add *at) {
  static const int rates[] = {100, 25, 10};
  for (guint i = 0; crosses_network(at) && i < G_N_ELEMENTS(rates); i++)
    add(at, g_strdup_printf("over %d Gb/s", rates[i]),
        g_strdup_printf("cluster.node.nics-per-gpu=%.17g",
                        1.0 / (double)at->site->cluster->node.gpus),
        g_strdup_printf("cluster.node.nic-bandwidth=%d Gb/s", rates[i]),
        g_strdup("cluster.node.gpudirect-rdma=false"),
        g_strdup("cluster.transport={kind: measured, hop-latency: 30 us}"), NULL);
}

static void add_pcie(const Add *at) {
  const double whole = orr_cluster_host_link_bytes_per_s(at->site->cluster);
  for (int part = 2; whole > 0 && part <= 4; part *= 2)
    add(at, g_strdup_printf("1/%d of its width or generation", part),
        g_strdup_printf("cluster.node.host-link-bandwidth=%.0f B/s", whole / part), NULL);
}

static void add_slow_host(const Add *at) {
  for (int us = 10; crosses_network(at) && us <= 80; us *= 2)
    add(at, g_strdup_printf("%d us for a hop", us),
        g_strdup_printf("cluster.transport.hop-latency=%d us", us), NULL);
}

static void add_collisions(const Add *at) {
  if (!crosses_network(at) || at->site->cluster->routing == ORR_ROUTING_ECMP) return;
  for (int seed = 1; seed <= 3; seed++)
    add(at, g_strdup_printf("hash %d", seed), g_strdup("cluster.routing=ecmp"),
        g_strdup_printf("seed=%d", seed), NULL);
}

/* A connection of several queue pairs spreads over as many hashes; one pair is one flow. */
static void add_one_qp(const Add *at) {
  const OrrCluster *cluster = at->site->cluster;
  if (crosses_network(at) && cluster->routing == ORR_ROUTING_ECMP && cluster->queue_pairs > 1)
    add(at, g_strdup_printf("1 of %ld", cluster->queue_pairs), g_strdup("cluster.queue-pairs=1"),
        NULL);
}

static void add_no_pxn(const Add *at) {
  if (crosses_network(at)) add(at, g_strdup(""), g_strdup("workload.nccl.pxn=false"), NULL);
}

/* In one domain the profile's measured times hold for NVLS too, so a ring is forced. */
static void add_no_nvls(const Add *at) {
  if (at->site->question->op != ORR_ALL_REDUCE) return;
  if (crosses_network(at))
    add(at, g_strdup(""), g_strdup("workload.nccl.nvls=false"),
        g_strdup("workload.nccl.nvls-tree=false"), NULL);
  else
    add(at, g_strdup(""), g_strdup("workload.algorithm=ring"), NULL);
}

static void add_ring(const Add *at) {
  if (at->site->question->op == ORR_ALL_REDUCE)
    add(at, g_strdup(""), g_strdup("workload.algorithm=ring"), NULL);
}

static void add_tree(const Add *at) {
  if (at->site->question->op == ORR_ALL_REDUCE)
    add(at, g_strdup(""), g_strdup("workload.algorithm=tree"), NULL);
}

static void add_protocol(const Add *at) {
  for (OrrProtocol p = ORR_PROTOCOL_LL; p < ORR_N_PROTOCOLS; p++)
    add(at, g_strdup(orr_protocol_words[p]),
        g_strdup_printf("workload.protocol=%s", orr_protocol_words[p]), NULL);
}

/* Without NVLink GPUs of a node send over PCIe. Measured rows are of NVLink: Simple is forced. */
static void add_no_nvlink(const Add *at) {
  const OrrCluster *cluster = at->site->cluster;
  if (cluster->node.scale_up_domain < 2 || at->site->question->stride >= cluster->node.gpus ||
      orr_cluster_host_link_bytes_per_s(cluster) <= 0)
    return;
  add(at, g_strdup(""), g_strdup("cluster.node.scale-up-domain=1"),
      g_strdup("workload.protocol=simple"), NULL);
}

/* Alphabetical. */
static const struct {
  OrrNcclFault fault;
  void (*add)(const Add *at);
} faults[] = {
    {{"collisions", "Flows are hashed onto the same uplinks (ECMP, adaptive routing off)",
      "port counters of the leaf switches differ; switch on adaptive routing or more queue pairs "
      "(NCCL_IB_QPS_PER_CONNECTION)"},
     add_collisions},
    {{"fewer-nics", "NCCL uses fewer NICs than the node has (a wrong NCCL_IB_HCA)",
      "NCCL_DEBUG=INFO prints NET/IB: Using [0]..., one for each NIC that it uses"},
     add_fewer_nics},
    {{"nic-missing", "A NIC of one node is missing or down",
      "ibstat on all nodes: ports that are not Active"},
     add_missing_nic},
    {{"no-gdr", "No GPUDirect RDMA: traffic goes through host memory",
      "NCCL_DEBUG=INFO prints GPU Direct RDMA Enabled for each NIC and /GDRDMA for each channel; "
      "nvidia-peermem or DMA-BUF, ACS off"},
     add_no_gdr},
    {{"no-nvlink", "GPUs of a node send over PCIe instead of NVLink",
      "nvidia-smi topo -m shows NV; NCCL_P2P_DISABLE, Fabric Manager"},
     add_no_nvlink},
    {{"no-nvls", "NVLS is off: NVSwitch does not reduce",
      "NCCL_DEBUG=INFO prints NVLS multicast support; NCCL_NVLS_ENABLE, Fabric Manager, IMEX"},
     add_no_nvls},
    {{"no-pxn", "PXN is off: messages leave through their sender's own NIC",
      "NCCL_PXN_DISABLE, NCCL before 2.12"},
     add_no_pxn},
    {{"one-qp", "One queue pair for each connection on a network that hashes flows (ECMP)",
      "NCCL_IB_QPS_PER_CONNECTION, NCCL_IB_SPLIT_DATA_ON_QPS"},
     add_one_qp},
    {{"pcie-width", "PCIe of the GPUs or NICs trained at less than its width or generation",
      "lspci -vv: LnkSta against LnkCap"},
     add_pcie},
    {{"protocol", "One protocol is forced", "NCCL_PROTO, a tuner plugin"}, add_protocol},
    {{"ring", "Rings are forced", "NCCL_ALGO, a tuner plugin"}, add_ring},
    {{"slow-host", "Each hop takes longer: a slow, sleeping or shared CPU drives the NICs",
      "CPU governor and C-states, hyper-threads, affinity of NCCL's proxy threads"},
     add_slow_host},
    {{"slow-nic", "One NIC or cable is slow",
      "ib_write_bw between pairs of nodes, NIC by NIC; symbol errors in ibdiagnet"},
     add_slow_nic},
    {{"slow-rail", "One rail is slow: the same NIC of all nodes, or its leaf switch",
      "ib_write_bw on each rail alone"},
     add_slow_rail},
    {{"slow-uplink", "An uplink between switches is slow or congested",
      "counters of the leaf switches' uplinks; the same test on nodes of one leaf"},
     add_uplink},
    {{"sockets", "TCP sockets instead of RDMA",
      "NCCL_DEBUG=INFO prints NET/Socket; NCCL_IB_DISABLE, missing libibverbs"},
     add_sockets},
    {{"tree", "Trees are forced", "NCCL_ALGO, a tuner plugin"}, add_tree},
};

GArray *orr_nccl_faults_suspects(const OrrNcclSite *site) {
  GArray *suspects = g_array_new(FALSE, FALSE, sizeof(OrrNcclSuspect));
  g_array_set_clear_func(suspects, clear_suspect);
  for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
    const Add at = {site, &faults[i].fault, suspects};
    faults[i].add(&at);
  }
  return suspects;
}
