/*
 * switch_graph.c - builds the graph, searches distances on demand and draws routes from hashes.
 *
 * Invariants
 *  1. A route's links lead a hop nearer each: it holds no link twice.
 *  2. The digits of a hash are drawn in the order of the hops, the radix of each the number of
 *     links that lead nearer: hashes 0, 1, ... n - 1, with n a multiple of the product of the
 *     radices, take each route equally often.
 */
#include "topologies/fabrics/switch_graph.h"

enum { FAR = 255 };

/* --- Life --- */

void orr_switch_graph_init(OrrSwitchGraph *graph, const OrrCluster *cluster, guint n_switches,
                           const char *switch_word) {
  *graph = (OrrSwitchGraph){
      .n_switches = n_switches,
      .links = g_array_new(FALSE, FALSE, sizeof(OrrGraphLink)),
      .n_paths = 1,
      .merge = cluster->routing != ORR_ROUTING_ECMP && cluster->routing != ORR_ROUTING_STATIC,
      .switch_word = switch_word,
  };
}

void orr_switch_graph_clear(OrrSwitchGraph *graph) {
  for (guint s = 0; graph->distance && s < graph->n_switches; s++) g_free(graph->distance[s]);
  g_clear_pointer(&graph->distance, g_free);
  g_clear_pointer(&graph->links, g_array_unref);
  g_clear_pointer(&graph->first, g_free);
  g_clear_pointer(&graph->out, g_free);
  g_clear_pointer(&graph->names, g_strfreev);
}

void orr_switch_graph_cable(OrrSwitchGraph *graph, guint a, guint b, guint copies,
                            double bytes_per_s, int level) {
  guint n = graph->merge ? 1 : copies;
  for (guint copy = 0; copies > 0 && copy < n; copy++) {
    OrrGraphLink there = {a, b, copy, level, graph->merge ? copies * bytes_per_s : bytes_per_s};
    OrrGraphLink back = {b, a, copy, level, there.bytes_per_s};
    g_array_append_val(graph->links, there);
    g_array_append_val(graph->links, back);
  }
}

static const OrrGraphLink *link_of(const OrrSwitchGraph *graph, guint32 link) {
  return &g_array_index(graph->links, OrrGraphLink, link);
}

static void sort_by_source(OrrSwitchGraph *graph) {
  graph->first = g_new0(guint32, graph->n_switches + 2);
  graph->out = g_new(guint32, graph->links->len + 1);
  for (guint i = 0; i < graph->links->len; i++) graph->first[link_of(graph, i)->from + 2]++;
  for (guint s = 2; s < graph->n_switches + 2; s++) graph->first[s] += graph->first[s - 1];
  for (guint i = 0; i < graph->links->len; i++)
    graph->out[graph->first[link_of(graph, i)->from + 1]++] = i;
}

/* Cables carry both directions, so distances to a switch equal those from it. */
static guint8 *search_from(const OrrSwitchGraph *graph, guint switch_) {
  guint8 *distance = g_malloc(graph->n_switches);
  g_autofree guint32 *queue = g_new(guint32, graph->n_switches);
  guint head = 0, tail = 0;
  memset(distance, FAR, graph->n_switches);
  distance[switch_] = 0;
  queue[tail++] = switch_;
  while (head < tail) {
    guint at = queue[head++];
    for (guint32 i = graph->first[at]; i < graph->first[at + 1]; i++) {
      guint next = link_of(graph, graph->out[i])->to;
      if (distance[next] != FAR || distance[at] + 1 >= FAR) continue;
      distance[next] = distance[at] + 1;
      queue[tail++] = next;
    }
  }
  return distance;
}

/* Caches the distances: the graph is unchanged for the caller. */
static const guint8 *distances_to(const OrrSwitchGraph *graph, guint switch_) {
  if (!graph->distance[switch_]) graph->distance[switch_] = search_from(graph, switch_);
  return graph->distance[switch_];
}

