/*
 * node_power.c - the fields of a node's parts, and what they draw.
 */
#include "topologies/cluster_power.h"

#include "topologies/cluster.h"

const char *const orr_node_part_words[] = {"cpu", "memory",      "nic",   "dpu", "scale-up",
                                           "fan", "supply-loss", "other", NULL};

#define WATTS(key_, member_, sentence_)                                                            \
  ORR_FIELD_REAL(OrrNodePower, key_, member_, ORR_UNIT_WATTS, "0 W", sentence_,                    \
                 .flags = ORR_FIELD_UNSIGNED)

const OrrFieldTable orr_node_power_table = ORR_FIELDS(
    "parts", "Power of the parts of a node besides its GPUs.", OrrNodePower,
    ORR_COLUMN_TEXT(OrrNodePower, "source", source, "Source of the numbers."),
    WATTS("cpu-idle", cpu_idle_w, "Power of a node's CPUs, all sockets together, when idle."),
    WATTS("cpu-busy", cpu_busy_w,
          "The same with all of node.host.cores busy; 0: the CPUs are not stated separately."),
    WATTS("memory", memory_w, "Power of a node's DRAM; 0: not stated."),
    WATTS("nic", nic_w, "Power of a NIC of the network, without its optics; 0: not stated."),
    WATTS("dpu", dpu_w, "Power of a DPU; 0: not stated."),
    ORR_FIELD_INT(OrrNodePower, "dpus", dpus, "0", "DPUs of a node: storage, management.", .min = 0,
                  .max = 64),
    WATTS(
        "scale-up", scale_up_w,
        "Power of the scale-up switches inside a node, all together; 0: not stated. Switches of a "
        "domain that spans nodes are power.scale-up-switch."),
    WATTS("fans-idle", fans_idle_w, "Power of a node's fans with its boards at static power."),
    WATTS("fans-busy", fans_busy_w, "The same with its boards at their limit; 0: not stated."),
    ORR_FIELD_REAL(OrrNodePower, "efficiency", efficiency, ORR_UNIT_FRACTION, "0",
                   "Efficiency of a node's supplies, power out over power in; 0: not stated.",
                   .min = 0, .max = 1));

static double stated(double watts) { return watts > 0 ? watts : NAN; }

static double known(double watts) { return isnan(watts) ? 0 : watts; }

static double between(double idle_w, double busy_w, double part) {
  return busy_w > 0 ? idle_w + part * (busy_w - idle_w) : NAN;
}

static double busy_cores(const OrrCluster *cluster, double cores) {
  const double all = (double)cluster->node.host.cores;
  return all > 0 ? fmax(0, fmin(1, cores / all)) : 0;
}

double orr_node_power_pieces(const OrrCluster *cluster, OrrNodePart part) {
  const OrrNodeShape *node = &cluster->node;
  if (part == ORR_NODE_NIC) return (double)node->gpus * node->nics_per_gpu;
  return part == ORR_NODE_DPU ? (double)cluster->power.parts.dpus : 1;
}

/* All but losses and what is left; returns the sum of what is stated. */
static double fill_parts(const OrrCluster *cluster, const OrrNodeLoad *load, double *part_w) {
  const OrrNodePower *parts = &cluster->power.parts;
  const double cores = busy_cores(cluster, load->cores);
  const gboolean spans = cluster->node.scale_up_domain > cluster->node.gpus;
  part_w[ORR_NODE_CPU] = between(parts->cpu_idle_w, parts->cpu_busy_w, cores);
  part_w[ORR_NODE_MEMORY] = stated(parts->memory_w);
  part_w[ORR_NODE_NIC] = stated(parts->nic_w) * orr_node_power_pieces(cluster, ORR_NODE_NIC);
  part_w[ORR_NODE_DPU] = parts->dpus > 0 ? stated(parts->dpu_w) * (double)parts->dpus : 0;
  part_w[ORR_NODE_SCALE_UP] =
      spans || cluster->node.scale_up_domain <= 1 ? 0 : stated(parts->scale_up_w);
  part_w[ORR_NODE_FAN] = between(parts->fans_idle_w, parts->fans_busy_w, load->load);
  double sum = 0;
  for (int part = 0; part < ORR_NODE_LOSS; part++) sum += known(part_w[part]);
  return sum;
}

