/*
 * sweep_known.h - which points are answered, as a text file that other processes can read while one
 * process writes the database.
 */
#pragma once

#include "sim/sweep/sweep_store.h"

/* Writes the points of @sweep that @store has to the file @path. */
gboolean orr_sweep_known_write(const char *path, OrrStore *store, gint64 sweep, guint64 n_points,
                               GError **error);

/* Calls @visit for each point in the file. Of the answer only the point is set. */
gboolean orr_sweep_known_visit(const char *path, OrrSweepVisit visit, void *user, GError **error);
