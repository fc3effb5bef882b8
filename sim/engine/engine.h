/*
 * engine.h - the interface between Orrery and the code that advances simulated time.
 *
 * An engine has two concepts: calls at a date, and transfers over links. It has no actors. There
 * are three implementations:
 *   simgrid  transfers share links max-min fairly; SimGrid solves the rates (engine_simgrid.cpp)
 *   fair     the same sharing, solved here; sweeps use it (engine_fair.c)
 *   ideal    each transfer has its links to itself: size * max(weight / bandwidth) (engine_ideal.c)
 * Without contention all three give equal results; simgrid and fair give equal results always.
 *
 * Rules
 *  1. A transfer uses each link with a weight w > 0: at rate r (bytes/s) it takes w * r of the
 *     link. A lock-step collective is one transfer that loads every link it uses. SimGrid requires
 *     integer weights; the caller scales them (program.h).
 *  2. The engine has no latency: model it as a call before the transfer.
 *  3. All implementations deliver calls and completions with the same date in the order of
 *     submission. Dates that differ by rounding (1e-14 of the time) are the same date.
 *  4. A link that is down, or has bandwidth 0, holds its transfers at rate 0 until it is up again.
 *  5. A process can create one simgrid engine, SimGrid's own rule; another one is an error. Tests
 *     fork.
 *  6. No exception leaves an implementation: it checks arguments first, and turns foreign errors
 *     into GErrors.
 */
#pragma once

#include "sim/base/ground.h"

G_BEGIN_DECLS

typedef enum { ORR_ENGINE_SIMGRID, ORR_ENGINE_IDEAL, ORR_ENGINE_FAIR } OrrEngineKind;

typedef struct OrrEngine OrrEngine;
typedef struct OrrTransfer OrrTransfer; /* in flight; invalid once its call is made */
typedef guint32 OrrLink;                /* dense, from 0, in order of orr_engine_add_link */

typedef struct {
  OrrLink link;
  guint32 weight; /* > 0 */
} OrrLinkUse;

typedef struct OrrEvent OrrEvent; /* a pending call; invalid once it is made or withdrawn */
typedef void (*OrrEngineCall)(void *user);

OrrEngine *orr_engine_new(OrrEngineKind kind, GError **error);
/* Loads the code of such an engine, so that the children of a process that forks need not each load
 * it. orr_engine_new loads it otherwise. ORR_FAULT_RESOURCE where it is missing. */
gboolean orr_engine_prepare(OrrEngineKind kind, GError **error);
void orr_engine_free(OrrEngine *engine); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrEngine, orr_engine_free)

/* Adds a link of @bandwidth_bytes_per_s (> 0, finite). Call it before orr_engine_run. The name
 * appears in messages; it is copied. */
gboolean orr_engine_add_link(OrrEngine *engine, const char *name, double bandwidth_bytes_per_s,
                             OrrLink *ret_link, GError **error);

double orr_engine_now(const OrrEngine *engine); /* seconds since the start */
/* Whether @now_s and @date_s are the same date, up to rounding (rule 3). */
gboolean orr_engine_same_date(double now_s, double date_s);

/* Calls @call(@user) once, @delay_s >= 0 seconds from now. */
void orr_engine_after(OrrEngine *engine, double delay_s, OrrEngineCall call, void *user);

/* The same at a date: @date_s >= now, seconds since the start. It is exact to the last bit, unlike
 * now + (date - now). Returns the call, which can be withdrawn until it is made; NULL after a wrong
 * argument. */
OrrEvent *orr_engine_at(OrrEngine *engine, double date_s, OrrEngineCall call, void *user);
/* Takes back a call that was not made yet; NULL is fine. */
void orr_engine_withdraw(OrrEngine *engine, OrrEvent *event);

/* Starts a transfer of @size_bytes >= 0 over @uses and calls @done(@user) at its end. @uses is
 * copied, names each link at most once, and can be empty: then the transfer takes no time. Returns
 * the transfer, which can be moved or dropped until its end; NULL where it takes no time. */
OrrTransfer *orr_engine_transfer(OrrEngine *engine, double size_bytes, const OrrLinkUse *uses,
                                 guint n_uses, OrrEngineCall done, void *user);

/* The transfer, which has just been started, has run at @rate (bytes/s) since @since_s, a date in
 * the past: it ends as if it had been started then. */
void orr_engine_began(OrrEngine *engine, OrrTransfer *transfer, double since_s, double rate);

/* Moves a transfer in flight to another path. The fraction of its size that is left becomes the
 * same fraction of @size_bytes over @uses. @transfer becomes invalid; returns its replacement,
 * like orr_engine_transfer. */
OrrTransfer *orr_engine_move(OrrEngine *engine, OrrTransfer *transfer, double size_bytes,
                             const OrrLinkUse *uses, guint n_uses);
/* From now on the transfer moves its bytes at 1/@drag (1 or more) of the rate that its links give
 * it: it holds its share of them as before. A transfer begins, and is moved, with 1. */
void orr_engine_drag(OrrEngine *engine, OrrTransfer *transfer, double drag);
/* Ends the transfer now, without its call. */
void orr_engine_drop(OrrEngine *engine, OrrTransfer *transfer);

/* Postpones by @delay_s the pending calls and the transfers in flight that @concerns: those
 * transfers rest until then, with their rates. Exact where none of them shares a link with another
 * transfer before. FALSE, with nothing changed, while it concerns events of this very date that are
 * still due. */
typedef gboolean (*OrrEngineConcern)(OrrEngineCall call, void *user, void *data);
gboolean orr_engine_postpone(OrrEngine *engine, double delay_s, OrrEngineConcern concerns,
                             void *data);

/* From now on, also for transfers in flight. */
void orr_engine_set_bandwidth(OrrEngine *engine, OrrLink link, double bandwidth_bytes_per_s);
void orr_engine_set_up(OrrEngine *engine, OrrLink link, gboolean up);

/* The sum of weight * bytes over the finished transfers on @link; divided by bandwidth * time it
 * is the link's utilisation. */
double orr_engine_link_bytes(const OrrEngine *engine, OrrLink link);
/* calls and completions delivered so far, and calls that were withdrawn */
guint64 orr_engine_n_events(const OrrEngine *engine);

/* Runs until no event is left. Transfers held at rate 0 for ever are ORR_FAULT_STUCK; the message
 * gives their number and the first link by name. */
gboolean orr_engine_run(OrrEngine *engine, GError **error);

/* The text recorded with results: "simgrid 3.32, CM02, max-min, precision 1e-9" or "ideal".
 * Static. */
const char *orr_engine_settings(const OrrEngine *engine);

G_END_DECLS
