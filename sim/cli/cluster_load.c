/*
 * cluster_load.c - turns the options of `orrery describe cluster` into a collective over all GPUs,
 * computes its load on the fabric, and returns the text to print.
 */
#include "sim/cli/documents.h"

#include "sim/base/settings.h"
#include "workloads/collectives/collective_load.h"

gboolean orr_cluster_query_is_set(const OrrClusterQuery *query) {
  return query->collective || query->algorithm || query->size || query->settings || query->prices;
}

static gboolean find_op(const char *word, OrrCollectiveOp *ret_op, GError **error) {
  for (guint op = 0; op < ORR_N_COLLECTIVES; op++) {
    if (strcmp(orr_collective_words[op], word) != 0) continue;
    *ret_op = (OrrCollectiveOp)op;
    return TRUE;
  }
  orr_cli_unknown("collective", word, orr_collective_words, error);
  return FALSE;
}

static gboolean find_algorithm(const char *name, const OrrCollectiveAlgorithm **ret_algorithm,
                               GError **error) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  *ret_algorithm = NULL;
  if (!name) return TRUE;
  for (guint i = 0; orr_collective_registry.entries[i]; i++)
    g_ptr_array_add(names, (gpointer)orr_collective_registry.entries[i]->name);
  g_ptr_array_add(names, NULL);
  *ret_algorithm =
      (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, name);
  if (*ret_algorithm) return TRUE;
  orr_cli_unknown("collective algorithm", name, (const char *const *)names->pdata, error);
  return FALSE;
}

char *orr_cluster_query_answer(const OrrClusterQuery *query, const OrrCluster *cluster,
                               GError **error) {
  const OrrCollectiveAlgorithm *algorithm = NULL;
  OrrCollectiveCall call = {.bytes = 1 << 30, .n = (guint)orr_cluster_n_gpus(cluster)};
  if (!find_op(query->collective, &call.op, error) ||
      !find_algorithm(query->algorithm, &algorithm, error))
    return NULL;
  if (query->size && !orr_quantity_parse(query->size, ORR_UNIT_BYTES, &call.bytes, error)) {
    g_prefix_error(error, "--size: ");
    return NULL;
  }
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, (guint64)query->seed, error);
  if (!fabric) return NULL;
  g_autofree gint64 *gpus = g_new(gint64, call.n);
  for (guint i = 0; i < call.n; i++) gpus[i] = i;
  call.gpus = gpus;
  if (call.op == ORR_SEND_RECV && call.n > 1) { /* from the first GPU to the last */
    gpus[1] = gpus[call.n - 1];
    call.n = 2;
  }
  g_autoptr(OrrCollectiveLoad) load = orr_collective_load(fabric, &call, algorithm, error);
  return load ? orr_collective_load_text(load, fabric, &call) : NULL;
}
