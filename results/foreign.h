/*
 * foreign.h - opens SQLite databases from strangers safely: results databases, and exports of
 * Nsight Systems.
 *
 * Reading such a file executes its schema: views (endless where recursive), generated columns,
 * virtual tables; writing executes triggers. orr_foreign_distrust follows the list in
 * https://www.sqlite.org/security.html.
 */
#pragma once

#include "sim/base/ground.h"
#include <sqlite3.h>

/* Disables triggers, functions with side effects in the schema, and writes to SQLite's own
 * tables. */
void orr_foreign_distrust(sqlite3 *db);

/* Makes statements on @db end with SQLITE_INTERRUPT after @until_us (of g_get_monotonic_time), and
 * with SQLITE_TOOBIG at a text above 16 MiB. @until_us must live as long as @db. */
void orr_foreign_limit(sqlite3 *db, const gint64 *until_us);

/* What the name refers to: "table", "view", "virtual table", or NULL where it does not exist. */
const char *orr_foreign_kind(sqlite3 *db, const char *name);
