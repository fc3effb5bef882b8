/*
 * switch_groups.h - groups of switches, each group joined to each other one: what dragonfly and dragonfly+ share.
 *
 *   shortest route   inside a group: shortest. To another group: one of the cables that join the two (a digit of the
 *                    hash), by the shortest way to its near end, and from its far end. Never over a third group.
 *   detour           the same to a third group, and from where that is entered on to the receiver's (Valiant; Kim,
 *                    Dally, Scott, Abts, ISCA 2008, section 4.1)
 *
 * Of g groups with q exits each, exit i leads to the (1 + i mod (g-1))-th group after its own; with fewer groups than
 * exits allow, cables i / (g-1) are parallel, and exits that would be left over stay empty.
 */
#ifndef ORR_SWITCH_GROUPS_H
#define ORR_SWITCH_GROUPS_H

#include "topologies/fabrics/switch_graph.h"

G_BEGIN_DECLS

typedef struct {
  OrrSwitchGraph graph; /* first */
  guint n_groups, size; /* switches s * size and on are group s */
  guint between;        /* cables of two groups */
  guint32 *global;      /* link ids: [from][to][copy] */
} OrrSwitchGroups;

void orr_switch_groups_init(OrrSwitchGroups *groups, const OrrCluster *cluster, guint n_groups, guint size,
                            const char *switch_word);
void orr_switch_groups_clear(OrrSwitchGroups *groups);

/* Joins all groups: switches @first_exit and on of each have @exits_each exits; the rest of a group has none. */
void orr_switch_groups_join(OrrSwitchGroups *groups, guint first_exit, guint exits_each, double bytes_per_s, int level);

/* After the last cable; FALSE as orr_switch_graph_close. @inside: how many shortest routes there are in a group. */
gboolean orr_switch_groups_close(OrrSwitchGroups *groups, guint inside, GError **error);

guint orr_switch_groups_route(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash, GArray *links);
guint orr_switch_groups_detour(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash, GArray *links);
guint orr_switch_groups_n_detours(gconstpointer plan); /* @plan begins with the groups */

/* Bytes/s, one direction, between two halves: of the groups, or where their number is odd with one group cut in two,
 * whose own cables then carry @inside_bytes_per_s between its halves. */
double orr_switch_groups_bisection(const OrrSwitchGroups *groups, double global_bytes_per_s, double inside_bytes_per_s);

G_END_DECLS

#endif
