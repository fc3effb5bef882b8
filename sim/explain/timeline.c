/*
 * timeline.c - keeps events and names, and finds steps.
 */
#include "sim/explain/explain.h"

/* A step found from repetition: its kernel comes at least so often, at distances that differ by
 * such a part of their mean at most. */
enum { LEAST_REPETITIONS = 3, MOST_REPETITIONS = 100000 };
static const double evenness = 0.15;
/* Steps that repeat take at least this part of the device's time. */
static const double coverage = 0.5;

static void clear_name(gpointer data) { g_free(((OrrTimelineName *)data)->text); }

static void clear_step(gpointer data) { g_free(((OrrTimelineStep *)data)->name); }

OrrTimeline *orr_timeline_new(void) {
  OrrTimeline *timeline = g_new0(OrrTimeline, 1);
  timeline->events = g_array_new(FALSE, FALSE, sizeof(OrrTimelineEvent));
  timeline->names = g_array_new(FALSE, FALSE, sizeof(OrrTimelineName));
  timeline->steps = g_array_new(FALSE, FALSE, sizeof(OrrTimelineStep));
  g_array_set_clear_func(timeline->names, clear_name);
  g_array_set_clear_func(timeline->steps, clear_step);
  timeline->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  return timeline;
}

void orr_timeline_free(OrrTimeline *timeline) {
  if (!timeline) return;
  g_array_unref(timeline->events);
  g_array_unref(timeline->names);
  g_array_unref(timeline->steps);
  g_hash_table_unref(timeline->known);
  g_free(timeline);
}

guint32 orr_timeline_name(OrrTimeline *timeline, const char *text, const char *purpose,
                          double bytes) {
  gpointer found;
  g_autofree char *own = purpose || bytes > 0 ? g_strdup_printf("%s\x1f%s\x1f%.0f", text,
                                                                purpose ? purpose : "", bytes)
                                              : NULL;
  const char *key = own ? own : text;
  if (g_hash_table_lookup_extended(timeline->known, key, NULL, &found))
    return GPOINTER_TO_UINT(found);
  const guint32 index = timeline->names->len;
  ORR_APPEND(timeline->names, OrrTimelineName,
             {.text = g_strdup(text),
              .family = orr_kernel_family_of(text),
              .purpose = g_intern_string(purpose),
              .bytes = bytes});
  g_hash_table_insert(timeline->known, own ? g_steal_pointer(&own) : g_strdup(text),
                      GUINT_TO_POINTER(index));
  timeline->name_bytes += 2 * strlen(text) + 100;
  return index;
}

void orr_timeline_add(OrrTimeline *timeline, guint32 name, gint64 device, gint64 stream,
                      double begin_s, double end_s) {
  ORR_APPEND(timeline->events, OrrTimelineEvent,
             {.begin_s = begin_s,
              .end_s = end_s,
              .name = name,
              .device = (gint16)(device & G_MAXINT16),
              .stream = (gint16)(stream & G_MAXINT16)});
}

void orr_timeline_add_step(OrrTimeline *timeline, const char *name, double begin_s, double end_s) {
  ORR_APPEND(timeline->steps, OrrTimelineStep, {g_strdup(name), begin_s, end_s});
}

ORR_LEAST_FIRST(by_begin, OrrTimelineEvent, begin_s)

ORR_LEAST_FIRST(by_step_begin, OrrTimelineStep, begin_s)

void orr_timeline_sort(OrrTimeline *timeline) {
  const OrrTimelineEvent *events = (const OrrTimelineEvent *)(const void *)timeline->events->data;
  gboolean is_sorted = TRUE;
  for (guint i = 1; i < timeline->events->len && is_sorted; i++)
    is_sorted = events[i - 1].begin_s <= events[i].begin_s;
  if (!is_sorted) g_array_sort(timeline->events, by_begin);
  g_array_sort(timeline->steps, by_step_begin);
}

gint64 orr_timeline_device(const OrrTimeline *timeline) {
  gint64 least = -1;
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    const gint64 device = event->device;
    if (least < 0 || device < least) least = device;
  }
  return MAX(least, 0);
}

