/*
 * closed_loop.c - a number of requests kept in flight, as benchmark clients with --max-concurrency
 * do.
 *
 * Each of `concurrency` clients sends a request, and the next one `think` after the previous one
 * ended. The first requests arrive together, or `stagger` apart. Without think time, throughput
 * times mean latency equals the concurrency (Little 1961).
 *
 *   workload: {load: {kind: closed-loop, concurrency: 64, requests-per-client: 10}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  gint64 concurrency, per_client;
  double think_s, stagger_s;
} Params;

static const OrrField fields[] = {
    ORR_FIELD_INT(Params, "concurrency", concurrency, NULL, "Requests in flight.", .min = 1,
                  .max = 1e7),
    ORR_FIELD_INT(Params, "requests-per-client", per_client, "0",
                  "Requests per client: their total is that many times the concurrency where "
                  "`requests` does not say; 0: 10.",
                  .min = 0, .max = 1e7),
    ORR_FIELD_REAL(Params, "think", think_s, ORR_UNIT_SECONDS, "0 s",
                   "Time from the end of a request to the client's next one.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "stagger", stagger_s, ORR_UNIT_SECONDS, "0 s",
                   "Time from one client's first request to the next client's.",
                   .flags = ORR_FIELD_UNSIGNED),
};
static const OrrFieldTable table =
    ORR_FIELD_TABLE("load-closed-loop", "A number kept in flight.", Params, fields);

typedef struct {
  const Params *params;
  gint64 clients, first, left; /* clients; clients that have not started; requests left to send */
} State;

static gpointer open_load(const void *data, const OrrArrivalContext *context, GError **error) {
  const Params *params = data;
  State *state = g_new0(State, 1);
  const gint64 per_client = params->per_client > 0 ? params->per_client : 10;
  const gint64 n = context->requests > 0 ? context->requests : params->concurrency * per_client;
  const gint64 clients = MIN(params->concurrency, n);
  *state = (State){params, clients, clients, n};
  return state;
}

static gboolean next(gpointer data, OrrRequest *ret_request) {
  State *state = data;
  if (state->first <= 0) return FALSE;
  ret_request->arrival_s = (double)(state->clients - state->first) * state->params->stagger_s;
  state->first--;
  state->left--;
  return TRUE;
}

static gboolean after(gpointer data, OrrRequest *ended, double now_s, OrrRequest *ret_request) {
  State *state = data;
  if (state->left - state->first <= 0) return FALSE;
  state->left--;
  ret_request->arrival_s = now_s + state->params->think_s;
  return TRUE;
}

static OrrChain chain(gconstpointer state) {
  return (OrrChain){1, ((const State *)state)->params->think_s, 0};
}

const OrrArrival orr_arrival_closed_loop = {
    .entry = {"closed-loop", "Closed loop: a number of requests kept in flight.", &table},
    .is_endless = TRUE,
    .open = open_load,
    .next = next,
    .after = after,
    .is_bounded = TRUE,
    .chain = chain,
    .close = g_free,
};
