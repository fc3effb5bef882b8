/*
 * engine.c - time, order and bytes: the part common to all engines. See engine.h for the rules, and
 * engine_private.h for the states of a transfer.
 */
#include "sim/base/arrays.h"
#include "sim/engine/engine_private.h"

/* Dates this close to each other, relative to the time, are one: they differ by rounding only (a
 * double holds 1.1e-16), and rule 3 of engine.h orders them by submission. */
#define SAME_DATE 1e-14

/* Life */

static const OrrEngineClass *class_of(OrrEngineKind kind, GError **error) {
  if (kind == ORR_ENGINE_SIMGRID) return orr_engine_load_simgrid(error);
  return kind == ORR_ENGINE_IDEAL ? &orr_engine_ideal_class : &orr_engine_fair_class;
}

gboolean orr_engine_prepare(OrrEngineKind kind, GError **error) {
  return class_of(kind, error) != NULL;
}

OrrEngine *orr_engine_new(OrrEngineKind kind, GError **error) {
  g_autoptr(OrrEngine) engine = g_new0(OrrEngine, 1);
  engine->class_ = class_of(kind, error);
  orr_calendar_init(&engine->calendar);
  engine->links = g_array_new(FALSE, TRUE, sizeof(OrrEngineLink));
  if (!engine->class_ || !engine->class_->open(engine, error)) return NULL;
  return g_steal_pointer(&engine);
}

static void free_events(OrrEngine *engine) {
  for (guint i = 0; i < engine->transfers.len; i++) {
    OrrTransfer *transfer = engine->transfers.pdata[i];
    engine->class_->end(engine, transfer);
    orr_calendar_remove(&engine->calendar, &transfer->event);
    g_free(transfer);
  }
  for (guint32 i = 0; i < engine->calendar.n; i++) g_free(engine->calendar.keys[i].event);
}

void orr_engine_free(OrrEngine *engine) {
  if (engine == NULL) return;
  free_events(engine);
  if (engine->state != NULL) engine->class_->close(engine);
  for (guint i = 0; i < engine->links->len; i++) g_free(orr_engine_link(engine, i)->name);
  orr_calendar_clear(&engine->calendar);
  g_array_unref(engine->links);
  for (guint i = 0; i < engine->spare.len; i++) g_free(engine->spare.pdata[i]);
  ORR_FREE(engine->transfers.pdata, engine->batch.pdata, engine->spare.pdata);
  orr_spares_clear(&engine->ended);
  g_clear_error(&engine->fault);
  g_free(engine);
}

gboolean orr_engine_add_link(OrrEngine *engine, const char *name, double bandwidth_bytes_per_s,
                             OrrLink *ret_link, GError **error) {
  if (!(bandwidth_bytes_per_s > 0) || !isfinite(bandwidth_bytes_per_s) || engine->ran)
    return orr_fault_set(error, ORR_FAULT_INTERNAL, "link %s: %s (bandwidth %g bytes/s)", name,
                         engine->ran ? "added after the run began"
                                     : "the bandwidth must be finite and above 0",
                         bandwidth_bytes_per_s);
  ORR_APPEND(engine->links, OrrEngineLink,
             {.name = g_strdup(name), .bandwidth = bandwidth_bytes_per_s, .up = TRUE});
  OrrLink index = engine->links->len - 1;
  if (!engine->class_->add_link(engine, index, error)) return FALSE;
  *ret_link = index;
  return TRUE;
}

/* A wrong argument is a bug of the caller. Submitting functions return no error, so the first one
 * is stored and ends the run. */
static void G_GNUC_PRINTF(2, 3) refuse(OrrEngine *engine, const char *format, ...) {
  if (engine->fault != NULL) return;
  va_list args;
  va_start(args, format);
  engine->fault = g_error_new_valist(ORR_FAULT, ORR_FAULT_INTERNAL, format, args);
  va_end(args);
}

/* Submitting */

double orr_engine_now(const OrrEngine *engine) { return engine->now_s; }

OrrEvent *orr_engine_at(OrrEngine *engine, double date_s, OrrEngineCall call, void *user) {
  if (!(date_s >= engine->now_s) || !isfinite(date_s)) {
    refuse(engine, "a call at %g s, asked for at %g s", date_s, engine->now_s);
    return NULL;
  }
  OrrEvent *event =
      engine->spare.len > 0 ? engine->spare.pdata[--engine->spare.len] : g_new(OrrEvent, 1);
  *event = (OrrEvent){date_s, engine->n_submitted++, call, user, ORR_NOT_SCHEDULED, FALSE};
  orr_calendar_put(&engine->calendar, event);
  return event;
}

