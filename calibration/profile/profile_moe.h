/*
 * profile_moe.h - the section `moe` of a profile: latencies of the routed experts of one rank. For
 * calibration/ alone.
 *
 *   moe:
 *     - dtype: bf16
 *       distribution: power_law_1.2
 *       source: who measured it, with what
 *       measured-on: another device
 *       tokens: "1 2 4 ..."
 *       rows:
 *         - {hidden: 4096, inter: 1536, topk: 8, experts: 128, tp: 1, ep: 1, us: "230 228 ..."}
 */
#pragma once

#include "calibration/profile/profile.h"
#include "topologies/device.h"

typedef struct {
  gint64 hidden, inter, topk, experts, tp,
      ep;             /* of the whole layer: inter size and experts before the split */
  gint64 projections; /* 3: gate, up, down; 2: up, down */
  char *us;           /* one latency per number of tokens, '-' where none was measured */
} OrrProfileMoeRow;

typedef struct {
  int dtype;          /* of the weights */
  char *distribution; /* read by orr_profile_moe_imbalance */
  char *source;
  OrrDevice measured_on; /* name NULL: the profile's device */
  /* the common axis of all rows, rising: tokens of the whole expert-parallel group */
  char *tokens;
  GPtrArray *rows; /* OrrProfileMoeRow* */
} OrrProfileMoe;

extern const OrrFieldTable orr_profile_moe_table;

/* Reads "balanced" as 0 and "power_law_A" as the exponent A: above 0 and below 2, but not 1, for
 * which the law has another form. FALSE for anything else. */
gboolean orr_profile_moe_imbalance(const char *distribution, double *ret_imbalance);

/* Checks the axes, rows and repeats of one table. */
void orr_profile_moe_check(const OrrProfileMoe *moe, const OrrNode *map, GHashTable *seen,
                           OrrDiags *diags);
