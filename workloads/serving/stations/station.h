/*
 * station.h - what a request crosses between its arrival and its end.
 *
 *   enter      encoders > samples > handover > gateway > regions > embeddings > beam search >
 *              a core's queue
 *   leave      the same stations in the same order, once the engine is done with the request
 *
 * A route has the stations that a workload's document switches on, so that a plain chat request
 * crosses the gateway alone. A station keeps what it knows of a request in a table of its own, by
 * request, and declares the options that it excludes: exclusions.c refuses them.
 *
 * Invariants
 *  1. A request is with one station at a time: the one that last answered ORR_STATION_HOLDS and has
 *     not called orr_route_go_on since. After the last station it waits at its replica.
 *  2. `forget` is called once for each request that a route has made, before its memory is used
 *     again: no table holds it afterwards.
 *
 * To add one: write workloads/serving/stations/NAME.c with one `const OrrStation`, add it to the
 * array in station.c and to meson.build.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/random.h"
#include "workloads/serving/replica/replica.h"

typedef struct OrrRoute OrrRoute;
typedef struct OrrStation OrrStation;

/* A station on the route of one run. */
typedef struct {
  const OrrStation *station;
  gpointer state;
  OrrRoute *route;
  guint place; /* on the route */
} OrrStop;

typedef enum { ORR_STATION_PASSES, ORR_STATION_HOLDS, ORR_STATION_REJECTS } OrrStationAnswer;

/* An option of a document, or two together, that a station excludes. */
typedef struct {
  const char *option; /* as documents name it */
  gboolean (*is_on)(const OrrServing *params, const OrrModel *model);
  const char *because;
} OrrStationExclusion;

struct OrrStation {
  OrrEntry entry;
  const char *section; /* of the workload's document, that switches it on; NULL: always on */
  gboolean (*is_on)(const OrrServing *params);
  const OrrStationExclusion *excludes; /* ends with an empty one; NULL: nothing */
  /* What else the document must give; NULL: nothing. */
  void (*check)(const OrrServing *params, const OrrModel *model, OrrPlace place, OrrDiags *diags);
  gboolean holds_tokens; /* clients get outputs as a whole: tokens are not streamed */

  /* Sets stop->state. FALSE with @error. */
  gboolean (*open)(OrrStop *stop, GError **error);
  void (*close)(gpointer state);

  /* The following functions are optional. */
  void (*made)(gpointer state, OrrRequest *request); /* completes a new request of the load */
  OrrStationAnswer (*enter)(gpointer state, OrrRequest *request);
  void (*first_token)(gpointer state, OrrReplica *replica, OrrRequest *request);
  /* The engine is done with @request. Returns what leaves: @request, the request that it was an
   * output of, or NULL where that goes on. */
  OrrRequest *(*leave)(gpointer state, OrrReplica *replica, OrrRequest *request);
  /* Its last token is written. TRUE: the station brings it to its client, and then reports
   * `ended` itself. */
  gboolean (*bring)(gpointer state, OrrRequest *request);
  void (*add_row)(gpointer state, const OrrRequest *request, OrrServingRequestRow *row);
  void (*forget)(gpointer state, const OrrRequest *request);
  /* The replica of @request is lost: it enters again, or fails. */
  void (*lose)(gpointer state, OrrRequest *request);
  /* Others of the same client depend on @request: it cannot fail alone. */
  gboolean (*is_bound)(gpointer state, const OrrRequest *request);

  /* What the station has of a request becomes another's (a prefill's copy). */
  void (*move)(gpointer state, OrrRequest *from, OrrRequest *to);
  /* Appends the requests that were on their way to replica @i or from it. */
  void (*lose_replica)(gpointer state, guint i, GPtrArray *requests);
  /* @request is the station's own and nobody's: no client sees its tokens, and it ends with its
   * replica. */
  gboolean (*owns)(gpointer state, const OrrRequest *request);
  void (*replica_up)(gpointer state);
  void (*opened)(gpointer state, OrrReplica *replica, guint core); /* see OrrReplicaReports */
  void (*room)(gpointer state, OrrRequest *request);
  void (*waits)(gpointer state, OrrReplica *replica, OrrRequest *request);
  void (*planned)(gpointer state, OrrReplica *replica);
  void (*chunk)(gpointer state, OrrRequest *request, gint64 tokens, double step_s);
  void (*blocks)(gpointer state, guint replica, const OrrTextBlocks *blocks, gboolean is_there);
  /* TRUE: the GPU is the station's. */
  gboolean (*gpu_changed)(gpointer state, const OrrGpuChange *change);
  gboolean (*is_busy)(gpointer state); /* something is under way, whatever the replicas do */
};

extern const OrrStation *const orr_station_all[]; /* in the order of the route; NULL at the end */

/* --- a route: route.c --- */

/* What a route reports to its fleet. */
typedef struct {
  void *user;
  /* @request has its first token */
  void (*answered)(void *user, const OrrRequest *request, double ttft_s);
  void (*idle)(void *user, guint replica); /* a request has left the replica */
  /* a request waits, and none of the replicas that serve it takes it */
  void (*wanted)(void *user, const gboolean *serves);
  void (*rejected)(void *user, OrrRequest *request); /* by a station that it reached later */
  void (*homeless)(void *user, OrrRequest *request); /* its replica is lost */
  void (*ended)(void *user, OrrRequest *request);    /* takes the request */
} OrrRouteReports;

