/*
 * plan_serving.c - how many cells of a layout a question needs, and which layouts answer it best.
 *
 * A simulation that is a little too fast picks a layout that misses the objectives when it is
 * measured. So a layout counts with the rate at which measured latencies, too, meet them with 90 %
 * confidence (sure_rate), once that is known: it is asked of the best by the simulated rate.
 */
#include "sim/plan/plan_serving.h"

static gboolean is_sure(const OrrPlanLayout *layout) {
  return layout->is_assured && layout->sure_rate > 0;
}

/* Requests/s of a cell that count. */
static double counted_rate(const OrrPlanLayout *layout) {
  return is_sure(layout) ? layout->sure_rate : layout->rate;
}

/* Cells of @rate for the rate asked for; one more than @most where they are more than that. */
static gint64 cells_for(const OrrPlanServing *asked, double rate, gint64 most) {
  if (asked->rate <= 0) return most;
  return rate > 0 ? (gint64)fmin(ceil(asked->rate / rate - 1e-9), (double)most + 1) : 0;
}

void orr_plan_serving_size(const OrrPlanServing *asked, OrrPlanLayout *layout) {
  const gint64 most = asked->gpus ? asked->gpus / layout->gpus : G_MAXINT64 / layout->gpus;
  layout->replicas = cells_for(asked, counted_rate(layout), most);
  if (layout->replicas > most) layout->replicas = cells_for(asked, layout->rate, most);
  layout->fleet_rate =
      layout->replicas > most ? 0 : (double)layout->replicas * layout->rate; /* 0: too many GPUs */
  layout->fleet_sure_rate = (double)layout->replicas * layout->sure_rate;
}

static gint64 gpus_of(const OrrPlanLayout *layout) { return layout->replicas * layout->gpus; }

typedef struct {
  const OrrPlanServing *asked;
  const GArray *layouts;
} Ranking;

gboolean orr_plan_serving_is_promised(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  return is_sure(layout) && layout->fleet_sure_rate >= asked->rate * (1 - 1e-9);
}

double orr_plan_serving_fleet_load(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  if (asked->rate > 0) return asked->rate;
  return orr_plan_serving_is_promised(asked, layout) ? layout->fleet_sure_rate : layout->fleet_rate;
}

/* Layouts that answer with confidence come first, then those that were asked for it and answer by
 * the simulated rate alone, then the others. */
static int standing(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  return orr_plan_serving_is_promised(asked, layout) ? 0 : layout->is_assured ? 1 : 2;
}

/* Of two that serve as much, the one with fewer GPUs, then the first. */
static int compare(gconstpointer a, gconstpointer b, gpointer user) {
  const Ranking *ranking = user;
  const guint i = *(const guint *)a, j = *(const guint *)b;
  const OrrPlanLayout *x = &g_array_index(ranking->layouts, OrrPlanLayout, i),
                      *y = &g_array_index(ranking->layouts, OrrPlanLayout, j);
  const gint64 more = gpus_of(x) - gpus_of(y);
  const double serves = (double)x->replicas * counted_rate(x),
               other = (double)y->replicas * counted_rate(y);
  const int ahead = standing(ranking->asked, x) - standing(ranking->asked, y);
  if (ahead != 0) return ahead;
  if (ranking->asked->rate > 0 && more != 0) return more < 0 ? -1 : 1;
  if (serves != other) return serves > other ? -1 : 1;
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
