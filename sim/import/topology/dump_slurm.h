/*
 * dump_slurm.h - a tree of switches or a list of blocks, as both of Slurm's files have it.
 *
 * Switches are named before or after their children. At the end the tree becomes an OrrDumpFabric
 * whose cables have no count: a parent joins its children, nothing says with how many.
 */
#ifndef ORR_DUMP_SLURM_H
#define ORR_DUMP_SLURM_H

#include "sim/import/topology/dump.h"

G_BEGIN_DECLS

typedef struct OrrSlurmTree OrrSlurmTree;
struct OrrSlurmTree {
  const char *format;
  char *label; /* the topology's name, or NULL */
  OrrPlace place;
  GPtrArray *switches; /* of what orr_slurm_tree_add was given, copied */
  gint64 block;        /* BlockSizes' first; 0: none */
};

typedef struct {
  const char *name;
  const char *nodes, *switches; /* host lists; NULL: none */
  gboolean is_block;
  OrrPlace place;
} OrrSlurmSwitch;

OrrSlurmTree *orr_slurm_tree_new(const char *format, OrrPlace place);
void orr_slurm_tree_free(OrrSlurmTree *tree);
/* Copies @made; refuses a name that exists. */
void orr_slurm_tree_add(OrrSlurmTree *tree, const OrrSlurmSwitch *made, OrrDiags *diags);
guint orr_slurm_tree_size(const OrrSlurmTree *tree);
gboolean orr_slurm_tree_is_block(const OrrSlurmTree *tree);
/* Adds the tree to @dump, and frees it. Refused: a switch with two parents or within itself, a node
 * under two leaves, children that are not defined, more names than the limits allow. */
void orr_slurm_tree_close(OrrSlurmTree *tree, OrrDump *dump, OrrDiags *diags);

G_END_DECLS

#endif
