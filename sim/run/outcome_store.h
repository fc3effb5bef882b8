/*
 * outcome_store.h - one run in the results database: the run itself, its parameters, all its rows.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

/* @file: where the scenario was read from. On failure the store keeps nothing of the run. */
gboolean orr_outcome_store(const OrrOutcome *outcome, const OrrScenario *scenario, const char *file,
                           OrrStore *store, gint64 *ret_run_id, GError **error);
