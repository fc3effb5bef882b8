/*
 * report.h - a run of any kind (a sweep too) as one HTML page that needs nothing else: no network,
 * and no script to be read (a few lines of it sort tables). Every figure on it is a cell of a
 * shipped view and carries the database's own value in data-value.
 */
#pragma once

#include "results/store.h"

/* The page of @run_id (0: the newest), newly allocated. */
char *orr_report_html(OrrStore *store, gint64 run_id, GError **error);
