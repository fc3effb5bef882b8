/*
 * calendar.h - the pending events, ordered by (date, submission).
 *
 * A heap in which each event stores its position, so that the end of a transfer can move when its
 * rate changes. The heap's array holds copies of the keys, so that sifting stays within the cache.
 *
 * Invariants
 *  1. An event is in the heap once (slot is its position) or not at all (slot is
 *     ORR_NOT_SCHEDULED).
 *  2. Events with equal dates leave in the order of `order`, which the owner assigns in increasing
 *     order: submission order.
 */
#pragma once

#include "sim/engine/engine.h"

G_BEGIN_DECLS

#define ORR_NOT_SCHEDULED G_MAXUINT32

struct OrrEvent {
  double date_s;
  guint64 order;
  OrrEngineCall call;
  void *user;
  guint32 slot;
  gboolean transfer; /* the event is the head of an OrrTransfer */
};

/* Dates are at least 0, so they are in the order of their bits as whole numbers. */
typedef struct {
  guint64 date_bits;
  guint64 order;
  OrrEvent *event;
} OrrCalendarKey;

typedef struct {
  OrrCalendarKey *keys;
  guint32 n, capacity;
} OrrCalendar;

void orr_calendar_init(OrrCalendar *calendar);
void orr_calendar_clear(OrrCalendar *calendar); /* the owner frees the events */

/* Schedules @event at event->date_s, or moves it there. */
void orr_calendar_put(OrrCalendar *calendar, OrrEvent *event);
/* Orders the heap again after dates of scheduled events were changed. */
void orr_calendar_reorder(OrrCalendar *calendar);
/* an unscheduled event is fine */
void orr_calendar_remove(OrrCalendar *calendar, OrrEvent *event);
OrrEvent *orr_calendar_first(const OrrCalendar *calendar); /* NULL when empty */

G_END_DECLS
