/*
 * cluster_power.c - the fields of a machine's power, and what they add up to.
 */
#include "topologies/cluster_power.h"

#include <math.h>

#include "topologies/bill.h"
#include "topologies/fabric.h"

static const OrrField fields[] = {
    ORR_COLUMN_TEXT(OrrClusterPower, "source", source, "Source of the numbers."),
    ORR_FIELD_REAL(OrrClusterPower, "rest-idle", rest_idle_w, ORR_UNIT_WATTS, "0 W",
                   "Power of an idle node without its GPU boards: CPUs, memory, NICs, scale-up "
                   "switches, fans, losses of its supplies.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "rest-busy", rest_busy_w, ORR_UNIT_WATTS, "0 W",
                   "The same with all GPUs at their limit; 0: unknown.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "rated", rated_w, ORR_UNIT_WATTS, "0 W",
                   "The vendor's maximum of a node with its GPUs; 0: unknown.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "switch", switch_w, ORR_UNIT_WATTS, "0 W",
                   "Power of a switch of the fabric, without optics; 0: unknown.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "optic", optic_w, ORR_UNIT_WATTS, "0 W",
                   "Power of an optical transceiver; 0: unknown.", .flags = ORR_FIELD_UNSIGNED),
};

const OrrFieldTable orr_cluster_power_table = ORR_FIELD_TABLE(
    "cluster-power", "What a machine draws besides its GPUs.", OrrClusterPower, fields);

static double network_w(const OrrFabric *fabric, const OrrClusterPower *power) {
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  return (double)orr_bill_count(bill, ORR_BILL_SWITCH) * power->switch_w +
         (double)orr_bill_count(bill, ORR_BILL_OPTIC) * power->optic_w;
}

/* How far the boards are between their static power and their limit: 0 to 1. */
static double load_of(const OrrDevice *device, double board_w) {
  const double most = device->tdp_watts - device->power.static_w;
  return most > 0 ? fmax(0, fmin(1, (board_w - device->power.static_w) / most)) : 1;
}

double orr_cluster_power_machine_w(const OrrFabric *fabric, const OrrCluster *cluster, double gpus,
                                   double gpu_w) {
  const OrrClusterPower *power = &cluster->power;
  if (!(power->rest_busy_w > 0) || !(gpus > 0) || isnan(gpu_w)) return NAN;
  const double nodes = gpus / (double)cluster->node.gpus;
  const double built = (double)(orr_cluster_n_built_nodes(cluster) * cluster->node.gpus);
  const double rest_w = power->rest_idle_w + load_of(&cluster->device, gpu_w / gpus) *
                                                 (power->rest_busy_w - power->rest_idle_w);
  return gpu_w + nodes * rest_w + network_w(fabric, power) * gpus / built;
}

char *orr_cluster_power_text(const OrrFabric *fabric, const OrrCluster *cluster) {
  const OrrClusterPower *power = &cluster->power;
  if (!(power->rated_w > 0)) return NULL;
  const double nodes = (double)orr_cluster_n_built_nodes(cluster);
  const double network = network_w(fabric, power);
  g_autofree char *each = orr_quantity_format(power->rated_w, ORR_UNIT_WATTS),
                  *all = orr_quantity_format(nodes * power->rated_w + network, ORR_UNIT_WATTS),
                  *fabrics = orr_quantity_format(network, ORR_UNIT_WATTS);
  return g_strdup_printf("%s: %.0f nodes of %s, switches and optics %s", all, nodes, each,
                         network > 0 ? fabrics : "unknown");
}
