/*
 * clos.c - plans a folded Clos and computes its routes; clos.h has the picture and the letters.
 *
 * Invariants
 *  1. All of it is arithmetic on a few integers: nothing is stored per port, leaf or link.
 *  2. Every link id below orr_clos_n_links has one direction and one pair of switches (or of
 *     bundles).
 *  3. A route goes up as often as it comes down; a link appears in it once.
 *  4. Under ecmp the digits of one 64-bit hash, in mixed radix, make all of a route's choices:
 *     uniform and independent to about radix^4 / 2^64. By destination (static) the digits are the
 *     port's: mod links up at the leaf, what is left at the spine, and the same on the way down.
 */
#include "topologies/fabrics/clos.h"

/* --- Planning --- */

OrrClosSpec orr_clos_spec(const OrrCluster *cluster, const OrrClosParams *params, gint64 n_ports,
                          double port_bytes_per_s) {
  double nominal =
      params->link_bytes_per_s > 0 ? params->link_bytes_per_s : cluster->node.nic_bytes_per_s;
  return (OrrClosSpec){
      .params = *params,
      .n_ports = n_ports,
      .port_bytes_per_s = port_bytes_per_s,
      .link_bytes_per_s = nominal * cluster->node.nic_efficiency,
      .port_links = orr_node_shape_port_links(&cluster->node),
      .stride = 1,
      .domain = cluster->node.scale_up_domain,
      .ideal = cluster->routing == ORR_ROUTING_IDEAL || cluster->routing == ORR_ROUTING_ADAPTIVE,
      .by_destination = cluster->routing == ORR_ROUTING_STATIC,
  };
}

/* The links up that carry @from_below bytes/s at this oversubscription; at least one. */
static gint64 links_up(const OrrClosSpec *spec, double from_below, double oversubscription) {
  return MAX(1, llround(from_below / (oversubscription * spec->link_bytes_per_s)));
}

static gint64 leaf_links_up(const OrrClosSpec *spec, gint64 leaf_ports) {
  return links_up(spec, (double)leaf_ports * spec->port_bytes_per_s, spec->params.oversubscription);
}

gint64 orr_clos_widest_leaf(const OrrClosSpec *spec, gint64 multiple) {
  gint64 ports = spec->params.radix / spec->port_links;
  while (ports > 1 && ports * spec->port_links + leaf_links_up(spec, ports) > spec->params.radix)
    ports--;
  return ports > multiple ? ports - ports % multiple : ports;
}

static gint64 spine_links_up(const OrrClos *clos, gint64 links_down) {
  return links_up(&clos->spec, (double)links_down * clos->leaf_link_bytes_per_s,
                  clos->spec.params.core_oversubscription);
}

/* Ports that a spine needs when a pod has @leaves_per_pod leaves and @spines spines. */
static gint64 spine_ports(const OrrClos *clos, gint64 leaves_per_pod, gint64 spines) {
  gint64 down = leaves_per_pod * (clos->leaf_up / spines);
  return clos->spec.params.levels == 3 ? down + spine_links_up(clos, down) : down;
}

static gboolean plan_leaf(OrrClos *clos, GError **error) {
  const OrrClosSpec *spec = &clos->spec;
  double from_below = (double)spec->leaf_ports * spec->port_bytes_per_s;
  gint64 down = spec->leaf_ports * spec->port_links;
  clos->leaf_up = leaf_links_up(spec, spec->leaf_ports);
  clos->leaf_link_bytes_per_s =
      from_below / (spec->params.oversubscription * (double)clos->leaf_up);
  if (down + clos->leaf_up <= spec->params.radix) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "a leaf with %ld NICs below and %ld links up needs %ld ports, but radix is "
                       "%ld: at most %ld NICs fit at this oversubscription",
                       down, clos->leaf_up, down + clos->leaf_up, spec->params.radix,
                       orr_clos_widest_leaf(spec, 1) * spec->port_links);
}

