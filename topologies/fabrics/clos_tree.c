/*
 * clos_tree.c - clos: a folded Clos of one to four levels, given by the number of children at each
 * level.
 *
 *   level 3         o o o o          one subtree
 *                  /  |  |  \
 *   level 2     oo    |   oo         m_3 subtrees, W_2 switches each
 *              / \       / \
 *   level 1   o   o     o   o        m_2 leaves a subtree
 *            ...               m_1 NIC ports a leaf
 *
 * An extended generalised fat tree (Oehring, Ibel, Das, Kumar, IPPS 1995) with any oversubscription
 * o_l at each level but the highest, and parallel cables. A level-l switch has
 *
 *   U_l = m_1 ... m_l port / (o_1 ... o_l W_l rate)   links up, rounded, their rate set so that the
 *                                                     ratios hold exactly
 *   W_1 = 1,  W_(l+1) = W_l U_l / c_l                 c_l: cables between two switches, as many as
 *                                                     the radix allows
 *
 * On the way up, a digit of the hash selects a link at each level; the way down to the receiver is
 * then determined, except for the choice among c_l parallel cables. `planes` builds several copies
 * of the network (multi-port NICs). If a GPU's ports are bonded, each plane has 1/planes of a
 * port's rate; a flow takes one plane under ecmp and static, and all planes otherwise. If they are
 * separate, port p is on plane p mod planes.
 *
 * Names: leaf3, spine0_2 (the third switch of the first pod), core1_0, top0_7; with several planes,
 * plane1:leaf3.
 *
 *   bisection, one direction   min(ports * port, over levels l: subtrees_l * what leads up from
 *                              one) / 2
 *
 * Llama 3's 24,576 GPUs: 16 a rack, 192 racks a pod at full bisection, 8 pods at 1:7 (Llama 3 herd
 * of models, 2024, 3.3.1):
 *
 *   fabric: {kind: clos, down: 16x192x8, oversubscription: 1x7, radix: 0}
 */
#include "topologies/fabrics/sizes.h"
#include "topologies/fabric.h"

enum { MOST_LEVELS = 4 };

typedef struct {
  char *down, *oversubscription;
  gint64 radix, planes;
  double link_bytes_per_s, switch_latency_s;
} Params;

/* The size of a subtree at one level. */
typedef struct {
  gint64 ports;      /* below it, when full */
  gint64 subtrees;   /* of this level in the fabric */
  gint64 switches;   /* W */
  gint64 up, cables; /* U links up per switch, `cables` of them to the same switch above */
  double link_rate;
  double oversubscription;
  gint64 base; /* first link id; up first, then down */
} Level;

typedef struct {
  const Params *params;
  Level level[MOST_LEVELS + 1]; /* from 1 */
  guint n_levels;
  gint64 n_ports, n_links;       /* per plane */
  gint64 radix[MOST_LEVELS + 1]; /* ports of a switch of each level */
  double cable_rate;             /* of a link between switches, before ratios are made exact */
  gint64 planes, domain;         /* domain: GPUs per scale-up domain */
  double port_rate;
  gboolean trunks, by_destination;
  gboolean by_port; /* port p is on plane p mod planes; otherwise each port is on all planes */
} Plan;

static const OrrFieldTable params_table = ORR_FIELDS(
    "clos", "Parameters of the fabric clos.", Params,
    ORR_FIELD_TEXT(Params, "down", down, "32x32",
                   "Children at each level, from the leaf up: NIC ports of a leaf, leaves of a "
                   "pod, ... e.g. 16x192x8."),
    ORR_FIELD_TEXT(Params, "oversubscription", oversubscription, "1",
                   "Bandwidth from below divided by bandwidth up, at each level but the highest, "
                   "e.g. 1x7; by default 1."),
    ORR_FIELD_INT(Params, "radix", radix, "0",
                  "Ports of every switch; 0: as many as it needs, one cable between any two.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_INT(Params, "planes", planes, "1",
                  "Parallel networks of this shape; they divide the bandwidth of every NIC evenly.",
                  .min = 1, .max = 64),
    ORR_FIELD_REAL(Params, "link-bandwidth", link_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "Nominal rate of a link between switches; 0: a NIC's rate in this plane.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "switch-latency", switch_latency_s, ORR_UNIT_SECONDS, "150 ns",
                   "Port to port through a switch; vendors give under 150 ns (Quantum-2), Ethernet "
                   "switches 0.5 to 1 us.",
                   .flags = ORR_FIELD_UNSIGNED));

