/*
 * calendar.c - a heap with parent (i - 1) / WAYS and children WAYS i + 1 to WAYS i + WAYS. A heap
 * of four ways is half as deep as one of two, so an event passes half as many others.
 */
#include "sim/engine/calendar.h"

void orr_calendar_init(OrrCalendar *calendar) { *calendar = (OrrCalendar){0}; }

void orr_calendar_clear(OrrCalendar *calendar) {
  g_free(calendar->keys);
  orr_calendar_init(calendar);
}

#define WAYS 4

/* Which of two events comes first is next to random, so both halves of a key are compared at once,
 * without a branch. */
static inline gboolean before(const OrrCalendarKey *a, const OrrCalendarKey *b) {
  const unsigned __int128 x = (unsigned __int128)a->date_bits << 64 | a->order,
                          y = (unsigned __int128)b->date_bits << 64 | b->order;
  return x < y;
}

static inline guint64 date_bits(const OrrEvent *event) {
  const double date_s = event->date_s + 0.0; /* -0 becomes 0 */
  guint64 bits;
  memcpy(&bits, &date_s, sizeof bits);
  return bits;
}

static inline void place(OrrCalendar *calendar, guint32 slot, OrrCalendarKey key) {
  calendar->keys[slot] = key;
  key.event->slot = slot;
}

static void sift_up(OrrCalendar *calendar, guint32 slot, OrrCalendarKey key) {
  while (slot > 0) {
    const guint32 parent = (slot - 1) / WAYS;
    if (!before(&key, &calendar->keys[parent])) break;
    place(calendar, slot, calendar->keys[parent]);
    slot = parent;
  }
  place(calendar, slot, key);
}

static inline guint32 first_of(const OrrCalendar *calendar, guint32 a, guint32 b) {
  const guint32 is_b = -(guint32)before(&calendar->keys[b], &calendar->keys[a]);
  return a ^ ((a ^ b) & is_b);
}

static void sift_down(OrrCalendar *calendar, guint32 slot, OrrCalendarKey key) {
  for (guint32 child = WAYS * slot + 1; child < calendar->n; child = WAYS * slot + 1) {
    if (child + WAYS <= calendar->n)
      child = first_of(calendar, first_of(calendar, child, child + 1),
                       first_of(calendar, child + 2, child + 3));
    else
      for (guint32 other = child + 1; other < calendar->n; other++)
        child = first_of(calendar, child, other);
    if (!before(&calendar->keys[child], &key)) break;
    place(calendar, slot, calendar->keys[child]);
    slot = child;
  }
  place(calendar, slot, key);
}

static void settle(OrrCalendar *calendar, guint32 slot, OrrCalendarKey key) {
  if (slot > 0 && before(&key, &calendar->keys[(slot - 1) / WAYS]))
    sift_up(calendar, slot, key);
  else
    sift_down(calendar, slot, key);
}

void orr_calendar_put(OrrCalendar *calendar, OrrEvent *event) {
  OrrCalendarKey key = {date_bits(event), event->order, event};
  if (event->slot != ORR_NOT_SCHEDULED) return settle(calendar, event->slot, key);
  if (calendar->n == calendar->capacity) {
    calendar->capacity = MAX(64, 2 * calendar->capacity);
    calendar->keys = g_renew(OrrCalendarKey, calendar->keys, calendar->capacity);
  }
  sift_up(calendar, calendar->n++, key);
}

void orr_calendar_reorder(OrrCalendar *calendar) {
  for (guint32 i = 0; i < calendar->n; i++)
    calendar->keys[i].date_bits = date_bits(calendar->keys[i].event);
  for (guint32 i = (calendar->n + WAYS - 2) / WAYS; i-- > 0;)
    sift_down(calendar, i, calendar->keys[i]);
}

void orr_calendar_remove(OrrCalendar *calendar, OrrEvent *event) {
  guint32 slot = event->slot;
  if (slot == ORR_NOT_SCHEDULED) return;
  event->slot = ORR_NOT_SCHEDULED;
  OrrCalendarKey last = calendar->keys[--calendar->n];
  if (slot < calendar->n) settle(calendar, slot, last);
}

OrrEvent *orr_calendar_first(const OrrCalendar *calendar) {
  return calendar->n > 0 ? calendar->keys[0].event : NULL;
}