static void plan_pods(OrrClos *clos) {
  const OrrClosSpec *spec = &clos->spec;
  gint64 a_rail = (spec->leaves + spec->stride - 1) / spec->stride;
  gint64 most = spec->leaves_per_pod;
  if (spec->params.levels == 2) {
    clos->spec.stride = 1;
    clos->leaves_per_pod = spec->leaves;
    clos->pods = 1;
    return;
  }
  for (most = most ? most : spec->params.radix; most > 1 && !spec->leaves_per_pod; most--)
    if (spine_ports(clos, most, clos->leaf_up) <= spec->params.radix) break;
  clos->leaves_per_pod = MIN(most, a_rail);
  clos->pods = (a_rail + clos->leaves_per_pod - 1) / clos->leaves_per_pod * spec->stride;
}

static gboolean refuse_spines(const OrrClos *clos, GError **error) {
  const OrrClosSpec *spec = &clos->spec;
  if (spec->params.levels == 2)
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "two levels of %ld-port switches join at most %ld leaves of %ld ports, but %ld leaves are "
        "needed for %ld ports: use levels: 3, a larger radix or more ports a leaf",
        spec->params.radix, spec->params.radix, spec->leaf_ports, clos->leaves_per_pod,
        spec->n_ports);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "a spine that joins %ld leaves needs at least %ld ports, but radix is %ld: "
                       "use smaller pods, a larger radix or more core-oversubscription",
                       clos->leaves_per_pod, spine_ports(clos, clos->leaves_per_pod, clos->leaf_up),
                       spec->params.radix);
}

/* The fewest spines that divide a leaf's links and have the ports. */
static gboolean plan_spines(OrrClos *clos, GError **error) {
  for (gint64 spines = 1; spines <= clos->leaf_up; spines++) {
    if (clos->leaf_up % spines != 0 ||
        spine_ports(clos, clos->leaves_per_pod, spines) > clos->spec.params.radix)
      continue;
    gint64 down = clos->leaves_per_pod * (clos->leaf_up / spines);
    clos->spines = spines;
    if (clos->spec.params.levels == 3) {
      clos->spine_up = spine_links_up(clos, down);
      clos->spine_link_bytes_per_s =
          (double)down * clos->leaf_link_bytes_per_s /
          (clos->spec.params.core_oversubscription * (double)clos->spine_up);
    }
    return TRUE;
  }
  return refuse_spines(clos, error);
}

static gint64 core_ports(const OrrClos *clos, gint64 groups, gint64 cores) {
  return clos->pods * (clos->spines / groups) * (clos->spine_up / cores);
}

/* The fewest cores, as groups that divide the spines and as cores of a group that divide a
 * spine's links. */
static gboolean plan_cores(OrrClos *clos, GError **error) {
  const OrrClosSpec *spec = &clos->spec;
  for (gint64 groups = 1; groups <= clos->spines; groups++)
    for (gint64 cores = 1; cores <= clos->spine_up; cores++) {
      if (clos->spines % groups != 0 || clos->spine_up % cores != 0 ||
          core_ports(clos, groups, cores) > spec->params.radix)
        continue;
      if (clos->cores && groups * cores >= clos->core_groups * clos->cores) continue;
      clos->core_groups = groups;
      clos->cores = cores;
    }
  if (clos->cores) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "three levels of %ld-port switches join at most %ld pods of %ld ports, but %ld pods are "
      "needed for %ld ports: use a larger radix, larger pods or more oversubscription",
      spec->params.radix, spec->params.radix, clos->leaves_per_pod * spec->leaf_ports, clos->pods,
      spec->n_ports);
}

gboolean orr_clos_init(OrrClos *clos, const OrrClosSpec *spec, GError **error) {
  OrrClos made = {.spec = *spec};
  if (!plan_leaf(&made, error)) return FALSE;
  plan_pods(&made);
  if (!plan_spines(&made, error)) return FALSE;
  if (spec->params.levels == 3 && !plan_cores(&made, error)) return FALSE;
  *clos = made;
  return TRUE;
}

