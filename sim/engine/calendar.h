/*
 * calendar.h - what is to happen next: events ordered by (date, submission).
 *
 * A binary heap that knows where each event sits, so that the end of a transfer can be moved when
 * its rate changes. The keys lie in the heap's array, apart from the events, to keep sifting within
 * the cache.
 *
 * Invariants
 *  1. An event is in the heap once (slot is its place) or not at all (slot is ORR_NOT_SCHEDULED).
 *  2. Equal dates leave in the order of `order`, which the owner gives out increasing: submission order.
 */
#ifndef ORR_CALENDAR_H
#define ORR_CALENDAR_H

#include "sim/engine/engine.h"

G_BEGIN_DECLS

#define ORR_NOT_SCHEDULED G_MAXUINT32

typedef struct {
  double date_s;
  guint64 order;
  OrrEngineCall call;
  void *user;
  guint32 slot;
  gboolean transfer; /* the event is the head of an OrrTransfer */
} OrrEvent;

typedef struct {
  double date_s;
  guint64 order;
  OrrEvent *event;
} OrrCalendarKey;

typedef struct {
  OrrCalendarKey *keys;
  guint32 n, capacity;
} OrrCalendar;

void orr_calendar_init(OrrCalendar *calendar);
void orr_calendar_clear(OrrCalendar *calendar); /* the events are the owner's */

/* Puts @event at event->date_s, or moves it there. */
void orr_calendar_put(OrrCalendar *calendar, OrrEvent *event);
/* fine where it is not scheduled */
void orr_calendar_remove(OrrCalendar *calendar, OrrEvent *event);
OrrEvent *orr_calendar_first(const OrrCalendar *calendar); /* NULL when empty */

G_END_DECLS

#endif
