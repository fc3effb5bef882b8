/*
 * work_graph.c - graphs of what ranks do: life cycle, and dependencies by id.
 */
#include "workloads/trace/work_graph.h"

static void rank_free(gpointer data) {
  OrrGraphRank *rank = data;
  g_free(rank->file);
  g_array_unref(rank->nodes);
  g_array_unref(rank->deps);
  g_free(rank);
}

static void group_free(gpointer data) {
  OrrGraphGroup *group = data;
  g_free(group->name);
  g_array_unref(group->ranks);
  g_free(group);
}

OrrWorkGraph *orr_work_graph_new(void) {
  OrrWorkGraph *graph = g_new0(OrrWorkGraph, 1);
  graph->ranks = g_ptr_array_new_with_free_func(rank_free);
  graph->groups = g_ptr_array_new_with_free_func(group_free);
  graph->by_name = g_hash_table_new(g_str_hash, g_str_equal);
  graph->comms = g_array_new(FALSE, TRUE, sizeof(OrrGraphComm));
  graph->members = g_array_new(FALSE, TRUE, sizeof(OrrGraphMember));
  graph->names = g_string_chunk_new(4096);
  graph->notes = g_ptr_array_new_with_free_func(g_free);
  return graph;
}

void orr_work_graph_free(OrrWorkGraph *graph) {
  if (!graph) return;
  g_ptr_array_unref(graph->ranks);
  g_hash_table_unref(graph->by_name);
  g_ptr_array_unref(graph->groups);
  g_array_unref(graph->comms);
  g_array_unref(graph->members);
  g_string_chunk_free(graph->names);
  g_ptr_array_unref(graph->notes);
  g_free(graph);
}

OrrGraphRank *orr_work_graph_add_rank(OrrWorkGraph *graph, const char *file) {
  OrrGraphRank *rank = g_new0(OrrGraphRank, 1);
  rank->file = g_strdup(file);
  rank->nodes = g_array_new(FALSE, TRUE, sizeof(OrrGraphNode));
  rank->deps = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_ptr_array_add(graph->ranks, rank);
  return rank;
}

guint32 orr_work_graph_group(OrrWorkGraph *graph, const char *name) {
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(graph->by_name, name));
  if (known) return known - 1;
  OrrGraphGroup *group = g_new0(OrrGraphGroup, 1);
  group->name = g_strdup(name);
  group->ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_ptr_array_add(graph->groups, group);
  g_hash_table_insert(graph->by_name, group->name, GUINT_TO_POINTER(graph->groups->len));
  return graph->groups->len - 1;
}

void orr_work_graph_note(OrrWorkGraph *graph, const char *note) {
  if (!g_ptr_array_find_with_equal_func(graph->notes, note, g_str_equal, NULL))
    g_ptr_array_add(graph->notes, g_strdup(note));
}

const OrrGraphNode *orr_work_graph_node(const OrrGraphRank *rank, guint32 node) {
  return &g_array_index(rank->nodes, OrrGraphNode, node);
}

const OrrGraphRank *orr_work_graph_rank(const OrrWorkGraph *graph, guint32 rank) {
  return graph->ranks->pdata[rank];
}

#define ID "%" G_GUINT64_FORMAT

gboolean orr_work_graph_resolve(OrrGraphRank *rank, const GArray *ids, GError **error) {
  g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);
  ORR_EACH_AT(i, OrrGraphNode, node, rank->nodes)
    if (!g_hash_table_insert(known, &node->id, GUINT_TO_POINTER(i)))
      return orr_fault_set(error, ORR_FAULT_DOCUMENT, "two nodes have the id " ID, node->id);
  for (guint i = 0; i < rank->nodes->len; i++) {
    const OrrGraphNode *node = orr_work_graph_node(rank, i);
    for (guint d = 0; d < node->n_deps; d++) {
      const guint64 *id = &g_array_index(ids, guint64, node->first_dep + d);
      gpointer found;
      if (!g_hash_table_lookup_extended(known, id, NULL, &found))
        return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                             "node " ID " (%s) depends on " ID ", which the file lacks", node->id,
                             node->name, *id);
      ORR_APPEND(rank->deps, guint32, GPOINTER_TO_UINT(found));
    }
  }
  return TRUE;
}