/* What the meter shows besides the boards, and what busy cores add to it. */
static double metered_w(const OrrCluster *cluster, const OrrNodeLoad *load) {
  const OrrClusterPower *power = &cluster->power;
  const OrrNodePower *parts = &power->parts;
  const double line_w = power->rest_idle_w + load->load * (power->rest_busy_w - power->rest_idle_w);
  if (!(parts->cpu_busy_w > 0)) return line_w;
  const double more_w = (parts->cpu_busy_w - parts->cpu_idle_w) * busy_cores(cluster, load->cores);
  return line_w + more_w / (parts->efficiency > 0 ? parts->efficiency : 1);
}

OrrNodeDraw orr_node_power_draw(const OrrCluster *cluster, const OrrNodeLoad *load) {
  const double efficiency = cluster->power.parts.efficiency;
  OrrNodeDraw draw = {{0}, NAN};
  const double sum_w = fill_parts(cluster, load, draw.part_w);
  draw.part_w[ORR_NODE_LOSS] = NAN;
  draw.part_w[ORR_NODE_OTHER] = NAN;
  if (cluster->power.rest_busy_w > 0) {
    draw.rest_w = metered_w(cluster, load);
    if (efficiency > 0)
      draw.part_w[ORR_NODE_LOSS] = (1 - efficiency) * (load->boards_w + draw.rest_w);
    draw.part_w[ORR_NODE_OTHER] = draw.rest_w - sum_w - known(draw.part_w[ORR_NODE_LOSS]);
  } else if (cluster->power.parts.cpu_busy_w > 0) {
    if (efficiency > 0)
      draw.part_w[ORR_NODE_LOSS] = (load->boards_w + sum_w) * (1 / efficiency - 1);
    draw.rest_w = sum_w + known(draw.part_w[ORR_NODE_LOSS]);
  }
  return draw;
}

OrrNodeLoad orr_node_power_idle(const OrrCluster *cluster) {
  const double board_w = orr_device_power_static_w(&cluster->device.power);
  return (OrrNodeLoad){.boards_w = board_w * (double)cluster->node.gpus};
}

OrrNodeLoad orr_node_power_busy(const OrrCluster *cluster) {
  return (OrrNodeLoad){.boards_w = cluster->device.tdp_watts * (double)cluster->node.gpus,
                       .load = 1,
                       .cores = (double)cluster->node.host.cores};
}

/* CPUs idle, as the meter's are taken to be. */
static void check_meter(const OrrCluster *cluster, const char *when, OrrNodeLoad load,
                        OrrPlace place, OrrDiags *diags) {
  load.cores = 0;
  const OrrNodeDraw draw = orr_node_power_draw(cluster, &load);
  const double other_w = draw.part_w[ORR_NODE_OTHER];
  if (other_w < -1e-9 * draw.rest_w)
    orr_diags_error(diags, place,
                    "power.parts of %s node draw %.0f W, more than the %.0f W of power.rest-%s",
                    when, draw.rest_w - other_w, draw.rest_w, load.load > 0 ? "busy" : "idle");
}

void orr_node_power_check(const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const OrrNodePower *parts = &cluster->power.parts;
  if (parts->cpu_busy_w > 0 && cluster->node.host.cores == 0)
    orr_diags_error(diags, place,
                    "power.parts.cpu-busy needs node.host.cores: how many cores it is the power "
                    "of");
  if (parts->cpu_idle_w > parts->cpu_busy_w)
    orr_diags_error(diags, place, "power.parts.cpu-idle is %g W: cpu-busy, %g W, must not be lower",
                    parts->cpu_idle_w, parts->cpu_busy_w);
  if (parts->fans_idle_w > parts->fans_busy_w)
    orr_diags_error(diags, place,
                    "power.parts.fans-idle is %g W: fans-busy, %g W, must not be lower",
                    parts->fans_idle_w, parts->fans_busy_w);
  if (parts->dpu_w > 0 && parts->dpus == 0)
    orr_diags_error(diags, place,
                    "power.parts.dpu has no meaning without dpus: how many there are");
  if (!(cluster->power.rest_busy_w > 0)) return;
  check_meter(cluster, "an idle", orr_node_power_idle(cluster), place, diags);
  check_meter(cluster, "a busy", orr_node_power_busy(cluster), place, diags);
}
