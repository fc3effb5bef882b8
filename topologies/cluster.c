/*
 * cluster.c - the field tables of clusters, and counts that follow from them.
 */
#include "topologies/cluster.h"

#include "topologies/fabric.h"
#include "topologies/queue_model.h"
#include "topologies/transport.h"

static const char *const ports_words[] = {"bonded", "separate", NULL};

const OrrFieldTable orr_node_shape_table = ORR_FIELDS(
    "node", "A node: its GPUs, the links between them, and its NICs.", OrrNodeShape,
    ORR_FIELD_INT(OrrNodeShape, "gpus", gpus, NULL, "GPUs in a node.", .min = 1, .max = 1024),
    ORR_FIELD_INT(
        OrrNodeShape, "scale-up-domain", scale_up_domain, NULL,
        "GPUs that reach each other over NVLink; can span whole nodes (72 on NVL72); 1: no NVLink.",
        .min = 1, .max = 1e6),
    ORR_FIELD_REAL(OrrNodeShape, "scale-up-latency", scale_up_latency_s, ORR_UNIT_SECONDS, "0 s",
                   "GPU to GPU through NVSwitch, on top of the profile's scale-up-step; 0 if the "
                   "step includes it.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrNodeShape, "scale-up-switches", scale_up_switches, NULL,
                  "Switch trays of a scale-up domain that spans nodes, for its bill of materials "
                  "(9 on NVL72); absent: none are counted.",
                  .min = 0, .max = 1e6, .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_REAL(OrrNodeShape, "nics-per-gpu", nics_per_gpu, ORR_UNIT_NONE, "1",
                   "Compute NICs per GPU: a whole number, or 1/n if n GPUs share one; 0: no "
                   "scale-out network.",
                   .min = 0, .max = 64),
    ORR_FIELD_INT(OrrNodeShape, "ports-per-nic", ports_per_nic, "1",
                  "Ports of a NIC; they divide nic-bandwidth evenly.", .min = 1, .max = 8),
    ORR_FIELD_WORD(OrrNodeShape, "ports", ports, ports_words, "bonded",
                   "bonded: all ports of a GPU's NICs act as one port with their summed bandwidth. "
                   "separate: each is a port of its own on the fabric; routing spreads a flow over "
                   "them, or sends each queue pair over one."),
    ORR_FIELD_REAL(OrrNodeShape, "nic-bandwidth", nic_bytes_per_s, ORR_UNIT_BYTES_PER_S, NULL,
                   "Nominal rate of one NIC, all of its ports together, one direction.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrNodeShape, "nic-efficiency", nic_efficiency, ORR_UNIT_FRACTION, "0.96",
                   "Fraction of nic-bandwidth that large RDMA messages reach; 0.96 is NCCL's 24 of "
                   "25 and 48 of 50 GB/s.",
                   .min = 1e-6, .max = 1),
    ORR_FIELD_REAL(OrrNodeShape, "nic-latency", nic_latency_s, ORR_UNIT_SECONDS, "1 us",
                   "Latency from GPU memory to GPU memory over RDMA, both ends together, without "
                   "the switches.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrNodeShape, "host-link-bandwidth", host_link_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "0 B/s", "PCIe of one GPU, one direction; 0: as the device states.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrNodeShape, "host-link-efficiency", host_link_efficiency, ORR_UNIT_FRACTION,
                   "0.76",
                   "Fraction of it that NCCL reaches between GPUs of a node, and all copies to and "
                   "from the host's memory; 0.76 is 24 of 31.5 (Gen4), 48 of 63 GB/s (Gen5).",
                   .min = 1e-6, .max = 1),
    ORR_FIELD_REAL(
        OrrNodeShape, "host-link-latency", host_link_latency_s, ORR_UNIT_SECONDS, "1 us",
        "GPU to GPU over PCIe, one way; 1 us is what NCCL's tuning table gives an LL step on PCIe.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_BOOL(OrrNodeShape, "gpudirect-rdma", gpudirect_rdma, "true",
                   "NICs read and write GPU memory. Without it NCCL has no LL128 over the network; "
                   "give the nic-bandwidth that remains on the path through the host."),
    ORR_FIELD_SECTION(
        OrrNodeShape, "host", host, &orr_host_shape_table, "{}",
        "PCIe switches and host bridges, where they can limit transfers; by default none does."));

const char *const orr_routing_words[] = {"ideal",   "ecmp", "adaptive", "static",
                                         "valiant", "ugal", NULL};

static const char *const hash_words[] = {"seed", "mean", "worst", NULL};

const OrrFieldTable orr_cluster_table = ORR_FIELDS(
    "cluster", "A machine: device, node shape, fabric, routing.", OrrCluster,
    ORR_FIELD_TEXT(OrrCluster, "name", name, "custom", "The machine's name in results."),
    ORR_COLUMN_TEXT(OrrCluster, "source", source, "Source of the numbers."),
    ORR_FIELD_SECTION(OrrCluster, "device", device, &orr_device_table, NULL,
                      "The accelerator, by name or inline.", .document = "device"),
    ORR_FIELD_INT(OrrCluster, "nodes", nodes, "0",
                  "Nodes of the job's machine; 0: as many as `gpus` need.", .min = 0, .max = 1e7),
    ORR_FIELD_INT(OrrCluster, "gpus", gpus, "0",
                  "GPUs that the job uses, counted from GPU 0; 0: all GPUs of its nodes.", .min = 0,
                  .max = 1e10),
    ORR_FIELD_INT(OrrCluster, "max-nodes", max_nodes, "0",
                  "Nodes that the fabric was built for; 0: as many as `nodes`.", .min = 0,
                  .max = 1e7),
    ORR_FIELD_SECTION(OrrCluster, "node", node, &orr_node_shape_table, NULL,
                      "The shape of a node."),
    ORR_FIELD_CHOICE(OrrCluster, "fabric", fabric, &orr_fabric_registry, "fat-tree",
                     "The scale-out network and its parameters."),
    ORR_FIELD_WORD(OrrCluster, "routing", routing, orr_routing_words, "ideal",
                   "How flows use routes of equal length: ideal and adaptive spread packets over "
                   "all, ecmp hashes each queue pair to one (seeded), static selects by "
                   "destination; valiant and ugal take detours on a dragonfly or a hyperx."),
    ORR_FIELD_CHOICE(OrrCluster, "transport", transport, &orr_transport_registry, "measured",
                     "The transport of messages over the network, and its changes to the measured "
                     "efficiencies and latencies."),
    ORR_FIELD_INT(OrrCluster, "queue-pairs", queue_pairs, "1",
                  "Queue pairs of one connection; ecmp hashes each one separately "
                  "(NCCL_IB_QPS_PER_CONNECTION).",
                  .min = 1, .max = 64),
    ORR_FIELD_BOOL(OrrCluster, "split-data-on-qps", split_data, "true",
                   "A message is divided over all queue pairs; false: each takes one of them in "
                   "turn, so a connection uses one path at a time (NCCL_IB_SPLIT_DATA_ON_QPS, 0 "
                   "since NCCL 2.20)."),
    ORR_FIELD_INT(OrrCluster, "hash-draws", hash_draws, "0",
                  "Under ecmp: hashes to draw for each collective, to report the spread of its "
                  "times; 0: the seed's alone.",
                  .min = 0, .max = 1000),
    ORR_FIELD_WORD(OrrCluster, "hash-take", hash_take, hash_words, "seed",
                   "Which of the draws a collective takes: the seed's own, the mean of all, or "
                   "the worst."),
    ORR_FIELD_CHOICE(
        OrrCluster, "queues", queues, &orr_queue_registry, "none",
        "Congestion where senders meet: queues, marks, pauses; none: max-min flows alone."),
    ORR_FIELD_SECTION(OrrCluster, "storage", storage, &orr_storage_table, "{}",
                      "The parallel file system; none if it has no servers."),
    ORR_FIELD_SECTION(OrrCluster, "power", power, &orr_cluster_power_table, "{}",
                      "Power of the machine besides its GPUs; none: unknown."),
    ORR_FIELD_TEXTS(OrrCluster, "copper", copper, NULL,
                    "Levels of the network, e.g. nic-leaf, whose cables are copper: the others "
                    "have an optical transceiver at each end.",
                    .flags = ORR_FIELD_OPTIONAL));

gint64 orr_cluster_n_nodes(const OrrCluster *cluster) {
  if (cluster->nodes) return cluster->nodes;
  return (cluster->gpus + cluster->node.gpus - 1) / MAX(cluster->node.gpus, 1);
}

gint64 orr_cluster_n_gpus(const OrrCluster *cluster) {
  return cluster->gpus ? cluster->gpus : cluster->nodes * cluster->node.gpus;
}

gint64 orr_cluster_n_built_nodes(const OrrCluster *cluster) {
  return cluster->max_nodes ? cluster->max_nodes : orr_cluster_n_nodes(cluster);
}

double orr_cluster_host_link_bytes_per_s(const OrrCluster *cluster) {
  const double own = cluster->node.host_link_bytes_per_s;
  return own > 0 ? own : cluster->device.host_link_bytes_per_s;
}

static gint64 all_ports(const OrrNodeShape *node) {
  return MAX(1, llround(node->nics_per_gpu)) * MAX(1, node->ports_per_nic);
}

gint64 orr_node_shape_ports_each(const OrrNodeShape *node) {
  return node->ports == ORR_PORTS_SEPARATE ? all_ports(node) : 1;
}

gint64 orr_node_shape_n_ports(const OrrNodeShape *node) {
  const gint64 owners =
      node->nics_per_gpu >= 1 ? node->gpus : llround((double)node->gpus * node->nics_per_gpu);
  return owners * orr_node_shape_ports_each(node);
}

double orr_node_shape_port_bandwidth(const OrrNodeShape *node) {
  const double owner = node->nic_bytes_per_s * node->nic_efficiency * MAX(1, node->nics_per_gpu);
  return owner / (double)orr_node_shape_ports_each(node);
}

gint64 orr_node_shape_port_links(const OrrNodeShape *node) {
  return all_ports(node) / orr_node_shape_ports_each(node);
}
