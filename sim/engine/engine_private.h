/*
 * engine_private.h - what the engine and its implementations share.
 *
 * engine.c owns time, order and the bytes left of each transfer; an implementation (OrrEngineClass)
 * answers one question: at which rate does each transfer run now. It answers through
 * orr_engine_set_rate.
 *
 *   submitted --start()--> running --date--> done
 *                 ^          |  set_rate: bytes left are brought up to now, the end gets a new date
 *                 +-- held --+  a link of it is down: rate 0, no date
 *
 * Invariants
 *  1. bytes left at now = left_bytes - rate * (now - since_s), for every transfer in flight.
 *  2. A transfer with rate 0 has no date; when no date is left while transfers are, the engine is stuck.
 *  3. Time advances only after settle(), so that no end is dated with a rate of the past.
 */
#ifndef ORR_ENGINE_PRIVATE_H
#define ORR_ENGINE_PRIVATE_H

#include "sim/engine/calendar.h"

G_BEGIN_DECLS

struct OrrTransfer {
  OrrEvent event; /* first: a calendar's event is cast to its transfer */
  double size_bytes;
  double left_bytes; /* at since_s */
  double since_s;
  double rate;   /* bytes/s */
  guint32 place; /* in engine->transfers */
  guint32 n_uses;
  gboolean held;
  gboolean ended; /* its call is about to be made */
  void *action;   /* the implementation's */
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
               gboolean held); /* a link of it went down, or all are up */
  void (*bandwidth_changed)(OrrEngine *engine, OrrLink link); /* the new one is > 0 */
  void (*settle)(OrrEngine *engine); /* set_rate for all whose rate changed */
  gboolean (*run)(OrrEngine *engine,
                  GError **error); /* orr_engine_next_date and orr_engine_dispatch until the end */
} OrrEngineClass;

struct OrrEngine {
  const OrrEngineClass *class_; /* "class" is taken in C++ */
  void *state;                  /* the implementation's */
  double now_s;
  guint64 n_submitted;
  guint64 n_events;
  gboolean ran;
  OrrCalendar calendar;
  GArray *links;        /* OrrEngineLink */
  GPtrArray *transfers; /* OrrTransfer*, in flight, in no order */
  GPtrArray *batch;     /* events of one date, being delivered */
  GPtrArray *spare;     /* OrrEvent of calls, to use again */
  GError *fault;        /* the first wrong argument; orr_engine_run returns it */
};

extern const OrrEngineClass orr_engine_fair_class;
extern const OrrEngineClass orr_engine_ideal_class;
extern const OrrEngineClass orr_engine_simgrid_class;

static inline OrrEngineLink *orr_engine_link(const OrrEngine *engine, OrrLink link) {
  return &g_array_index(engine->links, OrrEngineLink, link);
}

/* From now on @transfer moves @rate bytes/s. */
void orr_engine_set_rate(OrrEngine *engine, OrrTransfer *transfer, double rate);

/* The date of the next thing to happen; FALSE when nothing will, or after a fault. */
gboolean orr_engine_next_date(OrrEngine *engine, double *ret_date_s);

/* Moves time to the next date and delivers all that falls on it, in the order of submission. */
void orr_engine_dispatch(OrrEngine *engine);

G_END_DECLS

#endif