/* --- Planning --- */

static gint64 ports_of(const Plan *plan, guint l, const gint64 down[], gint64 port_links) {
  gint64 below = l == 1 ? down[0] * port_links : down[l - 1] * plan->level[l - 1].cables;
  return below + plan->level[l].up;
}

static gint64 links_up(const Plan *plan, guint l, double rate) {
  const Level *level = &plan->level[l];
  double from_below = (double)level->ports * plan->port_rate;
  for (guint i = 1; i <= l; i++) from_below /= plan->level[i].oversubscription;
  return l == plan->n_levels ? 0 : MAX(1, llround(from_below / (rate * (double)level->switches)));
}

/* Plans the links of level @l; the level above then gets the smallest number of switches that
 * its ports allow. */
static void plan_level(Plan *plan, guint l, const gint64 down[], double rate) {
  Level *level = &plan->level[l], *above = level + 1;
  level->up = links_up(plan, l, rate);
  double carried = (double)level->ports * plan->port_rate;
  for (guint i = 1; i <= l; i++) carried /= plan->level[i].oversubscription;
  if (l == plan->n_levels) return;
  level->link_rate = carried / (double)(level->switches * level->up);
  level->cables = 1;
  for (gint64 cables = level->up; plan->params->radix && cables > 1; cables--) {
    if (level->up % cables != 0) continue;
    above->switches = level->switches * level->up / cables;
    if (down[l] * cables + links_up(plan, l + 1, rate) > plan->params->radix) continue;
    level->cables = cables;
    break;
  }
  above->switches = level->switches * level->up / level->cables;
}

static gboolean check_ports(const Plan *plan, const gint64 down[], gint64 port_links,
                            GError **error) {
  for (guint l = 1; plan->params->radix && l <= plan->n_levels; l++) {
    gint64 needed = ports_of(plan, l, down, port_links);
    if (needed <= plan->params->radix) continue;
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "a switch of level %u with %ld links down and %ld up needs %ld ports, but radix is %ld", l,
        needed - plan->level[l].up, plan->level[l].up, needed, plan->params->radix);
  }
  if (plan->level[plan->n_levels].subtrees == 1) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "down: %s joins %ld ports, but %ld are needed",
                       plan->params->down, plan->level[plan->n_levels].ports, plan->n_ports);
}

static void number_links(Plan *plan) {
  for (guint l = 1; l < plan->n_levels; l++) {
    Level *level = &plan->level[l];
    level->base = plan->n_links;
    plan->n_links += 2 * level->subtrees * (plan->trunks ? 1 : level->switches * level->up);
  }
}

