/*
 * engine_private.h - the state that engine.c shares with its implementations, and their interface.
 *
 * engine.c owns time, order and the bytes left of each transfer. An implementation (OrrEngineClass)
 * decides one thing, the current rate of each transfer, and reports it through orr_engine_set_rate.
 *
 *   submitted --start()--> running --date--> done
 *                 ^          |  set_rate: bytes left are updated to now, the end gets a new date
 *                 +-- held --+  one of its links is down: rate 0, no date
 *
 * Invariants
 *  1. bytes left at now = left_bytes - rate * (now - since_s), for every transfer in flight.
 *  2. A transfer with rate 0 has no date; when transfers remain but no dates, the engine is stuck.
 *  3. Time advances only after settle(), so that no end is computed from an outdated rate.
 *
 * All functions of an OrrEngineClass are mandatory.
 */
#pragma once

#include "sim/engine/calendar.h"
#include "sim/engine/spares.h"

G_BEGIN_DECLS

struct OrrTransfer {
  OrrEvent event; /* first: a calendar's event is cast to its transfer */
  double size_bytes;
  double left_bytes; /* at since_s */
  double since_s;
  double rate;   /* bytes/s */
  double drag;   /* sizes and rate are this many times the payload's */
  guint32 place; /* in engine->transfers */
  guint32 n_uses;
  gboolean held;
  gboolean ended; /* its call comes next */
  void *action;   /* owned by the implementation */
  OrrLinkUse uses[];
};

typedef struct {
  char *name;
  double bandwidth; /* bytes/s */
  double bytes;     /* weight * bytes of finished transfers */
  gboolean up;
} OrrEngineLink;

typedef struct {
  const char *settings;
  gboolean (*open)(OrrEngine *engine, GError **error);
  void (*close)(OrrEngine *engine);
  gboolean (*add_link)(OrrEngine *engine, OrrLink link, GError **error);
  void (*start)(OrrEngine *engine, OrrTransfer *transfer);
  void (*end)(OrrEngine *engine, OrrTransfer *transfer);
  void (*hold)(OrrEngine *engine, OrrTransfer *transfer,
               gboolean held); /* a link went down (TRUE), or all are up (FALSE) */
  void (*bandwidth_changed)(OrrEngine *engine, OrrLink link); /* the new one is > 0 */
  void (*settle)(OrrEngine *engine); /* calls set_rate for every transfer whose rate changed */
  gboolean (*run)(OrrEngine *engine,
                  GError **error); /* orr_engine_next_date and orr_engine_dispatch until the end */
} OrrEngineClass;

struct OrrEngine {
  const OrrEngineClass *class_; /* "class" is a keyword of C++ */
  void *state;                  /* owned by the implementation */
  double now_s;
  guint64 n_submitted;
  guint64 n_events;
  gboolean ran;
  OrrCalendar calendar;
  GArray *links;         /* OrrEngineLink */
  OrrPointers transfers; /* OrrTransfer*, in flight, in no order */
  OrrPointers batch;     /* events of one date, while they are delivered */
  guint batch_at;        /* the first of them that is still to be delivered */
  OrrPointers spare;     /* OrrEvent of past calls, for reuse */
  OrrSpares ended;       /* OrrTransfer of the past, by n_uses */
  GError *fault;         /* the first wrong argument; orr_engine_run returns it */
};

extern const OrrEngineClass orr_engine_fair_class;
extern const OrrEngineClass orr_engine_ideal_class;

static inline OrrEngineLink *orr_engine_link(const OrrEngine *engine, OrrLink link) {
  return &g_array_index(engine->links, OrrEngineLink, link);
}

/* Sets the rate of @transfer from now on, in bytes/s. */
void orr_engine_set_rate(OrrEngine *engine, OrrTransfer *transfer, double rate);

/* The date of the next event; FALSE without one, or after a fault. */
gboolean orr_engine_next_date(OrrEngine *engine, double *ret_date_s);

/* Advances time to the next date and delivers all its events in the order of submission. */
void orr_engine_dispatch(OrrEngine *engine);

G_END_DECLS
