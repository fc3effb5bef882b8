/*
 * beam_forks.c - beam search in the engine, as vLLM searched to 0.6.2: width sequences of one
 * request, whose blocks fork.
 *
 *   prompt      one sequence
 *   token 1     width beams, which share the prompt's blocks
 *   token t     each beam goes on from one of those before it; blocks are copied on write
 *
 * Which blocks the beams have is beams.c's. A request is admitted when there are sequences for all
 * its beams, and a preempted one is swapped: its forks cannot be computed again. Nothing is
 * streamed: the first token comes with the last, and the client gets all beams.
 *
 *   workload: {beam-search: {width: 4, by: engine}}
 */
#include "workloads/serving/stations/station.h"
#include "workloads/serving/stations/exclusions.h"

typedef struct {
  OrrRoute *route;
  GHashTable *beams; /* OrrRequest* -> OrrBeams*, from its first token on; owned */
} BeamForks;

static OrrBeams *beams_of(const OrrCore *core, const OrrRequest *request) {
  return g_hash_table_lookup(((const BeamForks *)core->sequencing_state)->beams, request);
}

/* --- how requests take room --- */

/* A token of each beam; in this step or, where its budget is not enough for all, a later one. */
static gboolean give(OrrCore *core, OrrRequest *request, gint64 tokens) {
  OrrBeams *beams = beams_of(core, request);
  if (!beams) return orr_core_one_sequence.give(core, request, tokens);
  const gint64 fresh = orr_beams_fresh(beams);
  if (request->sequences > core->budget) return TRUE;
  if (fresh > orr_kv_n_free(core->kv)) return FALSE;
  core->copied_blocks += orr_beams_copies(beams);
  orr_kv_take(core->kv, request, fresh);
  orr_beams_append(beams);
  request->scheduled = 1;
  core->budget -= request->sequences;
  orr_core_schedule(core, request);
  return TRUE;
}

/* What beams hold: the prompt's whole blocks, and those that they have together. */
static gint64 blocks_held(const OrrCore *core, const OrrRequest *request, const OrrBeams *beams) {
  return request->prompt / orr_kv_block_size(core->kv) + orr_beams_blocks(beams);
}

static gint64 needed(const OrrCore *core, const OrrRequest *request, gint64 tokens, gint64 hit) {
  const OrrBeams *beams = beams_of(core, request);
  if (!beams) return orr_core_one_sequence.needed(core, request, tokens, hit);
  return blocks_held(core, request, beams) + orr_beams_fresh(beams);
}

static void take(OrrCore *core, OrrRequest *request, gint64 tokens) {
  const OrrBeams *beams = beams_of(core, request);
  if (beams)
    orr_kv_take(core->kv, request, blocks_held(core, request, beams));
  else
    orr_core_one_sequence.take(core, request, tokens);
}

/* The beams begin, or the next step's go on from some of them. */
static void token(OrrCore *core, OrrRequest *request) {
  const BeamForks *forks = core->sequencing_state;
  const OrrServingWork *work = forks->route->run->work;
  OrrBeams *beams = beams_of(core, request);
  if (beams) {
    orr_beams_fork(beams);
  } else {
    beams = orr_beams_new((guint)work->params.beams.width, request->prompt,
                          orr_kv_block_size(core->kv), work->params.beams.skew,
                          orr_random_hash3((guint64)work->world->seed, request->id, 0));
    g_hash_table_insert(forks->beams, request, beams);
    request->sequences = request->most_sequences;
  }
  orr_kv_shrink(core->kv, request, 0, blocks_held(core, request, beams));
}

static const OrrCoreSequencing sequencing = {
    .give = give, .needed = needed, .take = take, .token = token};

/* --- the station --- */

static void free_beams(gpointer beams) { orr_beams_free(beams); }

static gboolean open(OrrStop *stop, GError **error) {
  BeamForks *forks = g_new(BeamForks, 1);
  *forks =
      (BeamForks){.route = stop->route,
                  .beams = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_beams)};
  stop->state = forks;
  return TRUE;
}

static void close(gpointer state) {
  g_hash_table_unref(((BeamForks *)state)->beams);
  g_free(state);
}

static void made(gpointer state, OrrRequest *request) {
  request->most_sequences =
      (gint32)((const BeamForks *)state)->route->run->work->params.beams.width;
}

/* Every sequence of a step lists its best candidates. */
static void list_candidates(gpointer state, OrrCore *core) {
  core->shape.candidates = core->shape.logits;
}

static const OrrCoreHooks hooks = {.plan = list_candidates};

static void opened(gpointer state, OrrReplica *replica, guint i) {
  OrrCore *core = orr_replica_core(replica, i);
  orr_core_hook(core, &hooks, state);
  core->sequencing = &sequencing;
  core->sequencing_state = state;
}

static OrrRequest *leave(gpointer state, OrrReplica *replica, OrrRequest *request) {
  const BeamForks *forks = state;
  g_hash_table_remove(forks->beams, request);
  request->first_token_s = request->last_token_s =
      orr_replica_stream(replica, request, request->output, request->last_token_s);
  orr_route_answered(forks->route, request, request->first_token_s);
  return request;
}

static void forget(gpointer state, const OrrRequest *request) {
  g_hash_table_remove(((const BeamForks *)state)->beams, request);
}

/* Its client has nothing yet: the search begins anew. */
static void lose(gpointer state, OrrRequest *request) {
  if (request->sequences > 1) request->generated = 0;
  request->sequences = 1;
  forget(state, request);
}

static gboolean is_on(const OrrServing *params) {
  return params->beams.width > 1 && params->beams.by == ORR_BEAMS_ENGINE;
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
    {"engine.prefix-caching", orr_exclusions_prefix_caching,
     "forks share blocks by themselves; use prefix-caching none, or by: front-end"},
    {"an engine.scheduler that reserves outputs", orr_exclusions_reserving_scheduler,
     "it takes room for outputs when requests begin, and the blocks that beams will share are not "
     "known then"},
    {"a model with layers that keep a state or a window", orr_exclusions_state_or_window,
     "forks do not share the blocks of layers with a state or a window; use by: front-end"},
    {0}};

const OrrStation orr_station_beam_forks = {
    .entry = {"beam-forks", "Beam search in the engine: sequences of a request that fork.", NULL},
    .section = "beam-search.by engine",
    .is_on = is_on,
    .excludes = excludes,
    .check = check,
    .holds_tokens = TRUE,
    .open = open,
    .close = close,
    .made = made,
    .leave = leave,
    .forget = forget,
    .lose = lose,
    .opened = opened,
};
