/*
 * collective_steps.c - see collective_steps.h.
 */
#include "workloads/collectives/collective_steps.h"

#include <string.h>

#include "sim/base/fault.h"
#include "workloads/collectives/collective_private.h"

/* A send is an operation of a program with its events: about 250 bytes. */
#define MOST_SENDS 12e6

typedef struct {
  gint64 src, dst;
  guint64 channel;
  double bytes; /* -1: the connection itself */
} Key;

static guint hash_key(gconstpointer data) {
  const Key *key = data;
  return g_int64_hash(&key->src) * 31 + g_int64_hash(&key->dst) * 17 + (guint)key->channel * 7 +
         g_double_hash(&key->bytes);
}

static gboolean equal_keys(gconstpointer a, gconstpointer b) {
  const Key *x = a, *y = b;
  return x->src == y->src && x->dst == y->dst && x->channel == y->channel && x->bytes == y->bytes;
}

static void clear_route(gpointer route) { g_free(((OrrStepRoute *)route)->uses); }

void orr_collective_steps_free(OrrCollectiveSteps *steps) {
  if (!steps) return;
  g_clear_pointer(&steps->known, g_hash_table_unref);
  g_array_unref(steps->routes);
  g_array_unref(steps->sends);
  g_array_unref(steps->needs);
  g_free(steps);
}

/* The number kept under @key, or @fresh, which is kept. */
static guint32 number_of(OrrCollectiveSteps *steps, const Key *key, guint32 fresh) {
  const gpointer known = g_hash_table_lookup(steps->known, key);
  if (known) return GPOINTER_TO_UINT(known) - 1;
  g_hash_table_insert(steps->known, g_memdup2(key, sizeof *key), GUINT_TO_POINTER(fresh + 1));
  return fresh;
}

/* The base is paid once, before all. What the protocol takes beyond the links' bandwidth is flags and headers: bytes
 * here, since as a delay it would be hidden by other sends. */
static void settle_route(const OrrCollectiveSteps *steps, OrrStepRoute *route, double hop_s,
                         const OrrNcclCosts *costs) {
  const OrrFabric *fabric = steps->context->fabric;
  const double bare = orr_collective_per_byte(fabric, route->uses, route->n_uses, NULL);
  route->latency_s = hop_s * costs->plateau;
  if (bare > 0) route->bytes *= orr_collective_per_byte(fabric, route->uses, route->n_uses, costs) / bare;
}

static void add_route(OrrCollectiveSteps *steps, const Key *key) {
  g_autoptr(GArray) phases = g_array_new(FALSE, FALSE, sizeof(OrrCollectivePhase));
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, steps->context);
  orr_collective_flow_fill(&flow, key->bytes, key->bytes);
  double hop_s = orr_collective_flow_edge(&flow, key->src, key->dst, key->channel, 1);
  orr_collective_flow_finish(&flow, hop_s, key->bytes, phases);
  OrrStepRoute *route = &g_array_index(phases, OrrStepRoute, 0);
  settle_route(steps, route, hop_s, &flow.costs);
  g_array_append_vals(steps->routes, route, 1);
}

guint32 orr_collective_steps_send(OrrCollectiveSteps *steps, gint64 src, gint64 dst, guint channel, double bytes,
                                  const guint32 *needs, guint n_needs) {
  const Key connection = {src, dst, channel, -1}, sized = {src, dst, channel, bytes};
  OrrStepSend send = {.connection = number_of(steps, &connection, steps->n_connections),
                      .route = number_of(steps, &sized, steps->routes->len),
                      .first_need = steps->needs->len,
                      .n_needs = n_needs};
  steps->n_connections = MAX(steps->n_connections, send.connection + 1);
  if (send.route == steps->routes->len) add_route(steps, &sized);
  if (n_needs > 0) g_array_append_vals(steps->needs, needs, n_needs);
  g_array_append_val(steps->sends, send);
  return steps->sends->len - 1;
}

void orr_collective_steps_ring(OrrCollectiveSteps *steps, const gint64 *gpus, guint n, guint channel, double bytes,
                               guint rounds) {
  g_autofree guint32 *last = g_new0(guint32, n), *now = g_new0(guint32, n);
  for (guint round = 0; round < rounds; round++) {
    for (guint i = 0; i < n; i++)
      now[i] = orr_collective_steps_send(steps, gpus[i], gpus[(i + 1) % n], channel, bytes, &last[(i + n - 1) % n],
                                         round > 0 ? 1 : 0);
    memcpy(last, now, n * sizeof *last);
  }
}

static gboolean check(const OrrCollectiveCall *call, const OrrCollectivePlan *plan, GError **error) {
  const double sends = (double)call->n * call->n * 2;
  if (!plan->algorithm->steps) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "collective algorithm '%s' has no step form (ring, pairwise, direct, torus-ring and bucket have)",
                plan->algorithm->entry.name);
    return FALSE;
  }
  if (sends <= MOST_SENDS) return TRUE;
  g_set_error(
      error, ORR_FAULT, ORR_FAULT_DOCUMENT,
      "step by step, %u ranks are about %.3g sends, and the most is %.0f million: take fewer ranks, or replay: flow",
      call->n, sends, MOST_SENDS / 1e6);
  return FALSE;
}

OrrCollectiveSteps *orr_collective_steps_new(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                                             const OrrCollectivePlan *plan, GError **error) {
  if (!check(call, plan, error)) return NULL;
  OrrNcclCosts costs;
  OrrCollectiveContext inner = *context;
  inner.costs = orr_collective_costs_of(context, call, plan, &costs);
  OrrCollectiveSteps *steps = g_new0(OrrCollectiveSteps, 1);
  steps->context = &inner;
  steps->base_s = inner.costs ? costs.base_s * costs.plateau : 0;
  steps->routes = g_array_new(FALSE, FALSE, sizeof(OrrStepRoute));
  g_array_set_clear_func(steps->routes, clear_route);
  steps->sends = g_array_new(FALSE, FALSE, sizeof(OrrStepSend));
  steps->needs = g_array_new(FALSE, FALSE, sizeof(guint32));
  steps->known = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
  if (call->n > 1) plan->algorithm->steps(&inner, call, steps);
  steps->context = NULL;
  g_clear_pointer(&steps->known, g_hash_table_unref);
  return steps;
}
