/*
 * adapters.c - see adapters.h.
 */
#include "workloads/serving/stations/adapters.h"

#include <math.h>

typedef struct {
  guint adapter; /* 0: empty */
  guint holders;
  guint64 used; /* when last */
} Slot;

struct OrrAdapters {
  guint n_slots;
  guint64 clock;
  Slot *slots;
};

OrrAdapters *orr_adapters_new(guint n, guint slots) {
  if (n == 0) return NULL;
  OrrAdapters *adapters = g_new0(OrrAdapters, 1);
  adapters->n_slots = MIN(n, slots);
  adapters->slots = g_new0(Slot, adapters->n_slots);
  return adapters;
}

void orr_adapters_free(OrrAdapters *adapters) {
  if (!adapters) return;
  g_free(adapters->slots);
  g_free(adapters);
}

/* Where @adapter is, or else the slot that it would take: of those that nobody holds the least
 * recently used. NULL: none. */
static Slot *find(const OrrAdapters *adapters, guint adapter) {
  Slot *best = NULL;
  for (guint i = 0; i < adapters->n_slots; i++) {
    Slot *slot = &adapters->slots[i];
    if (slot->adapter == adapter) return slot;
    if (slot->holders == 0 && (!best || slot->used < best->used)) best = slot;
  }
  return best;
}

gboolean orr_adapters_fit(const OrrAdapters *adapters, guint adapter) {
  return find(adapters, adapter) != NULL;
}

gboolean orr_adapters_hold(OrrAdapters *adapters, guint adapter) {
  Slot *slot = find(adapters, adapter);
  const gboolean is_new = slot->adapter != adapter;
  slot->adapter = adapter;
  slot->holders++;
  slot->used = ++adapters->clock;
  return is_new;
}

void orr_adapters_release(OrrAdapters *adapters, guint adapter) {
  find(adapters, adapter)->holders--;
}

GArray *orr_adapters_weights(guint n, double skew) {
  GArray *weights = g_array_new(FALSE, FALSE, sizeof(double));
  double sum = 0;
  for (guint i = 1; i <= n; i++) {
    sum += pow((double)i, -skew);
    g_array_append_val(weights, sum);
  }
  return weights;
}

guint orr_adapters_draw(const GArray *weights, OrrRandom *random) {
  if (weights->len == 0) return 0;
  const double place = orr_random_unit(random) * g_array_index(weights, double, weights->len - 1);
  guint low = 0, high = weights->len - 1; /* the first whose sum is above place */
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (g_array_index(weights, double, middle) > place)
      high = middle;
    else
      low = middle + 1;
  }
  return low + 1;
}
