/*
 * fabric.h - a cluster as links and routes.
 *
 * Links are numbered by arithmetic and routes are computed when asked for: nothing is stored per
 * GPU, so that 100,000 GPUs build at once.
 *
 *   GPU --scale-up tx/rx-- NVSwitch domain          both ends in one domain: tx(src), rx(dst)
 *    +-- host tx/rx -- PCIe                         else, both in one node: host tx(src), host rx(dst)
 *    +-- NIC tx/rx -- leaf -- spine -- core ...     else: NIC tx(src), switch links up and down, NIC rx(dst)
 *
 * and between GPU, NIC and host memory the PCIe switches and host bridges that a cluster says may
 * bind (host.h).
 *
 * Bandwidths are what large messages reach: nominal * efficiency.
 *
 * A flow takes orr_fabric_n_paths routes at once, an equal share of it each. Which ones, the
 * cluster's routing says:
 *
 *   ideal     packets are spread evenly over all shortest routes; parallel links of a Clos are then one trunk
 *   adaptive  the same, at the share of switch links that adaptive routing reaches (transport.h)
 *   ecmp      a seeded hash of (src, dst, flow, queue pair) picks one shortest route for each of `queue-pairs`
 *   static    destination mod k: one shortest route, the same for all who send to that port (InfiniBand's tables)
 *   valiant   spread over detours through every other group of a dragonfly, then on to the receiver
 *   ugal      shortest or detour, whichever split leaves the busiest link of the collective the least to carry
 *
 * The kinds of scale-out fabric are entries (topologies/fabrics/, one file each), see
 * OrrFabricKind.
 */
#ifndef ORR_FABRIC_H
#define ORR_FABRIC_H

#include "sim/engine/engine.h"
#include "topologies/cluster.h"
#include "topologies/transport.h"

G_BEGIN_DECLS

typedef struct OrrFabric OrrFabric;

typedef struct {
  char *name;            /* "leaf-spine" */
  gint64 switches;       /* at the lower end of this level; 0 where GPUs or NICs are */
  gint64 switches_above; /* at its upper end; 0 where that is not counted */
  gint64 links;          /* cables, each with both directions */
  double link_bytes_per_s;
  double oversubscription; /* bandwidth entering from below / leaving above: 1 is non-blocking */
} OrrFabricLevel;

/* A share of a link's bandwidth. */
typedef struct {
  guint32 link;
  double share;
} OrrFabricPart;

/* One kind of scale-out fabric. Port p of the fabric is NIC p, counted GPU by GPU; where a GPU
 * has several NICs they are one port of their summed bandwidth, since NCCL spreads a GPU's
 * channels over all of them; where a cluster says `ports: separate`, each port of each NIC is
 * one, those of a GPU one after another, and a flow keeps to the ports of one number at both
 * ends. Bandwidths are effective. */
