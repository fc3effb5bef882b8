/*
 * progress.c - draws the progress line at most five times per second, from the caller's updates or,
 * with the newest of them, from a thread.
 */
#include "sim/cli/cli.h"

#include <unistd.h>

#define FIRST_US G_USEC_PER_SEC
#define EVERY_US (G_USEC_PER_SEC / 5)
#define BAR 30

struct OrrProgress {
  char *what;
  gint64 begin_us, drawn_us;
  gboolean is_terminal, is_drawn;
  GThread *ticker;
  GMutex lock; /* protects stop, done and total */
  GCond wake;
  gboolean stop;
  guint done, total; /* of the last update; total 0: there was none */
};

static void draw(OrrProgress *progress, guint done, guint total, gint64 now_us) {
  char bar[BAR + 1] = "";
  gint64 seconds = (now_us - progress->begin_us) / G_USEC_PER_SEC;
  for (int i = 0; total > 0 && i < BAR; i++)
    bar[i] = (guint64)i * total < (guint64)done * BAR ? '#' : '.';
  g_autofree char *line = total > 0 ? g_strdup_printf("%s [%s] %u of %u, %ld s ", progress->what,
                                                      bar, done, total, seconds)
                                    : g_strdup_printf("%s, %ld s ", progress->what, seconds);
  orr_terminal_line(line);
  progress->drawn_us = now_us;
  progress->is_drawn = TRUE;
}

static gpointer tick(gpointer user) {
  OrrProgress *progress = user;
  gint64 next_us = progress->begin_us + FIRST_US;
  g_mutex_lock(&progress->lock);
  while (!progress->stop) {
    if (!g_cond_wait_until(&progress->wake, &progress->lock, next_us))
      draw(progress, progress->done, progress->total, g_get_monotonic_time());
    next_us = g_get_monotonic_time() + EVERY_US;
  }
  g_mutex_unlock(&progress->lock);
  return NULL;
}

OrrProgress *orr_progress_new(const char *what, gboolean ticking) {
  OrrProgress *progress = g_new0(OrrProgress, 1);
  progress->what = g_strdup(what);
  progress->begin_us = g_get_monotonic_time();
  progress->is_terminal = isatty(STDERR_FILENO);
  g_mutex_init(&progress->lock);
  g_cond_init(&progress->wake);
  if (ticking && progress->is_terminal) progress->ticker = g_thread_new("progress", tick, progress);
  return progress;
}

void orr_progress_update(OrrProgress *progress, guint done, guint total) {
  gint64 now_us = g_get_monotonic_time();
  if (progress->ticker) {
    g_mutex_lock(&progress->lock);
    progress->done = done;
    progress->total = total;
    g_mutex_unlock(&progress->lock);
  } else if (progress->is_terminal && now_us - progress->begin_us >= FIRST_US &&
             now_us - progress->drawn_us >= EVERY_US)
    draw(progress, done, total, now_us);
}

void orr_progress_free(OrrProgress *progress) {
  if (!progress) return;
  if (progress->ticker) {
    g_mutex_lock(&progress->lock);
    progress->stop = TRUE;
    g_cond_signal(&progress->wake);
    g_mutex_unlock(&progress->lock);
    g_thread_join(progress->ticker);
  }
  if (progress->is_drawn) orr_terminal_line(NULL);
  g_mutex_clear(&progress->lock);
  g_cond_clear(&progress->wake);
  ORR_FREE(progress->what, progress);
}
