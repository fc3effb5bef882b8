/*
 * collective_layout.c - finds which members of a group share a scale-up domain, and over which
 * members its channels run.
 *
 * NCCL cuts a collective into channels: each enters and leaves a node through one NIC, next to one
 * of its GPUs, and passes all members of the node in between. Every node searches its own channels
 * (src/graph/search.cc, ncclTopoCompute); then all ranks take the least number that any of them
 * found (src/init.cc, initTransportsRank: "Make sure we align all ranks so that the tuning is
 * consistent across ranks"; the same for rings, trees and NVLS):
 *
 *   channels = min over domains of (NICs next to the domain's members)
 *
 *      8 members, 8 NICs    0  1  2  3  4  5  6  7        4 channels: NICs 4 to 7 of the large
 *                                                         domain idle
 *                           |  |  |  |
 *      4 members, 4 NICs    0  1  2  3
 *
 * So a domain with few members slows all others: 8 + 4 GPUs have the network bandwidth of 4 + 4.
 * One more member in the smallest domain never reduces the number of channels. If all domains have
 * the same number of members, there is one channel per member; if two members share a NIC, their
 * two channels share it too.
 *
 * A tree's members are hosts (src/graph/trees.cc): GPUs of a node that NVLink does not join all are
 * members of one chain, in part over PCIe. Where a domain spans nodes (MNNVL) NCCL takes it for the
 * host.
 *
 * NICs are matched by the position of their GPU in the group's order, not by their number in the
 * node.
 */
#include "workloads/collectives/collective_private.h"

static gint64 host_of(const OrrFabric *fabric, gint64 gpu) {
  return orr_fabric_spans_nodes(fabric) ? orr_fabric_domain(fabric, gpu)
                                        : orr_fabric_node(fabric, gpu);
}

typedef gint64 (*PlaceOf)(const OrrFabric *fabric, gint64 gpu);

/* Numbers the group's domains in the order of their first rank and writes the domain of rank r
 * to ret_index[r]. Returns the number of domains. */
static guint number_domains(const OrrFabric *fabric, PlaceOf place_of, const gint64 *gpus, guint n,
                            guint *ret_index) {
  g_autoptr(GHashTable) seen =
      g_hash_table_new(NULL, NULL); /* domain -> number + 1; only looked up, never iterated */
  guint n_domains = 0;
  for (guint r = 0; r < n; r++) {
    gpointer key = GSIZE_TO_POINTER((gsize)place_of(fabric, gpus[r]));
    guint number = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
    if (number == 0) {
      number = ++n_domains;
      g_hash_table_insert(seen, key, GUINT_TO_POINTER(number));
    }
    ret_index[r] = number - 1;
  }
  return n_domains;
}

/* Lays the members out domain by domain, each in rank order. */
static void fill(OrrCollectiveLayout *layout, const gint64 *gpus, guint n, const guint *index) {
  const guint n_domains = layout->n_domains;
  for (guint r = 0; r < n; r++) layout->first[index[r] + 1]++;
  for (guint d = 0; d < n_domains; d++) layout->first[d + 1] += layout->first[d];
  g_autofree guint *next = g_memdup2(layout->first, n_domains * sizeof *next);
  for (guint r = 0; r < n; r++) layout->gpus[next[index[r]]++] = gpus[r];
}

/* Identifies a GPU's NIC by the link on which it sends. A GPU without a NIC counts as having its
 * own. */
static gpointer nic_key(const OrrFabric *fabric, gint64 gpu) {
  g_autoptr(GArray) parts = orr_fabric_nic(fabric, gpu);
  const guint32 link = parts->len > 0 ? g_array_index(parts, OrrFabricPart, 0).link : 0;
  return parts->len > 0 ? GSIZE_TO_POINTER((gsize)link + 1) : GSIZE_TO_POINTER(~(gsize)gpu);
}

/* Moves to the front those members of domain @d whose NIC no earlier member has. Returns their
 * number. */
static guint put_nics_first(const OrrCollectiveLayout *layout, const OrrFabric *fabric, guint d) {
  const guint size = orr_collective_layout_size(layout, d);
  gint64 *gpus = layout->gpus + layout->first[d];
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  g_autofree gint64 *others = g_new(gint64, size);
  guint n_nics = 0, n_others = 0;
  for (guint i = 0; i < size; i++)
    if (g_hash_table_add(seen, nic_key(fabric, gpus[i])))
      gpus[n_nics++] = gpus[i];
    else
      others[n_others++] = gpus[i];
  memcpy(gpus + n_nics, others, n_others * sizeof *gpus);
  return n_nics;
}

