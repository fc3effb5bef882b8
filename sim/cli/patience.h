/*
 * patience.h - a database that another process has locked: how long a command waits, what it says,
 * and where a result goes that could not wait any longer.
 */
#ifndef ORR_PATIENCE_H
#define ORR_PATIENCE_H

#include "results/store.h"

G_BEGIN_DECLS

/* Says so after 2 s and waits for a minute, or for as long as ORRERY_LOCK_WAIT says ("10 min"). */
gboolean orr_patience_set(GError **error);

/* Where the result was kept aside: says so, and how it gets into @database. The exit status: 1
 * there, else 0. @aside: the database beside it; NULL: the result is in @database. */
int orr_patience_end(const char *database, const char *aside);

/* The same of a store that was opened for @database; may be NULL. */
int orr_patience_end_store(const char *database, const OrrStore *store);

G_END_DECLS

#endif
