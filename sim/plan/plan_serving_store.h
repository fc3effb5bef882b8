/*
 * plan_serving_store.h - a serving plan in the results database.
 *
 * A plan is a run of kind "plan" whose hash covers the question, the machines, models and stacks
 * that it names, and the program's version. Layouts are stored one by one as they are answered. The
 * same question again finds them, so a search that was ended goes on, and an answer is printed
 * again at once.
 */
#ifndef ORR_PLAN_SERVING_STORE_H
#define ORR_PLAN_SERVING_STORE_H

#include "results/store.h"
#include "sim/plan/plan_serving.h"

G_BEGIN_DECLS

extern const OrrFieldTable orr_plan_layout_table, orr_plan_rate_table, orr_plan_sure_table;

/* Begins the plan's run in @store, or finds the newest of the same question, whose layouts are then
 * filled in. *@ret_n_known: how many. */
gboolean orr_plan_serving_store_begin(OrrStore *store, OrrLibrary *library,
                                      const OrrPlanServing *asked, GArray *layouts, gint64 *ret_run,
                                      guint *ret_n_known, GError **error);

/* Stores the answer of layout @index. */
gboolean orr_plan_serving_store_layout(OrrStore *store, gint64 run, const OrrPlanServing *asked,
                                       guint index, const OrrPlanLayout *layout, GError **error);

G_END_DECLS

#endif
