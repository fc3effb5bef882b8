/*
 * sweep_combination.h - what a combination stands for: one value of each axis, and the settings
 * that turn the base scenario into its scenario.
 */
#pragma once

#include "sim/sweep/sweep_plan.h"

/* The value of @axis, and its index. */
guint orr_sweep_combination_index(const OrrSweepPlan *plan, guint64 combination, guint axis);
const OrrNode *orr_sweep_combination_value(const OrrSweepPlan *plan, guint64 combination,
                                           guint axis);

/* The values as texts, "workload.parallel.tp=8"; a newly allocated strv. */
char **orr_sweep_combination_settings(const OrrSweepPlan *plan, guint64 combination);

/* The texts for --set of `orrery run` that make the base scenario this combination; a newly
 * allocated strv. */
char **orr_sweep_combination_again(const OrrSweepPlan *plan, guint64 combination);

/* The pipeline that the axes schedule and chunks select, as YAML; NULL when neither is an axis.
 * *@ret_refusal: set when they contradict each other. Both newly allocated. */
char *orr_sweep_combination_pipeline(const OrrSweepPlan *plan, guint64 combination,
                                     char **ret_refusal);

/* Calls @add with each setting that `orrery run` takes in place of some axes: @axes are their
 * values, "path=value; path=value", or NULL for a setting of every point. Together with the values
 * of the other axes these are the settings of orr_sweep_combination_again. */
typedef gboolean (*OrrSweepCommand)(const char *axes, const char *setting, void *user,
                                    GError **error);
gboolean orr_sweep_combination_commands(const OrrSweepPlan *plan, OrrSweepCommand add, void *user,
                                        GError **error);
