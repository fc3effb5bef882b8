/*
 * cluster_power.c - the fields of a machine's power, and what they add up to.
 */
#include "topologies/cluster_power.h"

#include "topologies/bill.h"
#include "topologies/fabric.h"

const OrrFieldTable orr_cluster_power_table = ORR_FIELDS(
    "cluster-power", "Power of a machine besides its GPUs.", OrrClusterPower,
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
                   "Cap on the power of cap-nodes nodes, boards included, as a rack's supplies set "
                   "it; 0: none. Boards share the rest evenly; needs rest-busy or parts.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrClusterPower, "cap-nodes", cap_nodes, "1", "Nodes that share cap.", .min = 1,
                  .max = 1e6),
    ORR_FIELD_SECTION(OrrClusterPower, "parts", parts, &orr_node_power_table, "{}",
                      "Power of the parts of a node; they divide its rest power, or make it up "
                      "where rest-busy is not given."));

/* Of @n pieces; NAN: there are some, and what one draws is not stated. */
static double pieces_w(const OrrBill *bill, OrrBillKind kind, double each_w) {
  const double n = (double)orr_bill_count(bill, kind);
  return n > 0 && !(each_w > 0) ? NAN : n * each_w;
}

/* How far the boards are between their static power and their limit: 0 to 1. */
static double load_of(const OrrDevice *device, double board_w) {
  const double most = device->tdp_watts - device->power.static_w;
  return most > 0 ? fmax(0, fmin(1, (board_w - device->power.static_w) / most)) : 1;
}

static double known(double watts) { return isnan(watts) ? 0 : watts; }

static double sum_of(const OrrMachinePower *machine) {
  return machine->gpus_w + machine->nodes_w + known(machine->network_w) + known(machine->storage_w);
}

static OrrMachinePower unknown(void) {
  OrrMachinePower machine = {NAN, NAN, NAN, NAN, .gpus_w = NAN};
  for (int part = 0; part < ORR_N_NODE_PARTS; part++) machine.node_part_w[part] = NAN;
  machine.switch_w = machine.scale_up_switch_w = machine.optic_w = NAN;
  return machine;
}

static void fill_nodes(const OrrCluster *cluster, const OrrMachineLoad *load,
                       OrrMachinePower *machine) {
  machine->nodes = load->gpus / (double)cluster->node.gpus;
  const OrrNodeLoad each = {.boards_w = load->gpu_w / machine->nodes,
                            .load = load_of(&cluster->device, load->gpu_w / load->gpus),
                            .cores = load->cores / machine->nodes};
  const OrrNodeDraw draw = orr_node_power_draw(cluster, &each);
  machine->nodes_w = machine->nodes * draw.rest_w;
  for (int part = 0; part < ORR_N_NODE_PARTS; part++)
    machine->node_part_w[part] = machine->nodes * draw.part_w[part];
}

/* @part of the machine's pieces of @kind; @ret_w: what they draw. */
static double part_of(const OrrBill *bill, OrrBillKind kind, double part, double each_w,
                      double *ret_w) {
  *ret_w = part * pieces_w(bill, kind, each_w);
  return part * (double)orr_bill_count(bill, kind);
}

static void fill_network(const OrrFabric *fabric, const OrrCluster *cluster, double part,
                         OrrMachinePower *m) {
  const OrrClusterPower *power = &cluster->power;
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  m->switches = part_of(bill, ORR_BILL_SWITCH, part, power->switch_w, &m->switch_w);
  m->optics = part_of(bill, ORR_BILL_OPTIC, part, power->optic_w, &m->optic_w);
  m->servers = part_of(bill, ORR_BILL_SERVER, part, power->server_w, &m->storage_w);
  m->scale_up_switches = part * (double)orr_bill_count(bill, ORR_BILL_SCALE_UP_SWITCH);
  m->scale_up_switch_w = m->scale_up_switches * power->scale_up_switch_w;
  m->network_w = m->switch_w + m->scale_up_switch_w + m->optic_w;
}

OrrMachinePower orr_cluster_power_machine(const OrrFabric *fabric, const OrrCluster *cluster,
                                          const OrrMachineLoad *load) {
  if (!(load->gpus > 0) || isnan(load->gpu_w)) return unknown();
  const double built = (double)(orr_cluster_n_built_nodes(cluster) * cluster->node.gpus);
  OrrMachinePower machine = {.gpus_w = load->gpu_w, .gpus = load->gpus};
  fill_nodes(cluster, load, &machine);
  fill_network(fabric, cluster, load->gpus / built, &machine);
  machine.all_w = sum_of(&machine);
  return machine;
}

