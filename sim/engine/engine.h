/*
 * engine.h - the seam between Orrery and what advances simulated time.
 *
 * An engine knows two things: calls at a time, and transfers over links. There are no actors. Three
 * implementations:
 *   simgrid  transfers share links max-min fairly, solved by SimGrid (engine_simgrid.cpp)
 *   fair     the same, solved by ourselves: what sweeps replay on (engine_fair.c)
 *   ideal    each transfer has its links to itself: size * max(weight / bandwidth) (engine_ideal.c)
 * Where nothing contends all give equal results; simgrid and fair do everywhere.
 *
 * Rules
 *  1. A transfer uses each link with a weight w > 0: at rate r (bytes/s) it takes w * r of the link. A lock-step
 *     collective is one transfer that loads every link it uses. SimGrid takes whole weights; weights are scaled to
 *     integers by the caller (program.h).
 *  2. Latency is not the engine's: pay it as a call before the transfer.
 *  3. Calls and completions that fall on the same time are delivered in the order of their submission, in all
 *     implementations. Dates that differ by rounding (1e-14 of the time) are the same time.
 *  4. A link that is down, or has bandwidth 0, holds its transfers at rate 0 until it is up again.
 *  5. One simgrid engine a process (SimGrid's rule): a second one is an error. Tests fork.
 *  6. No exception leaves an implementation: arguments are checked first, foreign errors become GErrors.
 */
#ifndef ORR_ENGINE_H
#define ORR_ENGINE_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { ORR_ENGINE_SIMGRID, ORR_ENGINE_IDEAL, ORR_ENGINE_FAIR } OrrEngineKind;

typedef struct OrrEngine OrrEngine;
typedef struct OrrTransfer OrrTransfer; /* in flight; gone when its call is made */
typedef guint32 OrrLink;                /* dense, from 0, in order of orr_engine_add_link */

typedef struct {
  OrrLink link;
  guint32 weight; /* > 0 */
} OrrLinkUse;

typedef void (*OrrEngineCall)(void *user);

OrrEngine *orr_engine_new(OrrEngineKind kind, GError **error);
void orr_engine_free(OrrEngine *engine); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrEngine, orr_engine_free)

/* Adds a link of @bandwidth bytes/s (> 0, finite). Only before orr_engine_run. The name is for
 * messages; copied. */
gboolean orr_engine_add_link(OrrEngine *engine, const char *name, double bandwidth_bytes_per_s,
                             OrrLink *ret_link, GError **error);

double orr_engine_now(const OrrEngine *engine); /* seconds since the start */
/* Whether a call for @date_s may be made at @now_s: the same date, or one that differs by
 * rounding (rule 3). */
gboolean orr_engine_same_date(double now_s, double date_s);

/* Calls @call(@user) once, @delay_s >= 0 seconds from now. */
void orr_engine_after(OrrEngine *engine, double delay_s, OrrEngineCall call, void *user);

/* The same at a date: @date_s >= now, seconds since the start. A date that is known is met to
 * the last bit, which now + (date - now) is not. */
void orr_engine_at(OrrEngine *engine, double date_s, OrrEngineCall call, void *user);

/* Starts a transfer of @size_bytes >= 0 over @uses (copied; each link at most once; may be
 * empty: then it takes no time) and calls @done(@user) at its end. What it returns may be moved
 * or dropped until then; NULL where it takes no time. */
OrrTransfer *orr_engine_transfer(OrrEngine *engine, double size_bytes, const OrrLinkUse *uses,
                                 guint n_uses, OrrEngineCall done, void *user);

/* Another way for a transfer in flight: what is left of it, as a share of its size, is that
 * share of @size_bytes over @uses from now on. @transfer is gone; what takes its place is
 * returned, as by orr_engine_transfer. */
OrrTransfer *orr_engine_move(OrrEngine *engine, OrrTransfer *transfer, double size_bytes,
                             const OrrLinkUse *uses, guint n_uses);
/* it ends here, and its call is never made */
void orr_engine_drop(OrrEngine *engine, OrrTransfer *transfer);

/* From now on; transfers in flight feel it. */
void orr_engine_set_bandwidth(OrrEngine *engine, OrrLink link, double bandwidth_bytes_per_s);
void orr_engine_set_up(OrrEngine *engine, OrrLink link, gboolean up);

/* weight * bytes that finished transfers have put on @link; over bandwidth * time it is the
 * link's utilisation. */
double orr_engine_link_bytes(const OrrEngine *engine, OrrLink link);
guint64 orr_engine_n_events(const OrrEngine *engine); /* calls and completions delivered so far */

/* Runs until nothing is left to happen. Transfers held at rate 0 for ever are ORR_FAULT_STUCK,
 * with their number and the first link by name. */
gboolean orr_engine_run(OrrEngine *engine, GError **error);

/* What to record with results: "simgrid 3.32, CM02, max-min, precision 1e-9" or "ideal". Static
 * text. */
const char *orr_engine_settings(const OrrEngine *engine);

G_END_DECLS

#endif
