/*
 * stream_wait.c - polls streams until all are done, one fails, or the time limit passes.
 */
#include "calibration/measure/stream_wait.h"

enum { LOOK_US = 250000, EAGER_LOOKS = 1000, PAUSE_US = 50 };

static gboolean may_wait(const OrrStreamCalls *calls, gpointer user, int stream, gint64 until_us,
                         double limit_s, GError **error) {
  if (!calls->is_hopeful(user, stream, error)) return FALSE;
  if (calls->now_us(user) <= until_us) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_RESOURCE,
      "work on the GPU did not end in %g s: the GPU hangs, or a rank failed without reporting it",
      limit_s);
}

/* Polls short calls at once, so that they are not delayed, and long ones less often, so that
 * they do not keep a core busy. */
static gboolean wait_for(const OrrStreamCalls *calls, gpointer user, int stream, gint64 until_us,
                         double limit_s, GError **error) {
  gint64 look_us = calls->now_us(user) + LOOK_US;
  for (guint n = 0;; n++) {
    const OrrStreamState state = calls->state(user, stream, error);
    if (state != ORR_STREAM_BUSY) return state == ORR_STREAM_DONE;
    if (n < EAGER_LOOKS) continue;
    calls->pause(user, PAUSE_US);
    if (calls->now_us(user) < look_us) continue;
    if (!may_wait(calls, user, stream, until_us, limit_s, error)) return FALSE;
    look_us = calls->now_us(user) + LOOK_US;
  }
}

gboolean orr_stream_wait(const OrrStreamCalls *calls, gpointer user, int n_streams, double limit_s,
                         GError **error) {
  const gint64 until_us = calls->now_us(user) + (gint64)(limit_s * G_USEC_PER_SEC);
  for (int stream = 0; stream < n_streams; stream++)
    if (!wait_for(calls, user, stream, until_us, limit_s, error)) {
      calls->give_up(user);
      return FALSE;
    }
  return TRUE;
}
