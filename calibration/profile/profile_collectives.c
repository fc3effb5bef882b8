/*
 * profile_collectives.c - merges a profile's own collectives with its base's.
 *
 * Elsewhere a list in a document replaces its base's. For `collectives` both count: a user who
 * measured three sizes knows these better than the base does, and nothing about the others. So the
 * rows of a document come first and its base's behind them, each with the number of such
 * lists beneath it:
 *
 *   document    all_reduce over 8: 256 MiB, 512 MiB, 1 GiB     laid-over 1     first, in its range
 *                                                                              of sizes
 *   base        all_reduce over 8: 512 B ... 256 MiB           laid-over 0     answers the rest
 *               all_gather over 8: ...
 *
 * cost_collective.c describes how they hand over to each other. The tables of `library-gemm` of a
 * document and of its bases stand side by side in the same way, by library and device.
 */
#include "calibration/profile/profile_private.h"

static guint depth_of(const OrrNode *list) {
  guint depth = 0;
  for (const OrrNode *under = list->replaced; under; under = under->replaced) depth++;
  return depth;
}

static void append_rows(OrrNode *into, const OrrNode *list) {
  g_autofree char *depth = g_strdup_printf("%u", depth_of(list));
  ORR_EACH_ITEM(item, list) {
    OrrNode *row = orr_node_copy(item);
    if (row->kind == ORR_NODE_MAP && list->replaced)
      orr_node_set(row, "laid-over", orr_node_new_scalar(row->place, depth));
    orr_node_append(into, row);
  }
}

OrrNode *orr_profile_lay_collectives(const OrrNode *node) {
  const OrrNode *own = orr_node_get(node, "collectives");
  if (!own || !own->replaced) return NULL;
  OrrNode *all = orr_node_new_list(own->place), *laid = orr_node_copy_top(node);
  for (const OrrNode *list = own; list; list = list->replaced) append_rows(all, list);
  orr_node_set(laid, "collectives", all);
  return laid;
}

OrrNode *orr_profile_lay_gemm(const OrrNode *node) {
  const OrrNode *own = orr_node_get(node, "library-gemm");
  if (!own || !own->replaced) return NULL;
  OrrNode *all = orr_node_new_list(own->place), *laid = orr_node_copy_top(node);
  for (const OrrNode *list = own; list; list = list->replaced)
    ORR_EACH_ITEM(item, list) orr_node_append(all, orr_node_ref(item));
  orr_node_set(laid, "library-gemm", all);
  return laid;
}

void orr_profile_check_collective(const OrrProfileCollective *row, const OrrNode *map,
                                  GHashTable *seen, OrrDiags *diags) {
  orr_profile_check_row(map, row->us, orr_profile_check_axis(map, "bytes", row->bytes, diags),
                        FALSE, diags);
  g_autofree char *layer = g_strdup_printf(" over %ld bases", row->laid_over);
  orr_profile_check_unique(
      seen,
      g_strdup_printf("%s over %ld ranks%s", row->op, row->ranks, row->laid_over > 0 ? layer : ""),
      map, diags);
}
