/*
 * launch_table.h - a dialect's rules as a table, which is compiled in: dialects/README.md explains
 * its columns.
 */
#ifndef ORR_LAUNCH_TABLE_H
#define ORR_LAUNCH_TABLE_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* A file as it was compiled in (results/embed.sh). */
typedef struct {
  const char *name, *sentence, *text;
} OrrLaunchTable;

/* @dialect's table; the text alone where it has one of its own. */
OrrLaunchTable orr_launch_table_of(const OrrLaunchDialect *dialect);

/* The rules of @dialect, of OrrLaunchRule; the caller keeps them as long as the program runs.
 * Faults of rows are errors in @diags; tests/import/test_dialects.c reads all tables. */
GArray *orr_launch_table_rules(const OrrLaunchDialect *dialect, OrrDiags *diags);

G_END_DECLS

#endif
