/*
 * beam_search.c - beam search in the front end, as vLLM searches from 0.6.3 on
 * (entrypoints/llm.py and the OpenAI server, v0.19): the engine knows nothing of it.
 *
 *   round 0   the prompt                       one request of one token, with its best 2 width candidates
 *   round t   prompt + t tokens of each beam   width requests of one token, with 2 width candidates each; of the width *
 *                                              2 width sequences the best width are the beams of the next round
 *
 * A round ends with its last request; the front end hears of it `host.token` later, and the next
 * round's requests queue like any others, at the replica that the first went to. Prefix caching
 * shares the blocks of beams and of rounds: each request finds all full blocks of its beam and
 * computes the rest of the last one again, 1 to block-size tokens; without it each computes prompt
 * and output so far anew. Which beams go on is beams.h's.
 *
 * Nothing is streamed ("we do not stream the results when use beam search"): the first token comes
 * with the last. The client gets all beams. No beam ends before the others (ignore_eos).
 *
 *   workload: {beam-search: {width: 4}, engine: {prefix-caching: block-hash}}
 *
 * `by: engine` is vLLM to 0.6.2: width sequences of one request, whose blocks fork
 * (core.c).
 */
#include "workloads/serving/stations/beams.h"
#include "workloads/serving/replica/replica_private.h"

/* The next step of a search, on its way to the engine. */
typedef struct {
  OrrReplica *replica;
  OrrRequest *first;
  guint generation; /* of the replica */
} Round;

OrrPool *orr_beam_search_rounds(void) { return orr_pool_new(sizeof(Round), NULL); }

gboolean orr_beam_search_takes(const OrrFleet *fleet, const OrrRequest *request) {
  return request->beam_width > 1 && !request->parent &&
         fleet->work->params.beams.by == ORR_BEAMS_FRONT_END;
}

static OrrRequest *beam_of(OrrFleet *fleet, OrrRequest *first, guint i) {
  OrrRequest *beam = fleet->another(fleet, first, i);
  beam->prompt = first->prompt + first->generated;
  beam->output = 1;
  beam->images = first->generated == 0 ? first->images : 0; /* their embeddings are cached */
  beam->lists_candidates = TRUE;
  return beam;
}

static gint32 beams_of_round(const OrrRequest *first) {
  return first->generated > 0 ? first->beam_width : 1;
}

/* The search counts as a request of the replica between two rounds. */
static void begin_round(OrrReplica *replica, OrrRequest *first) {
  first->samples_left = beams_of_round(first);
  replica->n_requests--;
  for (gint32 i = 0; i < beams_of_round(first); i++)
    orr_replica_add_output(replica, beam_of(replica->fleet, first, (guint)i));
  orr_replica_notice(replica);
}

void orr_beam_search_begin(OrrReplica *replica, OrrRequest *first) { begin_round(replica, first); }

/* Its replica is lost since: the beams go elsewhere, or the run ends. */
static void move_round(OrrFleet *fleet, OrrRequest *first) {
  const gint32 n = first->samples_left = beams_of_round(first);
  for (gint32 i = 0; i < n && !fleet->error; i++)
    fleet->homeless(fleet, beam_of(fleet, first, (guint)i));
}

static void round_comes(void *user) {
  Round *round = user;
  OrrReplica *replica = round->replica;
  OrrFleet *fleet = replica->fleet;
  OrrRequest *first = round->first;
  const gboolean is_lost = round->generation != replica->generation;
  orr_pool_give(fleet->rounds, round);
  if (fleet->error) return;
  if (is_lost)
    move_round(fleet, first);
  else
    begin_round(replica, first);
}

static void next_round(OrrReplica *replica, OrrRequest *first) {
  OrrFleet *fleet = replica->fleet;
  const OrrServing *params = &fleet->work->params;
  if (first->beams)
    orr_beams_fork(first->beams);
  else
    first->beams = orr_beams_new((guint)first->beam_width, first->prompt, params->engine.block_size,
                                 params->beams.skew,
                                 orr_random_hash3((guint64)fleet->work->world->seed, first->id, 0));
  orr_beams_append(first->beams);
  first->replica = replica->index;
  replica->n_requests++;
  if (params->engine.host.token_s <= 0) {
    begin_round(replica, first);
    return;
  }
  Round *round = orr_pool_take(fleet->rounds);
  *round = (Round){replica, first, replica->generation};
  orr_engine_after(fleet->engine, params->engine.host.token_s, round_comes, round);
}

gboolean orr_beam_search_token(OrrReplica *replica, OrrRequest *beam) {
  OrrRequest *first = beam->parent;
  if (first->scheduled_s < 0) {
    first->scheduled_s = beam->scheduled_s;
    first->hit = beam->hit;
  }
  first->preemptions += beam->preemptions;
  first->last_token_s =
      beam->last_token_s > first->last_token_s ? beam->last_token_s : first->last_token_s;
  replica->fleet->drop(replica->fleet, beam);
  if (--first->samples_left > 0) return FALSE;
  if (++first->generated < first->output) {
    next_round(replica, first);
    return FALSE;
  }
  g_clear_pointer(&first->beams, orr_beams_free);
  return TRUE;
}
