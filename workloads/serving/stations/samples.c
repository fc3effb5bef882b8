/*
 * samples.c - several outputs of one prompt (vLLM's n), which its client gets together.
 *
 *   one replica                  the first output computes the prompt; with its first token the
 *                                others begin there, as requests whose prefix can be found again
 *   separate prefill, decode     each output is a request of its own from the beginning, with a
 *                                prefill and a hand-over: vLLM's front end splits them before
 *                                either replica sees them
 *
 * The request ends with its last output.
 *
 *   workload: {samples: 4, engine: {prefix-caching: block-hash}}
 */
#include "workloads/serving/stations/station.h"

#include "workloads/serving/stations/exclusions.h"

/* The outputs of a prompt. */
typedef struct {
  OrrRequest *first;
  gint64 left; /* that have not ended */
  gboolean is_split;
} Family;

typedef struct {
  OrrRoute *route;
  GHashTable *families; /* OrrRequest* -> Family* */
  OrrPool *pool;
} Samples;

static Family *family_of(const Samples *samples, const OrrRequest *request) {
  return g_hash_table_lookup(samples->families, request);
}

static gboolean open(OrrStop *stop, GError **error) {
  Samples *samples = g_new(Samples, 1);
  *samples = (Samples){.route = stop->route,
                       .families = g_hash_table_new(g_direct_hash, g_direct_equal),
                       .pool = orr_pool_new(sizeof(Family), NULL)};
  stop->state = samples;
  return TRUE;
}

static void close(gpointer state) {
  Samples *samples = state;
  g_hash_table_unref(samples->families);
  orr_pool_free(samples->pool);
  g_free(samples);
}

static void made(gpointer state, OrrRequest *request) {
  Samples *samples = state;
  Family *family = orr_pool_take(samples->pool);
  *family = (Family){.first = request, .left = samples->route->run->work->params.samples};
  g_hash_table_insert(samples->families, request, family);
}

static OrrRequest *add_output(Samples *samples, Family *family, guint32 sample) {
  OrrRequest *output = orr_route_another(samples->route, family->first, sample);
  g_hash_table_insert(samples->families, output, family);
  return output;
}

void orr_samples_split(OrrRoute *route, OrrRequest *first) {
  Samples *samples = orr_route_state(route, &orr_station_samples);
  Family *family = samples ? family_of(samples, first) : NULL;
  if (!family || family->first != first || family->is_split) return;
  family->is_split = TRUE;
  const guint32 n = (guint32)family->left;
  for (guint32 sample = 1; sample < n && !route->run->error; sample++)
    orr_route_enter(route, add_output(samples, family, sample), 0);
}

static void first_token(gpointer state, OrrReplica *replica, OrrRequest *request) {
  Samples *samples = state;
  Family *family = family_of(samples, request);
  if (!family || family->first != request || family->is_split) return;
  family->is_split = TRUE;
  const guint32 n = (guint32)family->left;
  for (guint32 sample = 1; sample < n; sample++)
    orr_replica_add_output(replica, add_output(samples, family, sample));
}

static OrrRequest *leave(gpointer state, OrrReplica *replica, OrrRequest *request) {
  Samples *samples = state;
  Family *family = family_of(samples, request);
  if (!family) return request;
  OrrRequest *first = family->first;
  first->last_token_s = fmax(first->last_token_s, request->seen_s);
  if (request != first) {
    first->preemptions += request->preemptions;
    orr_route_drop(samples->route, request);
  }
  return --family->left > 0 ? NULL : first;
}

static void forget(gpointer state, const OrrRequest *request) {
  Samples *samples = state;
  Family *family = family_of(samples, request);
  if (!family) return;
  g_hash_table_remove(samples->families, request);
  if (family->first == request) orr_pool_give(samples->pool, family);
}

static gboolean is_bound(gpointer state, const OrrRequest *request) {
  const Family *family = family_of(state, request);
  return family && (family->first != request || family->left > 1);
}

static gboolean is_on(const OrrServing *params) { return params->samples > 1; }

static void check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                  OrrDiags *diags) {
  if (params->samples > params->engine.max_num_seqs)
    orr_diags_error(diags, place, "samples (%ld) of a prompt are above engine.max-num-seqs (%ld)",
                    params->samples, params->engine.max_num_seqs);
}

static const OrrStationExclusion excludes[] = {
    {"disaggregation with admission.queue", orr_exclusions_disaggregation_and_queue,
     "outputs come one by one, and some of a prompt's could be rejected"},
    {"encoders with disaggregation", orr_exclusions_encoders_and_disaggregation,
     "the outputs of a prompt are requests of their own, and its images are encoded once"},
    {0}};

const OrrStation orr_station_samples = {
    .entry = {"samples", "Several outputs of a prompt, which end together.", NULL},
    .section = "samples",
    .is_on = is_on,
    .excludes = excludes,
    .check = check,
    .open = open,
    .close = close,
    .made = made,
    .first_token = first_token,
    .leave = leave,
    .forget = forget,
    .is_bound = is_bound,
};
