/*
 * clos.h - folded Clos networks of two or three levels: what fat-tree and rail-optimized have in
 * common.
 *
 *                core  core  ...     Q groups of G cores; spine s of each pod links to s / (S/Q)
 *                  |  X  |
 *          spine spine | spine spine         S a pod
 *            | \ / |   |
 *          leaf  leaf  | leaf  leaf          pods of P leaves (with two levels: one pod, no cores)
 *          ports ports | ports ports
 *
 *  U1 = links up of a leaf,  S divides U1, U1/S to each spine of its pod
 *  U2 = links up of a spine, G divides U2, U2/G to each core of its group
 *
 * S, Q and G are the smallest numbers of switches whose ports suffice, so that the counts equal
 * vendors' reference designs. U1 and U2 follow from the oversubscription, rounded to whole links;
 * the rate of a link is then set so that the requested ratio holds exactly.
 *
 * Link ids: leaf-spine up, leaf-spine down, spine-core up, spine-core down. Under ideal routing a
 * leaf's links up are one trunk, its links down another, and so are a pod's links to the cores.
 */
#pragma once

#include "topologies/fabric.h"

/* The parameters that several fabrics share; make it the member `clos` of an entry's params. */
typedef struct {
  gint64 levels; /* 2 or 3 */
  gint64 radix;
  double oversubscription;
  double core_oversubscription;
  double link_bytes_per_s; /* nominal; 0: the NIC's */
  double switch_latency_s;
} OrrClosParams;

#define ORR_CLOS_FIELDS(type_)                                                                     \
  ORR_FIELD_INT(type_, "levels", clos.levels, "2",                                                 \
                "Levels of switches: 2 (leaf, spine) or 3 (leaf, spine, core).", .min = 2,         \
                .max = 3),                                                                         \
      ORR_FIELD_INT(type_, "radix", clos.radix, "64",                                              \
                    "Ports of every switch: 40 on Quantum (HDR), 64 on Quantum-2 (NDR).",          \
                    .min = 2, .max = 65536),                                                       \
      ORR_FIELD_REAL(type_, "oversubscription", clos.oversubscription, ORR_UNIT_NONE, "1",         \
                     "Bandwidth into a leaf from below, divided by its bandwidth up; 1 is "        \
                     "non-blocking, 4 is 4:1.",                                                    \
                     .min = 1, .max = 1000),                                                       \
      ORR_FIELD_REAL(type_, "core-oversubscription", clos.core_oversubscription, ORR_UNIT_NONE,    \
                     "1", "The same at a spine, with three levels.", .min = 1, .max = 1000),       \
      ORR_FIELD_REAL(type_, "link-bandwidth", clos.link_bytes_per_s, ORR_UNIT_BYTES_PER_S,         \
                     "0 B/s", "Nominal rate of a link between switches; 0: the NIC's.",            \
                     .flags = ORR_FIELD_UNSIGNED),                                                 \
      ORR_FIELD_REAL(                                                                              \
          type_, "switch-latency", clos.switch_latency_s, ORR_UNIT_SECONDS, "150 ns",              \
          "Port to port through a switch; vendors give 130 ns (Quantum) and under 150 ns "         \
          "(Quantum-2).",                                                                          \
          .flags = ORR_FIELD_UNSIGNED)

/* The network that an entry requests. */
typedef struct {
  OrrClosParams params;
  gint64 n_ports;          /* of the whole fabric */
  double port_bytes_per_s; /* effective */
  double link_bytes_per_s; /* effective */
  /* switch ports that one fabric port occupies: the NICs of a GPU with several */
  gint64 port_links;
  gint64 leaves;
  gint64 leaf_ports; /* fabric ports of a full leaf */
  /* number of rails: leaf l is on rail l % stride, and a pod holds leaves of one rail; 1: no
   * rails */
  gint64 stride;
  gint64 leaves_per_pod; /* three levels; 0: as many as the radix allows */
  gint64 domain;         /* GPUs of a scale-up domain */
  gboolean by_rail;      /* ports of a leaf are of one rail */
  gboolean ideal;
  gboolean by_destination; /* static routing: the hash of a route is its destination port */
} OrrClosSpec;

/* The first member of an entry's plan, so that the orr_clos_* below are functions of
 * OrrFabricKind. */
typedef struct {
  OrrClosSpec spec;
  gint64 pods, leaves_per_pod;
  gint64 spines;             /* S, per pod */
  gint64 leaf_up, spine_up;  /* U1, U2 */
  gint64 core_groups, cores; /* Q; G, per group */
  double leaf_link_bytes_per_s, spine_link_bytes_per_s;
} OrrClos;

/* The shared members of a spec: rates and routing from @cluster; the others are zero. */
OrrClosSpec orr_clos_spec(const OrrCluster *cluster, const OrrClosParams *params, gint64 n_ports,
                          double port_bytes_per_s);

/* The largest number of fabric ports, a multiple of @multiple if possible, that a leaf holds in
 * addition to its links up. */
gint64 orr_clos_widest_leaf(const OrrClosSpec *spec, gint64 multiple);

/* FALSE with ORR_FAULT_DOCUMENT if the switches have too few ports. */
gboolean orr_clos_init(OrrClos *clos, const OrrClosSpec *spec, GError **error);

/* Appends the links between two leaves; returns the number of switches on the route: 1, 3 or 5. */
guint orr_clos_route(const OrrClos *clos, gint64 src_leaf, gint64 dst_leaf, guint64 hash,
                     GArray *links);

gint64 orr_clos_n_links(gconstpointer plan);
double orr_clos_link_bandwidth(gconstpointer plan, gint64 link);
char *orr_clos_link_name(gconstpointer plan, gint64 link);
void orr_clos_trunks(gconstpointer plan, const char *name, gboolean is_switch, GArray *parts);
double orr_clos_switch_latency(gconstpointer plan);
void orr_clos_levels(gconstpointer plan, GArray *levels);
void orr_clos_bill(gconstpointer plan, OrrBill *bill);
/* The same for @copies such networks (rails) of switches of @radix ports. */
void orr_clos_bill_copies(const OrrClos *clos, gint64 copies, gint64 radix, OrrBill *bill);

/* Half the bandwidth of the narrowest level: min(ports * port, leaves * U1 * link, pods * S * U2
 * * link) / 2; a level that joins nothing (one leaf, one pod) does not count. With full leaves
 * this is ports * port / (2 * o1 * o2). */
double orr_clos_bisection(gconstpointer plan);

guint orr_clos_diameter(gconstpointer plan); /* 1, 3 or 5 switches */

/* The trunks up of all leaves form an orbit, likewise their trunks down and all pods' trunks,
 * if each leaf or pod is full: they can be permuted. */
guint orr_clos_n_orbits(gconstpointer plan);
guint orr_clos_orbit(gconstpointer plan, gint64 link);

/* The functions of an entry whose plan begins with an OrrClos of the whole network; the entry
 * chooses its own orbits. */
#define ORR_CLOS_ANSWERS                                                                           \
  .plan_free = g_free, .n_links = orr_clos_n_links, .link_bandwidth = orr_clos_link_bandwidth,     \
  .link_name = orr_clos_link_name, .trunks = orr_clos_trunks,                                      \
  .switch_latency = orr_clos_switch_latency, .levels = orr_clos_levels, .bill = orr_clos_bill,     \
  .bisection = orr_clos_bisection, .diameter = orr_clos_diameter
