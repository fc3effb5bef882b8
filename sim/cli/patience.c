/*
 * patience.c - the notice that a store prints while it waits for a lock, and the command to run
 * after a wait in vain.
 */

#include "sim/base/quantity.h"
#include "sim/cli/cli.h"

/* One minute: longer than any Orrery process holds the lock (a sweep commits every quarter of a
 * second), and short enough for a person who left a transaction open in another window. */
static OrrStorePatience patience = {.notice_s = 2, .most_s = 60};

static void say(const char *path, double waited_s) {
  fprintf(stderr, "orrery: %s is locked by another process: waiting up to %g s\n", path,
          patience.most_s);
  fflush(stderr);
}

gboolean orr_patience_set(GError **error) {
  const char *wanted = g_getenv("ORRERY_LOCK_WAIT");
  if (wanted && *wanted && !orr_quantity_parse(wanted, ORR_UNIT_SECONDS, &patience.most_s, error)) {
    g_prefix_error(error, "ORRERY_LOCK_WAIT: ");
    return FALSE;
  }
  patience.say = say;
  orr_store_set_patience(&patience);
  return TRUE;
}

int orr_patience_end(const char *database, const char *aside) {
  if (!aside) return 0;
  orr_show_problem("another process kept %s locked for %g s, so the result is in %s; when the lock "
                   "is gone, run:\n"
                   "  orrery db merge %s %s",
                   database, patience.most_s, aside, database, aside);
  return 1;
}

int orr_patience_end_store(const char *database, const OrrStore *store) {
  return orr_patience_end(database,
                          store && orr_store_is_aside(store) ? orr_store_path(store) : NULL);
}
