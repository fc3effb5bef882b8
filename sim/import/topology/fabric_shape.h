/*
 * fabric_shape.h - which kind of fabric a graph is: a fat-tree, rails, or cables by name.
 *
 * A shape is proposed from counts and kept only if the fabric that Orrery builds from it has the
 * same counts: leaves, spines, cores, cables at each level, rates; and if the cables of the graph
 * are spread as in a Clos: every leaf has equally many to every spine of its pod, every spine
 * equally many to every core that it meets. Otherwise the cables themselves are written.
 */
#ifndef ORR_FABRIC_SHAPE_H
#define ORR_FABRIC_SHAPE_H

#include "sim/import/topology/fabric_graph.h"

G_BEGIN_DECLS

typedef struct {
  char *yaml; /* the lines below `fabric:`, indented by two, each with its newline */
  char *said; /* one line: what was found and counted */
  gboolean is_irregular;
  gboolean is_rail;    /* nodes have a port on each of several leaves */
  gboolean is_assumed; /* from a scheduler's tree: cables and rates are assumptions */
} OrrFabricShape;

/* What a scheduler's tree does not say. */
typedef struct {
  gint64 gpus, nics;       /* of a node */
  double bytes_per_s;      /* of a NIC */
  double oversubscription; /* at each level */
} OrrFabricAnswers;

/* ORR_FAULT_DOCUMENT where neither a shape nor cables can be written (parts that nothing joins). */
gboolean orr_fabric_shape_init(OrrFabricShape *shape, const OrrFabricGraph *graph,
                               const OrrFabricAnswers *answers, GError **error);
void orr_fabric_shape_clear(OrrFabricShape *shape);

/* Whether the fabric @yaml can be built for @n_nodes nodes. */
gboolean orr_fabric_shape_builds(const char *yaml, gint64 n_nodes, const OrrFabricAnswers *answers);

G_END_DECLS

#endif
