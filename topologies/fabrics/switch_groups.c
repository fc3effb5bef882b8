/*
 * switch_groups.c - joins groups of switches by global cables and computes shortest routes and
 * detours between them.
 */
#include "topologies/fabrics/switch_groups.h"

enum { MOST_PATHS = 64 };

OrrGroupsSpec orr_switch_groups_spec(const OrrCluster *cluster, const OrrGroupsParams *params,
                                     gint64 group_ports, gint64 n_ports, double port_bytes_per_s) {
  const double nic = cluster->node.nic_bytes_per_s, efficiency = cluster->node.nic_efficiency;
  const gint64 each = MAX(group_ports, 1);
  return (OrrGroupsSpec){
      .n_ports = n_ports,
      .n_groups = params->groups > 0 ? params->groups : (n_ports + each - 1) / each,
      .local_rate = (params->local_bytes_per_s > 0 ? params->local_bytes_per_s : nic) * efficiency,
      .global_rate =
          (params->global_bytes_per_s > 0 ? params->global_bytes_per_s : nic) * efficiency,
      .port_rate = port_bytes_per_s,
  };
}

gboolean orr_switch_groups_check(const OrrGroupsSpec *spec, const OrrGroupsParams *params,
                                 gint64 exits, const char *switches, gint64 group_ports,
                                 GError **error) {
  const gint64 most = exits * params->global + 1;
  g_autofree char *text = NULL;
  if (spec->n_groups > most)
    text = g_strdup_printf("%ld groups, but %ld %s of %ld global cables reach at most %ld others",
                           spec->n_groups, exits, switches, params->global, most - 1);
  else if (spec->n_groups * group_ports < spec->n_ports)
    text = g_strdup_printf("%ld groups of %ld ports are too few for %ld ports", spec->n_groups,
                           group_ports, spec->n_ports);
  if (text) g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, text);
  return !text;
}

void orr_switch_groups_init(OrrSwitchGroups *groups, const OrrCluster *cluster, guint n_groups,
                            guint size, const char *switch_word) {
  *groups = (OrrSwitchGroups){.n_groups = n_groups, .size = size};
  orr_switch_graph_init(&groups->graph, cluster, n_groups * size, switch_word);
}

void orr_switch_groups_clear(OrrSwitchGroups *groups) {
  orr_switch_graph_clear(&groups->graph);
  g_clear_pointer(&groups->global, g_free);
}

static guint32 *global_of(const OrrSwitchGroups *groups, guint from, guint to, guint copy) {
  return &groups->global[((gsize)from * groups->n_groups + to) * groups->between + copy];
}

/* The cable from a group to the o-th group after it is, seen from there, the cable to the
 * (g-2-o)-th. */
void orr_switch_groups_join(OrrSwitchGroups *groups, guint first_exit, guint exits_each,
                            double bytes_per_s, int level) {
  const guint g = groups->n_groups, size = groups->size;
  groups->between = g > 1 ? (size - first_exit) * exits_each / (g - 1) : 0;
  groups->global = g_new0(guint32, (gsize)g * g * groups->between + 1);
  for (guint here = 0; here < g; here++)
    for (guint o = 0; o + 1 < g; o++) {
      guint there = (here + 1 + o) % g;
      for (guint copy = 0; here < there && copy < groups->between; copy++) {
        guint exit = (copy * (g - 1) + o) / exits_each,
              entry = (copy * (g - 1) + g - 2 - o) / exits_each;
        guint32 link = groups->graph.links->len;
        orr_switch_graph_cable(&groups->graph, here * size + first_exit + exit,
                               there * size + first_exit + entry, 1, bytes_per_s, level);
        g_array_index(groups->graph.links, OrrGraphLink, link).copy =
            copy; /* so that their names differ */
        g_array_index(groups->graph.links, OrrGraphLink, link + 1).copy = copy;
        *global_of(groups, here, there, copy) = link;
        *global_of(groups, there, here, copy) = link + 1;
      }
    }
}

/* The most that one of @n_routes carries of @n_hashes hashes, relative to an even spread: 1 or
 * more. */
static double unevenness(guint n_hashes, guint n_routes) {
  return (double)((n_hashes + n_routes - 1) / n_routes) * n_routes / n_hashes;
}

/* Of the numbers of hashes up to MOST_PATHS that take each of @n_a and each of @n_b routes, the
 * smallest one that spreads best over both. */
