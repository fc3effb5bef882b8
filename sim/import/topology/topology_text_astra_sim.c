/*
 * topology_text_astra_sim.c - a cluster as ASTRA-sim 2's analytical network.yml, and the
 * system.json that goes with it.
 *
 *   topology: [ Switch, Switch ]     GPUs of an NVLink domain, then domains
 *   npus_count: [ 8, 16 ]
 *   bandwidth: [ 419, 44.7 ]         GB of 2^30 B per second of a GPU, effective, one direction
 *   latency: [ 0, 500 ]              ns: half of the way over a switch, which ASTRA-sim pays twice
 *
 * A domain whose GPUs have a link to each other (scale-up-links) is FullyConnected, with the rate
 * and the whole latency of one link.
 *
 * The format has no fabric: oversubscription, rails, routing and what NICs share are lost, which a
 * comment of the text says. A system has the device's memory and a ring for each dimension: NCCL's
 * choice among algorithms and its protocols have no place there. Its endpoint-delay of 10 ns and
 * the rest are of ASTRA-sim's own examples (inputs/system).
 */
#include "sim/import/topology/topology_text.h"

/* ASTRA-sim's analytical network counts a GB as 2^30 B (bw_GBps_to_Bpns, astra-network-analytical,
 * common/NetworkFunction.cpp; from memory). */
#define ASTRA_SIM_GB ((double)(1 << 30))

typedef struct {
  gint64 npus;
  double gb_per_s, latency_ns;
  gboolean is_mesh;
} Dim;

static void append_list(GString *out, const char *key, const Dim *dims, guint n,
                        double (*value)(const Dim *dim)) {
  g_string_append_printf(out, "%s: [ ", key);
  for (guint i = 0; i < n; i++)
    g_string_append_printf(out, "%s%.10g", i ? ", " : "", value(&dims[i]));
  g_string_append(out, " ]\n");
}

static double npus_of(const Dim *dim) { return (double)dim->npus; }
static double rate_of(const Dim *dim) { return dim->gb_per_s * 1e9 / ASTRA_SIM_GB; }
static double latency_of(const Dim *dim) { return dim->latency_ns; }

/* The dimensions of @cluster; their number. */
static guint find_dims(const OrrCluster *cluster, const OrrFabric *fabric, Dim dims[2]) {
  const OrrNodeShape *node = &cluster->node;
  const gint64 gpus = orr_cluster_n_gpus(cluster), domain = MIN(node->scale_up_domain, gpus);
  guint n = 0;
  if (domain > 1) {
    const OrrDevice *device = &cluster->device;
    const gint64 links = MAX(device->scale_up_links, 1);
    const double rate = device->scale_up_bytes_per_s * device->scale_up_efficiency;
    dims[n++] = (Dim){domain, rate / (double)links / 1e9,
                      node->scale_up_latency_s / (links > 1 ? 1 : 2) * 1e9, links > 1};
  }
  if (gpus > domain) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    const double one_way_s = orr_fabric_route(fabric, 0, domain, 0, links);
    dims[n++] = (Dim){gpus / domain,
                      node->nics_per_gpu * node->nic_bytes_per_s * node->nic_efficiency / 1e9,
                      one_way_s / 2 * 1e9, FALSE};
  }
  return n;
}

static char *write_text(const OrrCluster *cluster, GError **error) {
  Dim dims[2];
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 1, error);
  if (!fabric) return NULL;
  const guint n = find_dims(cluster, fabric, dims);
  if (n == 0) {
    orr_fault_set(error, ORR_FAULT_DOCUMENT, "one GPU has no network");
    return NULL;
  }
  GString *out = g_string_new(NULL);
  g_string_append_printf(out,
                         "# %s, by orrery describe cluster --as astra-sim. The fabric between "
                         "domains counts as one switch: %s\n"
                         "# with its oversubscription, rails and routing is not carried.\n"
                         "topology: [ %s%s ]\n",
                         cluster->name, cluster->fabric.entry->name,
                         dims[0].is_mesh ? "FullyConnected" : "Switch", n > 1 ? ", Switch" : "");
  append_list(out, "npus_count", dims, n, npus_of);
  append_list(out, "bandwidth", dims, n, rate_of);
  append_list(out, "latency", dims, n, latency_of);
  return g_string_free(out, FALSE);
}

const OrrTopologyText orr_topology_text_astra_sim = {
    .name = "astra-sim",
    .sentence = "domains and their network, as a network.yml of ASTRA-sim 2",
    .write = write_text,
};

static void append_rings(GString *out, const char *key, guint n, const char *word) {
  g_string_append_printf(out, "  \"%s-implementation\": [", key);
  for (guint i = 0; i < n; i++) g_string_append_printf(out, "%s\"%s\"", i ? ", " : "", word);
  g_string_append(out, "],\n");
}

static char *write_system(const OrrCluster *cluster, GError **error) {
  Dim dims[2];
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 1, error);
  if (!fabric) return NULL;
  const guint n = find_dims(cluster, fabric, dims);
  GString *out = g_string_new("{\n  \"scheduling-policy\": \"LIFO\",\n"
                              "  \"endpoint-delay\": 10,\n"
                              "  \"active-chunks-per-dimension\": 1,\n"
                              "  \"preferred-dataset-splits\": 4,\n");
  append_rings(out, "all-reduce", n, "ring");
  append_rings(out, "all-gather", n, "ring");
  append_rings(out, "reduce-scatter", n, "ring");
  append_rings(out, "all-to-all", n, "direct");
  g_string_append_printf(out,
                         "  \"collective-optimization\": \"localBWAware\",\n"
                         "  \"local-mem-bw\": %.10g,\n  \"boost-mode\": 0\n}\n",
                         cluster->device.memory_bytes_per_s / 1e9);
  return g_string_free(out, FALSE);
}

const OrrTopologyText orr_topology_text_astra_sim_system = {
    .name = "astra-sim-system",
    .sentence = "memory and rings, as a system.json of ASTRA-sim 2",
    .write = write_system,
};
