/*
 * collective_steps.c - makes schedules of sends: numbers routes and connections, and builds rings
 * and chains.
 */
#include "workloads/collectives/collective_steps.h"

#include "workloads/collectives/collective_private.h"

/* A send is an operation of a program with its events: about 70 bytes. */
#define MOST_SENDS 12e6

/* A pipeline's chunk without a profile: NCCL's slice (512 KiB per channel), cut into enough chunks
 * that filling the pipeline takes little time. */
#define SLICE_BYTES (512 * 1024.0)
#define MOST_CHUNKS 1024.0

/* Used as the second end: the NVSwitch. */
enum { GATHER = -1, SPREAD = -2 };

typedef struct {
  gint64 src, dst; /* dst < 0: an NVSwitch */
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

static void clear_route(gpointer route) { g_free(((OrrStepRoute *)route)->effect.uses); }

void orr_collective_steps_free(OrrCollectiveSteps *steps) {
  if (!steps) return;
  g_clear_pointer(&steps->known, g_hash_table_unref);
  g_array_unref(steps->routes);
  g_array_unref(steps->sends);
  g_array_unref(steps->needs);
  g_free(steps);
}

/* The number stored under @key; if there is none, stores @fresh and returns it. */
static guint32 number_of(OrrCollectiveSteps *steps, const Key *key, guint32 fresh) {
  const gpointer known = g_hash_table_lookup(steps->known, key);
  if (known) return GPOINTER_TO_UINT(known) - 1;
  g_hash_table_insert(steps->known, g_memdup2(key, sizeof *key), GUINT_TO_POINTER(fresh + 1));
  return fresh;
}

/* The base time is taken once, before all sends. The protocol's loss of bandwidth consists of
 * flags and headers: it counts as bytes here, because other sends would hide it as a delay. */
static void settle_route(const OrrCollectiveSteps *steps, OrrCollectivePhase *route, double hop_s,
                         const OrrNcclCosts *costs) {
  const OrrFabric *fabric = steps->context->fabric;
  const double bare = orr_collective_per_byte(fabric, route->uses, route->n_uses, NULL);
  route->latency_s = hop_s * costs->plateau;
  if (bare > 0)
    route->bytes *= orr_collective_per_byte(fabric, route->uses, route->n_uses, costs) / bare;
}

/* @gpus, @n: the domain, if the route goes through an NVSwitch. */
static void add_route(OrrCollectiveSteps *steps, const Key *key, const gint64 *gpus, guint n) {
  g_autoptr(GArray) phases = g_array_new(FALSE, FALSE, sizeof(OrrCollectivePhase));
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, steps->context);
  orr_collective_flow_fill(&flow, key->bytes, key->bytes);
  double hop_s = 0;
  if (key->dst >= 0)
    hop_s = orr_collective_flow_edge(&flow, key->src, key->dst, key->channel, 1);
  else
    hop_s = orr_collective_flow_owner(&flow, gpus, n, key->src, key->dst == SPREAD);
  orr_collective_flow_finish(&flow, hop_s, key->bytes, phases);
  OrrCollectivePhase *effect = &g_array_index(phases, OrrCollectivePhase, 0);
  settle_route(steps, effect, hop_s, &flow.costs);
  ORR_APPEND(steps->routes, OrrStepRoute, {*effect, key->src, key->dst, key->bytes});
}

static guint32 add_send(OrrCollectiveSteps *steps, const Key *sized, const gint64 *gpus, guint n,
                        const guint32 *needs, guint n_needs) {
  const Key connection = {sized->src, sized->dst, sized->channel, -1};
  OrrStepSend send = {.connection = number_of(steps, &connection, steps->n_connections),
                      .route = number_of(steps, sized, steps->routes->len),
                      .first_need = steps->needs->len,
                      .n_needs = n_needs};
  steps->n_connections = MAX(steps->n_connections, send.connection + 1);
  if (send.route == steps->routes->len) add_route(steps, sized, gpus, n);
  if (n_needs > 0) g_array_append_vals(steps->needs, needs, n_needs);
  g_array_append_val(steps->sends, send);
  return steps->sends->len - 1;
}

