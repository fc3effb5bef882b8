/*
 * topology_text.c - the formats in which a cluster can be written.
 */
#include "sim/import/topology/topology_text.h"

extern const OrrTopologyText orr_topology_text_astra_sim, orr_topology_text_astra_sim_system,
    orr_topology_text_ibnetdiscover, orr_topology_text_infragraph, orr_topology_text_nccl_xml,
    orr_topology_text_simai, orr_topology_text_slurm, orr_topology_text_slurm_yaml;

static const OrrTopologyText *const texts[] = {&orr_topology_text_astra_sim,
                                               &orr_topology_text_astra_sim_system,
                                               &orr_topology_text_ibnetdiscover,
                                               &orr_topology_text_infragraph,
                                               &orr_topology_text_nccl_xml,
                                               &orr_topology_text_simai,
                                               &orr_topology_text_slurm,
                                               &orr_topology_text_slurm_yaml,
                                               NULL};

gboolean orr_topology_text_is_as_built(const char *format) {
  for (guint i = 0; texts[i]; i++)
    if (strcmp(texts[i]->name, format) == 0) return texts[i]->as_built;
  return FALSE;
}

char *orr_topology_text(const char *format, const OrrCluster *cluster, GError **error) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (guint i = 0; texts[i]; i++) {
    if (strcmp(texts[i]->name, format) == 0) return texts[i]->write(cluster, error);
    g_ptr_array_add(names, (gpointer)texts[i]->name);
  }
  g_ptr_array_add(names, NULL);
  const char *nearest = orr_diag_nearest_word(format, (const char *const *)names->pdata);
  g_autofree char *known = g_strjoinv(", ", (char **)names->pdata);
  return orr_fault_null(error, ORR_FAULT_USAGE, "--as: unknown format '%s'%s%s%s (known: %s)",
                        format, nearest ? ": did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "", known);
}
