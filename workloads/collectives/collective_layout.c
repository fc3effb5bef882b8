/*
 * collective_layout.c - which members of a group share a scale-up domain.
 */
#include "workloads/collectives/collective_private.h"

/* Numbers the domains of the group in the order of their first rank: ret_index[r] for rank r. Returns how many. */
static guint number_domains(const OrrFabric *fabric, const gint64 *gpus, guint n, guint *ret_index) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL); /* domain -> its number + 1; looked up, never walked */
  guint n_domains = 0;
  for (guint r = 0; r < n; r++) {
    gpointer key = GSIZE_TO_POINTER((gsize)orr_fabric_domain(fabric, gpus[r]));
    guint number = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
    if (number == 0) {
      number = ++n_domains;
      g_hash_table_insert(seen, key, GUINT_TO_POINTER(number));
    }
    ret_index[r] = number - 1;
  }
  return n_domains;
}

/* Lays the members out domain by domain; FALSE, with nothing of use written, where a domain would overflow. */
static gboolean fill(OrrCollectiveLayout *layout, const gint64 *gpus, guint n, const guint *index) {
  g_autofree guint *filled = g_new0(guint, layout->n_domains);
  for (guint r = 0; r < n; r++) {
    guint d = index[r];
    if (filled[d] == layout->per_domain)
      return FALSE;
    layout->gpus[d * layout->per_domain + filled[d]++] = gpus[r];
  }
  return TRUE;
}

void orr_collective_layout_init(OrrCollectiveLayout *layout, const OrrFabric *fabric, const gint64 *gpus, guint n) {
  g_autofree guint *index = g_new(guint, n);
  layout->gpus = g_new(gint64, n);
  layout->n_domains = number_domains(fabric, gpus, n, index);
  layout->per_domain = n / layout->n_domains;
  if (layout->n_domains * layout->per_domain == n && fill(layout, gpus, n, index))
    return;
  layout->n_domains = n;
  layout->per_domain = 1;
  for (guint r = 0; r < n; r++)
    layout->gpus[r] = gpus[r];
}

gboolean orr_collective_layout_is_strided(const OrrCollectiveLayout *layout, const OrrCollectiveContext *context) {
  const gint64 each = context->gpus_per_switch;
  if (each == 0 || layout->per_domain == 1 || layout->n_domains == 1) return FALSE;
  for (guint i = 0; i < layout->per_domain; i++)
    for (guint j = 0; j < i; j++)
      if (layout->gpus[i] / each == layout->gpus[j] / each) return FALSE;
  return TRUE;
}

void orr_collective_layout_clear(OrrCollectiveLayout *layout) { g_clear_pointer(&layout->gpus, g_free); }