static void make_no_call(void *user G_GNUC_UNUSED) {}

/* An event of this date has left the calendar and stays in the batch. */
void orr_engine_withdraw(OrrEngine *engine, OrrEvent *event) {
  if (!event) return;
  if (event->slot == ORR_NOT_SCHEDULED) {
    event->call = make_no_call;
    return;
  }
  orr_calendar_remove(&engine->calendar, event);
  orr_pointers_add(&engine->spare, event);
  engine->n_events++;
}

void orr_engine_after(OrrEngine *engine, double delay_s, OrrEngineCall call, void *user) {
  orr_engine_at(engine, engine->now_s + delay_s, call, user);
}

static gboolean uses_are_fine(OrrEngine *engine, double size_bytes, const OrrLinkUse *uses,
                              guint n_uses) {
  gboolean fine = size_bytes >= 0 && isfinite(size_bytes);
  for (guint i = 0; i < n_uses; i++)
    fine = fine && uses[i].link < engine->links->len && uses[i].weight > 0;
  if (!fine)
    refuse(engine, "a transfer of %g bytes over %u links has a wrong size, link or weight",
           size_bytes, n_uses);
  return fine;
}

static gboolean link_works(const OrrEngine *engine, OrrLink link) {
  const OrrEngineLink *it = orr_engine_link(engine, link);
  return it->up && it->bandwidth > 0;
}

static gboolean transfer_works(const OrrEngine *engine, const OrrTransfer *transfer) {
  for (guint32 i = 0; i < transfer->n_uses; i++)
    if (!link_works(engine, transfer->uses[i].link)) return FALSE;
  return TRUE;
}

OrrTransfer *orr_engine_transfer(OrrEngine *engine, double size_bytes, const OrrLinkUse *uses,
                                 guint n_uses, OrrEngineCall done, void *user) {
  if (!uses_are_fine(engine, size_bytes, uses, n_uses)) return NULL;
  if (size_bytes == 0 || n_uses == 0) {
    orr_engine_at(engine, engine->now_s, done, user);
    return NULL;
  }
  OrrTransfer *transfer =
      orr_spares_take(&engine->ended, n_uses, sizeof *transfer + n_uses * sizeof *uses);
  *transfer = (OrrTransfer){
      .event = {G_MAXDOUBLE, engine->n_submitted++, done, user, ORR_NOT_SCHEDULED, TRUE},
      .size_bytes = size_bytes,
      .left_bytes = size_bytes,
      .since_s = engine->now_s,
      .drag = 1,
      .place = engine->transfers.len,
      .n_uses = n_uses,
  };
  memcpy(transfer->uses, uses, n_uses * sizeof *uses);
  orr_pointers_add(&engine->transfers, transfer);
  transfer->held = !transfer_works(engine, transfer);
  engine->class_->start(engine, transfer);
  return transfer;
}

void orr_engine_set_rate(OrrEngine *engine, OrrTransfer *transfer, double rate) {
  if (rate == transfer->rate) return;
  transfer->left_bytes =
      MAX(0, transfer->left_bytes - transfer->rate * (engine->now_s - transfer->since_s));
  transfer->since_s = engine->now_s;
  transfer->rate = rate;
  if (rate > 0) {
    transfer->event.date_s = engine->now_s + transfer->left_bytes / rate;
    orr_calendar_put(&engine->calendar, &transfer->event);
  } else {
    orr_calendar_remove(&engine->calendar, &transfer->event);
  }
}

void orr_engine_began(OrrEngine *engine, OrrTransfer *transfer, double since_s, double rate) {
  transfer->since_s = since_s;
  transfer->rate = rate;
  transfer->event.date_s = since_s + transfer->left_bytes / rate;
  orr_calendar_put(&engine->calendar, &transfer->event);
}

/* Changes of links */