/* Ports and rates of one plane. */
static gboolean split_ports(Plan *plan, const OrrNodeShape *node, double port_bytes_per_s,
                            GError **error) {
  const gint64 each = orr_node_shape_ports_each(node);
  plan->port_rate = plan->by_port ? port_bytes_per_s : port_bytes_per_s / (double)plan->planes;
  if (!plan->by_port) return TRUE;
  plan->n_ports = (plan->n_ports + plan->planes - 1) / plan->planes;
  if (each % plan->planes == 0) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "planes is %ld, but a GPU has %ld separate ports: they must be a multiple of the planes",
      plan->planes, each);
}

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  const OrrNodeShape *node = &cluster->node;
  gint64 down[MOST_LEVELS];
  double ratios[MOST_LEVELS];
  g_autofree Plan *plan = g_new0(Plan, 1);
  plan->params = params;
  plan->n_ports = n_ports;
  plan->planes = params->planes;
  plan->domain = node->scale_up_domain;
  plan->by_port = node->ports == ORR_PORTS_SEPARATE && params->planes > 1;
  if (!split_ports(plan, node, port_bytes_per_s, error)) return NULL;
  plan->trunks = cluster->routing != ORR_ROUTING_ECMP && cluster->routing != ORR_ROUTING_STATIC;
  plan->by_destination = cluster->routing == ORR_ROUTING_STATIC;
  plan->n_levels = orr_sizes_parse("down", params->down, MOST_LEVELS, down, error);
  if (!plan->n_levels || !orr_sizes_parse_ratios("oversubscription", params->oversubscription,
                                                 MAX(plan->n_levels - 1, 1), ratios, error))
    return NULL;
  const gint64 port_links =
      MAX(1, orr_node_shape_port_links(node) / (plan->by_port ? 1 : params->planes));
  double rate = params->link_bytes_per_s > 0 ? params->link_bytes_per_s * node->nic_efficiency
                                             : plan->port_rate / (double)port_links;
  gint64 ports = 1;
  plan->level[1].switches = 1;
  for (guint l = 1; l <= plan->n_levels; l++) {
    ports *= down[l - 1];
    plan->level[l].ports = ports;
    plan->level[l].subtrees = (plan->n_ports + ports - 1) / ports;
    plan->level[l].oversubscription = l < plan->n_levels ? ratios[l - 1] : 1;
  }
  for (guint l = 1; l <= plan->n_levels; l++) plan_level(plan, l, down, rate);
  number_links(plan);
  plan->cable_rate = rate;
  for (guint l = 1; l <= plan->n_levels; l++)
    plan->radix[l] = params->radix ? params->radix : ports_of(plan, l, down, port_links);
  return check_ports(plan, down, port_links, error) ? g_steal_pointer(&plan) : NULL;
}

/* --- Links --- */

static gint64 n_links(gconstpointer data) {
  const Plan *plan = data;
  return plan->n_links * (plan->trunks && !plan->by_port ? 1 : plan->planes);
}

/* A link id, decoded. */
typedef struct {
  guint l;
  gboolean down;
  gint64 plane, subtree, index; /* index: switch * U + link */
} Link;

static gint64 per_subtree(const Plan *plan, guint l) {
  return plan->trunks ? 1 : plan->level[l].switches * plan->level[l].up;
}

static Link take_apart(const Plan *plan, gint64 id) {
  Link link = {.l = 1, .plane = id / plan->n_links};
  id %= plan->n_links;
  while (link.l + 1 < plan->n_levels && id >= plan->level[link.l + 1].base) link.l++;
  gint64 n = per_subtree(plan, link.l), rest = id - plan->level[link.l].base;
  gint64 half = plan->level[link.l].subtrees * n;
  link.down = rest >= half;
  rest -= link.down ? half : 0;
  link.subtree = rest / n;
  link.index = rest % n;
  return link;
}

static guint32 put_together(const Plan *plan, Link link) {
  gint64 n = per_subtree(plan, link.l), half = plan->level[link.l].subtrees * n;
  gint64 id = plan->level[link.l].base + (link.down ? half : 0) + link.subtree * n +
              (plan->trunks ? 0 : link.index);
  return (guint32)(id + link.plane * plan->n_links);
}

static void append(const Plan *plan, Link link, GArray *links) {
  ORR_APPEND(links, guint32, put_together(plan, link));
}

static double link_bandwidth(gconstpointer data, gint64 id) {
  const Plan *plan = data;
  const Level *level = &plan->level[take_apart(plan, id).l];
  const gint64 planes = plan->by_port ? 1 : plan->planes; /* planes that one trunk stands for */
  return plan->trunks ? level->link_rate * (double)(level->switches * level->up * planes)
                      : level->link_rate;
}

