/*
 * foreign.c - settings, limits and checks for a connection to a database that is not trusted.
 */
#include "results/store_private.h"

enum { STEPS_BETWEEN_LOOKS = 1000, MOST_TEXT_BYTES = 1 << 24 };

void orr_foreign_distrust(sqlite3 *db) {
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

static int is_late(void *until_us) { return g_get_monotonic_time() >= *(const gint64 *)until_us; }

void orr_foreign_limit(sqlite3 *db, const gint64 *until_us) {
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_TEXT_BYTES);
  sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, is_late, (void *)until_us);
}

const char *orr_foreign_kind(sqlite3 *db, const char *name) {
  static const char *const kinds[] = {"table", "virtual table", "view"};
  static const char sql[] =
      "SELECT CASE WHEN type = 'view' THEN 2 WHEN rootpage > 0 THEN 0 ELSE 1 END FROM sqlite_schema"
      " WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE";
  const char *kind = NULL;
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return NULL;
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  if (sqlite3_step(statement) == SQLITE_ROW) kind = kinds[sqlite3_column_int(statement, 0)];
  sqlite3_finalize(statement);
  return kind;
}