OrrMachinePower orr_cluster_power_interrupted(const OrrCluster *cluster,
                                              const OrrMachinePower *machine, double busy,
                                              double waiting, double gpus_w) {
  const OrrNodeLoad idle = orr_node_power_idle(cluster);
  const OrrNodeDraw draw = orr_node_power_draw(cluster, &idle);
  OrrMachinePower mean = *machine;
  mean.gpus_w = gpus_w;
  mean.gpus = (busy * machine->nodes + waiting) * (double)cluster->node.gpus;
  mean.nodes = busy * machine->nodes + waiting;
  mean.nodes_w = busy * machine->nodes_w + waiting * draw.rest_w;
  for (int part = 0; part < ORR_N_NODE_PARTS; part++)
    mean.node_part_w[part] = busy * machine->node_part_w[part] + waiting * draw.part_w[part];
  mean.all_w = sum_of(&mean);
  return mean;
}

gboolean orr_cluster_power_knows_nodes(const OrrClusterPower *power) {
  return power->rest_busy_w > 0 || power->parts.cpu_busy_w > 0;
}

/* Parts of a node are left out of the sum only where no meter's `other` holds them. */
char *orr_cluster_power_left_out(const OrrMachinePower *machine) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  const gboolean metered = !isnan(machine->node_part_w[ORR_NODE_OTHER]);
  for (int part = 0; part < ORR_NODE_OTHER && !metered; part++)
    if (isnan(machine->node_part_w[part]))
      g_ptr_array_add(names, (char *)orr_node_part_words[part]);
  if (isnan(machine->network_w)) g_ptr_array_add(names, (char *)"network");
  if (isnan(machine->storage_w)) g_ptr_array_add(names, (char *)"storage");
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf(text, "%s%s",
                           i == 0                ? " without its "
                           : i + 1 == names->len ? " and "
                                                 : ", ",
                           (const char *)names->pdata[i]);
  return g_string_free(text, FALSE);
}

/* What a node draws without its boards when these are at their limit. */
static double busy_rest_w(const OrrCluster *cluster) {
  const OrrNodeLoad busy = {.load = 1};
  return orr_node_power_draw(cluster, &busy).rest_w;
}

/* Without a meter the rest of a node lacks what its supplies lose for the boards. */
double orr_cluster_power_board_cap_w(const OrrCluster *cluster) {
  const OrrClusterPower *power = &cluster->power;
  const double efficiency = power->parts.efficiency;
  const gboolean is_metered = power->rest_busy_w > 0;
  if (!(power->cap_w > 0)) return 0;
  const double left_w = power->cap_w / (double)power->cap_nodes - busy_rest_w(cluster);
  return left_w * (is_metered || !(efficiency > 0) ? 1 : efficiency) / (double)cluster->node.gpus;
}

void orr_cluster_power_share_cap(OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const OrrClusterPower *power = &cluster->power;
  OrrDevicePower *board = &cluster->device.power;
  if ((board->cap_w > 0 || power->cap_w > 0) && !orr_device_power_is_known(board))
    return orr_diags_error(diags, place,
                           "%s needs the device's power.static, power.tensor and power.memory: "
                           "without all three its rate under a cap is unknown",
                           board->cap_w > 0 ? "device.power.cap" : "power.cap");
  if (board->cap_w > 0 && board->cap_w <= board->static_w)
    orr_diags_error(diags, place,
                    "device.power.cap (%.0f W) is not above the %.0f W that the board draws before "
                    "it computes",
                    board->cap_w, board->static_w);
  if (board->cap_w > cluster->device.tdp_watts && cluster->device.tdp_watts > 0)
    orr_diags_warning(diags, place,
                      "device.power.cap (%.0f W) caps nothing: the board's own limit is %.0f W",
                      board->cap_w, cluster->device.tdp_watts);
  if (!(power->cap_w > 0)) return;
  if (!orr_cluster_power_knows_nodes(power))
    return orr_diags_error(diags, place,
                           "power.cap needs power.rest-busy or power.parts: the power of a busy "
                           "node without its boards");
  const double board_w = orr_cluster_power_board_cap_w(cluster);
  if (board_w <= board->static_w)
    orr_diags_error(diags, place,
                    "power.cap leaves %.0f W for a node: its rest draws %.0f W when busy and each "
                    "of its %ld boards %.0f W before it computes",
                    power->cap_w / (double)power->cap_nodes, busy_rest_w(cluster),
                    cluster->node.gpus, board->static_w);
  else if (!(board->cap_w > 0) || board_w < board->cap_w)
    board->cap_w = board_w;
}

/* --- Text --- */

/* Room for a number of watts, "-" where it is NAN. */
typedef char WattsText[32];

static const char *watts_text(double watts, WattsText text) {
  if (isnan(watts)) return "-";
  g_snprintf(text, sizeof(WattsText), "%.1f", watts);
  return text;
}

/* A line of the table: @pieces of @each[0] W idle and @each[1] W busy. NAN: not stated. */
static void add_line(GString *text, const char *part, const char *layer, double pieces,
                     const double each[2], double sums[2]) {
  WattsText idle, busy, all_idle, all_busy;
  for (int i = 0; i < 2; i++) sums[i] += known(each[i] * pieces);
  g_string_append_printf(text, "%-15s  %-12s %10.0f %10s %12s %10s %10s\n", part,
                         layer ? layer : "-", pieces, watts_text(each[0], idle),
                         watts_text(each[1], busy), watts_text(each[0] * pieces / 1000, all_idle),
                         watts_text(each[1] * pieces / 1000, all_busy));
}

