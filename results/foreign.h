/*
 * foreign.h - an SQLite database that may be a stranger's: a results database, or an export of
 * Nsight Systems.
 *
 * Reading such a file runs what its schema says: views (endless where recursive), generated
 * columns, virtual tables; and writing runs triggers. https://www.sqlite.org/security.html has the
 * list that orr_foreign_distrust follows.
 */
#ifndef ORR_FOREIGN_H
#define ORR_FOREIGN_H

#include <glib.h>
#include <sqlite3.h>

G_BEGIN_DECLS

/* No triggers, no functions with effects in the schema, no writing to SQLite's own tables. */
void orr_foreign_distrust(sqlite3 *db);

/* Statements on @db end with SQLITE_INTERRUPT once @until_us (of g_get_monotonic_time) has
 * passed, and with SQLITE_TOOBIG at a text above 16 MiB. @until_us must live as long as @db. */
void orr_foreign_limit(sqlite3 *db, const gint64 *until_us);

/* What stands under the name: "table", "view", "virtual table", or NULL for nothing. */
const char *orr_foreign_kind(sqlite3 *db, const char *name);

G_END_DECLS

#endif
