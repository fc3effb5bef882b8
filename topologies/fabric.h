/*
 * fabric.h - a cluster as links and routes.
 *
 * Links are numbered by arithmetic and routes are computed on demand. Nothing is stored per GPU, so
 * a fabric of 100,000 GPUs is built at once.
 *
 *   GPU --scale-up tx/rx-- NVSwitch domain          both ends in one domain: tx(src), rx(dst)
 *    +-- host tx/rx -- PCIe                         else, both in one node: host tx(src), host
 *                                                   rx(dst)
 *    +-- NIC tx/rx -- leaf -- spine -- core ...     else: NIC tx(src), switch links up and down,
 *                                                   NIC rx(dst)
 *
 * Between GPU, NIC and host memory stand the PCIe switches and host bridges that the cluster
 * document says may limit transfers (cluster.h).
 *
 * Bandwidths are effective, as large messages reach them: nominal * efficiency.
 *
 * A flow uses orr_fabric_n_paths routes at once and puts an equal fraction of its bytes on each.
 * The cluster's routing selects them:
 *
 *   ideal     packets are spread evenly over all shortest routes; parallel links of a Clos are then
 *             one trunk
 *   adaptive  the same, at the fraction of switch links that adaptive routing reaches (transport.h)
 *   ecmp      a seeded hash of (src, dst, flow, queue pair) picks one shortest route for each of
 *             `queue-pairs`
 *   static    destination mod k: one shortest route, the same for all who send to that port
 *             (InfiniBand's tables)
 *   valiant   spread over detours through every other group of a dragonfly, or every other router
 *             of the group if both ends are in one, then on to the receiver
 *   ugal      shortest or detour, whichever split leaves the busiest link of the collective the
 *             least to carry
 *
 * Each kind of scale-out fabric is an entry, one file each in topologies/fabrics/; see
 * OrrFabricKind.
 */
#pragma once

#include "sim/engine/program.h"
#include "topologies/fabric_kind.h"
#include "topologies/queue_model.h"
#include "topologies/transport.h"

extern const OrrRegistry orr_fabric_registry;

/* @cluster must outlive it */
OrrFabric *orr_fabric_new(const OrrCluster *cluster, guint64 seed, GError **error);
void orr_fabric_free(OrrFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrFabric, orr_fabric_free)

/* A view of @whole for a job that shares the machine: its GPU i is @gpus[i] of @whole (the list
 * is copied), on the same links with the same numbers. @whole must outlive it. */
OrrFabric *orr_fabric_slice(const OrrFabric *whole, const gint64 *gpus, gint64 n_gpus);

/* A view of @whole in which links between switches have @share of their bandwidth: other jobs take
 * the rest. @whole must outlive it. */
OrrFabric *orr_fabric_sharing(const OrrFabric *whole, double share);

const OrrTransport *orr_fabric_transport(const OrrFabric *fabric);

/* A view of @whole whose ecmp hashes are drawn from @seed. @whole must outlive it. */
OrrFabric *orr_fabric_drawing(const OrrFabric *whole, guint64 seed);
/* Draws to compare, 0 unless routing is ecmp; which of them to take; the seed of the own one. */
gint64 orr_fabric_hash_draws(const OrrFabric *fabric);
OrrHashTake orr_fabric_hash_take(const OrrFabric *fabric);
guint64 orr_fabric_seed(const OrrFabric *fabric);
/* The model of queues; NULL: max-min flows alone. */
const OrrChoice *orr_fabric_queues(const OrrFabric *fabric);

/* The times of one collective under several draws of ecmp's hash. */
typedef struct {
  const char *name; /* interned: "all-reduce" */
  double bytes;
  guint ranks;
  gint64 draws;
  double low_s, mean_s, high_s, taken_s;
} OrrHashSpread;

/* What planners observed on a fabric and its views, for the run's answer. They add to it while a
 * workload is compiled. */
typedef struct {
  OrrQueueUse queues;
  GArray *spreads; /* of OrrHashSpread, each call once */
} OrrFabricNotes;

