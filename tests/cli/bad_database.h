/*
 * bad_database.h - tests of the command line that open a results database with SQLite themselves,
 * to damage or lock it.
 */
#pragma once

#include <sqlite3.h>

#include "tests/cli/bad_fixture.h"

/* The database of that name in the test's folder, made where there is none. */
static sqlite3 *connect_to(const char *name) {
  g_autofree char *path = path_of(name);
  sqlite3 *db = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  return db;
}

/* Runs @sql, which must succeed. */
static void execute(sqlite3 *db, const char *sql) {
  char *message = NULL;
  sqlite3_exec(db, sql, NULL, NULL, &message);
  g_assert_cmpstr(message, ==, NULL);
}
