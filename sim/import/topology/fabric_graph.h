/*
 * fabric_graph.h - a dump's fabric made ready: nodes with equally many ports, in an order in which
 * those that share switches follow one another; switches that lead to nodes; cables counted.
 */
#ifndef ORR_FABRIC_GRAPH_H
#define ORR_FABRIC_GRAPH_H

#include "sim/import/topology/dump.h"

G_BEGIN_DECLS

typedef struct {
  guint a, b;
  gint64 count;
  double bytes_per_s;
} OrrGraphCable; /* between two switches: parallel ones of one rate together */

typedef struct {
  const OrrDumpFabric *from;
  guint n_switches;
  guint *source;           /* of each switch here: its number in the dump */
  GArray *cables;          /* of OrrGraphCable */
  guint n_nodes, n_ports;  /* n_ports: of a node */
  guint *leaf;             /* n_nodes x n_ports: the switch of each port */
  guint bonded;            /* NICs of a port: 1, or as orr_fabric_graph_bond was given */
  double port_bytes_per_s; /* of a NIC */
  guint *part;             /* of each switch: its connected part, from 0 */
  guint n_parts;
  /* of each switch: 1 has ports, 2 is joined to one of level 1, ... */
  guint *level;
  GPtrArray *notes; /* char*: what was left out, and why */
} OrrFabricGraph;

/* Rates that the dump lacks become @bytes_per_s. NULL with ORR_FAULT_DOCUMENT where the fabric
 * falls into parts that no cable joins and @choose names none of their switches. Parts that all
 * hold the same nodes are rails, and stay. */
OrrFabricGraph *orr_fabric_graph_new(const OrrDump *dump, const OrrDumpFabric *fabric,
                                     const char *choose, double bytes_per_s, GError **error);
void orr_fabric_graph_free(OrrFabricGraph *graph);

/* Joins every @n ports of a node that follow one another (the NICs of one GPU) to one port, if they
 * are on the same switch everywhere. FALSE: they are not, and nothing changed. */
gboolean orr_fabric_graph_bond(OrrFabricGraph *graph, guint n);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrFabricGraph, orr_fabric_graph_free)

const char *orr_fabric_graph_name(const OrrFabricGraph *graph, guint at);

/* Compares names in such a way that leaf2 comes before leaf10. */
int orr_fabric_graph_compare(const char *a, const char *b);

G_END_DECLS

#endif
