/*
 * The calendar against the obvious: after any mix of putting, moving and taking out, the first
 * event is the least by (date, order) of all that are scheduled.
 */
#include "sim/base/random.h"
#include "sim/engine/calendar.h"

#define N_EVENTS 300

static OrrEvent *least(OrrEvent *events) {
  OrrEvent *first = NULL;
  for (guint i = 0; i < N_EVENTS; i++) {
    OrrEvent *it = &events[i];
    if (it->slot == ORR_NOT_SCHEDULED) continue;
    if (first == NULL || it->date_s < first->date_s ||
        (it->date_s == first->date_s && it->order < first->order))
      first = it;
  }
  return first;
}

static void random_steps(void) {
  OrrCalendar calendar;
  OrrEvent events[N_EVENTS];
  OrrRandom random = orr_random_stream(1, "calendar");
  orr_calendar_init(&calendar);
  for (guint i = 0; i < N_EVENTS; i++)
    events[i] = (OrrEvent){.order = (i * 7) % N_EVENTS, .slot = ORR_NOT_SCHEDULED};
  for (guint step = 0; step < 20000; step++) {
    OrrEvent *event = &events[orr_random_below(&random, N_EVENTS)];
    event->date_s =
        (double)orr_random_below(&random, 50); /* few dates, so that order decides often */
    if (orr_random_below(&random, 3) == 0)
      orr_calendar_remove(&calendar, event);
    else
      orr_calendar_put(&calendar, event);
    g_assert_true(orr_calendar_first(&calendar) == least(events));
  }
  orr_calendar_clear(&calendar);
}

static void empty(void) {
  OrrCalendar calendar;
  OrrEvent event = {.slot = ORR_NOT_SCHEDULED};
  orr_calendar_init(&calendar);
  g_assert_null(orr_calendar_first(&calendar));
  orr_calendar_remove(&calendar, &event); /* not in it: nothing happens */
  orr_calendar_put(&calendar, &event);
  g_assert_true(orr_calendar_first(&calendar) == &event);
  orr_calendar_remove(&calendar, &event);
  g_assert_null(orr_calendar_first(&calendar));
  orr_calendar_clear(&calendar);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/calendar/random-steps", random_steps);
  g_test_add_func("/calendar/empty", empty);
  return g_test_run();
}
