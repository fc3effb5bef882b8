/*
 * fabric_names.c - looks up names from documents: links, cables in trunks, switches.
 *
 *   leaf0-spine1.up     that link                          a>b       that direction of a cable
 *   leaf0-spine1        both directions                    a<>b      both
 *   gpu3.nic            a network card, both directions    leaf0     as a switch: all cables that
 *                                                                    end on it
 *
 * Names are computed from numbers, so a look-up visits all links: 0.1 s for a million links.
 */
#include "topologies/fabric_private.h"

static void add_part(GArray *parts, guint32 link, double fraction) {
  ORR_APPEND(parts, OrrFabricPart, {link, fraction});
}

/* A name without a direction matches both directions; a name without a cable number matches all
 * parallel cables. */
static gboolean is_one(const char *link, const char *name) {
  const gsize n = strlen(name);
  if (strncmp(link, name, n) != 0 || !strchr("#.", link[n]))
    return FALSE; /* the name ends within a number */
  const char *dot = strchr(link + n, '.');
  return !dot || !strchr(dot + 1, '.');
}

/* "a<>b" is both "a>b" and "b>a". */
static gboolean is_called(const char *link, const char *name) {
  const char *both = strstr(name, "<>");
  if (both) {
    g_autofree char *a = g_strndup(name, (gsize)(both - name)),
                    *there = g_strdup_printf("%s>%s", a, both + 2);
    const char *copy = strchr(both, '#');
    g_autofree char *b = copy ? g_strndup(both + 2, (gsize)(copy - both - 2)) : g_strdup(both + 2);
    g_autofree char *back = g_strdup_printf("%s>%s%s", b, a, copy ? copy : "");
    return is_one(link, there) || is_one(link, back);
  }
  return is_one(link, name);
}

/* The two switches that a link joins; a prefix such as "rail3:" stays before each. */
static void ends_of(const char *link, char *ret_ends[2]) {
  const char *middle = strchr(link, '>') ? strchr(link, '>') : strchr(link, '-'),
             *colon = strchr(link, ':');
  const gsize n_prefix = colon && middle && colon < middle ? (gsize)(colon + 1 - link) : 0;
  ret_ends[0] = ret_ends[1] = NULL;
  if (!middle) return;
  ret_ends[0] = g_strndup(link, (gsize)(middle - link));
  ret_ends[1] =
      g_strdup_printf("%.*s%.*s", (int)n_prefix, link, (int)strcspn(middle + 1, ".#"), middle + 1);
}

static gboolean ends_on(const char *link, const char *name) {
  char *ends[2];
  ends_of(link, ends);
  const gboolean found = g_strcmp0(ends[0], name) == 0 || g_strcmp0(ends[1], name) == 0;
  ORR_FREE(ends[0], ends[1]);
  return found;
}

static void add_trunks(const OrrFabric *fabric, const char *name, gboolean is_switch,
                       GArray *parts) {
  const guint first = parts->len;
  if (!fabric->plan || !fabric->kind->trunks) return;
  fabric->kind->trunks(fabric->plan, name, is_switch, parts);
  for (guint i = first; i < parts->len; i++)
    g_array_index(parts, OrrFabricPart, i).link += (guint32)fabric->net_base;
}

gboolean orr_fabric_name_matches(const char *link, const char *name, gboolean is_switch) {
  return is_switch ? ends_on(link, name) : is_called(link, name);
}

static GArray *refuse(const char *what, const char *name, GPtrArray *known, GError **error) {
  g_ptr_array_add(known, NULL);
  const char *nearest = orr_diag_nearest_word(name, (const char *const *)known->pdata);
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i + 1 < known->len && i < 6; i++)
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (const char *)known->pdata[i]);
  if (known->len > 7) g_string_append(text, ", ...");
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "the fabric has no %s '%s'%s%s%s (it has %s)",
                        what, name, nearest ? ": did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "", text->len ? text->str : "none between switches");
}

/* Names for error messages: links, those between switches first, or the switches that they name;
 * each once. */
static GPtrArray *known_names(const OrrFabric *fabric, gboolean switches) {
  GPtrArray *known = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  for (gint64 i = 0; i < fabric->n_links; i++) {
    const gint64 link = (fabric->net_base + i) % fabric->n_links;
    if (switches && link < fabric->net_base) continue;
    char *ends[2] = {orr_fabric_link_name(fabric, (guint32)link), NULL};
    if (switches) {
      g_autofree char *name = ends[0];
      ends_of(name, ends);
    }
    for (guint e = 0; e < 2; e++)
      if (ends[e] && !g_hash_table_contains(seen, ends[e])) {
        g_hash_table_add(seen, ends[e]);
        g_ptr_array_add(known, ends[e]);
      } else {
        g_free(ends[e]);
      }
  }
  return known;
}