guint32 orr_collective_steps_send(OrrCollectiveSteps *steps, gint64 src, gint64 dst, guint channel,
                                  double bytes, const guint32 *needs, guint n_needs) {
  return add_send(steps, &(Key){src, dst, channel, bytes}, NULL, 0, needs, n_needs);
}

guint32 orr_collective_steps_switch(OrrCollectiveSteps *steps, const gint64 *gpus, guint n,
                                    guint owner, gboolean spread, double bytes,
                                    const guint32 *needs, guint n_needs) {
  return add_send(steps, &(Key){gpus[owner], spread ? SPREAD : GATHER, owner, bytes}, gpus, n,
                  needs, n_needs);
}

/* --- Rings and chains --- */

guint32 *orr_collective_steps_nothing(guint n) {
  guint32 *got = g_new(guint32, n + 1);
  for (guint i = 0; i < n; i++) got[i] = ORR_NO_SEND;
  return got;
}

void orr_collective_steps_ring(OrrCollectiveSteps *steps, const gint64 *gpus, guint n, guint stride,
                               guint channel, double bytes, guint rounds, guint32 *got) {
  g_autofree guint32 *now = g_new0(guint32, n);
  for (guint round = 0; round < rounds; round++) {
    for (guint i = 0; i < n; i++)
      now[(i + 1) % n] =
          orr_collective_steps_send(steps, gpus[i * stride], gpus[(i + 1) % n * stride], channel,
                                    bytes, &got[i * stride], got[i * stride] != ORR_NO_SEND);
    for (guint i = 0; i < n; i++) got[i * stride] = now[i];
  }
}

void orr_collective_steps_chain(OrrCollectiveSteps *steps, const gint64 *gpus, guint n,
                                guint stride, guint channel, double bytes, gboolean to_first,
                                guint32 *got) {
  g_autofree guint32 *before = orr_collective_steps_nothing(n); /* the chunk before, by edge */
  g_autofree guint32 *own = orr_collective_steps_nothing(n);
  for (guint i = 0; i < n; i++) own[i] = got[i * stride];
  for (guint chunk = 0; chunk < n; chunk++)
    for (guint i = 0; i + 1 < n; i++) {
      const guint from = to_first ? n - 1 - i : i, to = to_first ? from - 1 : from + 1;
      guint32 needs[3];
      guint n_needs = 0;
      if (own[from] != ORR_NO_SEND) needs[n_needs++] = own[from];
      if (chunk > 0) needs[n_needs++] = before[i];
      if (i > 0) needs[n_needs++] = before[i - 1]; /* the last send of this chunk so far */
      before[i] = orr_collective_steps_send(steps, gpus[from * stride], gpus[to * stride], channel,
                                            bytes / n, needs, n_needs);
      got[to * stride] = before[i];
    }
}

guint orr_collective_steps_chunks(const OrrCollectiveSteps *steps, double bytes, gboolean near,
                                  guint sends_each) {
  const OrrNcclCosts *costs = steps->context->costs;
  const double known = !costs ? 0
                       : near ? costs->scale_up_chunk_bytes
                              : costs->scale_out_chunk_bytes;
  const double most = MIN(MOST_CHUNKS, MOST_SENDS / MAX(sends_each, 1));
  return (guint)CLAMP(ceil(bytes / (known > 0 ? known : SLICE_BYTES)), 1, MAX(most, 1));
}

static char *with_steps(void) {
  GString *names = g_string_new(NULL);
  for (const OrrEntry *const *entry = orr_collective_registry.entries; *entry; entry++)
    if (((const OrrCollectiveAlgorithm *)*entry)->steps)
      g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", (*entry)->name);
  return g_string_free(names, FALSE);
}

static gboolean check(const OrrCollectiveCall *call, const OrrCollectivePlan *plan,
                      GError **error) {
  const double sends = (double)call->n * call->n * 2;
  if (!plan->algorithm->steps) {
    g_autofree char *known = with_steps();
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "collective algorithm '%s' has no step form (these have: %s)",
                         plan->algorithm->entry.name, known);
  }
  if (sends <= MOST_SENDS) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "step by step, %u ranks need about %.3g sends; the limit is %.0f million: use fewer "
      "ranks, or replay: flow",
      call->n, sends, MOST_SENDS / 1e6);
}

OrrCollectiveSteps *orr_collective_steps_new(const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
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
