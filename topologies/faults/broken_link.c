/*
 * broken_link.c - link: a link, or a cable of two, with less bandwidth or none.
 *
 *   fault: {kind: link, name: leaf0-spine1}                       both directions, down
 *   fault: {kind: link, name: gpu3.nvlink.tx, bandwidth: 25 %}    one direction, a quarter of its bandwidth left
 *
 * Names are those of `describe cluster --collective` and of the view hot-links; "a<>b" is both
 * directions of a cable between switches a and b. Where routing spreads flows evenly (ideal,
 * adaptive) the cables of a leaf or pod are one trunk: a cable's name is then its share of the
 * trunk, 1 of n.
 *
 *   bandwidth left = built * (1 - share of the cable * (1 - bandwidth))
 */
#include "topologies/machine_fault.h"

extern const OrrMachineFaultKind orr_fault_link;

typedef struct {
  char *name;
  double bandwidth;
} Params;

static const OrrField fields[] = {
    {.name = "name",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(Params, name),
     .sentence = "The link, or the cable: a link's name without its direction."},
    ORR_MACHINE_FAULT_BANDWIDTH(Params, "What is left of its bandwidth; 0 is down."),
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("link", "Parameters of the fault link.", Params, fields);

static gboolean strike(const void *data, const OrrMachineFaultAsk *ask, GArray *harms,
                       char **ret_what, GError **error) {
  const Params *params = data;
  GArray *parts = orr_fabric_find_links(ask->fabric, params->name, error);
  if (!parts) return FALSE;
  orr_machine_fault_add_links(harms, parts, 1 - params->bandwidth);
  *ret_what = params->bandwidth > 0
                  ? g_strdup_printf("%s at %g %%", params->name, 100 * params->bandwidth)
                  : g_strdup_printf("%s down", params->name);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_link = {
    .entry = {"link", "A link or a cable with less bandwidth, or down.", &table},
    .strike = strike,
};