typedef struct {
  OrrEntry entry;
  /* A plan from the entry's params for @n_ports ports of @port_bytes_per_s; NULL with
   * ORR_FAULT_DOCUMENT where it cannot be built (e.g. more nodes than the fabric holds). */
  gpointer (*plan)(const OrrCluster *cluster, const void *params, gint64 n_ports,
                   double port_bytes_per_s, GError **error);
  void (*plan_free)(gpointer plan);
  gint64 (*n_links)(gconstpointer plan); /* switch-to-switch links; numbered from 0 here */
  /* Whether a port reaches another through this fabric; NULL: always. Where it does not
   * (rail-only), traffic first crosses to a GPU of its own domain that does, as NCCL's PXN. */
  gboolean (*reaches)(gconstpointer plan, gint64 src_port, gint64 dst_port);
  /* Appends the switch-to-switch links of one shortest route from port to port; returns the
   * number of switches passed. The digits of @hash, in mixed radix, make its choices. */
  guint (*route)(gconstpointer plan, gint64 src_port, gint64 dst_port, guint64 hash,
                 GArray *links /* of guint32 */);
  /* The same through a group that is neither's; NULL: the fabric has no such routes. Without a
   * third group: route. */
  guint (*detour)(gconstpointer plan, gint64 src_port, gint64 dst_port, guint64 hash,
                  GArray *links);
  /* How many hashes, 0, 1, ..., spread a flow evenly over all its routes; NULL: 1 (trunks). */
  guint (*n_paths)(gconstpointer plan);
  guint (*n_detours)(gconstpointer plan);
  double (*link_bandwidth)(gconstpointer plan, gint64 link);
  char *(*link_name)(gconstpointer plan, gint64 link);
  double (*switch_latency)(gconstpointer plan); /* seconds a switch adds */
  void (*levels)(gconstpointer plan, GArray *levels /* of OrrFabricLevel; names newly allocated */);
  /* Closed form: the bisection bandwidth in bytes/s, one direction, that the plan must show. */
  double (*bisection)(gconstpointer plan);
  /* Closed form: the most switches that a shortest route passes between two ports of a full
   * fabric. */
  guint (*diameter)(gconstpointer plan);
  /* A torus: its sizes, 1 where it has fewer axes; NULL for the others. */
  void (*shape)(gconstpointer plan, gint64 ret_shape[3]);
  /* Where routing spreads flows so evenly that links are trunks: appends (OrrFabricPart) the
   * trunks that hold the cable, or all cables of the switch, of that name. NULL: no trunks. */
  void (*trunks)(gconstpointer plan, const char *name, gboolean is_switch, GArray *parts);
  /* Where every port of a full fabric sees the same network: links that its symmetries carry
   * onto each other are one orbit. If all ports do the same, over all routes, each link of an
   * orbit carries as much. n_orbits: 0 where not all ports are there; NULL: no such symmetry. */
  guint (*n_orbits)(gconstpointer plan);
  guint (*orbit)(gconstpointer plan, gint64 link);
  /* GPUs of a node meet over the fabric too, unless they share a scale-up domain */
  gboolean within_nodes;
} OrrFabricKind;

extern const OrrRegistry orr_fabric_registry;

/* @cluster must outlive it */
OrrFabric *orr_fabric_new(const OrrCluster *cluster, guint64 seed, GError **error);
void orr_fabric_free(OrrFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrFabric, orr_fabric_free)

/* @gpus (copied) of @whole as a fabric of their own: GPU i of it is @gpus[i] of @whole, on the
 * same links under the same numbers. What a job sees of a machine that it shares. @whole must
 * outlive it. */
OrrFabric *orr_fabric_slice(const OrrFabric *whole, const gint64 *gpus, gint64 n_gpus);

const OrrTransport *orr_fabric_transport(const OrrFabric *fabric);

/* @whole with routes that do without the links of @avoid (fabric link -> anything; kept by
 * reference), where there are others: ecmp hashes once more, static goes by the next number,
 * spread flows share the other routes. Where there are none the route is what it was. @whole
 * must outlive it. */
OrrFabric *orr_fabric_avoiding(const OrrFabric *whole, GHashTable *avoid);

gint64 orr_fabric_n_gpus(const OrrFabric *fabric);
gint64 orr_fabric_n_links(const OrrFabric *fabric); /* link ids are below this */
double orr_fabric_link_bandwidth(const OrrFabric *fabric, guint32 link); /* effective, bytes/s */
/* "gpu12.nic.tx", "leaf3-spine0.up"; newly allocated */
char *orr_fabric_link_name(const OrrFabric *fabric, guint32 link);
const char *orr_fabric_link_kind(
    const OrrFabric *fabric,
    /* "scale-up", "host" (a GPU's PCIe), "node" (shared inside a node), "nic", "fabric",
     * "storage", "memory" */
    guint32 link);

/* joined by scale-up links */
gboolean orr_fabric_same_domain(const OrrFabric *fabric, gint64 gpu_a, gint64 gpu_b);
gint64 orr_fabric_domain(const OrrFabric *fabric, gint64 gpu); /* its scale-up domain's number */
gboolean orr_fabric_spans_nodes(const OrrFabric *fabric);      /* whether a scale-up domain does */
gboolean orr_fabric_gpudirect(const OrrFabric *fabric);        /* NICs reach GPU memory */

