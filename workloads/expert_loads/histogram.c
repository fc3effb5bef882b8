/*
 * histogram - the number of tokens per expert, as logged by a run (Megatron's tokens_per_expert).
 *
 * One count per expert, with an arbitrary sum; or as many for each of several layers, layer after
 * layer. With one expert per rank the fullest rank has the largest count.
 *
 *   experts: {load: {kind: histogram, counts: [1200, 900, 1500, 400, 800, 1000, 1100, 1300]}}
 */
#include "workloads/expert_loads/expert_load.h"

typedef struct {
  GArray *counts;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("histogram", "Parameters of a histogram.", Params,
               ORR_FIELD_REALS(Params, "counts", counts, ORR_UNIT_NONE, NULL,
                               "Tokens per expert, in any unit; of several layers, layer after "
                               "layer.",
                               .flags = ORR_FIELD_UNSIGNED));

static double count_at(const void *params, guint i) {
  return g_array_index(((const Params *)params)->counts, double, i);
}

static char *refuse(const void *params, gint64 experts) {
  const GArray *counts = ((const Params *)params)->counts;
  double sum = 0;
  if (!counts) return NULL; /* reported elsewhere */
  if (counts->len == 0 || (gint64)counts->len % experts != 0)
    return g_strdup_printf("experts.load histogram has %u counts, but the model has "
                           "%ld experts: give one of each, or of each and layer",
                           counts->len, experts);
  for (guint i = 0; i < counts->len; i++) {
    if (count_at(params, i) < 0)
      return g_strdup_printf("experts.load histogram: count %u is %g: counts must be 0 or more",
                             i + 1, count_at(params, i));
    sum += count_at(params, i);
    if ((gint64)(i + 1) % experts != 0) continue;
    if (!(sum > 0)) return g_strdup("experts.load histogram: the counts of a layer are all 0");
    sum = 0;
  }
  return NULL;
}

static guint n_layers(const void *params, gint64 experts) {
  return ((const Params *)params)->counts->len / (guint)experts;
}

static void loads(const void *params, gint64 experts, guint layer, double *ret_loads) {
  for (gint64 e = 0; e < experts; e++)
    ret_loads[e] = count_at(params, layer * (guint)experts + (guint)e);
}

const OrrExpertLoadKind orr_expert_load_histogram = {
    .entry = {"histogram", "Each expert gets its fraction of a histogram.", &table},
    .refuse = refuse,
    .loads = loads,
    .n_layers = n_layers,
};
