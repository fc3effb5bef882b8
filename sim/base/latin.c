/*
 * latin.c - repeats the values of each axis equally often and shuffles them, axis by axis.
 */
#include "sim/base/random.h"

void orr_latin_deal(const guint *n_values, guint n_axes, guint n, guint *values,
                    OrrRandom *random) {
  for (guint a = 0; a < n_axes; a++) {
    const guint first =
        (guint)orr_random_below(random, n_values[a]); /* the values that occur once more */
    for (guint r = 0; r < n; r++) values[(gsize)r * n_axes + a] = (first + r) % n_values[a];
    for (guint r = n; r > 1; r--) { /* Fisher, Yates */
      guint *x = &values[(gsize)(r - 1) * n_axes + a];
      guint *y = &values[(gsize)orr_random_below(random, r) * n_axes + a];
      const guint kept = *x;
      *x = *y;
      *y = kept;
    }
  }
}
