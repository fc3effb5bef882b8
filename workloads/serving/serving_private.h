/*
 * serving_private.h - what the serving_*.c files share. Nobody else includes it.
 */
#ifndef ORR_SERVING_PRIVATE_H
#define ORR_SERVING_PRIVATE_H

#include "sim/base/pool.h"
#include "workloads/serving/serving.h"

G_BEGIN_DECLS

/* serving_check.c */
/* OrrWorkloadKind's */
const char *orr_serving_refuse_return(const void *params, const OrrCluster *cluster);
void orr_serving_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                       OrrPlace place, OrrDiags *diags);
OrrWork *orr_serving_compile(const void *params, const OrrWorld *world, GError **error);
void orr_serving_work_free(OrrWork *work);
gint64 orr_serving_replicas(const OrrServing *params, const OrrCluster *cluster);
OrrInferenceShard orr_serving_shard(const OrrServing *params);
OrrLora orr_serving_lora(const OrrServing *params); /* rank 0: no adapters */
gint64 orr_serving_image_tokens(const OrrServing *params, const OrrModel *model); /* of a prompt */
guint orr_serving_n_groups(const OrrServing *params);
/* of a stage, the last one at most */
gint64 orr_serving_layers(const OrrServing *params, const OrrModel *model);

/* fleet.c */
gboolean orr_serving_begin(OrrWork *work, const OrrLivePlace *place, GError **error);
gboolean orr_serving_finish(OrrWork *work, GError **error);
void orr_serving_times(const OrrWork *work, double *ret_end_s, double *ret_answer_s);
void orr_fleet_free(OrrFleet *fleet); /* NULL is fine */

/* --- a replica on the clock: replica.c --- */

typedef struct OrrDoor OrrDoor;
typedef struct OrrHandover OrrHandover;
typedef struct OrrLife OrrLife; /* life.h */
typedef struct OrrHanded OrrHanded;
typedef struct OrrEncoders OrrEncoders;
typedef struct OrrReplica OrrReplica;

/* What a replica tells the fleet. */
struct OrrFleet {
  OrrServingWork *work;
  OrrEngine *engine;
  const OrrLink *links; /* the engine's, by link of the work's program */
  double start_s; /* all dates here are the engine's; what is written down counts from start_s */
  OrrPool *flows; /* transfers that have not ended (serving_paths.c) */
  gint64 n_flows;
  OrrPool *reads, *prefetches; /* of steps, of requests that queue (cache_tiers.c) */
  OrrPool *rounds;             /* of beam searches, between two steps (beam_search.c) */
  OrrPool *deliveries;         /* NULL: none yet; frontend.c */
  gint64 in_system, n_coming;  /* requests; those that will come after another one's end */
  OrrLife *life;               /* NULL: all replicas are up from beginning to end */
  double next_look_s;          /* of the scaler: no run of steps goes past it */
  OrrWorld *worlds;            /* by group: with its device and costs */
  OrrServingCost **costs;      /* by group */
  OrrDrafter **drafters;       /* by group; NULL: nothing is guessed */
  OrrTierStore *remote; /* of all groups, in blocks of the first one's; NULL: there is none */
  OrrReplica **replicas;
  double next_arrival_s; /* of those known in advance; G_MAXDOUBLE: none */
  GError *error;         /* set: nothing more happens */
  void (*ended)(OrrFleet *fleet, OrrRequest *request); /* takes the request */
  OrrRequest *(*another)(OrrFleet *fleet, OrrRequest *first,
                         guint32 sample);             /* output of @first's prompt */
  void (*drop)(OrrFleet *fleet, OrrRequest *request); /* such a one, which has ended */
  void (*homeless)(OrrFleet *fleet,
                   OrrRequest *request); /* its replica is lost: goes elsewhere, or fails */
  OrrEncoders *encoders;                 /* NULL: images are encoded in engines */
  void (*encoded)(OrrFleet *fleet, OrrRequest *request); /* it may go on to a replica */
  OrrDoor *door, *decode_door; /* the second where prefill and decode are apart */
  OrrHandover *handover;       /* NULL: they are not */
  gboolean sees_blocks;        /* the router hears of blocks step by step */
  guint64 seen_steps, step_stride;
};

/* refusals.c: a part of orr_serving_check */
void orr_serving_refuse(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags);

/* objectives.c: once the costs are there */
gboolean orr_fleet_check_objectives(const OrrFleet *fleet, GError **error);