/* Whether two GPUs meet over the network, and not inside a domain or a node. */
gboolean orr_fabric_leaves_node(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu);

/* Appends the links from one GPU to another (each once; guint32 ids) and returns the one-way
 * latency in seconds. @flow tells flows between the same ends apart (queue pairs). src == dst:
 * no links, 0. */
double orr_fabric_route(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                        GArray *links);

/* The routes that a flow is spread over, an equal share each: orr_fabric_route is path 0. Inside
 * a node all are equal. */
guint orr_fabric_n_paths(const OrrFabric *fabric);
double orr_fabric_path(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                       guint path, GArray *links);

/* Under ugal, the detours that a flow may take instead; 0 under any other routing. */
guint orr_fabric_n_detours(const OrrFabric *fabric);
double orr_fabric_detour(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                         guint path, GArray *links);

/* The file system (cluster.storage): the links from a GPU's host to a server, or back, the NIC's
 * among them; returns the latency. And those between a GPU and the memory of its host (@is_read:
 * to the GPU). */
double orr_fabric_storage_route(const OrrFabric *fabric, gint64 gpu, gint64 server,
                                gboolean is_read, GArray *links);
void orr_fabric_host_route(const OrrFabric *fabric, gint64 gpu, gboolean is_read, GArray *links);

/* That memory itself (fabric_memory.c), which carries what is read and what is written; it is
 * there where the cluster says how fast it is. */
guint32 orr_fabric_memory_link(const OrrFabric *fabric, gint64 gpu);
gint64 orr_fabric_node(const OrrFabric *fabric, gint64 gpu); /* of the machine */

/* What a name stands for (fabric_names.c). Links: one link, a cable ("gpu3.nic", "leaf0-spine1",
 * "a<>b": both ways), or a cable in a trunk, which is a share of it. A switch: the cables that
 * end there, its hosts' network cards among them. Array of OrrFabricPart; ORR_FAULT_DOCUMENT
 * with the nearest name where there is none. */
GArray *orr_fabric_find_links(const OrrFabric *fabric, const char *name, GError **error);
GArray *orr_fabric_find_switch(const OrrFabric *fabric, const char *name, GError **error);
/* for entries' trunks */
gboolean orr_fabric_name_matches(const char *link, const char *name, gboolean is_switch);
/* all of its ports, both ways; none where it has none */
GArray *orr_fabric_nic(const OrrFabric *fabric, gint64 gpu);

/* Whether orr_fabric_avoiding may find ways without the link: between switches, and one of
 * several ports of a GPU. */
gboolean orr_fabric_can_leave(const OrrFabric *fabric, guint32 link);

/* The sizes of a torus that the job fills (1 where it has fewer axes), chip x + X (y + Y z);
 * FALSE: it is none. */
gboolean orr_fabric_torus(const OrrFabric *fabric, gint64 ret_shape[3]);

/* Orbits of links (OrrFabricKind) when the job's GPUs are all there are and flows are spread
 * over all routes: 0 where that is not so. Of links that a collective of all GPUs may use. */
guint orr_fabric_n_orbits(const OrrFabric *fabric);
guint orr_fabric_orbit(const OrrFabric *fabric, guint32 link); /* G_MAXUINT: none */

/* For `orrery describe cluster`. Levels: GArray of OrrFabricLevel, free with g_array_unref
 * (names freed with it). */
GArray *orr_fabric_levels(const OrrFabric *fabric);
double orr_fabric_bisection(const OrrFabric *fabric);
/* most switches on a shortest route, by closed form */
guint orr_fabric_diameter(const OrrFabric *fabric);
/* switches passed; 1 in a node */
guint orr_fabric_hops(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu);

/* A dozen aligned lines: counts, bandwidths, a table of levels, bisection bandwidth, hops from
 * GPU 0. Newly allocated. */
char *orr_fabric_describe(const OrrFabric *fabric, const OrrCluster *cluster);

G_END_DECLS

#endif