static gboolean are_equal(const OrrCollectiveLayout *layout) {
  for (guint d = 1; d < layout->n_domains; d++)
    if (orr_collective_layout_size(layout, d) != orr_collective_layout_size(layout, 0))
      return FALSE;
  return TRUE;
}

static void init_by(OrrCollectiveLayout *layout, const OrrFabric *fabric, PlaceOf place_of,
                    const gint64 *gpus, guint n) {
  g_autofree guint *index = g_new(guint, n);
  layout->gpus = g_new(gint64, n);
  layout->n_domains = number_domains(fabric, place_of, gpus, n, index);
  layout->first = g_new0(guint, layout->n_domains + 1);
  fill(layout, gpus, n, index);
  layout->equal = are_equal(layout);
  layout->channels = orr_collective_layout_size(layout, 0);
  for (guint d = 0; !layout->equal && d < layout->n_domains; d++) {
    const guint n_nics = put_nics_first(layout, fabric, d);
    layout->channels = MIN(layout->channels, n_nics);
  }
}

void orr_collective_layout_init(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                const gint64 *gpus, guint n) {
  init_by(layout, fabric, orr_fabric_domain, gpus, n);
}

void orr_collective_layout_init_hosts(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                      const gint64 *gpus, guint n) {
  init_by(layout, fabric, host_of, gpus, n);
}

/* Whether two members share a node and no scale-up domain. */
static gboolean has_hosts_of_domains(const OrrFabric *fabric, const gint64 *gpus, guint n) {
  for (guint i = 1; i < n; i++)
    if (orr_fabric_node(fabric, gpus[i]) == orr_fabric_node(fabric, gpus[i - 1]) &&
        !orr_fabric_same_domain(fabric, gpus[i], gpus[i - 1]))
      return !orr_fabric_spans_nodes(fabric);
  return FALSE;
}

/* The first member next to each of the domain's first @most NICs, in rank order; their number. */
static guint find_starts(const OrrCollectiveLayout *layout, const OrrFabric *fabric, guint d,
                         guint most, guint *ret_starts) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  guint n = 0;
  for (guint i = 0; i < orr_collective_layout_size(layout, d) && n < most; i++)
    if (g_hash_table_add(seen, nic_key(fabric, orr_collective_layout_gpu(layout, d, i))))
      ret_starts[n++] = i;
  return n;
}

guint *orr_collective_layout_init_rings(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                        const gint64 *gpus, guint n) {
  const gboolean by_host = has_hosts_of_domains(fabric, gpus, n);
  init_by(layout, fabric, by_host ? host_of : orr_fabric_domain, gpus, n);
  if (!by_host || layout->n_domains == 1) return NULL;
  guint *starts = g_new0(guint, n), least = n;
  for (guint d = 0; d < layout->n_domains; d++)
    least = MIN(least, find_starts(layout, fabric, d, n, starts));
  for (guint d = 0; d < layout->n_domains; d++)
    find_starts(layout, fabric, d, least, starts + d * least);
  layout->channels = least;
  return starts;
}

void orr_collective_layout_init_nodes(OrrCollectiveLayout *layout, const OrrFabric *fabric,
                                      const gint64 *gpus, guint n) {
  init_by(layout, fabric, orr_fabric_node, gpus, n);
}

guint orr_collective_layout_most(const OrrCollectiveLayout *layout, guint first) {
  guint most = 1;
  for (guint d = first; d < layout->n_domains; d++)
    most = MAX(most, orr_collective_layout_size(layout, d));
  return most;
}

/* Whether the domain has several members and no two of them share a PCIe switch. */
static gboolean is_strided(const OrrCollectiveLayout *layout, guint d, gint64 gpus_per_switch) {
  const gint64 *gpus = layout->gpus + layout->first[d];
  const guint size = orr_collective_layout_size(layout, d);
  for (guint i = 0; i < size; i++)
    for (guint j = 0; j < i; j++)
      if (gpus[i] / gpus_per_switch == gpus[j] / gpus_per_switch) return FALSE;
  return size > 1;
}

gboolean orr_collective_layout_is_strided(const OrrCollectiveLayout *layout,
                                          const OrrCollectiveContext *context) {
  if (context->gpus_per_switch == 0 || layout->n_domains == 1) return FALSE;
  for (guint d = 0; d < layout->n_domains; d++)
    if (is_strided(layout, d, context->gpus_per_switch)) return TRUE;
  return FALSE;
}

void orr_collective_layout_clear(OrrCollectiveLayout *layout) {
  g_clear_pointer(&layout->gpus, g_free);
  g_clear_pointer(&layout->first, g_free);
}
