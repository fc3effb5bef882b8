/*
 * cluster_plan.h - a cluster document from the dumps of a machine.
 *
 * Each key bears the place that it is from. What no dump shows is assumed, marked QUESTION in a
 * comment, and listed as a question with the option that answers it.
 */
#ifndef ORR_CLUSTER_PLAN_H
#define ORR_CLUSTER_PLAN_H

#include "sim/import/topology/node_plan.h"

G_BEGIN_DECLS

typedef struct {
  char *text;           /* the document */
  GPtrArray *questions; /* char*: what the dumps leave open, with the option that answers it */
  GPtrArray *notes;     /* char*: what was read and left out, and why */
} OrrClusterPlan;

/* The document reads and passes the checks of `orrery check`. NULL with ORR_FAULT_DOCUMENT: dumps
 * that contradict each other, several machines or fabrics and no choice; with ORR_FAULT_USAGE: an
 * answer that cannot be taken. @files: the sources, for the head of the document. */
OrrClusterPlan *orr_cluster_plan_new(OrrDump *dump, const OrrTopologyAnswers *answers, char **files,
                                     OrrLibrary *library, GError **error);
void orr_cluster_plan_free(OrrClusterPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrClusterPlan, orr_cluster_plan_free)

G_END_DECLS

#endif
