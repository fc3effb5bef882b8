/*
 * dump_slurm.c - builds and checks a tree of switches.
 */
#include "sim/import/topology/dump.h"

typedef struct {
  char *name, *nodes, *switches;
  gboolean is_block;
  OrrPlace place;
} Switch;

static void switch_free(gpointer data) {
  Switch *made = data;
  ORR_FREE(made->name, made->nodes, made->switches, made);
}

OrrSlurmTree *orr_slurm_tree_new(const char *format, OrrPlace place) {
  OrrSlurmTree *tree = g_new0(OrrSlurmTree, 1);
  tree->format = format;
  tree->place = place;
  tree->switches = g_ptr_array_new_with_free_func(switch_free);
  return tree;
}

void orr_slurm_tree_free(OrrSlurmTree *tree) {
  g_ptr_array_unref(tree->switches);
  ORR_FREE(tree->label, tree);
}

static const Switch *switch_at(const OrrSlurmTree *tree, guint i) {
  return tree->switches->pdata[i];
}

guint orr_slurm_tree_size(const OrrSlurmTree *tree) { return tree->switches->len; }

gboolean orr_slurm_tree_is_block(const OrrSlurmTree *tree) {
  return tree->switches->len > 0 && switch_at(tree, 0)->is_block;
}

void orr_slurm_tree_add(OrrSlurmTree *tree, const OrrSlurmSwitch *from, OrrDiags *diags) {
  if (tree->switches->len >= ORR_DUMP_MAX_SWITCHES)
    return orr_diags_error(diags, from->place, "more than %d switches", ORR_DUMP_MAX_SWITCHES);
  if (!*from->name || (!from->nodes && (from->is_block || !from->switches)))
    return orr_diags_error(diags, from->place, "'%.60s' has neither nodes nor switches below it",
                           from->name);
  Switch *made = g_new0(Switch, 1);
  *made = (Switch){g_strdup(from->name), g_strdup(from->nodes), g_strdup(from->switches),
                   from->is_block, from->place};
  g_ptr_array_add(tree->switches, made);
}

/* --- From names to a graph --- */

typedef struct {
  const OrrSlurmTree *tree;
  OrrDumpFabric *fabric;
  OrrDump *dump;
  OrrDiags *diags;
  GHashTable *defined; /* name -> index in the tree + 1 */
  GHashTable *nodes;   /* node names so far; owned */
  guint32 *parent;     /* of switch i of the tree: index + 1 */
} Builder;

/* Names that contain what a custom fabric's link names use are changed. */
static guint switch_number(const Builder *builder, const char *name) {
  g_autofree char *plain = g_strdup(name);
  for (char *at = plain; *at; at++)
    if (!g_ascii_isalnum(*at) && !strchr("-_/", *at)) *at = '_';
  return orr_dump_fabric_switch(builder->fabric, plain);
}

static void define(Builder *builder) {
  for (guint i = 0; i < builder->tree->switches->len; i++) {
    const Switch *at = switch_at(builder->tree, i);
    const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(builder->defined, at->name));
    if (known)
      orr_diags_error(builder->diags, at->place, "'%.60s' is defined twice, first in line %d",
                      at->name, switch_at(builder->tree, known - 1)->place.line);
    else
      g_hash_table_insert(builder->defined, at->name, GUINT_TO_POINTER(i + 1));
  }
}

static void add_nodes(Builder *builder, const Switch *at, guint number) {
  g_autoptr(GError) error = NULL;
  const guint room = ORR_DUMP_MAX_HOSTS - builder->fabric->ports->len;
  if (!at->nodes) return;
  g_autoptr(GPtrArray) names = orr_dump_hostlist(at->nodes, room, &error);
  if (!names)
    return orr_diags_error(builder->diags, at->place, "Nodes of '%.60s': %s", at->name,
                           error->message);
  for (guint i = 0; i < names->len; i++) {
    if (g_hash_table_contains(builder->nodes, names->pdata[i]))
      return orr_diags_error(builder->diags, at->place,
                             "node %u of '%.60s' hangs on another switch already", i + 1, at->name);
    g_hash_table_add(builder->nodes, g_strdup(names->pdata[i]));
    orr_dump_fabric_port(builder->fabric, names->pdata[i], NULL, number, 0);
  }
}

