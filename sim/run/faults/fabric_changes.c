/*
 * fabric_changes.c - the machine's links from date to date, for live works: which fraction of each
 * is left, and the routes around links that are known to be dead (detours.c).
 */
#include "sim/run/faults/faults.h"

/* The links that have lost something at @at_s, with what is left; NULL: none. */
static GHashTable *left_at(const OrrIntervals *affected, double at_s) {
  GHashTable *left = NULL;
  for (guint i = 0; i < affected->things->len; i++) {
    const double factor = orr_intervals_link_factor(affected, i, at_s);
    if (factor == 1) continue;
    if (!left) left = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    double *kept = g_new(double, 1);
    *kept = MAX(factor, ORR_LINK_LOST);
    g_hash_table_insert(left, GSIZE_TO_POINTER(g_array_index(affected->things, gint64, i)), kept);
  }
  return left;
}

/* The fabric with the routes of @at_s. */
static const OrrFabric *routed_at(const GArray *detours, const GPtrArray *fabrics,
                                  const OrrFabric *fabric, double at_s) {
  const OrrFabric *routed = fabric;
  for (guint d = 0; d < detours->len && g_array_index(detours, OrrDetour, d).at_s <= at_s; d++)
    routed = fabrics->pdata[d] ? fabrics->pdata[d] : fabric;
  return routed;
}

static GArray *dates_of(const OrrIntervals *affected, const GArray *detours) {
  GArray *dates = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < affected->things->len; i++) {
    g_autoptr(GArray) more = orr_intervals_dates(affected, i);
    g_array_append_vals(dates, more->data, more->len);
  }
  ORR_EACH(const OrrDetour, detour, detours) g_array_append_val(dates, detour->at_s);
  orr_intervals_sort_dates(dates);
  return dates;
}

GArray *orr_fabric_changes_find(const GPtrArray *outages, const GArray *detours,
                                const GPtrArray *fabrics, const OrrFabric *fabric) {
  GArray *changes = orr_work_fabric_changes_new();
  g_auto(OrrIntervals) affected;
  orr_intervals_init(&affected);
  for (guint i = 0; i < outages->len; i++) orr_intervals_add_links(&affected, outages->pdata[i]);
  g_autoptr(GArray) dates = dates_of(&affected, detours);
  ORR_EACH_VALUE(const double, at_s, dates) {
    const OrrFabric *routed = routed_at(detours, fabrics, fabric, at_s);
    g_autoptr(GHashTable) left = left_at(&affected, at_s);
    g_autoptr(GHashTable) none = g_hash_table_new(g_direct_hash, g_direct_equal);
    const gboolean is_built = !left && routed == fabric;
    const OrrFabricChange change = {at_s, is_built ? NULL
                                                   : orr_fabric_losing(routed, left ? left : none)};
    g_array_append_val(changes, change);
  }
  return changes;
}