/* --- Links --- */

/* Link ids per direction of a leaf, and of a pod. */
static gint64 ids_per_leaf(const OrrClos *clos) { return clos->spec.ideal ? 1 : clos->leaf_up; }

static gint64 ids_per_pod(const OrrClos *clos) {
  if (clos->spec.params.levels == 2) return 0;
  return clos->spec.ideal ? 1 : clos->spines * clos->spine_up;
}

gint64 orr_clos_n_links(gconstpointer plan) {
  const OrrClos *clos = plan;
  return 2 * clos->spec.leaves * ids_per_leaf(clos) + 2 * clos->pods * ids_per_pod(clos);
}

/* A link id, decoded. */
typedef struct {
  gboolean core; /* spine-core, else leaf-spine */
  gboolean down;
  gint64 owner; /* the leaf, or the pod */
  gint64 index; /* among the owner's */
} Link;

static Link take_apart(const OrrClos *clos, gint64 id) {
  gint64 n_leaf = clos->spec.leaves * ids_per_leaf(clos);
  Link link = {.core = id >= 2 * n_leaf};
  gint64 rest = link.core ? id - 2 * n_leaf : id;
  gint64 half = link.core ? clos->pods * ids_per_pod(clos) : n_leaf;
  gint64 per_owner = link.core ? ids_per_pod(clos) : ids_per_leaf(clos);
  link.down = rest >= half;
  rest -= link.down ? half : 0;
  link.owner = rest / per_owner;
  link.index = rest % per_owner;
  return link;
}

static guint32 put_together(const OrrClos *clos, Link link) {
  gint64 n_leaf = clos->spec.leaves * ids_per_leaf(clos);
  gint64 base = link.core ? 2 * n_leaf : 0;
  gint64 half = link.core ? clos->pods * ids_per_pod(clos) : n_leaf;
  gint64 per_owner = link.core ? ids_per_pod(clos) : ids_per_leaf(clos);
  return (guint32)(base + (link.down ? half : 0) + link.owner * per_owner + link.index);
}

double orr_clos_link_bandwidth(gconstpointer plan, gint64 id) {
  const OrrClos *clos = plan;
  double one =
      take_apart(clos, id).core ? clos->spine_link_bytes_per_s : clos->leaf_link_bytes_per_s;
  if (!clos->spec.ideal) return one;
  return one * (double)(take_apart(clos, id).core ? clos->spines * clos->spine_up : clos->leaf_up);
}

static gint64 leaf_pod(const OrrClos *clos, gint64 leaf) {
  gint64 stride = clos->spec.stride;
  return leaf / stride / clos->leaves_per_pod * stride + leaf % stride;
}

static char *parallel_suffix(gint64 n, gint64 i) {
  return n > 1 ? g_strdup_printf("#%ld", i) : g_strdup("");
}

static char *leaf_link_name(const OrrClos *clos, Link link) {
  const char *direction = link.down ? "down" : "up";
  if (clos->spec.ideal) return g_strdup_printf("leaf%ld-spines.%s", link.owner, direction);
  gint64 parallel = clos->leaf_up / clos->spines;
  g_autofree char *suffix = parallel_suffix(parallel, link.index % parallel);
  return g_strdup_printf("leaf%ld-spine%ld%s.%s", link.owner,
                         leaf_pod(clos, link.owner) * clos->spines + link.index / parallel, suffix,
                         direction);
}

/* The group of cores to which spine @spine of a pod is linked. */
static gint64 core_group(const OrrClos *clos, gint64 spine) {
  return spine / (clos->spines / clos->core_groups);
}

