/*
 * engine_ideal.c - each transfer has its links to itself.
 *
 * rate = min over its links of bandwidth / weight, so a transfer takes size * max(weight /
 * bandwidth) seconds. This is exact where no two transfers can meet on a link
 * (orr_program_uncontended), and else a lower bound; the cost of contention is the difference to
 * the simgrid engine.
 */
#include "sim/engine/engine_private.h"

static void ideal_start(OrrEngine *engine, OrrTransfer *transfer) {
  if (transfer->held) return;
  double rate = G_MAXDOUBLE;
  for (guint32 i = 0; i < transfer->n_uses; i++)
    rate = MIN(rate, orr_engine_link(engine, transfer->uses[i].link)->bandwidth /
                         transfer->uses[i].weight);
  orr_engine_set_rate(engine, transfer, rate);
}

static void ideal_hold(OrrEngine *engine, OrrTransfer *transfer, gboolean held) {
  if (!held) ideal_start(engine, transfer);
}

static void ideal_bandwidth_changed(OrrEngine *engine, OrrLink link) {
  for (guint i = 0; i < engine->transfers.len; i++) ideal_start(engine, engine->transfers.pdata[i]);
}

static gboolean ideal_open(OrrEngine *engine, GError **error) { return TRUE; }

static gboolean ideal_add_link(OrrEngine *engine, OrrLink link, GError **error) { return TRUE; }

static void ideal_nothing(OrrEngine *engine) {}

static void ideal_end(OrrEngine *engine, OrrTransfer *transfer) {}

const OrrEngineClass orr_engine_ideal_class = {
    .settings = "ideal",
    .open = ideal_open,
    .close = ideal_nothing,
    .add_link = ideal_add_link,
    .start = ideal_start,
    .end = ideal_end,
    .hold = ideal_hold,
    .bandwidth_changed = ideal_bandwidth_changed,
    .settle = ideal_nothing,
};
