/*
 * broken_nic.c - nic: the network card of a GPU, with less bandwidth or none.
 *
 *   fault: {kind: nic, gpu: 3}                     down: transfers over the GPU's only card wait
 *   fault: {kind: nic, gpu: 3, bandwidth: 50 %}    e.g. one of two ports, or of two cards
 *
 * The fault strikes all ports of the GPU's cards. Bonded ports are one port of the fabric
 * (fabric.h), so one of two is half of it. To strike one of several separate ports, name its link:
 *
 *   fault: {kind: link, name: gpu3.nic1}           GPU 3 sends over its other ports
 */
#include "topologies/machine_fault.h"

typedef struct {
  gint64 gpu;
  double bandwidth;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "nic", "Parameters of the fault nic.", Params,
    ORR_MACHINE_FAULT_GPU(
        Params,
        "The GPU of the machine that the card belongs to; -1: drawn at random (needs mtbf)."),
    ORR_MACHINE_FAULT_BANDWIDTH(Params,
                                "Fraction of the GPU's network bandwidth that is left; 0: down."));

static gboolean strike(const void *data, const OrrFaultTarget *target, GArray *effects,
                       char **ret_what, GError **error) {
  const Params *params = data;
  gint64 gpu = 0;
  if (!orr_machine_fault_pick(target, "GPU", params->gpu, orr_cluster_n_gpus(target->cluster), &gpu,
                              error))
    return FALSE;
  orr_machine_fault_add_links(effects, orr_fabric_nic(target->fabric, gpu), 1 - params->bandwidth);
  *ret_what = params->bandwidth > 0
                  ? g_strdup_printf("NIC of GPU %ld at %g %%", gpu, 100 * params->bandwidth)
                  : g_strdup_printf("NIC of GPU %ld down", gpu);
  return TRUE;
}

const OrrMachineFaultKind orr_fault_nic = {
    .entry = {"nic", "The network card of a GPU with less bandwidth, or down.", &table},
    .strike = strike,
};