/* --- Steps --- */

/* Sums over the distances between launches of one kernel. */
typedef struct {
  guint n; /* launches */
  double first_s, last_s, squares;
} Beat;

static GArray *beats_of(const OrrTimeline *timeline, gint64 device) {
  GArray *beats = g_array_new(FALSE, TRUE, sizeof(Beat));
  g_array_set_size(beats, timeline->names->len);
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    if (event->device != device) continue;
    Beat *beat = &g_array_index(beats, Beat, event->name);
    if (beat->n++ == 0) beat->first_s = event->begin_s;
    const double distance = event->begin_s - beat->last_s;
    if (beat->n > 1) beat->squares += distance * distance;
    beat->last_s = event->begin_s;
  }
  return beats;
}

static gboolean is_even(const OrrTimelineName *name, const Beat *beat, double least_s) {
  if (name->family->kind == ORR_EXPLAIN_COPIES || beat->last_s - beat->first_s < least_s)
    return FALSE;
  if (beat->n < LEAST_REPETITIONS || beat->n > MOST_REPETITIONS) return FALSE;
  const double n = beat->n - 1, mean = (beat->last_s - beat->first_s) / n;
  return mean > 0 && beat->squares / n - mean * mean <= evenness * evenness * mean * mean;
}

static OrrTimelineStep whole(const OrrTimeline *timeline, gint64 device) {
  OrrTimelineStep step = {"the whole time line", INFINITY, -INFINITY};
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    if (event->device != device) continue;
    step.begin_s = fmin(step.begin_s, event->begin_s);
    step.end_s = fmax(step.end_s, event->end_s);
  }
  if (step.begin_s > step.end_s) step.begin_s = step.end_s = 0;
  return step;
}

gboolean orr_timeline_find_steps(OrrTimeline *timeline, gint64 device) {
  if (timeline->steps->len > 0) return TRUE;
  g_autoptr(GArray) beats = beats_of(timeline, device);
  const OrrTimelineStep all = whole(timeline, device);
  const double least_s = coverage * (all.end_s - all.begin_s);
  guint best = G_MAXUINT;
  for (guint i = 0; i < beats->len; i++)
    if (is_even(&g_array_index(timeline->names, OrrTimelineName, i), &g_array_index(beats, Beat, i),
                least_s) &&
        (best == G_MAXUINT || g_array_index(beats, Beat, i).n < g_array_index(beats, Beat, best).n))
      best = i;
  if (best == G_MAXUINT) return FALSE;
  double before_s = NAN;
  guint n = 0;
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    if (event->device != device || event->name != best) continue;
    g_autofree char *name = g_strdup_printf("repetition %u", n);
    if (n++ > 0) orr_timeline_add_step(timeline, name, before_s, event->begin_s);
    before_s = event->begin_s;
  }
  return TRUE;
}

static int by_length(gconstpointer a, gconstpointer b) {
  const OrrTimelineStep *x = a, *y = b;
  const double p = x->end_s - x->begin_s, q = y->end_s - y->begin_s;
  return p != q ? (p > q) - (p < q) : (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

static gboolean is_busy(const OrrTimeline *timeline, gint64 device, const OrrTimelineStep *step) {
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    if (event->begin_s >= step->end_s) break;
    if (event->device == device && event->begin_s >= step->begin_s) return TRUE;
  }
  return FALSE;
}

OrrTimelineStep orr_timeline_median(const OrrTimeline *timeline, gint64 device) {
  g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(OrrTimelineStep));
  for (guint i = 0; i < MIN(timeline->steps->len, 1000); i++) {
    const OrrTimelineStep *step = &g_array_index(timeline->steps, OrrTimelineStep, i);
    if (step->end_s > step->begin_s && is_busy(timeline, device, step))
      g_array_append_vals(sorted, step, 1);
  }
  if (sorted->len == 0) return whole(timeline, device);
  g_array_sort(sorted, by_length);
  return g_array_index(sorted, OrrTimelineStep, (sorted->len - 1) / 2);
}
