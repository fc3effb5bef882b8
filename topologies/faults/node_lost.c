/*
 * node_lost.c - node-lost: a node that fails, and with it the job that runs on it.
 *
 *   fault: {kind: node-lost, node: 3}
 *
 * A training job cannot go on without one of its ranks: it stops there, and reports this as the
 * reason. Restarting from a checkpoint is not modelled.
 */
#include "topologies/machine_fault.h"

typedef struct {
  gint64 node;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("node-lost", "Parameters of the fault node-lost.", Params,
               ORR_FIELD_INT(Params, "node", node, "-1",
                             "The node of the machine; -1: drawn at random (needs mtbf).",
                             .min = -1, .max = 1e9));

static gboolean strike(const void *data, const OrrFaultTarget *target, GArray *effects,
                       char **ret_what, GError **error) {
  const gint64 per_node = target->cluster->node.gpus,
               n = (orr_cluster_n_gpus(target->cluster) + per_node - 1) / per_node;
  OrrFaultEffect effect = {ORR_FAULT_EFFECT_NODE, 0, 0};
  if (!orr_machine_fault_pick(target, "node", ((const Params *)data)->node, n, &effect.index,
                              error))
    return FALSE;
  g_array_append_val(effects, effect);
  *ret_what = g_strdup_printf("node %ld lost", effect.index);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_node_lost = {
    .entry = {"node-lost", "A node that fails, with the job on it.", &table},
    .strike = strike,
};
