/*
 * machine_rows.c - a row per part, boards first, then nodes, network and storage.
 */
#include "sim/run/answer/answer_private.h"

static void add(OrrOutcome *outcome, const OrrMachinePower *machine, const char *part,
                double pieces, double watts) {
  const OrrPowerPartRow row = {.position = outcome->power_parts->len + 1,
                               .part = (char *)part,
                               .pieces = pieces,
                               .watts = watts,
                               .fraction = watts / machine->all_w};
  if (pieces > 0 && watts != 0) g_array_append_val(outcome->power_parts, row);
}

/* `other` is a part only where a meter's reading leaves it. */
static void add_node_parts(const OrrCluster *cluster, const OrrMachinePower *machine,
                           OrrOutcome *outcome) {
  for (int part = 0; part < ORR_N_NODE_PARTS; part++) {
    const double pieces = machine->nodes * orr_node_power_pieces(cluster, (OrrNodePart)part);
    const double watts = machine->node_part_w[part];
    if (part != ORR_NODE_OTHER || !isnan(watts))
      add(outcome, machine, orr_node_part_words[part], pieces, watts);
  }
}

void orr_machine_rows_add(const OrrCluster *cluster, const OrrMachinePower *machine,
                          OrrOutcome *outcome) {
  add(outcome, machine, orr_bill_words[ORR_BILL_GPU], machine->gpus, machine->gpus_w);
  add_node_parts(cluster, machine, outcome);
  add(outcome, machine, orr_bill_words[ORR_BILL_SCALE_UP_SWITCH], machine->scale_up_switches,
      machine->scale_up_switch_w > 0 ? machine->scale_up_switch_w : NAN);
  add(outcome, machine, orr_bill_words[ORR_BILL_SWITCH], machine->switches, machine->switch_w);
  add(outcome, machine, orr_bill_words[ORR_BILL_OPTIC], machine->optics, machine->optic_w);
  add(outcome, machine, orr_bill_words[ORR_BILL_SERVER], machine->servers, machine->storage_w);
}
