/*
 * store_lock.c - waits while another process holds the database.
 *
 * SQLite calls a handler while it cannot get a lock. The handler waits, reports the wait once, and
 * after the patience gives up with ORR_FAULT_LOCKED. A store with another database to fall back on
 * does not give up at the beginning of a run or batch: it continues in a new database next to its
 * own.
 *
 *     orrery.db  --locked for most_s-->  orrery.db.kept-1  --orrery db merge, later-->  orrery.db
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "results/store_private.h"

enum { BRIEFLY_MS = 2000, MOST_ASIDE = 1000 };

static const OrrStorePatience plain = {.notice_s = 2, .most_s = 2};
static OrrStorePatience patience = {.notice_s = 2, .most_s = 2};

void orr_store_set_patience(const OrrStorePatience *wanted) { patience = wanted ? *wanted : plain; }

/* --- Waiting --- */

/* SQLite's busy handler. @n counts its calls for this lock; 0 gives up. */
static int wait_a_little(void *user, int n) {
  OrrStore *store = user;
  const gint64 now_us = g_get_monotonic_time();
  if (n == 0) store->locked_us = now_us;
  const double waited_s = (double)(now_us - store->locked_us) / G_USEC_PER_SEC;
  if (waited_s >= patience.notice_s && waited_s < patience.most_s && !store->has_said &&
      patience.say) {
    patience.say(store->path, waited_s);
    store->has_said = TRUE;
  }
  if (waited_s >= patience.most_s) return 0;
  g_usleep(1000 * (gulong)CLAMP(n * 2, 1, 100)); /* from 1 ms to 0.1 s */
  return 1;
}

void orr_store_wait(OrrStore *store) { sqlite3_busy_handler(store->db, wait_a_little, store); }

void orr_store_wait_briefly(OrrStore *store) {
  sqlite3_busy_timeout(store->db, (int)MIN(BRIEFLY_MS, patience.most_s * 1e3));
}

gboolean orr_store_fail_locked(const OrrStore *store, GError **error) {
  return orr_fault_set(error, ORR_FAULT_LOCKED, "%s: is locked by another process (waited %g s)",
                       store->path, patience.most_s);
}

/* --- Continuing in another database --- */

void orr_store_keep_aside(OrrStore *store) { store->keeps_aside = TRUE; }

gboolean orr_store_is_aside(const OrrStore *store) { return store->is_aside; }

const char *orr_store_path(const OrrStore *store) { return store->path; }

/* Creates the first absent PATH.kept-N as an empty file, so that no other process takes the
 * name. */
static char *make_aside(const char *path, GError **error) {
  for (guint i = 1; i <= MOST_ASIDE; i++) {
    g_autofree char *aside = g_strdup_printf("%s.kept-%u", path, i);
    const int fd = g_open(aside, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0) {
      close(fd);
      return g_steal_pointer(&aside);
    }
    if (errno == EEXIST) continue;
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "%s: %s", aside, g_strerror(errno));
  }
  return orr_fault_null(error, ORR_FAULT_RESOURCE,
                        "%s: there are %d databases next to it: merge them", path, MOST_ASIDE);
}

/* The store writes to the database at @path from now on. */
static gboolean move_to(OrrStore *store, const char *path, GError **error) {
  g_autoptr(OrrStore) aside = orr_store_open(path, error);
  if (!aside) return FALSE;
  orr_store_disconnect(store);
  store->db = g_steal_pointer(&aside->db);
  aside->is_writer = FALSE;
  g_free(store->path);
  store->path = g_strdup(path);
  store->is_aside = TRUE;
  orr_store_wait(store); /* the handler knows its store */
  return TRUE;
}

gboolean orr_store_begin(OrrStore *store, const char *sql, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (orr_store_exec(store, sql, &reason)) return TRUE;
  if (store->keeps_aside && !store->is_aside &&
      g_error_matches(reason, ORR_FAULT, ORR_FAULT_LOCKED)) {
    g_autoptr(GError) second = NULL;
    g_autofree char *aside = make_aside(store->path, &second);
    if (aside && move_to(store, aside, &second)) return orr_store_exec(store, sql, error);
    if (aside) g_unlink(aside);
    g_prefix_error(&reason, "%s; and ", second->message);
  }
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}
