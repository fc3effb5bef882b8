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

#include "sim/base/ground.h"
#include "sim/engine/calendar.h"

G_BEGIN_DECLS

/* Blocks of memory that are taken and given back at every event, kept by their number of
 * entries. malloc searches for a block of more than a kilobyte, and merges it when it is freed.
 *
 * A block that was given back holds the address of the next spare one of its number.
 */

typedef struct {
  void **first; /* by number of entries; NULL: none */
  guint n;
} OrrSpares;

/* A block of @size_bytes, which depend on @n alone and are at least a pointer's. Its content is
 * undefined. Give it back, or pass it to g_free. */
static inline void *orr_spares_take(OrrSpares *spares, guint n, gsize size_bytes) {
  void *block = n < spares->n ? spares->first[n] : NULL;
  if (!block) return g_malloc(size_bytes);
  spares->first[n] = *(void **)block;
  return block;
}

static inline void orr_spares_give(OrrSpares *spares, guint n, void *block) {
  if (n >= spares->n) {
    spares->first = g_renew(void *, spares->first, 2 * n + 1);
    for (; spares->n <= 2 * n; spares->n++) spares->first[spares->n] = NULL;
  }
  *(void **)block = spares->first[n];
  spares->first[n] = block;
}

/* A list of pointers that grows and shrinks at every event: a GPtrArray's functions are calls into
 * a library. All zero: empty. */
typedef struct {
  gpointer *pdata;
  guint len, room;
} OrrPointers;

static inline void orr_pointers_add(OrrPointers *list, gpointer pointer) {
  if (list->len == list->room) {
    list->room = MAX(64, 2 * list->room);
    list->pdata = g_renew(gpointer, list->pdata, list->room);
  }
  list->pdata[list->len++] = pointer;
}

/* A list of numbers of the same kind, which ORR_EACH_VALUE walks. */
typedef struct {
  guint32 *data;
  guint len, room;
} OrrNumbers;

static inline void orr_numbers_add(OrrNumbers *list, guint32 number) {
  if (list->len == list->room) {
    list->room = MAX(64, 2 * list->room);
    list->data = g_renew(guint32, list->data, list->room);
  }
  list->data[list->len++] = number;
}

/* New numbers are undefined. */
static inline void orr_numbers_set_size(OrrNumbers *list, guint n) {
  if (n > list->room) {
    list->room = MAX(n, 2 * list->room);
    list->data = g_renew(guint32, list->data, list->room);
  }
  list->len = n;
}

/* Frees the spare blocks. */
static inline void orr_spares_clear(OrrSpares *spares) {
  for (guint n = 0; n < spares->n; n++)
    for (void *block; (block = spares->first[n]) != NULL; g_free(block))
      spares->first[n] = *(void **)block;
  g_free(spares->first);
}

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
  /* NULL: orr_engine_next_date and orr_engine_dispatch until the end. Of a clock of its own: the
   * same, at its dates */
  gboolean (*run)(OrrEngine *engine, GError **error);
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

/* engine_load.c: the SimGrid engine, a module of its own, and what a program must have in common
 * with it. */

G_BEGIN_DECLS

/* Sizes of the structs that cross between program and module. */
typedef struct {
  gsize of_engine, of_transfer, of_link, of_class, of_event, of_system;
} OrrEngineLayout;
#define ORR_ENGINE_LAYOUT                                                                          \
  {                                                                                                \
    sizeof(OrrEngine), sizeof(OrrTransfer), sizeof(OrrEngineLink), sizeof(OrrEngineClass),         \
        sizeof(OrrEvent), sizeof(OrrSharingSystem)                                                 \
  }

/* Loads the engine once; NULL with ORR_FAULT_RESOURCE where it cannot be found or loaded. */
const OrrEngineClass *orr_engine_load_simgrid(GError **error);

G_END_DECLS

/* sharing.c: the rates of transfers that share links max-min fairly: which of them a change can
 * move, and a small system of equations for just those.
 *
 *     maximise the smallest rate, then the next smallest ...
 *     subject to  sum over transfers t of w(t, l) * rate(t) <= B(l)  for every link l
 *
 * Rates are max-min fair if, and only if, every transfer has a bottleneck: a link that is full and
 * on which no transfer is faster (Bertsekas and Gallager, Data Networks, 6.5.2). That can be seen
 * from the links around a transfer, so a change is solved where it happened:
 *
 *   1. The region: transfers that are new, and those whose bottleneck changed.
 *   2. Solve the region with all others at their rates: what they take is off the links.
 *   3. Look at the links of the region. A transfer outside whose bottleneck is no longer full or
 *      has a faster transfer, or which is faster than a transfer that has its bottleneck there,
 *      joins the region. Where one joined, go on with 2.
 *
 * The answer equals the whole network's up to TOLERANCE (sharing.c). What is solved is small: of
 * the links that have one transfer of the region only the slowest counts, and links that are not
 * full even where all of their transfers are as fast as their other links allow are left out.
 * Systems that share no link are solved one by one. The solver is the engine's: SimGrid's
 * (engine_simgrid.cpp) or ours (engine_fair.c). */

G_BEGIN_DECLS

/* Two or more transfers; each meets another on a link. */
typedef struct {
  guint32 n_transfers, n_links, n_uses;
  const double *capacities;  /* bytes/s of each link, >= 0 */
  const guint32 *first_uses; /* transfer t has the uses first_uses[t] to first_uses[t + 1] - 1 */
  const OrrLinkUse *uses;    /* link: its index here */
  double *rates;             /* bytes/s of each transfer: the solver fills them in */
} OrrSharingSystem;

typedef void (*OrrSharingSolve)(const OrrSharingSystem *system, void *user);

typedef struct OrrSharing OrrSharing;

OrrSharing *orr_sharing_new(OrrSharingSolve solve, void *user);
void orr_sharing_free(OrrSharing *sharing);

/* The functions of an OrrEngineClass (engine_private.h) with the same names. start sets
 * transfer->action, end clears it. */
void orr_sharing_add_link(OrrSharing *sharing, OrrLink link);
void orr_sharing_start(OrrSharing *sharing, OrrTransfer *transfer);
void orr_sharing_end(OrrSharing *sharing, OrrTransfer *transfer);
void orr_sharing_hold(OrrSharing *sharing, OrrTransfer *transfer, gboolean held);
void orr_sharing_bandwidth_changed(OrrSharing *sharing, OrrLink link);
void orr_sharing_settle(OrrSharing *sharing, OrrEngine *engine);

G_END_DECLS