OrrFabricNotes *orr_fabric_notes(const OrrFabric *fabric);

/* A view of @whole whose routes avoid the links in @avoid (keys are fabric links; kept by
 * reference) where other routes exist: ecmp hashes again, static takes the next number, and
 * spread flows divide over the remaining routes. If there is no other route, the route stays as
 * it was. @whole must outlive it. */
OrrFabric *orr_fabric_avoiding(const OrrFabric *whole, GHashTable *avoid);

/* A view of @whole in which the links of @left (fabric link -> double, kept by reference) have that
 * fraction of their bandwidth. @whole must outlive it. */
OrrFabric *orr_fabric_losing(const OrrFabric *whole, GHashTable *left);

gint64 orr_fabric_n_gpus(const OrrFabric *fabric);
gint64 orr_fabric_n_links(const OrrFabric *fabric); /* one more than the largest link id */
double orr_fabric_link_bandwidth(const OrrFabric *fabric, guint32 link); /* effective, bytes/s */
/* The number of links of a mesh without a switch (device, scale-up-links) that @link stands for: a
 * transfer to one GPU has one of them, so a byte takes that many times the link's time. 1: any
 * other link. */
guint32 orr_fabric_mesh_links(const OrrFabric *fabric, guint32 link);
gint64 orr_fabric_domain_size(const OrrFabric *fabric); /* GPUs of a scale-up domain */
/* The NIC, or the NICs of one GPU, that the GPU with this link sends by, or that the link belongs
 * to; numbered node by node. -1: a link of no GPU and no NIC. */
gint64 orr_fabric_link_nic(const OrrFabric *fabric, guint32 link);
gint64 orr_fabric_nics_of_node(const OrrFabric *fabric); /* counted so; 1 or more */
/* "gpu12.nic.tx", "leaf3-spine0.up"; newly allocated */
char *orr_fabric_link_name(const OrrFabric *fabric, guint32 link);
/* Adds the link to @program, which asks the fabric for its name if it needs it. */
guint32 orr_fabric_program_link(const OrrFabric *fabric, OrrProgram *program, guint32 link);
const char *orr_fabric_link_kind(
    const OrrFabric *fabric,
    /* "scale-up", "host" (a GPU's PCIe), "node" (shared inside a node), "nic", "fabric",
     * "storage", "memory" */
    guint32 link);

/* whether scale-up links join the two GPUs */
gboolean orr_fabric_same_domain(const OrrFabric *fabric, gint64 gpu_a, gint64 gpu_b);
gint64 orr_fabric_domain(const OrrFabric *fabric, gint64 gpu); /* number of its scale-up domain */
/* Whether GPUs of a node reach each other over PCIe alone, on a machine whose PCIe the cluster does
 * not describe (switches, bridges, sockets, another rate), as measured profiles have it. FALSE for
 * a device with scale-up links: its rows were measured over these and say nothing of its PCIe. */
gboolean orr_fabric_peers_on_pcie(const OrrFabric *fabric);
gboolean orr_fabric_spans_nodes(const OrrFabric *fabric); /* whether a scale-up domain spans
                                                                * nodes */
gboolean orr_fabric_gpudirect(const OrrFabric *fabric);   /* whether NICs read and write GPU
                                                                * memory */

/* Whether two GPUs communicate over the network rather than inside a domain or a node. */
gboolean orr_fabric_leaves_node(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu);

/* Appends the links from one GPU to another (each once; guint32 ids) and returns the one-way
 * latency in seconds. @flow distinguishes flows between the same two GPUs (queue pairs). src ==
 * dst: no links, 0. */
double orr_fabric_route(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                        GArray *links);

/* The routes over which a flow is spread evenly; path 0 is orr_fabric_route. Inside a node all
 * paths are equal. */
guint orr_fabric_n_paths(const OrrFabric *fabric);
double orr_fabric_path(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                       guint path, GArray *links);

/* Under ugal, the detours that a flow can take instead; 0 under any other routing. */
guint orr_fabric_n_detours(const OrrFabric *fabric);
double orr_fabric_detour(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                         guint path, GArray *links);

