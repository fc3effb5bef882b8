/*
 * beam_search.c - beam search in the front end, as vLLM searches from 0.6.3 on
 * (entrypoints/llm.py and the OpenAI server, v0.19): the engine knows nothing of it.
 *
 *   round 0   the prompt                       one request of one token, with its best 2 width
 *                                              candidates
 *   round t   prompt + t tokens of each beam   width requests of one token, with 2 width candidates
 *                                              each; of the width * 2 width sequences the best
 *                                              width are the beams of the next round
 *
 * A round ends with its last request; the front end hears of it `host.token` later, and the next
 * round's requests queue like any others, at the replica that the first went to. Prefix caching
 * shares the blocks of beams and of rounds: each request finds all full blocks of its beam and
 * computes the rest of the last one again, 1 to block-size tokens; without it each computes prompt
 * and output so far anew. Which beams go on is station.h's.
 *
 * Nothing is streamed ("we do not stream the results when use beam search"): the first token comes
 * with the last. The client gets all beams. No beam ends before the others (ignore_eos).
 *
 *   workload: {beam-search: {width: 4}, engine: {prefix-caching: block-hash}}
 */
#include "workloads/serving/stations/station.h"
#include "workloads/serving/stations/exclusions.h"

typedef struct BeamSearch BeamSearch;

/* One search: a request of the load, and the requests of its round. */
typedef struct {
  OrrBlockNaming naming; /* first: of the beams' blocks */
  BeamSearch *station;
  OrrRequest *first;
  OrrBeams *beams; /* from the first token on */
  gint32 left;     /* beams of the round that have not ended */
  OrrReplica *replica;
  guint generation; /* of the replica, when the next round was sent there */
} Search;

struct BeamSearch {
  OrrRoute *route;
  const OrrStop *stop;
  GHashTable *searches; /* OrrRequest*, of the load or a beam -> Search* */
  OrrPool *pool;
};

enum { OF_BEAM = 8 }; /* kind of a block's name; block_names.c has those below */

static guint64 key(const OrrBlockNaming *naming, const OrrRequest *request, gint64 block) {
  const Search *search = (const Search *)naming;
  return orr_random_hash3(OF_BEAM, search->first->id,
                          orr_beams_block(search->beams, request->sample, block));
}

static Search *search_of(const BeamSearch *station, const OrrRequest *request) {
  return g_hash_table_lookup(station->searches, request);
}

static void clear_search(gpointer search) {
  g_clear_pointer(&((Search *)search)->beams, orr_beams_free);
}

static gboolean open(OrrStop *stop, GError **error) {
  BeamSearch *station = g_new(BeamSearch, 1);
  *station = (BeamSearch){.route = stop->route,
                          .stop = stop,
                          .searches = g_hash_table_new(g_direct_hash, g_direct_equal),
                          .pool = orr_pool_new(sizeof(Search), clear_search)};
  stop->state = station;
  return TRUE;
}

static void close(gpointer state) {
  BeamSearch *station = state;
  g_hash_table_unref(station->searches);
  orr_pool_free(station->pool);
  g_free(station);
}

static const OrrServing *params_of(const BeamSearch *station) {
  return &station->route->run->work->params;
}

/* --- rounds --- */

static OrrRequest *beam_of(Search *search, guint i) {
  const OrrRequest *first = search->first;
  OrrRequest *beam = orr_route_another(search->station->route, first, i);
  beam->prompt = first->prompt + first->generated;
  beam->output = 1;
  beam->images = first->generated == 0 ? first->images : 0; /* their embeddings are cached */
  if (search->beams) beam->naming = &search->naming;
  g_hash_table_insert(search->station->searches, beam, search);
  return beam;
}

static gint32 beams_of_round(const Search *search) {
  const gint64 width = params_of(search->station)->beams.width;
  return search->first->generated > 0 ? (gint32)width : 1;
}

/* The search counts as a request of the replica between two rounds. */
static void begin_round(Search *search) {
  search->left = beams_of_round(search);
  orr_replica_count(search->replica, -1);
  for (gint32 i = 0; i < beams_of_round(search); i++)
    orr_replica_add_output(search->replica, beam_of(search, (guint)i));
  orr_replica_notice(search->replica);
}

/* The replica is lost since: the beams go elsewhere, or the run ends. */
static void move_round(Search *search) {
  OrrRoute *route = search->station->route;
  const gint32 n = search->left = beams_of_round(search);
  for (gint32 i = 0; i < n && !route->run->error; i++)
    route->reports.homeless(route->reports.user, beam_of(search, (guint)i));
}

