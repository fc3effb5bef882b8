/*
 * node_plan.h - a node of the cluster document, from what dumps show of machines from the inside.
 */
#ifndef ORR_NODE_PLAN_H
#define ORR_NODE_PLAN_H

#include "sim/import/topology/known_gpu.h"

G_BEGIN_DECLS

/* What the user answers on the command line; 0, NULL: not answered. */
typedef struct {
  const char *device, *name, *choose;
  double link_bytes_per_s;
  gint64 nodes, gpus, nics, domain;
  double oversubscription;
} OrrTopologyAnswers;

/* Each `said` is a comment: where a value is from. Owned. */
typedef struct {
  char *device, *device_said;
  guint links, all_links; /* of a GPU in its domain, and the device's; 0: not to be corrected */
  guint mesh;             /* other GPUs that they join without a switch; 0: not a mesh */
  gint64 gpus, domain;    /* gpus: of a node; domain: of a scale-up domain */
  char *gpus_said, *domain_said;
  gint64 nics; /* of a node */
  char *nics_said;
  gboolean is_nics_assumed;
  double nic_bytes_per_s;
  char *rate_said;
  gboolean is_rate_assumed;
  gint64 gpus_per_switch, gpus_per_bridge; /* 0: not shown */
  gint64 nodes;                            /* machines that the dumps show; 0: none */
  gboolean is_seen;                        /* FALSE: no dump shows a node from the inside */
} OrrNodePlan;

/* Adds what could not be seen to @questions (char*), and what was left out to the dump's notes.
 * FALSE with ORR_FAULT_DOCUMENT: several machines and no choice, a GPU that the library has no
 * device for; with ORR_FAULT_USAGE: an answer that names nothing. */
gboolean orr_node_plan_init(OrrNodePlan *plan, OrrDump *dump, const OrrTopologyAnswers *answers,
                            OrrLibrary *library, GPtrArray *questions, GError **error);
void orr_node_plan_clear(OrrNodePlan *plan);

/* "FILE:LINE" without the folders of FILE; newly allocated. */
char *orr_node_plan_place(OrrPlace place);

G_END_DECLS

#endif
