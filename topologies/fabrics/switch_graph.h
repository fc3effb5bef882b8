/*
 * switch_graph.h - switches and cables as a graph, for fabrics whose routes are not arithmetic.
 *
 * A cable is two links, one per direction: 2c from its first end to its second, 2c + 1 back. If
 * packets are spread evenly (routing ideal, adaptive), the parallel cables of two switches count as
 * one cable with their summed bandwidth.
 *
 * At each switch a route takes one of the links that lead one hop nearer; a digit of the hash
 * selects among them. Distances to a destination are found by breadth-first search on first use:
 * one byte per switch.
 */
#pragma once

#include "topologies/fabric.h"

typedef struct {
  guint32 from, to;
  guint32 copy; /* number among the cables of these two switches */
  int level;    /* for the caller's use */
  double bytes_per_s;
} OrrGraphLink;

/* Make it the first member of an entry's plan: the functions below that take a gconstpointer are
 * OrrFabricKind's. */
typedef struct {
  guint n_switches;
  GArray *links;  /* of OrrGraphLink */
  guint32 *first; /* links out of switch s: out[first[s]] .. out[first[s + 1] - 1] */
  guint32 *out;
  guint8 **distance; /* by destination; NULL until first used */
  guint n_paths;     /* see OrrFabricKind */
  gboolean merge;    /* parallel cables count as one */
  double switch_latency_s;
  const char *switch_word; /* "router": what names call a switch */
  /* the names of switches; NULL: switch_word and a number, e.g. "router3" */
  char **names;
} OrrSwitchGraph;

/* Takes @merge from the cluster's routing. The graph owns everything but switch_word. */
void orr_switch_graph_init(OrrSwitchGraph *graph, const OrrCluster *cluster, guint n_switches,
                           const char *switch_word);
void orr_switch_graph_clear(OrrSwitchGraph *graph);

/* Adds @copies cables between two switches; each carries @bytes_per_s in each direction. */
void orr_switch_graph_cable(OrrSwitchGraph *graph, guint a, guint b, guint copies,
                            double bytes_per_s, int level);

/* Call after the last cable. FALSE with ORR_FAULT_DOCUMENT if a switch cannot be reached. */
gboolean orr_switch_graph_close(OrrSwitchGraph *graph, GError **error);

/* Appends the links of a route; returns the number of switches on it. */
guint orr_switch_graph_route(const OrrSwitchGraph *graph, guint src, guint dst, guint64 hash,
                             GArray *links);

/* The same within blocks of @block consecutive switches (0: anywhere), taking digits off @hash.
 * The shortest route must lie in the block. */
void orr_switch_graph_walk(const OrrSwitchGraph *graph, guint src, guint dst, guint block,
                           guint64 *hash, GArray *links);

/* One of @n switches, groups or places of a row other than @a and @b, which differ; takes a digit
 * off @hash. @n: 3 or more. */
guint orr_switch_graph_third(guint64 *hash, guint n, guint a, guint b);

/* hops between switches */
guint orr_switch_graph_distance(const OrrSwitchGraph *graph, guint src, guint dst);

gint64 orr_switch_graph_n_links(gconstpointer plan);
double orr_switch_graph_link_bandwidth(gconstpointer plan, gint64 link);
char *orr_switch_graph_link_name(gconstpointer plan, gint64 link);
double orr_switch_graph_switch_latency(gconstpointer plan);
guint orr_switch_graph_n_paths(gconstpointer plan);

/* Members of a kind whose plan begins with a graph; the other functions are the file's own. */
#define ORR_SWITCH_GRAPH_KIND                                                                      \
  .plan = plan_new, .plan_free = plan_free, .route = route, .levels = levels, .bill = bill,        \
  .bisection = bisection, .diameter = diameter, .n_links = orr_switch_graph_n_links,               \
  .n_paths = orr_switch_graph_n_paths, .link_bandwidth = orr_switch_graph_link_bandwidth,          \
  .link_name = orr_switch_graph_link_name, .switch_latency = orr_switch_graph_switch_latency