static char *switch_name(const OrrSwitchGraph *graph, guint switch_) {
  return graph->names ? g_strdup(graph->names[switch_])
                      : g_strdup_printf("%s%u", graph->switch_word, switch_);
}

gboolean orr_switch_graph_close(OrrSwitchGraph *graph, GError **error) {
  sort_by_source(graph);
  graph->distance = g_new0(guint8 *, graph->n_switches + 1);
  const guint8 *distance = distances_to(graph, 0);
  for (guint s = 0; s < graph->n_switches; s++) {
    if (distance[s] != FAR) continue;
    g_autofree char *here = switch_name(graph, 0), *there = switch_name(graph, s);
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "no route leads from %s to %s: the fabric must be connected", here, there);
  }
  return TRUE;
}

/* --- Routes --- */

guint orr_switch_graph_distance(const OrrSwitchGraph *graph, guint src, guint dst) {
  return distances_to(graph, dst)[src];
}

typedef struct {
  const OrrSwitchGraph *graph;
  const guint8 *distance; /* to the destination */
  guint block;
} Search;

static gboolean is_nearer(const Search *search, guint at, guint32 link) {
  guint to = link_of(search->graph, link)->to;
  return search->distance[to] < search->distance[at] &&
         (!search->block || to / search->block == at / search->block);
}

guint orr_switch_graph_third(guint64 *hash, guint n, guint a, guint b) {
  guint third = (guint)(*hash % (n - 2));
  *hash /= n - 2;
  if (third >= MIN(a, b)) third++;
  return third >= MAX(a, b) ? third + 1 : third;
}

/* A link from @at that leads one hop nearer; the next digit of @hash selects among them. */
static guint32 next_link(const Search *search, guint at, guint64 *hash) {
  const OrrSwitchGraph *graph = search->graph;
  guint32 nearer = 0, last = 0;
  for (guint32 i = graph->first[at]; i < graph->first[at + 1]; i++)
    if (is_nearer(search, at, graph->out[i])) nearer++, last = graph->out[i];
  g_assert(nearer > 0);
  if (nearer == 1) return last;
  guint64 pick = *hash % nearer;
  *hash /= nearer;
  for (guint32 i = graph->first[at];; i++)
    if (is_nearer(search, at, graph->out[i]) && pick-- == 0) return graph->out[i];
}

void orr_switch_graph_walk(const OrrSwitchGraph *graph, guint src, guint dst, guint block,
                           guint64 *hash, GArray *links) {
  const Search search = {graph, distances_to(graph, dst), block};
  for (guint at = src; at != dst;) {
    guint32 link = next_link(&search, at, hash);
    g_array_append_val(links, link);
    at = link_of(graph, link)->to;
  }
}

guint orr_switch_graph_route(const OrrSwitchGraph *graph, guint src, guint dst, guint64 hash,
                             GArray *links) {
  const guint before = links->len;
  orr_switch_graph_walk(graph, src, dst, 0, &hash, links);
  return 1 + links->len - before;
}

/* --- Links --- */

gint64 orr_switch_graph_n_links(gconstpointer plan) {
  return ((const OrrSwitchGraph *)plan)->links->len;
}

double orr_switch_graph_link_bandwidth(gconstpointer plan, gint64 link) {
  return link_of(plan, (guint32)link)->bytes_per_s;
}

char *orr_switch_graph_link_name(gconstpointer plan, gint64 link) {
  const OrrSwitchGraph *graph = plan;
  const OrrGraphLink *it = link_of(graph, (guint32)link);
  g_autofree char *from = switch_name(graph, it->from), *to = switch_name(graph, it->to);
  return it->copy ? g_strdup_printf("%s>%s#%u", from, to, it->copy)
                  : g_strdup_printf("%s>%s", from, to);
}

double orr_switch_graph_switch_latency(gconstpointer plan) {
  return ((const OrrSwitchGraph *)plan)->switch_latency_s;
}

guint orr_switch_graph_n_paths(gconstpointer plan) {
  return ((const OrrSwitchGraph *)plan)->n_paths;
}