/* The file system (cluster.storage). Appends the links from a GPU's host to a server, or back,
 * including its NIC, and returns the latency. orr_fabric_host_route appends those between a GPU
 * and the memory of its host (@is_read: to the GPU). */
double orr_fabric_storage_route(const OrrFabric *fabric, gint64 gpu, gint64 server,
                                gboolean is_read, GArray *links);
void orr_fabric_host_route(const OrrFabric *fabric, gint64 gpu, gboolean is_read, GArray *links);

/* The memory of the GPU's host (fabric_memory.c) as a link, which carries both reads and writes.
 * It exists if the cluster states its rate. */
guint32 orr_fabric_memory_link(const OrrFabric *fabric, gint64 gpu);
gint64 orr_fabric_node(const OrrFabric *fabric, gint64 gpu); /* the GPU's node, as the machine
                                                              * numbers it */

/* Looks up a name from a document (fabric_names.c). A link name matches one link, a cable
 * ("gpu3.nic", "leaf0-spine1", "a<>b": both directions), or a cable within a trunk, as a
 * fraction of the trunk. A switch name matches all cables that end at the switch, including its
 * hosts' network cards. Returns an array of OrrFabricPart; ORR_FAULT_DOCUMENT with the nearest
 * name if nothing matches. */
GArray *orr_fabric_find_links(const OrrFabric *fabric, const char *name, GError **error);
GArray *orr_fabric_find_switch(const OrrFabric *fabric, const char *name, GError **error);
/* The switch that port @lane of the GPU is on; newly allocated. NULL: no cable leaves it, or there
 * are no switches. */
char *orr_fabric_leaf(const OrrFabric *fabric, gint64 gpu, gint64 lane);
/* The switches that a link between switches joins, the lower one first; newly allocated. */
void orr_fabric_link_ends(const OrrFabric *fabric, guint32 link, char *ret_ends[2]);
/* for the `trunks` function of entries */
gboolean orr_fabric_name_matches(const char *link, const char *name, gboolean is_switch);
/* the links of all its ports, both directions; empty if it has no NIC */
GArray *orr_fabric_nic(const OrrFabric *fabric, gint64 gpu);

/* Messages per second that a GPU's part of its node's NICs handles, under the cluster's
 * transport; 0: no limit. */
double orr_fabric_messages_per_s(const OrrFabric *fabric);

/* Whether orr_fabric_avoiding can find routes without the link: a link between switches, or one
 * of several ports of a GPU. */
gboolean orr_fabric_can_leave(const OrrFabric *fabric, guint32 link);

/* The sizes of a slice's torus (1 for a missing axis); a job may fill several slices, one after the
 * other: GPU number in its slice = x + X (y + Y z). And which axes are lines, whose ends are not
 * joined. FALSE if the fabric is not a torus. */
gboolean orr_fabric_torus(const OrrFabric *fabric, gint64 ret_shape[3], gboolean ret_open[3]);

/* Orbits of the links that a collective of all GPUs can use (OrrFabricKind). 0 unless the job
 * uses every GPU and flows are spread over all routes. */
guint orr_fabric_n_orbits(const OrrFabric *fabric);
guint orr_fabric_orbit(const OrrFabric *fabric, guint32 link); /* G_MAXUINT: none */

/* For `orrery describe cluster`: a GArray of OrrFabricLevel; g_array_unref frees it and the
 * names. */
GArray *orr_fabric_levels(const OrrFabric *fabric);
double orr_fabric_bisection(const OrrFabric *fabric);
/* largest number of switches on a shortest route, in closed form */
guint orr_fabric_diameter(const OrrFabric *fabric);
/* switches on the route; 1 within a node */
guint orr_fabric_hops(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu);

/* A dozen aligned lines: counts, bandwidths, a table of levels, the bisection bandwidth, and the
 * hops from GPU 0. Newly allocated. */
char *orr_fabric_describe(const OrrFabric *fabric, const OrrCluster *cluster);
