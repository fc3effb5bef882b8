/*
 * transfers.c - one flow of the engine for each transfer, over the links of its path.
 *
 * A transfer waits for its delay and the path's latency, then flows; at its end its bytes are added
 * to the links'.
 */
#include "workloads/serving/transfers/transfers.h"

typedef struct {
  OrrServingRun *run;
  const OrrServingPath *path;
  double bytes;
  OrrEngineCall done;
  void *user;
  OrrLinkUse *uses; /* of the engine's links; room for n_room */
  guint n_room;
} Flow;

static void clear_flow(gpointer flow) { g_free(((Flow *)flow)->uses); }

void orr_transfers_open(OrrServingRun *run) { run->flows = orr_pool_new(sizeof(Flow), clear_flow); }

void orr_transfers_close(OrrServingRun *run) { orr_pool_free(run->flows); }

static void flow_ends(void *user) {
  Flow *flow = user;
  OrrServingRun *run = flow->run;
  const OrrEngineCall done = flow->done;
  void *const data = flow->user;
  for (guint i = 0; i < flow->path->n_uses; i++)
    run->work->work.link_bytes[flow->path->uses[i].link] +=
        flow->bytes * flow->path->uses[i].weight;
  orr_pool_give(run->flows, flow);
  run->n_flows--;
  if (!run->error) done(data);
}

static void flow_begins(void *user) {
  Flow *flow = user;
  const OrrServingPath *path = flow->path;
  if (flow->run->error) return;
  if (path->n_uses > flow->n_room)
    flow->uses = g_renew(OrrLinkUse, flow->uses, flow->n_room = path->n_uses);
  for (guint i = 0; i < path->n_uses; i++)
    flow->uses[i] = (OrrLinkUse){flow->run->links[path->uses[i].link], path->uses[i].weight};
  orr_engine_transfer(flow->run->engine, flow->bytes, flow->uses, path->n_uses, flow_ends, flow);
}

void orr_transfers_begin(OrrServingRun *run, const OrrServingPath *path, double bytes,
                         double delay_s, OrrEngineCall done, void *user) {
  Flow *flow = orr_pool_take(run->flows);
  run->n_flows++;
  flow->run = run;
  flow->path = path;
  flow->bytes = bytes;
  flow->done = done;
  flow->user = user;
  orr_engine_after(run->engine, delay_s + path->latency_s, flow_begins, flow);
}
