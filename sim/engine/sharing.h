/*
 * sharing.h - the rates of transfers that share links max-min fairly: which of them a change can
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
 * (engine_simgrid.cpp) or ours (engine_fair.c).
 */
#pragma once

#include "sim/engine/engine_private.h"

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