static void hold_or_release(OrrEngine *engine, OrrLink link) {
  for (guint i = 0; i < engine->transfers.len; i++) {
    OrrTransfer *transfer = engine->transfers.pdata[i];
    gboolean held = !transfer_works(engine, transfer);
    if (held == transfer->held) continue;
    transfer->held = held;
    if (held) orr_engine_set_rate(engine, transfer, 0);
    engine->class_->hold(engine, transfer, held);
  }
  if (orr_engine_link(engine, link)->bandwidth > 0) engine->class_->bandwidth_changed(engine, link);
}

void orr_engine_set_bandwidth(OrrEngine *engine, OrrLink link, double bandwidth_bytes_per_s) {
  if (link >= engine->links->len || !(bandwidth_bytes_per_s >= 0) ||
      !isfinite(bandwidth_bytes_per_s)) {
    refuse(engine, "link %u of %u cannot get a bandwidth of %g bytes/s", link, engine->links->len,
           bandwidth_bytes_per_s);
    return;
  }
  orr_engine_link(engine, link)->bandwidth = bandwidth_bytes_per_s;
  hold_or_release(engine, link);
}

void orr_engine_set_up(OrrEngine *engine, OrrLink link, gboolean up) {
  if (link >= engine->links->len) {
    refuse(engine, "link %u of %u cannot go %s", link, engine->links->len, up ? "up" : "down");
    return;
  }
  orr_engine_link(engine, link)->up = up;
  hold_or_release(engine, link);
}

gboolean orr_engine_same_date(double now_s, double date_s) {
  return now_s <= date_s * (1 + SAME_DATE) && date_s <= now_s * (1 + SAME_DATE);
}

/* Running */

static int compare_order(const void *a, const void *b) {
  guint64 x = (*(OrrEvent *const *)a)->order, y = (*(OrrEvent *const *)b)->order;
  return (x > y) - (x < y);
}

/* Counts @bytes of the transfer, of its dragged size, on its links. */
static void count_bytes(OrrEngine *engine, const OrrTransfer *transfer, double bytes) {
  const double payload = bytes / transfer->drag;
  for (guint32 i = 0; i < transfer->n_uses; i++)
    orr_engine_link(engine, transfer->uses[i].link)->bytes += transfer->uses[i].weight * payload;
}

/* Takes the transfer off its links, after it moved @bytes. */
static void finish_transfer(OrrEngine *engine, OrrTransfer *transfer, double bytes) {
  transfer->ended = TRUE;
  engine->class_->end(engine, transfer);
  count_bytes(engine, transfer, bytes);
  OrrTransfer *last = engine->transfers.pdata[--engine->transfers.len];
  last->place = transfer->place;
  engine->transfers.pdata[transfer->place] = last;
}

/* Takes the events of the next date off the calendar. Transfers end here, before any call, so that
 * a callback sees the links after all these ends. */
static void take_batch(OrrEngine *engine) {
  OrrEvent *event = orr_calendar_first(&engine->calendar);
  engine->now_s = MAX(engine->now_s, event->date_s);
  double until_s = engine->now_s * (1 + SAME_DATE);
  engine->batch.len = 0;
  for (; event != NULL && event->date_s <= until_s; event = orr_calendar_first(&engine->calendar)) {
    orr_calendar_remove(&engine->calendar, event);
    orr_pointers_add(&engine->batch, event);
    if (event->transfer)
      finish_transfer(engine, (OrrTransfer *)event, ((OrrTransfer *)event)->size_bytes);
  }
  if (engine->batch.len > 1)
    qsort(engine->batch.pdata, engine->batch.len, sizeof *engine->batch.pdata, compare_order);
}

/* The fraction of its size that is still to be sent. */
static double take_off(OrrEngine *engine, OrrTransfer *transfer) {
  orr_engine_set_rate(engine, transfer, 0);
  finish_transfer(engine, transfer, transfer->size_bytes - transfer->left_bytes);
  return transfer->left_bytes / transfer->size_bytes;
}

OrrTransfer *orr_engine_move(OrrEngine *engine, OrrTransfer *transfer, double size_bytes,
                             const OrrLinkUse *uses, guint n_uses) {
  if (transfer->ended) return transfer;
  const double share = take_off(engine, transfer);
  const OrrEngineCall done = transfer->event.call;
  void *const user = transfer->event.user;
  orr_spares_give(&engine->ended, transfer->n_uses, transfer);
  return orr_engine_transfer(engine, share * size_bytes, uses, n_uses, done, user);
}

/* The rest grows or shrinks, and with the same rate gets another date. Rates need no solving, since
 * they do not depend on sizes. */
