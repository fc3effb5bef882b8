/*
 * fabric_kind.h - one kind of scale-out fabric: what an entry of topologies/fabrics computes.
 */
#pragma once

#include "topologies/bill.h"
#include "topologies/cluster.h"

typedef struct {
  char *name;            /* "leaf-spine" */
  gint64 switches;       /* at the lower end of this level; 0 if GPUs or NICs are there */
  gint64 switches_above; /* at its upper end; 0 if they are not counted */
  gint64 links;          /* cables; each carries both directions */
  double link_bytes_per_s;
  double oversubscription; /* bandwidth entering from below / leaving above: 1 is non-blocking */
} OrrFabricLevel;

/* A link, and the fraction of its bandwidth that is meant. */
typedef struct {
  guint32 link;
  double fraction;
} OrrFabricPart;

/* One kind of scale-out fabric. Port p of the fabric is NIC p, counted GPU by GPU. The NICs of
 * one GPU form one port with their summed bandwidth, because NCCL spreads a GPU's channels over
 * all of them. If the cluster says `ports: separate`, each port of each NIC is a fabric port: one
 * GPU's follow one another, and a flow uses the port of the same number at both ends. Bandwidths
 * are effective.
 *
 * Mandatory: plan, plan_free, n_links, route, link_bandwidth, link_name, switch_latency, levels,
 * bill, bisection, diameter. The others may be NULL, as each one says. */
typedef struct {
  OrrEntry entry;
  gboolean spans_nodes; /* its scale-up domains have GPUs of several nodes */
  /* Makes a plan from the entry's params for @n_ports ports of @port_bytes_per_s. NULL with
   * ORR_FAULT_DOCUMENT if it cannot be built (e.g. more nodes than the fabric holds). */
  gpointer (*plan)(const OrrCluster *cluster, const void *params, gint64 n_ports,
                   double port_bytes_per_s, GError **error);
  void (*plan_free)(gpointer plan);
  gint64 (*n_links)(gconstpointer plan); /* switch-to-switch links; the plan numbers them from 0 */
  /* Whether one port reaches another through this fabric; NULL: always. If it does not
   * (rail-only), traffic first crosses to a GPU of its own domain that does, as NCCL's PXN does. */
  gboolean (*reaches)(gconstpointer plan, gint64 src_port, gint64 dst_port);
  /* Appends the switch-to-switch links of one shortest route between two ports, and returns the
   * number of switches on it. The digits of @hash, in mixed radix, select among equal routes. */
  guint (*route)(gconstpointer plan, gint64 src_port, gint64 dst_port, guint64 hash,
                 GArray *links /* of guint32 */);
  /* The same through a third group, which holds neither port, or, inside a group, through a third
   * switch; NULL: the fabric has no such routes. Without a third one this is `route`. */
  guint (*detour)(gconstpointer plan, gint64 src_port, gint64 dst_port, guint64 hash,
                  GArray *links);
  /* The number of hashes (0, 1, ...) that spread a flow evenly over all its routes; NULL: 1
   * (trunks). */
  guint (*n_paths)(gconstpointer plan);
  guint (*n_detours)(gconstpointer plan);
  double (*link_bandwidth)(gconstpointer plan, gint64 link);
  char *(*link_name)(gconstpointer plan, gint64 link);
  double (*switch_latency)(gconstpointer plan); /* seconds that a switch adds */
  void (*levels)(gconstpointer plan, GArray *levels /* of OrrFabricLevel; names newly allocated */);
  /* Appends the layers of switches, from below, and the cables between them, level by level, as
   * `levels` counts them, at their effective rates (bill.h). A level that joins nothing has
   * none. */
  void (*bill)(gconstpointer plan, OrrBill *bill);
  /* Closed form: the bisection bandwidth in bytes/s, one direction. A test compares it with the
   * plan. */
  double (*bisection)(gconstpointer plan);
  /* Closed form: the largest number of switches on a shortest route between two ports of a full
   * fabric. */
  guint (*diameter)(gconstpointer plan);
  /* A torus: its sizes, 1 for an axis that it lacks, and which axes are open lines; NULL for other
   * kinds. */
  void (*shape)(gconstpointer plan, gint64 ret_shape[3], gboolean ret_open[3]);
  /* If routing spreads flows evenly, parallel links form trunks: appends (as OrrFabricPart) the
   * trunks that contain the cable of that name, or all cables of the switch of that name. NULL:
   * no trunks. */
  void (*trunks)(gconstpointer plan, const char *name, gboolean is_switch, GArray *parts);
  /* Set if every port of a full fabric sees the same network. Links that a symmetry of the
   * fabric maps onto each other form one orbit: if all ports do the same, over all routes, every
   * link of an orbit carries the same load. n_orbits returns 0 unless all ports are in use;
   * NULL: no such symmetry. */
  guint (*n_orbits)(gconstpointer plan);
  guint (*orbit)(gconstpointer plan, gint64 link);
  /* GPUs of one node also reach each other over the fabric, unless they share a scale-up domain */
  gboolean within_nodes;
} OrrFabricKind;
