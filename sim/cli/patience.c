#include "sim/cli/patience.h"

#include <stdio.h>

#include "sim/base/fault.h"
#include "sim/base/quantity.h"
#include "sim/cli/show.h"

/* A minute: longer than a writer of ours ever holds the lock (a batch of a sweep is a quarter of
 * a second), shorter than who left a transaction open in another window wants to watch this one. */
static OrrStorePatience patience = {.notice_s = 2, .most_s = 60};

static void say(const char *path, double waited_s) {
  (void)waited_s;
  fprintf(stderr, "orrery: %s is locked by another process: waiting for up to %g s\n", path,
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
  orr_show_problem(
      "%s stayed locked by another process for %g s: the result is kept in %s; once it is free:\n"
      "  orrery db merge %s %s",
      database, patience.most_s, aside, database, aside);
  return 1;
}

int orr_patience_end_store(const char *database, const OrrStore *store) {
  return orr_patience_end(database,
                          store && orr_store_is_aside(store) ? orr_store_path(store) : NULL);
}
