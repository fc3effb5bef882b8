/*
 * executor_bind.c - which links can limit a rate at all.
 *
 * Every path over link l also uses some narrower link f. If all paths over l are shared out among
 * narrower links, so that the paths of f put at most x times on l what they put on f, then l
 * carries at most the sum of x * bandwidth(f). Where that is no more than its own bandwidth, it
 * never limits a rate that the narrower links allow, and rates are the same without it. (Narrower,
 * so that no two links are each left out because of the other.) Example: uplinks of a leaf as wide
 * as its NICs.
 *
 * The shares are found greedily: next is the narrower link that most of the remaining paths use.
 */
#include "sim/engine/executor_leap.h"

#define SLACK 1e-12 /* of a bandwidth */

static double bandwidth_of(const OrrExecutor *executor, guint32 link) {
  return orr_program_link_bandwidth(executor->program, link);
}

static guint weight_on(const OrrLinkUse *uses, guint n, guint32 link) {
  for (guint i = 0; i < n; i++)
    if (uses[i].link == link) return uses[i].weight;
  return 0;
}

/* Counts the remaining @paths on each narrower link; the best is returned, G_MAXUINT32: none. */
static guint32 best_share(const OrrExecutor *executor, guint32 link, const GArray *paths,
                          OrrLinkShare *shares) {
  const double most = bandwidth_of(executor, link);
  guint32 best = G_MAXUINT32;
  ORR_EACH_VALUE(const guint32, value, paths) {
    guint n;
    const OrrLinkUse *uses = orr_program_path_kept(executor->program, value, &n);
    const double weight = weight_on(uses, n, link);
    for (guint i = 0; i < n; i++) {
      const guint32 other = uses[i].link;
      if (bandwidth_of(executor, other) >= most) continue;
      shares[other].n++;
      shares[other].times = MAX(shares[other].times, weight / uses[i].weight);
      if (best == G_MAXUINT32 || shares[other].n > shares[best].n) best = other;
    }
  }
  return best;
}

/* Forgets the counts, and takes the paths over @best off the list. */
static void take_share(const OrrExecutor *executor, guint32 best, GArray *paths,
                       OrrLinkShare *shares) {
  guint n_kept = 0;
  ORR_EACH_VALUE(const guint32, path, paths) {
    guint n;
    const OrrLinkUse *uses = orr_program_path_kept(executor->program, path, &n);
    for (guint i = 0; i < n; i++) shares[uses[i].link] = (OrrLinkShare){0};
    if (weight_on(uses, n, best) == 0) g_array_index(paths, guint32, n_kept++) = path;
  }
  g_array_set_size(paths, n_kept);
}

gboolean orr_leaper_link_can_bind(const OrrExecutor *executor, guint32 link, GArray *paths) {
  const double most = (1 + SLACK) * bandwidth_of(executor, link);
  OrrLinkShare *shares = executor->leaper->groups.shares; /* take_share leaves zeros */
  double sum = 0;
  while (paths->len > 0 && sum <= most) {
    const guint32 best = best_share(executor, link, paths, shares);
    if (best == G_MAXUINT32) return TRUE;
    sum += shares[best].times * bandwidth_of(executor, best);
    take_share(executor, best, paths, shares);
  }
  return sum > most;
}