GArray *orr_fabric_find_links(const OrrFabric *fabric, const char *name, GError **error) {
  g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(OrrFabricPart));
  for (gint64 link = 0; link < fabric->n_links; link++) {
    g_autofree char *known = orr_fabric_link_name(fabric, (guint32)link);
    if (is_called(known, name)) add_part(parts, (guint32)link, 1);
  }
  if (parts->len == 0) add_trunks(fabric, name, FALSE, parts);
  if (parts->len > 0) return g_steal_pointer(&parts);
  g_autoptr(GPtrArray) known = known_names(fabric, FALSE);
  return refuse("link", name, known, error);
}

/* The first switch that @port's traffic meets on its way to @other, or NULL. */
static char *leaf_towards(const OrrFabric *fabric, gint64 port, gint64 other) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  fabric->kind->route(fabric->plan, port, other, 0, links);
  if (links->len == 0) return NULL;
  g_autofree char *name = fabric->kind->link_name(fabric->plan, g_array_index(links, guint32, 0));
  char *ends[2];
  ends_of(name, ends);
  g_free(ends[1]);
  return ends[0];
}

char *orr_fabric_leaf(const OrrFabric *fabric, gint64 gpu, gint64 lane) {
  enum { N_TRIED = 64 };
  const gint64 port = orr_fabric_port(fabric, gpu, lane), n = fabric->n_ports;
  const gint64 each = orr_node_shape_n_ports(&fabric->cluster->node), nodes = n / each;
  for (gint64 i = 0; i < N_TRIED && i < nodes; i++) { /* from the last node to the first */
    const gint64 node = (nodes - 1) - i * (nodes - 1) / MAX(MIN(N_TRIED, nodes) - 1, 1);
    char *leaf = leaf_towards(fabric, port, node * each + port % each);
    if (leaf) return leaf;
  }
  /* A leaf that joins all nodes: its cables lead to other cards. */
  for (gint64 next = port % each + 1; next < each + port % each; next++) {
    const gint64 other = n - each + next % each;
    if (fabric->kind->reaches && !fabric->kind->reaches(fabric->plan, port, other)) continue;
    char *leaf = leaf_towards(fabric, port, other);
    if (leaf) return leaf;
  }
  return NULL;
}

void orr_fabric_link_ends(const OrrFabric *fabric, guint32 link, char *ret_ends[2]) {
  g_autofree char *name = orr_fabric_link_name(fabric, link);
  ends_of(name, ret_ends);
}

/* The network cards below the switch: those whose route to the same card of the last node, or of
 * the first, begins at the switch; where a leaf joins all nodes, by the route to another card. */
static void add_cards(const OrrFabric *fabric, const char *name, GArray *parts) {
  const gint64 n = fabric->n_ports, each = orr_node_shape_n_ports(&fabric->cluster->node);
  for (gint64 port = 0; port < n; port++) {
    g_autofree char *leaf = leaf_towards(fabric, port, n - each + port % each);
    if (!leaf) leaf = leaf_towards(fabric, port, port % each);
    if (!leaf) leaf = leaf_towards(fabric, port, n - each + (port + 1) % each);
    if (g_strcmp0(leaf, name) != 0) continue;
    for (guint i = 0; i < 2; i++) add_part(parts, (guint32)(fabric->nic_base + 2 * port) + i, 1);
  }
}

GArray *orr_fabric_find_switch(const OrrFabric *fabric, const char *name, GError **error) {
  g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(OrrFabricPart));
  for (gint64 link = fabric->net_base; link < fabric->n_links; link++) {
    g_autofree char *known = orr_fabric_link_name(fabric, (guint32)link);
    if (ends_on(known, name)) add_part(parts, (guint32)link, 1);
  }
  if (parts->len == 0) add_trunks(fabric, name, TRUE, parts);
  if (parts->len > 0 && !fabric->gpu_of) add_cards(fabric, name, parts);
  if (parts->len > 0) return g_steal_pointer(&parts);
  g_autoptr(GPtrArray) known = known_names(fabric, TRUE);
  return refuse("switch", name, known, error);
}

GArray *orr_fabric_nic(const OrrFabric *fabric, gint64 gpu) {
  GArray *parts = g_array_new(FALSE, FALSE, sizeof(OrrFabricPart));
  const gint64 first = orr_fabric_port(fabric, fabric->gpu_of ? fabric->gpu_of[gpu] : gpu, 0);
  for (gint64 i = 0; i < 2 * fabric->lanes && fabric->n_ports > 0; i++)
    add_part(parts, (guint32)(fabric->nic_base + 2 * first + i), 1);
  return parts;
}

gboolean orr_fabric_can_leave(const OrrFabric *fabric, guint32 link) {
  const gboolean is_nic = link >= fabric->nic_base && link < fabric->net_base;
  return g_str_equal(orr_fabric_link_kind(fabric, link), "fabric") || (is_nic && fabric->lanes > 1);
}
