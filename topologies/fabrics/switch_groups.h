/*
 * switch_groups.h - groups of switches in which each group is joined to every other: the common
 * part of dragonfly and dragonfly+.
 *
 *   shortest route   inside a group: shortest. To another group: one of the cables that join the
 *                    two (a digit of the hash), by the shortest way to its near end, and from its
 *                    far end. Never over a third group.
 *   detour           to another group: the same to a third group, and from where that is entered on
 *                    to the receiver's (Valiant; Kim, Dally, Scott, Abts, ISCA 2008, section 4.1).
 *                    Inside a group whose switches are all joined: over a third switch of the group
 *                    (De Sensi et al., SC20, section II: Slingshot's packets take such paths). If
 *                    there is no third one: shortest.
 *
 * With g groups of q exits each, exit i leads to the (1 + i mod (g-1))-th group after its own. If
 * there are more exits than other groups, cables i / (g-1) are parallel, and exits left over after
 * an even division stay unused.
 */
#pragma once

#include "topologies/fabrics/switch_graph.h"

/* The parameters that both fabrics share; make it the member `groups` of an entry's params. */
typedef struct {
  gint64 global; /* global cables of a switch that has any */
  gint64 groups; /* 0: as many as the ports need */
  gint64 radix;
  double local_bytes_per_s, global_bytes_per_s; /* nominal; 0: the NIC's */
  double switch_latency_s;
} OrrGroupsParams;

#define ORR_GROUPS_COUNT(type_, member_, name_, fallback_, sentence_)                              \
  ORR_FIELD_INT(type_, name_, member_, fallback_, sentence_, .min = 0, .max = 65536)
#define ORR_GROUPS_RATE(type_, member_, name_, sentence_)                                          \
  ORR_FIELD_REAL(type_, name_, member_, ORR_UNIT_BYTES_PER_S, "0 B/s", sentence_,                  \
                 .flags = ORR_FIELD_UNSIGNED)

/* All but the counts of hosts, of switches and of their global cables, which each entry names. */
#define ORR_GROUPS_FIELDS(type_, local_name_, latency_, latency_sentence_)                         \
  ORR_GROUPS_COUNT(type_, groups.groups, "groups", "0", "Groups; 0: as many as the NICs need."),   \
      ORR_GROUPS_COUNT(type_, groups.radix, "radix", "64",                                         \
                       "Ports of every switch: 64 on Quantum-2 (NDR) and Rosetta (Slingshot), 40 " \
                       "on Quantum (HDR)."),                                                       \
      ORR_GROUPS_RATE(type_, groups.local_bytes_per_s, local_name_,                                \
                      "Nominal rate of a cable inside a group; 0: the NIC's."),                    \
      ORR_GROUPS_RATE(type_, groups.global_bytes_per_s, "global-bandwidth",                        \
                      "Nominal rate of a cable between groups; 0: the NIC's."),                    \
      ORR_FIELD_REAL(type_, "switch-latency", groups.switch_latency_s, ORR_UNIT_SECONDS, latency_, \
                     latency_sentence_, .flags = ORR_FIELD_UNSIGNED)

/* Derived from the parameters. Rates are effective, in bytes/s. */
typedef struct {
  gint64 n_ports, n_groups;
  double local_rate, global_rate, port_rate;
} OrrGroupsSpec;

/* @group_ports: NIC ports of a full group. */
OrrGroupsSpec orr_switch_groups_spec(const OrrCluster *cluster, const OrrGroupsParams *params,
                                     gint64 group_ports, gint64 n_ports, double port_bytes_per_s);

/* FALSE with ORR_FAULT_DOCUMENT if @exits switches of a group cannot reach all other groups, or
 * if groups of @group_ports ports are too few; messages call the switches @switches. */
gboolean orr_switch_groups_check(const OrrGroupsSpec *spec, const OrrGroupsParams *params,
                                 gint64 exits, const char *switches, gint64 group_ports,
                                 GError **error);

typedef struct {
  OrrSwitchGraph graph; /* first */
  guint n_groups, size; /* group s has the switches from s * size on */
  guint between;        /* cables between two groups */
  guint32 *global;      /* link ids: [from][to][copy] */
  gboolean all_joined;  /* each switch of a group to each other one; set it before the close */
  guint n_detours;      /* see OrrFabricKind */
} OrrSwitchGroups;

void orr_switch_groups_init(OrrSwitchGroups *groups, const OrrCluster *cluster, guint n_groups,
                            guint size, const char *switch_word);
void orr_switch_groups_clear(OrrSwitchGroups *groups);

/* Joins all groups: in each group the switches from @first_exit on have @exits_each exits each. */
void orr_switch_groups_join(OrrSwitchGroups *groups, guint first_exit, guint exits_each,
                            double bytes_per_s, int level);

/* Call after the last cable; fails as orr_switch_graph_close does. @inside: number of shortest
 * routes inside a group. */
gboolean orr_switch_groups_close(OrrSwitchGroups *groups, guint inside, GError **error);

guint orr_switch_groups_route(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash,
                              GArray *links);
guint orr_switch_groups_detour(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash,
                               GArray *links);
guint orr_switch_groups_n_detours(gconstpointer plan); /* @plan begins with the groups */

/* Bandwidth in bytes/s, one direction, between two halves of the groups. If their number is odd,
 * one group is cut in two; its own cables carry @inside_bytes_per_s between its halves. */
double orr_switch_groups_bisection(const OrrSwitchGroups *groups, double global_bytes_per_s,
                                   double inside_bytes_per_s);
