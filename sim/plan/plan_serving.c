/*
 * plan_serving.c - how many cells of a layout a question needs, and which layouts answer it best.
 */
#include "sim/plan/plan_serving.h"

#include <math.h>

void orr_plan_serving_size(const OrrPlanServing *asked, OrrPlanLayout *layout) {
  const gint64 most = asked->gpus ? asked->gpus / layout->gpus : G_MAXINT64 / layout->gpus;
  layout->replicas = asked->rate <= 0 ? most
                     : layout->rate > 0
                         ? (gint64)fmin(ceil(asked->rate / layout->rate - 1e-9), (double)most + 1)
                         : 0;
  layout->fleet_rate =
      layout->replicas > most ? 0 : (double)layout->replicas * layout->rate; /* 0: too many GPUs */
  layout->fleet_sure_rate = (double)layout->replicas * layout->sure_rate;
}

static gint64 gpus_of(const OrrPlanLayout *layout) { return layout->replicas * layout->gpus; }

typedef struct {
  const OrrPlanServing *asked;
  const GArray *layouts;
} Ranking;

/* Of two that serve as much, the one with fewer GPUs, then the first. */
static int compare(gconstpointer a, gconstpointer b, gpointer user) {
  const Ranking *ranking = user;
  const guint i = *(const guint *)a, j = *(const guint *)b;
  const OrrPlanLayout *x = &g_array_index(ranking->layouts, OrrPlanLayout, i),
                      *y = &g_array_index(ranking->layouts, OrrPlanLayout, j);
  const gint64 more = gpus_of(x) - gpus_of(y);
  if (ranking->asked->rate > 0 && more != 0) return more < 0 ? -1 : 1;
  if (x->fleet_rate != y->fleet_rate) return x->fleet_rate > y->fleet_rate ? -1 : 1;
  if (more != 0) return more < 0 ? -1 : 1;
  return (i > j) - (i < j);
}

GArray *orr_plan_serving_rank(const OrrPlanServing *asked, const GArray *layouts) {
  GArray *ranked = g_array_new(FALSE, FALSE, sizeof(guint));
  Ranking ranking = {asked, layouts};
  ORR_EACH_AT(i, OrrPlanLayout, layout, layouts) {
    if (layout->status != ORR_PLAN_MEASURED) continue;
    orr_plan_serving_size(asked, layout);
    if (layout->fleet_rate > 0) g_array_append_val(ranked, i);
  }
  g_array_sort_with_data(ranked, compare, &ranking);
  return ranked;
}
