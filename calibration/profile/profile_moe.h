/*
 * profile_moe.h - the part `moe` of a profile: what the routed experts of one rank took, for
 * calibration/ alone.
 *
 *   moe:
 *     - dtype: bf16
 *       distribution: power_law_1.2
 *       source: who measured it, with what
 *       tokens: "1 2 4 ..."
 *       rows:
 *         - {hidden: 4096, inter: 1536, topk: 8, experts: 128, tp: 1, ep: 1, us: "230 228 ..."}
 */
#ifndef ORR_PROFILE_MOE_H
#define ORR_PROFILE_MOE_H

#include "calibration/profile/profile.h"

G_BEGIN_DECLS

typedef struct {
  gint64 hidden, inter, topk, experts, tp,
      ep;             /* of the whole layer: inter and experts before they are split */
  gint64 projections; /* 3: gate, up, down; 2: up, down */
  char *us;           /* one latency for each number of tokens, '-' where there is no row */
} OrrProfileMoeRow;

typedef struct {
  int dtype;          /* of the weights */
  char *distribution; /* as orr_profile_moe_imbalance reads it */
  char *source;
  /* the axis that all rows share, rising: tokens of the whole expert-parallel group */
  char *tokens;
  GPtrArray *rows; /* OrrProfileMoeRow* */
} OrrProfileMoe;

extern const OrrFieldTable orr_profile_moe_table;

/* "balanced" as 0, "power_law_A" as the exponent A, above 0 and below 2 but not 1, where the law
 * has no such form. FALSE for anything else. */
gboolean orr_profile_moe_imbalance(const char *distribution, double *ret_imbalance);

/* Axes, rows and repeats of one table. */
void orr_profile_moe_check(const OrrProfileMoe *moe, const OrrNode *map, GHashTable *seen,
                           OrrDiags *diags);

G_END_DECLS

#endif