/* "leaf3", "spine0_2": the third switch of the first pod; a trunk begins at all of a subtree's,
 * "spines0". */
static char *switch_name(const Plan *plan, guint l, gint64 subtree, gint64 index) {
  static const char *const names[MOST_LEVELS + 1] = {NULL, "leaf", "spine", "core", "top"};
  if (l == 1) return g_strdup_printf("leaf%ld", subtree);
  if (plan->trunks) return g_strdup_printf("%ss%ld", names[l], subtree);
  return g_strdup_printf("%s%ld_%ld", names[l], subtree, index);
}

static char *link_name(gconstpointer data, gint64 id) {
  static const char *const trunk_ends[MOST_LEVELS + 1] = {NULL, NULL, "spines", "cores", "tops"};
  const Plan *plan = data;
  const Link link = take_apart(plan, id);
  const Level *level = &plan->level[link.l];
  const char *direction = link.down ? "down" : "up";
  const gboolean several = plan->planes > 1 && (plan->by_port || !plan->trunks);
  g_autofree char *plane = several ? g_strdup_printf("plane%ld:", link.plane) : g_strdup("");
  gint64 here = link.index / level->up, port = link.index % level->up;
  gint64 above = here * (level->up / level->cables) + port / level->cables;
  gint64 up_tree = link.subtree * level->ports / (level + 1)->ports;
  g_autofree char *low = switch_name(plan, link.l, link.subtree, here);
  g_autofree char *high = plan->trunks ? g_strdup(trunk_ends[link.l + 1])
                                       : switch_name(plan, link.l + 1, up_tree, above);
  const gboolean numbered = level->cables > 1 && !plan->trunks;
  g_autofree char *copy = numbered ? g_strdup_printf("#%ld", port % level->cables) : g_strdup("");
  return g_strdup_printf("%s%s-%s%s.%s", plane, low, high, copy, direction);
}

/* The cables of a trunk keep the names and numbers that they have under ecmp. */
static void trunks(gconstpointer data, const char *name, gboolean is_switch, GArray *parts) {
  const Plan *plan = data;
  Plan cables = *plan;
  if (!plan->trunks) return;
  cables.trunks = FALSE;
  cables.n_links = 0;
  number_links(&cables);
  for (gint64 id = 0; id < n_links(&cables); id++) {
    g_autofree char *known = link_name(&cables, id);
    if (!orr_fabric_name_matches(known, name, is_switch)) continue;
    Link link = take_apart(&cables, id);
    const Level *level = &plan->level[link.l];
    if (!plan->by_port) link.plane = 0;
    ORR_APPEND(parts, OrrFabricPart,
               {put_together(plan, link),
                1.0 / (double)(level->switches * level->up * (plan->by_port ? 1 : plan->planes))});
  }
}

/* --- Routes --- */

/* The next digit of @hash in radix @n. */
static gint64 draw(guint64 *hash, gint64 n) {
  gint64 digit = (gint64)(*hash % (guint64)n);
  *hash /= (guint64)n;
  return digit;
}

static guint route(gconstpointer data, gint64 src, gint64 dst, guint64 hash, GArray *links) {
  const Plan *plan = data;
  const gint64 plane = plan->by_port  ? src % plan->planes
                       : plan->trunks ? 0
                                      : draw(&hash, plan->planes);
  if (plan->by_port) {
    src /= plan->planes;
    dst /= plan->planes;
  }
  gint64 at[MOST_LEVELS + 2] = {0}; /* the switch at each level, in its subtree */
  guint64 digits[MOST_LEVELS + 2] = {
      0}; /* the hash that a level's digits came from; the way down of `static` uses it too */
  guint top = 1;
  for (; src / plan->level[top].ports != dst / plan->level[top].ports; top++) {
    const Level *level = &plan->level[top];
    digits[top] = hash;
    gint64 up = plan->trunks ? 0 : draw(&hash, level->up);
    append(plan, (Link){top, FALSE, plane, src / level->ports, at[top] * level->up + up}, links);
    at[top + 1] = at[top] * (level->up / level->cables) + up / level->cables;
  }
  for (guint l = top - 1; l >= 1; l--) {
    const Level *level = &plan->level[l];
    gint64 up = at[l + 1] % (level->up / level->cables) * level->cables;
    if (!plan->trunks) up += draw(plan->by_destination ? &digits[l] : &hash, level->cables);
    append(plan, (Link){l, TRUE, plane, dst / level->ports, at[l] * level->up + up}, links);
  }
  return 2 * top - 1;
}