static void round_comes(void *user) {
  Search *search = user;
  if (search->station->route->run->error) return;
  if (search->generation != orr_replica_generation(search->replica))
    move_round(search);
  else
    begin_round(search);
}

static void next_round(Search *search, OrrReplica *replica) {
  const OrrServingRun *run = search->station->route->run;
  const OrrServing *params = &run->work->params;
  OrrRequest *first = search->first;
  if (search->beams)
    orr_beams_fork(search->beams);
  else
    search->beams = orr_beams_new((guint)params->beams.width, first->prompt,
                                  params->engine.block_size, params->beams.skew,
                                  orr_random_hash3((guint64)run->work->world->seed, first->id, 0));
  orr_beams_append(search->beams);
  first->replica = (gint32)orr_replica_index(replica);
  search->replica = replica;
  search->generation = orr_replica_generation(replica);
  orr_replica_count(replica, 1);
  if (params->engine.host.token_s <= 0)
    begin_round(search);
  else
    orr_engine_after(run->engine, params->engine.host.token_s, round_comes, search);
}

/* --- the station --- */

static Search *new_search(BeamSearch *station, OrrRequest *request) {
  Search *search = orr_pool_take(station->pool);
  *search = (Search){.naming = {request->prompt, key}, .station = station, .first = request};
  g_hash_table_insert(station->searches, request, search);
  return search;
}

/* A beam that goes to another replica queues there; a search begins, or begins anew. */
static OrrStationAnswer enter(gpointer state, OrrRequest *request) {
  BeamSearch *station = state;
  Search *search = search_of(station, request);
  if (search && search->first != request) return ORR_STATION_PASSES;
  if (!search) search = new_search(station, request);
  search->replica = station->route->replicas[request->replica];
  begin_round(search);
  return ORR_STATION_HOLDS;
}

static OrrRequest *leave(gpointer state, OrrReplica *replica, OrrRequest *beam) {
  BeamSearch *station = state;
  Search *search = search_of(station, beam);
  OrrRequest *first = search->first;
  if (first->scheduled_s < 0) {
    first->scheduled_s = beam->scheduled_s;
    first->hit = beam->hit;
  }
  first->preemptions += beam->preemptions;
  first->last_token_s = MAX(first->last_token_s, beam->last_token_s);
  orr_route_drop(station->route, beam);
  if (--search->left > 0) return NULL;
  if (++first->generated < first->output) {
    next_round(search, replica);
    return NULL;
  }
  first->first_token_s = first->last_token_s =
      orr_replica_stream(replica, first, first->output, first->last_token_s);
  orr_route_answered(station->route, first, first->first_token_s);
  return first;
}

static void forget(gpointer state, const OrrRequest *request) {
  BeamSearch *station = state;
  Search *search = search_of(station, request);
  if (!search) return;
  g_hash_table_remove(station->searches, request);
  if (search->first != request) return;
  clear_search(search);
  orr_pool_give(station->pool, search);
}

static gboolean is_bound(gpointer state, const OrrRequest *request) {
  const Search *search = search_of(state, request);
  return search && search->first != request;
}

static gboolean is_on(const OrrServing *params) { return params->beams.width > 1; }

/* Every sequence of a step lists its best candidates. */
static void list_candidates(gpointer state, OrrCore *core) {
  core->shape.candidates = core->shape.logits;
}

static const OrrCoreHooks hooks = {.plan = list_candidates};

static void opened(gpointer state, OrrReplica *replica, guint core) {
  orr_core_hook(orr_replica_core(replica, core), &hooks, state);
}

static void check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                  OrrDiags *diags) {
  orr_beams_check(params->beams.width, params->engine.max_num_seqs, model->vocab, place, diags);
}

static const OrrStationExclusion excludes[] = {
    {"samples", orr_exclusions_samples, "a search returns all its beams"},
    {"engine.speculation", orr_exclusions_speculation,
     "vLLM refuses them together; set engine.speculation to none"},
    {"disaggregation", orr_exclusions_disaggregation,
     "each step of a search is prompts of one output token, which are never handed over to a "
     "decoder"},
    {0}};

const OrrStation orr_station_beam_search = {
    .entry = {"beam-search", "Beam search in the front end: a request for each beam and token.",
              NULL},
    .section = "beam-search",
    .is_on = is_on,
    .excludes = excludes,
    .check = check,
    .holds_tokens = TRUE,
    .open = open,
    .close = close,
    .enter = enter,
    .leave = leave,
    .forget = forget,
    .is_bound = is_bound,
    .opened = opened,
};
