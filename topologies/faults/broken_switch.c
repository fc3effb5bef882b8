/*
 * broken_switch.c - switch: a switch that is gone, with all cables that end on it.
 *
 *   fault: {kind: switch, name: spine2}     the others carry its share, where routes lead by them
 *   fault: {kind: switch, name: leaf0}      its hosts' network cards have nowhere to go: what they send waits
 *
 * Switches have the names that links have: spine2 of leaf0-spine2. In trunks (routing ideal,
 * adaptive) it takes its cables' share of each.
 */
#include "topologies/machine_fault.h"

extern const OrrMachineFaultKind orr_fault_switch;

typedef struct {
  char *name;
} Params;

static const OrrField fields[] = {
    {.name = "name",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(Params, name),
     .sentence = "The switch, as links name it."},
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("switch", "Parameters of the fault switch.", Params, fields);

static gboolean strike(const void *data, const OrrMachineFaultAsk *ask, GArray *harms,
                       char **ret_what, GError **error) {
  const Params *params = data;
  GArray *parts = orr_fabric_find_switch(ask->fabric, params->name, error);
  if (!parts) return FALSE;
  orr_machine_fault_add_links(harms, parts, 1);
  *ret_what = g_strdup_printf("%s down", params->name);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_switch = {
    .entry = {"switch", "A switch that is gone, with its cables.", &table},
    .strike = strike,
};
