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
    ORR_FIELD_REAL(
        OrrClusterPower, "scale-up-switch", scale_up_switch_w, ORR_UNIT_WATTS, "0 W",
        "Power of a switch of a scale-up domain that spans nodes; 0: unknown. Those inside "
        "nodes are part of their rest.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "optic", optic_w, ORR_UNIT_WATTS, "0 W",
                   "Power of an optical transceiver; 0: unknown.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "storage-server", server_w, ORR_UNIT_WATTS, "0 W",
                   "Power of a server of the file system; 0: unknown.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrClusterPower, "cap", cap_w, ORR_UNIT_WATTS, "0 W",
                   "Cap on what cap-nodes nodes draw, boards and all, as a rack's supplies set it; "
                   "0: none. Boards share evenly what it leaves; needs rest-busy.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrClusterPower, "cap-nodes", cap_nodes, "1", "Nodes that share cap.", .min = 1,
                  .max = 1e6),
};

const OrrFieldTable orr_cluster_power_table = ORR_FIELD_TABLE(
    "cluster-power", "What a machine draws besides its GPUs.", OrrClusterPower, fields);

/* Of @n pieces; NAN: there are some, and what one draws is not stated. */
static double pieces_w(const OrrBill *bill, OrrBillKind kind, double each_w) {
  const double n = (double)orr_bill_count(bill, kind);
  return n > 0 && !(each_w > 0) ? NAN : n * each_w;
}

static double network_w(const OrrBill *bill, const OrrClusterPower *power) {
  return pieces_w(bill, ORR_BILL_SWITCH, power->switch_w) +
         (double)orr_bill_count(bill, ORR_BILL_SCALE_UP_SWITCH) * power->scale_up_switch_w +
         pieces_w(bill, ORR_BILL_OPTIC, power->optic_w);
}

/* How far the boards are between their static power and their limit: 0 to 1. */
static double load_of(const OrrDevice *device, double board_w) {
  const double most = device->tdp_watts - device->power.static_w;
  return most > 0 ? fmax(0, fmin(1, (board_w - device->power.static_w) / most)) : 1;
}

static double known(double watts) { return isnan(watts) ? 0 : watts; }

OrrMachinePower orr_cluster_power_machine(const OrrFabric *fabric, const OrrCluster *cluster,
                                          double gpus, double gpu_w) {
  const OrrClusterPower *power = &cluster->power;
  if (!(gpus > 0) || isnan(gpu_w)) return (OrrMachinePower){NAN, NAN, NAN, NAN};
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  const double nodes = gpus / (double)cluster->node.gpus;
  const double built = (double)(orr_cluster_n_built_nodes(cluster) * cluster->node.gpus);
  const double load = load_of(&cluster->device, gpu_w / gpus);
  const double rest_w = power->rest_idle_w + load * (power->rest_busy_w - power->rest_idle_w);
  OrrMachinePower machine = {.nodes_w = power->rest_busy_w > 0 ? nodes * rest_w : NAN,
                             .network_w = network_w(bill, power) * gpus / built,
                             .storage_w =
                                 pieces_w(bill, ORR_BILL_SERVER, power->server_w) * gpus / built};
  machine.all_w = gpu_w + machine.nodes_w + known(machine.network_w) + known(machine.storage_w);
  return machine;
}

double orr_cluster_power_board_cap_w(const OrrCluster *cluster) {
  const OrrClusterPower *power = &cluster->power;
  if (!(power->cap_w > 0)) return 0;
  return (power->cap_w / (double)power->cap_nodes - power->rest_busy_w) /
         (double)cluster->node.gpus;
}

void orr_cluster_power_share_cap(OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const OrrClusterPower *power = &cluster->power;
  OrrDevicePower *board = &cluster->device.power;
  if (!(power->cap_w > 0)) return;
  if (!(power->rest_busy_w > 0)) {
    orr_diags_error(diags, place,
                    "power.cap needs power.rest-busy: what a busy node draws without its boards");
    return;
  }
  const double node_w = power->cap_w / (double)power->cap_nodes;
  const double board_w = orr_cluster_power_board_cap_w(cluster);
  if (board_w <= board->static_w)
    orr_diags_error(diags, place,
                    "power.cap leaves %.0f W for a node: its rest draws %.0f W when busy and each "
                    "of its %" G_GINT64_FORMAT " boards %.0f W before it computes",
                    node_w, power->rest_busy_w, cluster->node.gpus, board->static_w);
  else if (!(board->cap_w > 0) || board_w < board->cap_w)
    board->cap_w = board_w;
}

char *orr_cluster_power_text(const OrrFabric *fabric, const OrrCluster *cluster) {
  const OrrClusterPower *power = &cluster->power;
  if (!(power->rated_w > 0)) return NULL;
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  const double nodes = (double)orr_cluster_n_built_nodes(cluster);
  const double network = network_w(bill, power);
  const double storage = pieces_w(bill, ORR_BILL_SERVER, power->server_w);
  const double sum = nodes * power->rated_w + known(network) + known(storage);
  g_autofree char *each = orr_quantity_format(power->rated_w, ORR_UNIT_WATTS),
                  *all = orr_quantity_format(sum, ORR_UNIT_WATTS),
                  *fabrics = orr_quantity_format(network, ORR_UNIT_WATTS),
                  *servers = orr_quantity_format(storage, ORR_UNIT_WATTS);
  g_autoptr(GString) text = g_string_new(NULL);
  g_string_printf(text, "%s: %.0f nodes of %s, switches and optics %s", all, nodes, each,
                  isnan(network) ? "unknown and not counted" : fabrics);
  if (storage != 0)
    g_string_append_printf(text, ", storage %s",
                           isnan(storage) ? "unknown and not counted" : servers);
  return g_string_free(g_steal_pointer(&text), FALSE);
}