static char *core_link_name(const OrrClos *clos, Link link) {
  const char *direction = link.down ? "down" : "up";
  if (clos->spec.ideal) return g_strdup_printf("pod%ld-cores.%s", link.owner, direction);
  gint64 parallel = clos->spine_up / clos->cores;
  gint64 spine = link.index / clos->spine_up, at = link.index % clos->spine_up;
  g_autofree char *suffix = parallel_suffix(parallel, at % parallel);
  return g_strdup_printf("spine%ld-core%ld%s.%s", link.owner * clos->spines + spine,
                         core_group(clos, spine) * clos->cores + at / parallel, suffix, direction);
}

char *orr_clos_link_name(gconstpointer plan, gint64 id) {
  const OrrClos *clos = plan;
  Link link = take_apart(clos, id);
  return link.core ? core_link_name(clos, link) : leaf_link_name(clos, link);
}

/* The cables of a trunk keep the names and numbers that they have under ecmp. */
void orr_clos_trunks(gconstpointer plan, const char *name, gboolean is_switch, GArray *parts) {
  OrrClos cables = *(const OrrClos *)plan;
  if (!cables.spec.ideal) return;
  const OrrClos trunks = cables;
  cables.spec.ideal = FALSE;
  for (gint64 id = 0; id < orr_clos_n_links(&cables); id++) {
    g_autofree char *known = orr_clos_link_name(&cables, id);
    if (!orr_fabric_name_matches(known, name, is_switch)) continue;
    Link link = take_apart(&cables, id);
    link.index = 0;
    ORR_APPEND(parts, OrrFabricPart,
               {put_together(&trunks, link),
                1.0 / (double)(link.core ? cables.spines * cables.spine_up : cables.leaf_up)});
  }
}

/* --- Routes --- */

/* The next digit of @hash in radix @n. */
static gint64 draw(guint64 *hash, gint64 n) {
  gint64 digit = (gint64)(*hash % (guint64)n);
  *hash /= (guint64)n;
  return digit;
}

/* The links of a route, which are appended to the caller's array at once. */
typedef struct {
  guint32 links[4];
  guint n;
} Route;

static void append(const OrrClos *clos, gboolean core, gboolean down, gint64 owner, gint64 index,
                   Route *route) {
  Link link = {.core = core, .down = down, .owner = owner, .index = clos->spec.ideal ? 0 : index};
  route->links[route->n++] = put_together(clos, link);
}

/* Appends the links up to a core and down to the other pod; returns a spine there that is linked
 * to the core. */
static gint64 cross_core(const OrrClos *clos, gint64 src_pod, gint64 dst_pod, gint64 spine,
                         guint64 *hash, Route *route) {
  gint64 peers = clos->spines / clos->core_groups, parallel = clos->spine_up / clos->cores;
  guint64 mine = *hash; /* by destination, the cable down is the destination's too */
  gint64 up = draw(hash, clos->spine_up);
  gint64 dst_spine = core_group(clos, spine) * peers + draw(hash, peers);
  gint64 down = up / parallel * parallel + draw(clos->spec.by_destination ? &mine : hash, parallel);
  append(clos, TRUE, FALSE, src_pod, spine * clos->spine_up + up, route);
  append(clos, TRUE, TRUE, dst_pod, dst_spine * clos->spine_up + down, route);
  return dst_spine;
}

guint orr_clos_route(const OrrClos *clos, gint64 src_leaf, gint64 dst_leaf, guint64 hash,
                     GArray *links) {
  if (src_leaf == dst_leaf) return 1;
  gint64 src_pod = leaf_pod(clos, src_leaf), dst_pod = leaf_pod(clos, dst_leaf);
  gint64 parallel = clos->leaf_up / clos->spines;
  guint64 mine = hash;
  gint64 up = draw(&hash, clos->leaf_up), spine = up / parallel;
  Route route = {.n = 0};
  append(clos, FALSE, FALSE, src_leaf, up, &route);
  if (src_pod != dst_pod) spine = cross_core(clos, src_pod, dst_pod, spine, &hash, &route);
  append(clos, FALSE, TRUE, dst_leaf,
         spine * parallel + draw(clos->spec.by_destination ? &mine : &hash, parallel), &route);
  g_array_append_vals(links, route.links, route.n);
  return src_pod == dst_pod ? 3 : 5;
}

