/*
 * dump_slurm_yaml.c - Slurm's topology.yaml: one or more named topologies.
 *
 *   - topology: topo1
 *     cluster_default: true
 *     tree:
 *       switches:
 *         - switch: leaf0
 *           nodes: node[00-15]
 *         - switch: root
 *           children: leaf[0-3]
 *   - topology: topo2
 *     block:
 *       block_sizes: [16]
 *       blocks:
 *         - block: b1
 *           nodes: node[01-16]
 *
 * Each is a fabric of the dump; --choose takes one by its name. A flat topology says nothing about
 * links. The list may stand in a page of other text, such as the manual's.
 *
 * Source: topology.yaml(5), Slurm 25.05.
 */
#include "sim/base/yaml.h"
#include "sim/import/topology/dump.h"

static gboolean is_start(const char *line) {
  return g_str_has_prefix(line, "- topology:") || g_str_has_prefix(line, "-  topology:");
}

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++)
    if (is_start(text->lines[i])) return TRUE;
  return FALSE;
}

/* The list alone, with as many lines before it as in the text. Roff writes '-' as '\-'. */
static char *list_of(const OrrDumpText *text) {
  GString *list = g_string_new(NULL);
  gboolean inside = FALSE, is_over = FALSE;
  for (guint i = 0; i < text->n_lines; i++) {
    const char *line = text->lines[i];
    if (is_start(line)) inside = !is_over;
    if (inside && *line && !strchr(" -#\\", *line)) inside = !(is_over = TRUE);
    for (const char *at = line; inside && *at; at++)
      if (!(*at == '\\' && at[1] == '-')) g_string_append_c(list, *at);
    g_string_append_c(list, '\n');
  }
  return g_string_free(list, FALSE);
}

static OrrPlace place_of(const OrrNode *node) {
  OrrPlace place = node->place;
  place.node = NULL; /* the tree is freed before the findings are */
  return place;
}

static void check_keys(const OrrNode *map, const char *const *known, OrrDiags *diags) {
  ORR_EACH_KEY(key, map) {
    const char *nearest = orr_diag_nearest_word(key->text, known);
    g_autofree char *all = g_strjoinv(", ", (char **)known);
    if (!g_strv_contains(known, key->text))
      orr_diags_error(diags, place_of(key), "unknown key '%.60s'%s%s%s (known: %s)", key->text,
                      nearest ? ": did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "", all);
  }
}

static void read_switch(OrrSlurmTree *tree, const OrrNode *entry, gboolean is_block,
                        OrrDiags *diags) {
  static const char *const of_switch[] = {"switch", "children", "nodes", NULL},
                           *const of_block[] = {"block", "nodes", NULL};
  const char *key = is_block ? "block" : "switch";
  if (entry->kind != ORR_NODE_MAP)
    return orr_diags_error(diags, place_of(entry), "expected a map with '%s: NAME'", key);
  check_keys(entry, is_block ? of_block : of_switch, diags);
  const char *name = orr_node_get_text(entry, key);
  if (!name)
    return orr_diags_error(diags, place_of(entry), "a %s needs a name: expected '%s: NAME'", key,
                           key);
  const OrrSlurmSwitch made = {.name = name,
                               .nodes = orr_node_get_text(entry, "nodes"),
                               .switches = orr_node_get_text(entry, "children"),
                               .is_block = is_block,
                               .place = place_of(entry)};
  orr_slurm_tree_add(tree, &made, diags);
}

static void read_sizes(OrrSlurmTree *tree, const OrrNode *sizes) {
  const OrrNode *first = sizes && sizes->kind == ORR_NODE_LIST && orr_node_length(sizes)
                             ? sizes->items->pdata[0]
                             : sizes;
  if (first && first->kind == ORR_NODE_SCALAR)
    tree->block = CLAMP(g_ascii_strtoll(first->text, NULL, 10), 0, 1 << 20);
}

static void read_tree(const OrrNode *topology, const OrrNode *body, gboolean is_block,
                      OrrDump *dump, OrrDiags *diags) {
  static const char *const of_tree[] = {"switches", NULL}, *const of_blocks[] = {"block_sizes",
                                                                                 "blocks", NULL};
  const guint n_before = orr_diags_n_errors(diags);
  const char *key = is_block ? "blocks" : "switches";
  const OrrNode *list = body->kind == ORR_NODE_MAP ? orr_node_get(body, key) : NULL;
  if (!list || list->kind != ORR_NODE_LIST)
    return orr_diags_error(diags, place_of(body), "expected a map with a list '%s:'", key);
  check_keys(body, is_block ? of_blocks : of_tree, diags);
  OrrSlurmTree *tree = orr_slurm_tree_new("topology.yaml", place_of(topology));
  tree->label = g_strdup(orr_node_get_text(topology, "topology"));
  if (is_block) read_sizes(tree, orr_node_get(body, "block_sizes"));
  for (guint i = 0; i < orr_node_length(list) && orr_diags_n_errors(diags) < n_before + 20; i++)
    read_switch(tree, list->items->pdata[i], is_block, diags);
  orr_slurm_tree_close(tree, dump, diags);
}

static void read_topology(const OrrNode *topology, OrrDump *dump, OrrDiags *diags) {
  static const char *const known[] = {"topology", "cluster_default", "tree", "block", "flat",
                                      "ring",     "torus3d",         NULL};
  if (topology->kind != ORR_NODE_MAP)
    return orr_diags_error(diags, place_of(topology),
                           "expected a map that begins with 'topology: NAME'");
  check_keys(topology, known, diags);
  const char *name = orr_node_get_text(topology, "topology");
  const OrrNode *tree = orr_node_get(topology, "tree"), *block = orr_node_get(topology, "block");
  if (tree) read_tree(topology, tree, FALSE, dump, diags);
  if (block) read_tree(topology, block, TRUE, dump, diags);
  if (tree || block) return;
  orr_dump_note(dump, "topology '%.60s' is %s: passed over", name ? name : "?",
                orr_node_get(topology, "flat") ? "flat, which says nothing about links"
                                               : "of a kind that is not read");
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_autofree char *list = list_of(text);
  const guint before = dump->fabrics->len, n_before = orr_diags_n_errors(diags);
  g_autoptr(OrrNode) root = orr_yaml_parse(list, strlen(list), text->file, diags);
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, root)) read_topology(item, dump, diags);
  if (dump->fabrics->len == before && orr_diags_n_errors(diags) == n_before)
    orr_diags_error(diags, orr_dump_place(text, 1, 1),
                    "no topology here has switches or blocks: expected 'tree:' or 'block:'");
}

const OrrDumpReader orr_dump_slurm_yaml = {
    .name = "slurm-yaml",
    .sentence = "Slurm's topology.yaml",
    .recognise = recognise,
    .read = read_text,
};