struct OrrRoute {
  OrrServingRun *run;
  OrrStop *stops;
  guint n_stops;
  OrrReplica **replicas;
  gboolean *is_up; /* by replica: it is given requests */
  OrrTierStore *remote;
  OrrPool *requests;
  OrrReplicaReports replica_reports;
  OrrRouteReports reports;
};

gboolean orr_route_open(OrrRoute *route, OrrServingRun *run, const OrrRouteReports *reports,
                        GError **error);
void orr_route_close(OrrRoute *route);
gpointer orr_route_state(const OrrRoute *route, const OrrStation *station); /* NULL: it is off */

OrrRequest *orr_route_new_request(OrrRoute *route); /* all zero */
void orr_route_made(OrrRoute *route, OrrRequest *request);
/* An output of the prompt of @first. */
OrrRequest *orr_route_another(OrrRoute *route, const OrrRequest *first, guint32 sample);
void orr_route_forget(OrrRoute *route, const OrrRequest *request);
void orr_route_drop(OrrRoute *route, OrrRequest *request); /* forgets it and frees it */

/* From stop @i on. FALSE: rejected. */
gboolean orr_route_enter(OrrRoute *route, OrrRequest *request, guint i);
void orr_route_go_on(const OrrStop *stop, OrrRequest *request); /* past @stop, which held it */
void orr_route_lose(OrrRoute *route, OrrRequest *request);
gboolean orr_route_is_bound(const OrrRoute *route, const OrrRequest *request);
void orr_route_move(OrrRoute *route, OrrRequest *from, OrrRequest *to);
/* Every request of replica @i, which is lost: by number, each once. */
GPtrArray *orr_route_lose_replica(OrrRoute *route, guint i);
void orr_route_replica_up(OrrRoute *route);
void orr_route_add_row(const OrrRoute *route, const OrrRequest *request, OrrServingRequestRow *row);
void orr_route_answered(const OrrRoute *route, const OrrRequest *request, double at_s);

/* encoders.c: bytes of the embeddings that each GPU of an engine has room for (encoders.cache); 0
 * without encoders. */
double orr_encoders_cache_bytes(const OrrServing *params, const OrrModel *model);

/* samples.c: the outputs of one prompt (vLLM's n). */

extern const OrrStation orr_station_samples;

/* The other outputs of @first enter the route as requests of their own, unless they have begun. */
void orr_samples_split(OrrRoute *route, OrrRequest *first);

/* beams.c: the beams of one beam search: which blocks of the cache each has, and which of them it
 * shares.
 *
 *   prompt's whole blocks    | the prompt's last block | blocks of generated tokens
 *   shared by all            beam 0   a  b  c
 *                            beam 1   a  b  d           b is shared by two, a by three: c, d, e are
 *                                                       one beam's each
 *                            beam 2   a  e
 *
 * A token is a fork and an append. Fork: each beam of the next step goes on from one of this
 * step's, drawn anew with weights (rank + 1)^-skew, whose blocks it shares; a beam that nobody
 * goes on from is gone, with the blocks that only it had. Append: room for a token of each beam; a
 * beam at a block's end begins a new one, one whose last block others share copies it first
 * (copy-on-write), but for the last that shares it. So a beam's last block is always its own, and
 * the number of a block stands for all tokens up to its last one.
 *
 * Which beam has the better children is the model's affair, and not known here. Without skew this
 * is the neutral Wright-Fisher process: of k beams k (1 - (1 - 1/k)^k) have children, and two
 * beams have had different forebears d forks ago with probability (1 - 1/k)^d, which is the oracle
 * of how many blocks there are.
 */

typedef struct OrrBeams OrrBeams;

/* An error for a search of @width beams that an engine or a vocabulary is too small for. */
void orr_beams_check(gint64 width, gint64 max_num_seqs, gint64 vocab, OrrPlace place,
                     OrrDiags *diags);

/* After a prompt's first token: @width beams, which share its last block where that is not full. */
OrrBeams *orr_beams_new(guint width, gint64 prompt, gint64 block_size, double skew, guint64 seed);
void orr_beams_free(OrrBeams *beams); /* NULL is fine */

void orr_beams_append(OrrBeams *beams); /* nothing where there is room for the next token already */
void orr_beams_fork(OrrBeams *beams);   /* the tokens that there was room for are there */
/* The block of @beam that holds token @block * size of its sequence, not a whole one of the
 * prompt; it differs from all others of these beams at any time. */
guint32 orr_beams_block(const OrrBeams *beams, guint beam, gint64 block);

/* adapters.c: low-rank adapters of an engine core: which of many are on the GPU.
 *
 *   host memory: all   --host link-->   slots on the GPU (vLLM's max_loras)
 *
 * Running requests hold the slots of their adapters; of the others the least recently used one is
 * replaced. A request whose adapter is not there waits for a slot that nobody holds; its first step
 * waits for the adapter's bytes.
 */

typedef struct OrrAdapters OrrAdapters;

/* Of @n adapters, numbered from 1, with @slots on the GPU; NULL for none. */
OrrAdapters *orr_adapters_new(guint n, guint slots);
void orr_adapters_free(OrrAdapters *adapters);

/* it is there, or a slot is free for it */
gboolean orr_adapters_fit(const OrrAdapters *adapters, guint adapter);
/* TRUE: it has to be loaded. It fits */
gboolean orr_adapters_hold(OrrAdapters *adapters, guint adapter);
void orr_adapters_release(OrrAdapters *adapters, guint adapter);
