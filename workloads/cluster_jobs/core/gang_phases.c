/*
 * gang_phases.c - reads phases, and converts between work and time: a phase of width w takes w / s.
 */

#include "sim/base/arrays.h"
#include "workloads/cluster_jobs/gang_job.h"

void orr_gang_phases_free(OrrGangPhases *phases) {
  if (!phases) return;
  ORR_FREE(phases->at, phases);
}

static gboolean read_one(const char *text, double last, OrrGangPhase *ret_phase) {
  char *end, *last_end;
  const double from = g_ascii_strtod(text, &end);
  if (end == text || *end != ':') return FALSE;
  const double speed = g_ascii_strtod(end + 1, &last_end);
  if (last_end == end + 1 || *last_end) return FALSE;
  *ret_phase = (OrrGangPhase){from, speed};
  return from > last && from < 1 && speed >= 1e-3 && speed <= 1e3;
}

OrrGangPhases *orr_gang_phases_read(const char *text) {
  g_auto(GStrv) parts = g_strsplit(text, "|", -1);
  g_autoptr(OrrGangPhases) phases = g_new0(OrrGangPhases, 1);
  phases->n = 1 + g_strv_length(parts);
  phases->at = g_new(OrrGangPhase, phases->n);
  phases->at[0] = (OrrGangPhase){0, 1};
  for (guint i = 1; i < phases->n; i++)
    if (!read_one(parts[i - 1], phases->at[i - 1].from, &phases->at[i])) return NULL;
  return g_steal_pointer(&phases);
}

static double end_of(const OrrGangPhases *phases, guint i) {
  return i + 1 < phases->n ? phases->at[i + 1].from : 1;
}

double orr_gang_phases_time(const OrrGangPhases *phases) {
  double time = 0;
  for (guint i = 0; i < phases->n; i++)
    time += (end_of(phases, i) - phases->at[i].from) / phases->at[i].speed;
  return time;
}

/* From the end: the phase in which @left of the time is left, and the work left in it and after. */
static guint find(const OrrGangPhases *phases, double left, double *ret_work) {
  *ret_work = 0;
  for (guint i = phases->n - 1;; i--) {
    const double width = end_of(phases, i) - phases->at[i].from;
    const double time = width / phases->at[i].speed;
    if (i == 0 || left <= time) {
      *ret_work += fmin(left * phases->at[i].speed, width);
      return i;
    }
    left -= time;
    *ret_work += width;
  }
}

guint orr_gang_phases_index(const OrrGangPhases *phases, double left) {
  double work;
  return find(phases, left, &work);
}

double orr_gang_phases_seen(const OrrGangPhases *phases, double left) {
  double work;
  const guint i = find(phases, left, &work);
  return work / phases->at[i].speed;
}
