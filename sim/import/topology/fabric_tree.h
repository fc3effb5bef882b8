/*
 * fabric_tree.h - the shape of a scheduler's tree, which counts no cables: Slurm's topology.conf.
 *
 * A switch of the tree is a level, not always one device. Where the NICs below a leaf are more than
 * a switch has ports, a leaf is taken as a group of rails. Cables carry all that lies below,
 * divided by the oversubscription: an assumption, which the caller asks about.
 */
#ifndef ORR_FABRIC_TREE_H
#define ORR_FABRIC_TREE_H

#include "sim/import/topology/fabric_shape.h"

G_BEGIN_DECLS

void orr_fabric_tree_init(OrrFabricShape *shape, const OrrFabricGraph *graph,
                          const OrrFabricAnswers *answers);

G_END_DECLS

#endif
