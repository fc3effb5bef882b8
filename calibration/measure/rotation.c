/*
 * rotation.c - computes how many operand sets evict the L2 cache, and the calls of a repeat.
 */
#include "calibration/measure/rotation.h"

enum { REPEAT_US = 2000 };

guint orr_rotation_sets(double touched_bytes, double held_bytes, const OrrBenchFacts *facts) {
  const double wanted = ceil(2 * facts->l2_bytes / fmax(touched_bytes, 1)) + 1;
  const double room = floor(0.4 * facts->memory_bytes / fmax(held_bytes, 1));
  return (guint)CLAMP(fmin(wanted, room), 1, ORR_ROTATION_MOST);
}

gboolean orr_rotation_is_warm(guint n_sets, double touched_bytes, const OrrBenchFacts *facts) {
  return n_sets * touched_bytes < 2 * facts->l2_bytes;
}

guint orr_rotation_calls(double us, guint n_sets) {
  const guint n = (guint)CLAMP(ceil(REPEAT_US / fmax(us, 0.1)), 1, ORR_ROTATION_MOST);
  return us < REPEAT_US / 2.0 ? MAX(n, MIN(n_sets, ORR_ROTATION_MOST)) : MAX(n, MIN(n_sets, 2));
}
