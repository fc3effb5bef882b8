/*
 * gang_bins.c - takes and returns GPUs, and the rule for gangs of several nodes.
 */
#include "workloads/cluster_jobs/core/gang_bins.h"

#include "sim/base/arrays.h"

void orr_gang_bins_init(OrrGangBins *bins, guint n, gint64 size) {
  *bins = (OrrGangBins){.n = n, .size = size, .n_free = (gint64)n * size};
  bins->free = g_new(gint64, n + 1);
  for (guint i = 0; i < n; i++) bins->free[i] = size;
  if (n == 1) return;
  bins->levels = g_new0(guint, size + 1);
  bins->levels[size] = n;
}

void orr_gang_bins_clear(OrrGangBins *bins) {
  ORR_FREE(bins->free, bins->levels);
  *bins = (OrrGangBins){0};
}

void orr_gang_bins_copy(OrrGangBins *bins, const OrrGangBins *from) {
  memcpy(bins->free, from->free, sizeof(gint64) * from->n);
  bins->n_free = from->n_free;
  bins->first = from->first;
  if (bins->levels && from->levels)
    memcpy(bins->levels, from->levels, sizeof(guint) * ((gsize)from->size + 1));
}

void orr_gang_bins_add(OrrGangBins *bins, const GArray *shares, int sign) {
  ORR_EACH(const OrrGangShare, share, shares) {
    gint64 *free = &bins->free[share->bin];
    if (bins->levels) bins->levels[*free]--;
    *free += sign * share->gpus;
    bins->n_free += sign * share->gpus;
    g_assert(*free >= 0 && *free <= bins->size);
    if (bins->levels) bins->levels[*free]++;
    if (sign > 0) bins->first = MIN(bins->first, share->bin);
  }
  while (bins->first < bins->n && bins->free[bins->first] == 0) bins->first++;
}

gboolean orr_gang_bins_has_room(const OrrGangBins *bins, gint64 gpus) {
  if (!bins->levels) return TRUE;
  const gint64 whole = gpus > bins->size ? gpus / bins->size : 0;
  const gint64 rest = gpus - whole * bins->size;
  gint64 n = 0;
  if (whole > bins->levels[bins->size]) return FALSE;
  if (rest == 0) return TRUE;
  for (gint64 free = rest; free <= bins->size; free++) n += bins->levels[free];
  return n > whole;
}

gboolean orr_gang_bins_holds(const GArray *shares, guint bin) {
  ORR_EACH(const OrrGangShare, share, shares)
    if (share->bin == bin) return TRUE;
  return FALSE;
}

static void add_share(GArray *shares, guint bin, gint64 gpus) {
  ORR_APPEND(shares, OrrGangShare, {bin, (gint32)gpus});
}

gboolean orr_gang_bins_place(const OrrGangBins *bins, gint64 gpus, OrrGangPick pick,
                             GArray *shares) {
  g_array_set_size(shares, 0);
  if (gpus > bins->n_free) return FALSE;
  gint64 whole = gpus > bins->size ? gpus / bins->size : 0;
  const gint64 rest = gpus - whole * bins->size;
  for (guint i = bins->first; i < bins->n && whole > 0; i++)
    if (bins->free[i] == bins->size) {
      add_share(shares, i, bins->size);
      whole--;
    }
  if (whole > 0) return FALSE;
  if (rest == 0) return TRUE;
  const guint one = pick(bins, rest, shares);
  if (one == G_MAXUINT) return FALSE;
  add_share(shares, one, rest);
  return TRUE;
}

gint64 orr_gang_bins_free(const OrrGangBins *bins, guint first, guint n) {
  gint64 sum = 0;
  for (guint i = first; i < first + n; i++) sum += bins->free[i];
  return sum;
}

guint orr_gang_bins_empty(const OrrGangBins *bins, guint first, guint n) {
  guint sum = 0;
  for (guint i = first; i < first + n; i++) sum += bins->free[i] == bins->size;
  return sum;
}

gboolean orr_gang_bins_place_within(const OrrGangBins *bins, guint first, guint n, gint64 gpus,
                                    OrrGangPick pick, GArray *shares) {
  OrrGangBins view = *bins;
  view.n = n;
  view.n_free = orr_gang_bins_free(bins, first, n);
  view.free = bins->free + first;
  view.first = 0;
  if (!orr_gang_bins_place(&view, gpus, pick, shares)) return FALSE;
  ORR_EACH(OrrGangShare, share, shares) share->bin += first;
  return TRUE;
}

guint orr_gang_bins_pick_best(const OrrGangBins *bins, gint64 gpus, const GArray *taken) {
  guint best = G_MAXUINT;
  for (guint i = bins->first; i < bins->n; i++)
    if (bins->free[i] >= gpus && (best == G_MAXUINT || bins->free[i] < bins->free[best]) &&
        !orr_gang_bins_holds(taken, i))
      best = i;
  return best;
}