/* --- Description --- */

double orr_clos_switch_latency(gconstpointer plan) {
  return ((const OrrClos *)plan)->spec.params.switch_latency_s;
}

void orr_clos_levels(gconstpointer plan, GArray *levels) {
  const OrrClos *clos = plan;
  gint64 spines = clos->pods * clos->spines;
  ORR_APPEND(levels, OrrFabricLevel,
             {.name = g_strdup("leaf-spine"),
              .switches = clos->spec.leaves,
              .switches_above = spines,
              .links = clos->spec.leaves * clos->leaf_up,
              .link_bytes_per_s = clos->leaf_link_bytes_per_s,
              .oversubscription = clos->spec.params.oversubscription});
  if (clos->spec.params.levels == 2) return;
  ORR_APPEND(levels, OrrFabricLevel,
             {.name = g_strdup("spine-core"),
              .switches = spines,
              .switches_above = clos->core_groups * clos->cores,
              .links = spines * clos->spine_up,
              .link_bytes_per_s = clos->spine_link_bytes_per_s,
              .oversubscription = clos->spec.params.core_oversubscription});
}

/* A single leaf needs nothing above it. */
void orr_clos_bill_copies(const OrrClos *clos, gint64 copies, gint64 radix, OrrBill *bill) {
  const gint64 leaves = clos->spec.leaves * copies, spines = clos->pods * clos->spines * copies;
  const double rate = clos->spec.link_bytes_per_s;
  const int leaf = orr_bill_add_switches(bill, "leaf", leaves, radix);
  if (clos->spec.leaves == 1) return;
  const int spine = orr_bill_add_switches(bill, "spine", spines, radix);
  orr_bill_add_cables(bill, "leaf-spine", leaf, spine, leaves * clos->leaf_up, rate);
  if (clos->spec.params.levels == 2) return;
  const int core =
      orr_bill_add_switches(bill, "core", clos->core_groups * clos->cores * copies, radix);
  orr_bill_add_cables(bill, "spine-core", spine, core, spines * clos->spine_up, rate);
}

void orr_clos_bill(gconstpointer plan, OrrBill *bill) {
  const OrrClos *clos = plan;
  orr_clos_bill_copies(clos, 1, clos->spec.params.radix, bill);
}

double orr_clos_bisection(gconstpointer plan) {
  const OrrClos *clos = plan;
  double carried = (double)clos->spec.n_ports * clos->spec.port_bytes_per_s;
  if (clos->spec.leaves > 1)
    carried =
        MIN(carried, (double)(clos->spec.leaves * clos->leaf_up) * clos->leaf_link_bytes_per_s);
  if (clos->pods > 1)
    carried = MIN(carried, (double)(clos->pods * clos->spines * clos->spine_up) *
                               clos->spine_link_bytes_per_s);
  return carried / 2;
}

guint orr_clos_diameter(gconstpointer plan) {
  const OrrClos *clos = plan;
  if (clos->spec.leaves == 1) return 1;
  return clos->pods > 1 ? 5 : 3;
}

/* --- Symmetry --- */

/* Without rails a leaf holds whole domains; with rails each leaf serves one rail, and a domain
 * spans all rails. */
guint orr_clos_n_orbits(gconstpointer plan) {
  const OrrClos *clos = plan;
  const OrrClosSpec *spec = &clos->spec;
  const gboolean full =
      spec->leaves * spec->leaf_ports == spec->n_ports &&
      (spec->params.levels == 2 || clos->pods * clos->leaves_per_pod == spec->leaves);
  return spec->ideal && full && (spec->leaf_ports % spec->domain == 0 || spec->by_rail) ? 4 : 0;
}

guint orr_clos_orbit(gconstpointer plan, gint64 id) {
  const Link link = take_apart(plan, id);
  return (link.core ? 2 : 0) + (link.down ? 1 : 0);
}