static void add_boards(GString *text, const OrrCluster *cluster, double sums[2]) {
  const double gpus = (double)(orr_cluster_n_built_nodes(cluster) * cluster->node.gpus);
  const double static_w = orr_device_power_static_w(&cluster->device.power);
  const double tdp_w = cluster->device.tdp_watts;
  const double each[2] = {static_w > 0 ? static_w : NAN, tdp_w > 0 ? tdp_w : NAN};
  add_line(text, "gpu", NULL, gpus, each, sums);
}

/* A part that the node does not have draws 0 and is left out. */
static void add_node_parts(GString *text, const OrrCluster *cluster, double sums[2]) {
  const double nodes = (double)orr_cluster_n_built_nodes(cluster);
  const OrrNodeLoad idle = orr_node_power_idle(cluster), busy = orr_node_power_busy(cluster);
  const OrrNodeDraw draws[2] = {orr_node_power_draw(cluster, &idle),
                                orr_node_power_draw(cluster, &busy)};
  for (int part = 0; part < ORR_N_NODE_PARTS; part++) {
    const double pieces = orr_node_power_pieces(cluster, (OrrNodePart)part);
    const double each[2] = {draws[0].part_w[part] / pieces, draws[1].part_w[part] / pieces};
    const gboolean is_other = part == ORR_NODE_OTHER && isnan(each[1]);
    if (pieces > 0 && !(each[1] == 0) && !is_other)
      add_line(text, orr_node_part_words[part], NULL, nodes * pieces, each, sums);
  }
}

/* FALSE: what something draws is not stated. */
static gboolean add_network(GString *text, const OrrBill *bill, const OrrClusterPower *power,
                            double sums[2]) {
  gboolean is_known = TRUE;
  const double each_w[ORR_N_BILL_KINDS] = {[ORR_BILL_SCALE_UP_SWITCH] = power->scale_up_switch_w,
                                           [ORR_BILL_SWITCH] = power->switch_w,
                                           [ORR_BILL_OPTIC] = power->optic_w,
                                           [ORR_BILL_SERVER] = power->server_w};
  ORR_EACH(const OrrBillItem, item, bill->items) {
    const double watts = each_w[item->kind] > 0 ? each_w[item->kind] : NAN;
    const gboolean draws = item->kind == ORR_BILL_SCALE_UP_SWITCH ||
                           item->kind == ORR_BILL_SWITCH || item->kind == ORR_BILL_OPTIC ||
                           item->kind == ORR_BILL_SERVER;
    const double both[2] = {watts, watts};
    if (!draws) continue;
    is_known &= !isnan(watts);
    add_line(text, orr_bill_words[item->kind], item->layer, (double)item->count, both, sums);
  }
  return is_known;
}

/* The vendor's maximum of the nodes; switches, optics and storage as above. */
static void add_rating(GString *text, const OrrCluster *cluster, double others_w,
                       gboolean is_known) {
  const double nodes = (double)orr_cluster_n_built_nodes(cluster);
  const double rated_w = cluster->power.rated_w;
  g_autofree char *each = orr_quantity_format(rated_w, ORR_UNIT_WATTS),
                  *all = orr_quantity_format(nodes * rated_w + others_w, ORR_UNIT_WATTS),
                  *rest = orr_quantity_format(others_w, ORR_UNIT_WATTS);
  if (rated_w > 0)
    g_string_append_printf(text, "%-10s %s: %.0f nodes of %s, the rest of the machine %s%s\n",
                           "rated at", all, nodes, each, rest,
                           is_known ? "" : " without what is not stated");
}

char *orr_cluster_power_text(const OrrFabric *fabric, const OrrCluster *cluster) {
  const OrrClusterPower *power = &cluster->power;
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  double sums[2] = {0}, network[2] = {0};
  GString *text = g_string_new(NULL);
  if (!orr_cluster_power_knows_nodes(power) && !(power->rated_w > 0))
    return g_string_free(text, FALSE);
  g_string_append_printf(text, "%-15s  %-12s %10s %10s %12s %10s %10s\n", "power", "layer", "count",
                         "idle, W", "busy, W", "idle, kW", "busy, kW");
  add_boards(text, cluster, sums);
  add_node_parts(text, cluster, sums);
  const gboolean is_known = add_network(text, bill, power, network);
  g_string_append_printf(text, "%-15s  %-12s %10s %10s %12s %10.1f %10.1f\n", "machine", "", "", "",
                         "", (sums[0] + network[0]) / 1000, (sums[1] + network[1]) / 1000);
  add_rating(text, cluster, network[1], is_known);
  return g_string_free(text, FALSE);
}