static double switch_latency(gconstpointer data) {
  return ((const Plan *)data)->params->switch_latency_s;
}

/* --- Description --- */

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  for (guint l = 1; l < plan->n_levels; l++) {
    const Level *level = &plan->level[l], *above = level + 1;
    ORR_APPEND(ret_levels, OrrFabricLevel,
               {.name = g_strdup_printf("level %u-%u", l, l + 1),
                .switches = level->subtrees * level->switches * plan->planes,
                .switches_above = above->subtrees * above->switches * plan->planes,
                .links = level->subtrees * level->switches * level->up * plan->planes,
                .link_bytes_per_s = level->link_rate,
                .oversubscription = level->oversubscription});
  }
}

/* A level of one subtree with one switch above joins nothing. */
static void bill(gconstpointer data, OrrBill *ret_bill) {
  static const char *const names[MOST_LEVELS + 1] = {NULL, "leaf", "spine", "core", "top"};
  const Plan *plan = data;
  int below = ORR_BILL_NO_SWITCH;
  for (guint l = 1; l <= plan->n_levels; l++) {
    const Level *level = &plan->level[l], *under = level - 1;
    if (l > 1 && under->subtrees == 1) return;
    const int here = orr_bill_add_switches(
        ret_bill, names[l], level->subtrees * level->switches * plan->planes, plan->radix[l]);
    g_autofree char *name = g_strdup_printf("level %u-%u", l - 1, l);
    if (l > 1)
      orr_bill_add_cables(ret_bill, name, below, here,
                          under->subtrees * under->switches * under->up * plan->planes,
                          plan->cable_rate);
    below = here;
  }
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  double carried = (double)plan->n_ports * plan->port_rate;
  for (guint l = 1; l < plan->n_levels; l++) {
    const Level *level = &plan->level[l];
    if (level->subtrees > 1)
      carried =
          MIN(carried, (double)(level->subtrees * level->switches * level->up) * level->link_rate);
  }
  return carried / 2 * (double)plan->planes;
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  guint l = 1;
  while (plan->level[l].subtrees > 1) l++;
  return 2 * l - 1;
}

/* If all subtrees are full, the subtrees of a level can be permuted: its trunks form one orbit
 * per direction. */
static guint n_orbits(gconstpointer data) {
  const Plan *plan = data;
  gboolean full = plan->trunks && !plan->by_port && plan->level[1].ports % plan->domain == 0;
  for (guint l = 1; l <= plan->n_levels; l++)
    full = full && plan->level[l].subtrees * plan->level[l].ports == plan->n_ports;
  return full ? 2 * plan->n_levels : 0;
}

static guint orbit(gconstpointer data, gint64 id) {
  const Link link = take_apart(data, id);
  return 2 * (link.l - 1) + (link.down ? 1 : 0);
}

const OrrFabricKind orr_clos_tree = {
    .entry = {.name = "clos",
              .sentence = "Folded Clos of one to four levels with any oversubscription at each, in "
                          "one or more planes.",
              .params = &params_table},
    .plan = plan_new,
    .plan_free = g_free,
    .n_links = n_links,
    .route = route,
    .link_bandwidth = link_bandwidth,
    .link_name = link_name,
    .trunks = trunks,
    .switch_latency = switch_latency,
    .levels = levels,
    .bill = bill,
    .bisection = bisection,
    .diameter = diameter,
    .n_orbits = n_orbits,
    .orbit = orbit,
};
