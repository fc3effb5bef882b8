/*
 * zipf - the k-th most popular expert gets tokens in proportion to k^-exponent.
 *
 * With one expert per rank the fullest rank has 1 / H, H being the sum of k^-exponent over the
 * experts, unless topk caps it.
 *
 *   experts: {load: {kind: zipf, exponent: 0.5}}
 */
#include "workloads/expert_loads/expert_load.h"

typedef struct {
  double exponent;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("zipf", "Parameters of Zipf's law.", Params,
               ORR_UNSIGNED_REAL(Params, "exponent", exponent, ORR_UNIT_NONE, "1",
                                 "Exponent of Zipf's law; 0: balanced."));

static void loads(const void *params, gint64 experts, guint layer, double *ret_loads) {
  for (gint64 e = 0; e < experts; e++)
    ret_loads[e] = pow((double)e + 1, -((const Params *)params)->exponent);
}

const OrrExpertLoadKind orr_expert_load_zipf = {
    .entry = {"zipf", "The k-th most popular expert gets tokens in proportion to a power of 1 / k.",
              &table},
    .loads = loads,
};