static void add_children(Builder *builder, guint i, guint number) {
  g_autoptr(GError) error = NULL;
  const Switch *at = switch_at(builder->tree, i);
  if (!at->switches) return;
  g_autoptr(GPtrArray) names = orr_dump_hostlist(at->switches, ORR_DUMP_MAX_SWITCHES, &error);
  if (!names)
    orr_diags_error(builder->diags, at->place, "Switches of '%.60s': %s", at->name, error->message);
  for (guint k = 0; names && k < names->len; k++) {
    const guint child = GPOINTER_TO_UINT(g_hash_table_lookup(builder->defined, names->pdata[k]));
    if (!child)
      return orr_diags_error(builder->diags, at->place,
                             "'%.60s' lists switch '%.60s', which is not defined", at->name,
                             (char *)names->pdata[k]);
    if (builder->parent[child - 1])
      return orr_diags_error(builder->diags, at->place, "switch '%.60s' is below '%.60s' already",
                             (char *)names->pdata[k],
                             switch_at(builder->tree, builder->parent[child - 1] - 1)->name);
    builder->parent[child - 1] = i + 1;
    orr_dump_fabric_cable(builder->fabric, switch_number(builder, names->pdata[k]), number, 0, 0);
  }
}

/* With one parent each, a cycle is a switch that is its own ancestor. */
static void check_cycles(const Builder *builder) {
  const guint n = builder->tree->switches->len;
  g_autofree guint32 *seen = g_new0(guint32, n + 1); /* by which walk */
  for (guint i = 0; i < n; i++) {
    guint at = i + 1;
    while (at && !seen[at]) {
      seen[at] = i + 1;
      at = builder->parent[at - 1];
    }
    if (!at || seen[at] != i + 1) continue;
    orr_diags_error(builder->diags, switch_at(builder->tree, at - 1)->place,
                    "switch '%.60s' is below itself", switch_at(builder->tree, at - 1)->name);
    return;
  }
}

static void build(Builder *builder) {
  const guint n_before = orr_diags_n_errors(builder->diags);
  define(builder);
  if (orr_diags_n_errors(builder->diags) > n_before) return;
  for (guint i = 0; i < builder->tree->switches->len; i++) {
    const Switch *at = switch_at(builder->tree, i);
    const guint number = switch_number(builder, at->name);
    if (orr_diags_n_errors(builder->diags) > n_before + 20) return;
    add_nodes(builder, at, number);
    add_children(builder, i, number);
  }
  check_cycles(builder);
  if (builder->fabric->ports->len == 0 && orr_diags_n_errors(builder->diags) == n_before)
    orr_diags_error(builder->diags, builder->tree->place, "no switch of this topology has nodes");
}

/* A block smaller than BlockSizes says is one that Slurm refuses, too. What joins the blocks is not
 * said: one switch stands for it. */
static void check_blocks(const Builder *builder) {
  const OrrSlurmTree *tree = builder->tree;
  builder->fabric->block = 0;
  if (!orr_slurm_tree_is_block(tree)) return;
  gint64 least = G_MAXINT64;
  for (guint i = 0; i < tree->switches->len; i++) {
    g_autoptr(GPtrArray) names =
        orr_dump_hostlist(switch_at(tree, i)->nodes, ORR_DUMP_MAX_HOSTS, NULL);
    const gint64 n = names ? names->len : 0;
    least = MIN(least, n);
    if (n < tree->block)
      orr_diags_error(builder->diags, switch_at(tree, i)->place,
                      "block '%.60s' has %ld nodes, fewer than the %ld of BlockSizes",
                      switch_at(tree, i)->name, n, tree->block);
  }
  builder->fabric->block = least;
  const guint top =
      tree->switches->len > 1 ? orr_dump_fabric_switch(builder->fabric, "network") : 0;
  for (guint s = 0; top != G_MAXUINT && s < top; s++)
    orr_dump_fabric_cable(builder->fabric, s, top, 0, 0);
  if (tree->block && least > tree->block)
    orr_dump_note(builder->dump,
                  "BlockSizes plans jobs in %ld nodes of a block of %ld: a job's choice",
                  tree->block, least);
}

void orr_slurm_tree_close(OrrSlurmTree *tree, OrrDump *dump, OrrDiags *diags) {
  if (dump->fabrics->len >= ORR_DUMP_MAX_FABRICS) {
    orr_diags_error(diags, tree->place, "more than %d topologies", ORR_DUMP_MAX_FABRICS);
    orr_slurm_tree_free(tree);
    return;
  }
  Builder builder = {.tree = tree,
                     .fabric = orr_dump_add_fabric(dump, tree->format, tree->place),
                     .dump = dump,
                     .diags = diags,
                     .defined = g_hash_table_new(g_str_hash, g_str_equal),
                     .nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                     .parent = g_new0(guint32, tree->switches->len + 1)};
  builder.fabric->is_tree = TRUE;
  builder.fabric->label = g_strdup(tree->label);
  build(&builder);
  check_blocks(&builder);
  g_hash_table_unref(builder.defined);
  g_hash_table_unref(builder.nodes);
  g_free(builder.parent);
  orr_slurm_tree_free(tree);
}