static guint hashes_over(guint n_a, guint n_b) {
  guint best = MAX(n_a, n_b);
  double least = INFINITY;
  for (guint n = best; n <= MOST_PATHS; n++) {
    const double uneven = MAX(unevenness(n, n_a), unevenness(n, n_b));
    if (uneven < least * (1 - 1e-9)) best = n, least = uneven;
  }
  return best;
}

static gboolean detours_inside(const OrrSwitchGroups *groups) {
  return groups->all_joined && groups->size > 2;
}

/* The number of hashes is a multiple of the radices of both digits: the number of routes inside a
 * group, and the number of cables between groups. */
gboolean orr_switch_groups_close(OrrSwitchGroups *groups, guint inside, GError **error) {
  guint between = MAX(groups->between, 1), both = inside;
  while (both % between != 0) both += inside;
  groups->graph.n_paths = both <= MOST_PATHS ? both : MAX(inside, between);
  const guint out = groups->n_groups > 2 ? groups->n_groups - 2 : groups->graph.n_paths,
              in = detours_inside(groups) ? groups->size - 2 : inside;
  groups->n_detours = hashes_over(MIN(out, MOST_PATHS), MIN(in, MOST_PATHS));
  return orr_switch_graph_close(&groups->graph, error);
}

static guint next_digit(guint64 *hash, guint radix) {
  guint digit = (guint)(*hash % radix);
  *hash /= radix;
  return digit;
}

static guint hop_over(const OrrSwitchGroups *groups, guint32 link, GArray *links) {
  g_array_append_val(links, link);
  return g_array_index(groups->graph.links, OrrGraphLink, link).to;
}

/* Routes to @group over cable number @copy; returns the switch at which the route enters the
 * group. */
static guint enter(const OrrSwitchGroups *groups, guint src, guint group, guint copy, guint64 *hash,
                   GArray *links) {
  guint32 link = *global_of(groups, src / groups->size, group, copy);
  orr_switch_graph_walk(&groups->graph, src,
                        g_array_index(groups->graph.links, OrrGraphLink, link).from, groups->size,
                        hash, links);
  return hop_over(groups, link, links);
}

guint orr_switch_groups_route(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash,
                              GArray *links) {
  const guint before = links->len, to = dst / groups->size;
  guint at = src;
  if (src / groups->size != to)
    at = enter(groups, src, to, next_digit(&hash, groups->between), &hash, links);
  orr_switch_graph_walk(&groups->graph, at, dst, groups->size, &hash, links);
  return 1 + links->len - before;
}

/* Over another switch of the group. */
static guint detour_inside(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash,
                           GArray *links) {
  const guint size = groups->size, before = links->len;
  hash += src + dst;
  const guint over =
      src / size * size + orr_switch_graph_third(&hash, size, src % size, dst % size);
  orr_switch_graph_walk(&groups->graph, src, over, size, &hash, links);
  orr_switch_graph_walk(&groups->graph, over, dst, size, &hash, links);
  return 1 + links->len - before;
}

/* Different pairs begin with different third switches, third groups and cables, so that all are
 * used evenly also if the number of hashes is not a multiple of theirs. */
guint orr_switch_groups_detour(const OrrSwitchGroups *groups, guint src, guint dst, guint64 hash,
                               GArray *links) {
  const guint before = links->len, from = src / groups->size, to = dst / groups->size;
  if (from == to && src != dst && detours_inside(groups))
    return detour_inside(groups, src, dst, hash, links);
  if (from == to || groups->n_groups < 3)
    return orr_switch_groups_route(groups, src, dst, hash, links);
  const guint64 salt = src + dst;
  hash += salt;
  const guint over = orr_switch_graph_third(&hash, groups->n_groups, from, to);
  hash += salt;
  guint at = enter(groups, src, over, next_digit(&hash, groups->between), &hash, links);
  hash += salt;
  at = enter(groups, at, to, next_digit(&hash, groups->between), &hash, links);
  orr_switch_graph_walk(&groups->graph, at, dst, groups->size, &hash, links);
  return 1 + links->len - before;
}

guint orr_switch_groups_n_detours(gconstpointer plan) {
  return ((const OrrSwitchGroups *)plan)->n_detours;
}

double orr_switch_groups_bisection(const OrrSwitchGroups *groups, double global_bytes_per_s,
                                   double inside_bytes_per_s) {
  const double half = groups->n_groups / 2, pair = groups->between * global_bytes_per_s;
  return groups->n_groups % 2 == 0 ? half * half * pair
                                   : (half * half + half) * pair + inside_bytes_per_s;
}
