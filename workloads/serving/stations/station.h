/*
 * station.h - what a request crosses between its arrival and its end.
 *
 *   enter      encoders > samples > handover > gateway > embeddings > beam search > a core's queue
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
#ifndef ORR_STATION_H
#define ORR_STATION_H

#include "workloads/serving/replica/replica.h"

G_BEGIN_DECLS

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
  /* @request, of a lost replica, is the station's own and nobody's request. */
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
  void (*answered)(void *user, double ttft_s);       /* a request has its first token */
  void (*idle)(void *user, guint replica);           /* a request has left the replica */
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

gboolean orr_route_enter(OrrRoute *route, OrrRequest *request); /* FALSE: rejected */
void orr_route_go_on(const OrrStop *stop, OrrRequest *request); /* past @stop, which held it */
void orr_route_lose(OrrRoute *route, OrrRequest *request);
gboolean orr_route_is_bound(const OrrRoute *route, const OrrRequest *request);
void orr_route_move(OrrRoute *route, OrrRequest *from, OrrRequest *to);
/* Every request of replica @i, which is lost: by number, each once. */
GPtrArray *orr_route_lose_replica(OrrRoute *route, guint i);
void orr_route_replica_up(OrrRoute *route);
void orr_route_add_row(const OrrRoute *route, const OrrRequest *request, OrrServingRequestRow *row);
void orr_route_answered(const OrrRoute *route, const OrrRequest *request, double at_s);

G_END_DECLS

#endif
