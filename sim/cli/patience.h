/*
 * patience.h - a database that another process has locked: how long a command waits for it, what
 * the command prints meanwhile, and where it stores its result when the wait ends.
 */
#ifndef ORR_PATIENCE_H
#define ORR_PATIENCE_H

#include "results/store.h"

G_BEGIN_DECLS

/* Makes every store print a notice after 2 s and wait for one minute, or for the time in
 * ORRERY_LOCK_WAIT ("10 min"). FALSE with ORR_FAULT_USAGE where that is not a time. */
gboolean orr_patience_set(GError **error);

/* Ends a command whose result had to go into another database, @aside: prints the command that
 * merges it into @database and returns exit status 1. @aside NULL: the result is in @database;
 * returns 0. */
int orr_patience_end(const char *database, const char *aside);

/* The same for a store that was opened for @database; @store may be NULL. */
int orr_patience_end_store(const char *database, const OrrStore *store);

G_END_DECLS

#endif
