/*
 * broken_switch.c - switch: a switch that fails, with all cables that end on it.
 *
 *   fault: {kind: switch, name: spine2}     other spines carry its traffic
 *   fault: {kind: switch, name: leaf0}      transfers of its hosts' network cards wait
 *
 * A switch's name is its part of a link's name: spine2 of leaf0-spine2. From trunks (routing ideal,
 * adaptive) the fault takes the fraction that the switch's cables are.
 */
#include "topologies/machine_fault.h"

typedef struct {
  char *name;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "switch", "Parameters of the fault switch.", Params,
    ORR_FIELD_TEXT(Params, "name", name, NULL, "The switch, as in the names of its links."));

static gboolean strike(const void *data, const OrrFaultTarget *target, GArray *effects,
                       char **ret_what, GError **error) {
  const Params *params = data;
  GArray *parts = orr_fabric_find_switch(target->fabric, params->name, error);
  if (!parts) return FALSE;
  orr_machine_fault_add_links(effects, parts, 1);
  *ret_what = g_strdup_printf("%s down", params->name);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_switch = {
    .entry = {"switch", "A switch that fails, with its cables.", &table},
    .strike = strike,
};
