/*
 * scheduler.c - the parts of a step that several schedulers share.
 */
#include "workloads/serving/schedulers/scheduler.h"

static gint64 cap(gint64 tokens, gint64 longest_chunk) {
  return longest_chunk > 0 ? MIN(tokens, longest_chunk) : tokens;
}

/* Preemption removes requests from the list during the walk: the last one by the scheduler's order.
 * The walk then restarts and skips requests that are done, so that none is left out if the last one
 * by order is not the last of the list. */
static void give_all(OrrCore *core, gint64 longest_chunk, gboolean decodes_alone) {
  for (guint i = 0; i < core->running->len && core->budget > 0;) {
    OrrRequest *request = core->running->pdata[i++];
    const gint64 tokens = MIN(cap(orr_request_left(request), longest_chunk), core->budget);
    if (request->is_in_flight || request->scheduled > 0 || tokens <= 0) continue;
    if (decodes_alone && !orr_request_decodes(request)) continue;
    const guint before = core->running->len;
    orr_core_give_or_preempt(core, request, tokens);
    if (core->running->len < before) i = 0;
  }
}

void orr_scheduler_running(OrrCore *core, gint64 longest_chunk) {
  give_all(core, longest_chunk, FALSE);
}

void orr_scheduler_decodes(OrrCore *core) { give_all(core, 0, TRUE); }

static gint64 room_for_all(const OrrRequest *request) {
  return (gint64)request->prompt + request->output;
}

void orr_scheduler_waiting(OrrCore *core, gint64 longest_chunk, gboolean whole,
                           OrrReserve reserve) {
  OrrRequest *request;
  while (!core->has_preempted && core->budget > 0 &&
         (gint64)core->running->len < core->limits.max_sequences &&
         (request = orr_core_first(core))) {
    const gint64 room = reserve == ORR_RESERVE_ALL ? room_for_all(request) : 0;
    if (!orr_core_admit(core, request, cap(core->budget, longest_chunk), whole, room)) break;
  }
}

/* A prompt alone may be larger than the budget; together they may not. */
void orr_scheduler_whole_prompts(OrrCore *core, OrrReserve reserve) {
  OrrRequest *request;
  gboolean is_first = TRUE;
  while (!core->has_preempted && (gint64)core->running->len < core->limits.max_sequences &&
         (request = orr_core_first(core))) {
    const gint64 wanted = orr_request_wanted(request);
    const gint64 room = reserve == ORR_RESERVE_ALL ? room_for_all(request) : wanted;
    const gint64 most = is_first ? wanted : core->budget;
    if (!orr_core_admit(core, request, most, TRUE, room)) break;
    is_first = FALSE;
  }
}