/* tally.c */
void orr_fleet_note_step(OrrFleet *fleet, const OrrServedStep *row);
void orr_fleet_note_gaps(OrrFleet *fleet, double gap_s, guint n); /* @n gaps between tokens */
/* 1: its figures do; 0: it came in the warm-up */
guint orr_fleet_counts(const OrrFleet *fleet, const OrrRequest *request);
gboolean orr_fleet_check_law(const OrrFleet *fleet, GError **error); /* Little's, to 1e-9 */
/* Of a replica of @group: */
/* guessing included */
OrrStepTime orr_fleet_step_time(const OrrFleet *fleet, guint group, const OrrStepShape *shape);
double orr_fleet_host_seconds(const OrrFleet *fleet, guint group, guint sequences); /* of a step */
/* Tells planned cores that step together how many tokens their experts have in all. */
void orr_fleet_share_experts(const OrrFleet *fleet, guint group, OrrCore *cores, guint n_cores);
/* Moving what a batch needs before it begins: requests swapped, what tiers below HBM have,
 * adapters, copies for beams. */
double orr_fleet_swap_seconds(const OrrFleet *fleet, guint group, const OrrCore *core);
/* Blocks of its cache that @bytes of a tier hold. */
gint64 orr_fleet_tier_blocks(const OrrFleet *fleet, guint group, double bytes);

/* --- beam search in the front end: beam_search.c --- */

OrrPool *orr_reads_steps(void); /* cache_tiers.c */
OrrPool *orr_reads_prefetches(void);

OrrPool *orr_beam_search_rounds(void);
/* it is searched by a front end */
gboolean orr_beam_search_takes(const OrrFleet *fleet, const OrrRequest *request);
void orr_beam_search_begin(OrrReplica *replica, OrrRequest *first);
/* A beam's token is there; TRUE: the search is over, and has its last token's date. */
gboolean orr_beam_search_token(OrrReplica *replica, OrrRequest *beam);

OrrReplica *orr_replica_new(OrrFleet *fleet, gint index);
void orr_replica_free(OrrReplica *replica);
void orr_replica_add(OrrReplica *replica, OrrRequest *request); /* now */
/* its embeddings are there: as add */
void orr_replica_seat(OrrReplica *replica, OrrRequest *request);
/* of a request that is there: now */
void orr_replica_add_output(OrrReplica *replica, OrrRequest *output);
gint64 orr_replica_n_requests(const OrrReplica *replica); /* waiting and running */
gint64 orr_replica_n_waiting(const OrrReplica *replica);
/* tokens of its prompt, where it would go */
gint64 orr_replica_cached(OrrReplica *replica, const OrrRequest *request);
/* held, and what the waiting will hold */
gint64 orr_replica_claimed_blocks(const OrrReplica *replica);
gint64 orr_replica_held_blocks(const OrrReplica *replica);
/* A request whose prompt is computed elsewhere: orr_handover_room is called when there is room
 * for it. */
void orr_replica_expect(OrrReplica *replica, OrrRequest *request);
void orr_replica_join(OrrReplica *replica, OrrRequest *request); /* its cache is here: it decodes */
void orr_replica_release(OrrReplica *replica, OrrRequest *request);  /* its cache is elsewhere */
void orr_replica_unexpect(OrrReplica *replica, OrrRequest *request); /* it comes no more */
gboolean orr_replica_is_stepping(const OrrReplica *replica);
/* no request, and no cache that is needed elsewhere */
gboolean orr_replica_is_empty(const OrrReplica *replica);
void orr_replica_slow(OrrReplica *replica, double factor); /* its kernels, from the next step on */
void orr_replica_forget(OrrReplica *replica);              /* its caches; it is empty */
/* All that it had is gone; its requests, as if they had just come, are appended to @requests by
 * their number. Those on their way between two replicas are orr_handover_lose's. */
void orr_replica_lose(OrrReplica *replica, GPtrArray *requests);
/* Closes the books; ORR_FAULT_STUCK where requests are left that no step could serve. */
gboolean orr_replica_close(OrrReplica *replica, GError **error);

/* --- what transfers load: serving_paths.c --- */

typedef struct {
  OrrLinkUse *uses; /* of links of the work's program */
  guint n_uses;
  double latency_s;
  double bytes_per_token; /* of a hand-over, of a unit of weight */
  double state_bytes;     /* the same: of layers with a state, whatever the tokens */
  double n_units;         /* that all ranks send */
} OrrServingWay;

