/*
 * asks_sql.c - includes SQLite outside of results.
 */
#include <sqlite3.h>
