/*
 * broken_link.c - link: a link, or a cable (a link in each direction), with less bandwidth or none.
 *
 *   fault: {kind: link, name: leaf0-spine1}                       both directions, down
 *   fault: {kind: link, name: gpu3.nvlink.tx, bandwidth: 25 %}    one direction, 1/4 left
 *
 * `describe cluster --collective` and the view hot-links list the names; "a<>b" is both directions
 * of a cable between switches a and b. Where routing spreads flows evenly (ideal, adaptive), the
 * cables of a leaf or pod form one trunk: a cable's name then stands for its fraction of the trunk,
 * 1 of n.
 *
 *   bandwidth left = built * (1 - fraction of the cable * (1 - bandwidth))
 */
#include "topologies/machine_fault.h"

typedef struct {
  char *name;
  double bandwidth;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "link", "Parameters of the fault link.", Params,
    ORR_FIELD_TEXT(Params, "name", name, NULL,
                   "The link, or the cable: a link's name without its direction."),
    ORR_MACHINE_FAULT_BANDWIDTH(Params, "Fraction of its bandwidth that is left; 0: down."));

static gboolean strike(const void *data, const OrrFaultTarget *target, GArray *effects,
                       char **ret_what, GError **error) {
  const Params *params = data;
  GArray *parts = orr_fabric_find_links(target->fabric, params->name, error);
  if (!parts) return FALSE;
  orr_machine_fault_add_links(effects, parts, 1 - params->bandwidth);
  *ret_what = params->bandwidth > 0
                  ? g_strdup_printf("%s at %g %%", params->name, 100 * params->bandwidth)
                  : g_strdup_printf("%s down", params->name);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_link = {
    .entry = {"link", "A link or a cable with less bandwidth, or down.", &table},
    .strike = strike,
};