/* at compilation: program, links, all ways */
gboolean orr_serving_wires_plan(OrrServingWork *work, GError **error);
void orr_serving_wires_free(OrrServingWires *wires); /* NULL is fine */
/* its weights; NULL: none */
const OrrServingWay *orr_serving_load_way(const OrrServingWork *work, guint replica);
double orr_serving_load_bytes(const OrrServingWork *work, guint replica); /* of a unit of that */
/* From a core of a replica to one of another. */
const OrrServingWay *orr_serving_handover_way(const OrrServingWork *work, guint from,
                                              guint from_core, guint to, guint to_core);

/* From the store on the network to the ranks of a core; NULL: it is read at a rate of its own. */
const OrrServingWay *orr_serving_remote_way(const OrrServingWork *work, guint replica, guint core);
/* From an encoder to the ranks of a core's first stage; bytes_per_token is an image's. NULL
 * without encoders. */
const OrrServingWay *orr_serving_embedding_way(const OrrServingWork *work, guint encoder, guint to,
                                               guint to_core);

void orr_fleet_open_transfers(OrrFleet *fleet);
void orr_fleet_close_transfers(OrrFleet *fleet);
/* @bytes for each unit of weight of @way, from @delay_s and its latency on; then @done(@user),
 * unless the run has failed by then. */
void orr_fleet_transfer(OrrFleet *fleet, const OrrServingWay *way, double bytes, double delay_s,
                        OrrEngineCall done, void *user);

/* --- from the door to a replica: gateway.c --- */

/* To replicas [first, first + n), which are made after it; limited: by params.admission. */
OrrDoor *orr_door_new(OrrFleet *fleet, guint first, guint n, gboolean is_limited);
void orr_door_free(OrrDoor *door);
/* Sends @request to a replica, or lets it wait for one. FALSE: there is no room for it to wait. */
gboolean orr_door_send(OrrDoor *door, OrrRequest *request);
guint orr_door_pick(OrrDoor *door, const OrrRequest *request); /* a replica, whatever the limits */
/* a request has ended, or a replica is up: one that waits may go */
void orr_door_left(OrrDoor *door);
gboolean orr_door_any_open(OrrDoor *door);
gint64 orr_door_n_waiting(const OrrDoor *door);
void orr_door_block(OrrDoor *door, guint replica, guint64 key, gboolean is_there);

/* --- images on GPUs of their own: encoders.c; NULL is fine where it says so --- */

OrrEncoders *orr_encoders_new(OrrFleet *fleet, GError **error);
void orr_encoders_free(OrrEncoders *encoders); /* NULL is fine */
/* Encodes the pictures of @request; then fleet->encoded is called, and orr_encoders_fetch once
 * its replica is known, which seats it when its embeddings are there. */
void orr_encoders_begin(OrrEncoders *encoders, OrrRequest *request);
void orr_encoders_fetch(OrrEncoders *encoders, OrrReplica *replica, OrrRequest *request);
void orr_encoders_drop(OrrEncoding *encoding);               /* its request is no more */
gboolean orr_encoders_are_busy(const OrrEncoders *encoders); /* NULL is fine */
/* @replica is lost: appends to @requests those that waited for embeddings there. */
void orr_encoders_lose_replica(OrrEncoders *encoders, guint replica, GPtrArray *requests);
gboolean
orr_encoders_change(OrrEncoders *encoders,
                    const OrrGpuChange *change); /* FALSE: not of an encoder. NULL is fine */

/* --- prefill and decode apart: handover.c --- */

typedef struct {
  gboolean is_apart; /* its prompt is prefilled elsewhere than it decodes */
  /* the replica that was asked what it has cached, and where it decodes; -1: none was */
  gint decoder;
} OrrHandoverChoice;

OrrHandover *orr_handover_new(OrrFleet *fleet, OrrDoor *prefill, OrrDoor *decode);
void orr_handover_free(OrrHandover *handover);
OrrHandoverChoice orr_handover_choose(OrrHandover *handover, const OrrRequest *request);
/* FALSE: not let in */
gboolean orr_handover_begin(OrrHandover *handover, OrrRequest *request, gint decoder);
void orr_handover_room(OrrHanded *handed); /* at the decoder */
/* a step that computes so many begins */
void orr_handover_chunk(OrrRequest *twin, gint64 tokens, double step_s);
void orr_handover_prefilled(OrrRequest *twin);
void orr_handover_look(OrrHandover *handover); /* a decoder is up */
/* @replica is lost: appends to @requests those that were on their way from it or to it. */
void orr_handover_lose(OrrHandover *handover, guint replica, GPtrArray *requests);

G_END_DECLS

#endif
