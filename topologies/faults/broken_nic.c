/*
 * broken_nic.c - nic: the network card of a GPU with less bandwidth or none.
 *
 *   fault: {kind: nic, gpu: 3}                     down: with its only card gone, what the GPU sends waits
 *   fault: {kind: nic, gpu: 3, bandwidth: 50 %}    e.g. one of two ports, or of two cards
 *
 * All ports of the GPU's cards are meant. Where they are bonded they are one port of the fabric
 * (fabric.h), so that one of two is half of it; one of separate ports goes by name:
 *
 *   fault: {kind: link, name: gpu3.nic1}           what GPU 3 sends goes over its other ports
 */
#include "topologies/machine_fault.h"

extern const OrrMachineFaultKind orr_fault_nic;

typedef struct {
  gint64 gpu;
  double bandwidth;
} Params;

static const OrrField fields[] = {
    ORR_MACHINE_FAULT_GPU(
        Params, "The GPU of the machine whose card it is; -1: drawn, where the fault has an mtbf."),
    ORR_MACHINE_FAULT_BANDWIDTH(Params, "What is left of the GPU's network bandwidth; 0 is none."),
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("nic", "Parameters of the fault nic.", Params, fields);

static gboolean strike(const void *data, const OrrMachineFaultAsk *ask, GArray *harms,
                       char **ret_what, GError **error) {
  const Params *params = data;
  gint64 gpu = 0;
  if (!orr_machine_fault_pick(ask, "GPU", params->gpu, orr_cluster_n_gpus(ask->cluster), &gpu,
                              error))
    return FALSE;
  orr_machine_fault_add_links(harms, orr_fabric_nic(ask->fabric, gpu), 1 - params->bandwidth);
  *ret_what = params->bandwidth > 0 ? g_strdup_printf("NIC of GPU %" G_GINT64_FORMAT " at %g %%",
                                                      gpu, 100 * params->bandwidth)
                                    : g_strdup_printf("NIC of GPU %" G_GINT64_FORMAT " down", gpu);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_nic = {
    .entry = {"nic", "The network card of a GPU with less bandwidth, or down.", &table},
    .strike = strike,
};