void orr_engine_drag(OrrEngine *engine, OrrTransfer *transfer, double drag) {
  if (transfer->ended || drag == transfer->drag) return;
  const double rate = transfer->rate;
  orr_engine_set_rate(engine, transfer, 0);
  count_bytes(engine, transfer, transfer->size_bytes - transfer->left_bytes);
  transfer->size_bytes = transfer->left_bytes *= drag / transfer->drag;
  transfer->since_s = engine->now_s;
  transfer->drag = drag;
  orr_engine_set_rate(engine, transfer, rate);
}

void orr_engine_drop(OrrEngine *engine, OrrTransfer *transfer) {
  transfer->event.call = make_no_call;
  if (transfer->ended) return;
  take_off(engine, transfer);
  orr_spares_give(&engine->ended, transfer->n_uses, transfer);
}

gboolean orr_engine_postpone(OrrEngine *engine, double delay_s, OrrEngineConcern concerns,
                             void *data) {
  const OrrCalendar *calendar = &engine->calendar;
  for (guint i = engine->batch_at; i < engine->batch.len; i++) {
    const OrrEvent *event = engine->batch.pdata[i];
    if (concerns(event->call, event->user, data)) return FALSE;
  }
  for (guint32 i = 0; i < calendar->n; i++) {
    OrrEvent *event = calendar->keys[i].event;
    if (!concerns(event->call, event->user, data)) continue;
    event->date_s += delay_s;
    if (event->transfer) ((OrrTransfer *)event)->since_s += delay_s;
  }
  orr_calendar_reorder(&engine->calendar);
  return TRUE;
}

void orr_engine_dispatch(OrrEngine *engine) {
  take_batch(engine);
  /* Callbacks only submit, so the batch does not change during the loop. */
  for (guint i = 0; i < engine->batch.len; i++) {
    OrrEvent *event = engine->batch.pdata[i];
    engine->batch_at = i + 1;
    OrrEngineCall call = event->call;
    void *user = event->user;
    if (event->transfer)
      orr_spares_give(&engine->ended, ((OrrTransfer *)event)->n_uses, event);
    else
      orr_pointers_add(&engine->spare, event);
    engine->n_events++;
    call(user);
  }
}

gboolean orr_engine_next_date(OrrEngine *engine, double *ret_date_s) {
  if (engine->fault != NULL) return FALSE;
  OrrEvent *event = orr_calendar_first(&engine->calendar);
  if (event == NULL || event->date_s > engine->now_s) {
    engine->class_->settle(engine);
    event = orr_calendar_first(&engine->calendar);
  }
  if (event == NULL) return FALSE;
  *ret_date_s = event->date_s;
  return TRUE;
}

static void set_stuck(const OrrEngine *engine, GError **error) {
  const OrrTransfer *first = engine->transfers.pdata[0];
  for (guint i = 1; i < engine->transfers.len; i++) {
    const OrrTransfer *transfer = engine->transfers.pdata[i];
    if (transfer->event.order < first->event.order) first = transfer;
  }
  const char *name = "none";
  for (guint32 i = first->n_uses; i-- > 0;)
    if (!link_works(engine, first->uses[i].link))
      name = orr_engine_link(engine, first->uses[i].link)->name;
  g_set_error(error, ORR_FAULT, ORR_FAULT_STUCK,
              "at %g s, %u transfers wait for links that stay down; the first is %s", engine->now_s,
              engine->transfers.len, name);
}

gboolean orr_engine_run(OrrEngine *engine, GError **error) {
  engine->ran = TRUE;
  if (engine->class_->run && !engine->class_->run(engine, error)) return FALSE;
  for (double date_s; !engine->class_->run && orr_engine_next_date(engine, &date_s);)
    orr_engine_dispatch(engine);
  if (engine->fault != NULL) {
    g_propagate_error(error, g_steal_pointer(&engine->fault));
    return FALSE;
  }
  if (engine->transfers.len > 0) {
    set_stuck(engine, error);
    return FALSE;
  }
  return TRUE;
}

/* Queries */

double orr_engine_link_bytes(const OrrEngine *engine, OrrLink link) {
  return orr_engine_link(engine, link)->bytes;
}

guint64 orr_engine_n_events(const OrrEngine *engine) { return engine->n_events; }

const char *orr_engine_settings(const OrrEngine *engine) { return engine->class_->settings; }
