/*
 * cluster_load.c - see cluster_load.h.
 */
#include "sim/cli/cluster_load.h"

#include <string.h>

#include "sim/base/fault.h"
#include "sim/cli/cli.h"
#include "workloads/collectives/collective_load.h"

gboolean orr_cluster_ask_is_made(const OrrClusterAsk *ask) {
  return ask->collective || ask->algorithm || ask->size || ask->settings;
}

gboolean orr_cluster_ask_apply(const OrrClusterAsk *ask, OrrNode *tree, GError **error) {
  for (char **setting = ask->settings; setting && *setting; setting++) {
    const char *equals = strchr(*setting, '=');
    if (!equals || equals == *setting) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--set wants PATH=VALUE, found '%s'",
                  *setting);
      return FALSE;
    }
    g_autofree char *path = g_strndup(*setting, (gsize)(equals - *setting));
    if (orr_field_set(&orr_cluster_table, tree, path, equals + 1, error)) continue;
    g_prefix_error(error, "--set %s: ", *setting);
    return FALSE;
  }
  return TRUE;
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

char *orr_cluster_ask_answer(const OrrClusterAsk *ask, const OrrCluster *cluster, GError **error) {
  const OrrCollectiveAlgorithm *algorithm = NULL;
  OrrCollectiveCall call = {.bytes = 1 << 30, .n = (guint)orr_cluster_n_gpus(cluster)};
  if (!find_op(ask->collective, &call.op, error) ||
      !find_algorithm(ask->algorithm, &algorithm, error))
    return NULL;
  if (ask->size && !orr_quantity_parse(ask->size, ORR_UNIT_BYTES, &call.bytes, error)) {
    g_prefix_error(error, "--size: ");
    return NULL;
  }
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, (guint64)ask->seed, error);
  if (!fabric) return NULL;
  g_autofree gint64 *gpus = g_new(gint64, call.n);
  for (guint i = 0; i < call.n; i++) gpus[i] = i;
  call.gpus = gpus;
  if (call.op == ORR_SEND_RECV && call.n > 1) { /* from the first to the last */
    gpus[1] = gpus[call.n - 1];
    call.n = 2;
  }
  g_autoptr(OrrCollectiveLoad) load = orr_collective_load(fabric, &call, algorithm, error);
  return load ? orr_collective_load_text(load, fabric, &call) : NULL;
}
