/*
 * replica_private.h - what the files of this folder share about a replica. No other file includes
 * it.
 */
#pragma once

#include "workloads/serving/replica/replica.h"

/* Where the time of a step goes. Counted when the step ends, since a run of steps can be cut. */
typedef struct {
  double end_s, gpu_s, comm_s, wait_s; /* wait: for the host, or for another pool of GPUs */
  gint64 tokens;
  double chunk;     /* of these tokens, of prompts */
  double host_s;    /* of its engine cores, also while the GPUs work */
  OrrJoules joules; /* of all GPUs of the replica */
} Step;

/* What a step draws on top of static power; dates of the engine. */
typedef struct {
  double begin_s, end_s, chunk, tokens; /* chunk: the tokens of prompts */
  OrrJoules joules;
} OrrReplicaDraw;

struct OrrReplica {
  OrrServingRun *run;
  const OrrReplicaReports *reports;
  gint index;
  OrrCore *cores;
  guint n_cores;
  OrrServedReplica *books;
  const OrrServedGroup *group;
  double step_end_s;                /* of the run of steps under way; G_MAXDOUBLE: idle */
  double begin_s;                   /* of its first step */
  GArray *ends;                     /* of Step: its steps */
  GArray *new_blocks;               /* of gint64: taken by each after the first */
  gboolean is_run;                  /* of decodes alike */
  gboolean is_called;               /* a plan is due now, after all events of this date */
  double stage_free_s, last_done_s; /* pp > 1: of the first stage, and of the last batch */
  OrrPool *flights;                 /* of InFlight */
  guint n_in_flight;
  guint n_reading; /* reads that the planned step waits for */
  gint64 used_blocks;
  OrrTiers tiers; /* below HBM; the remote one is the fleet's */
  gint64 n_requests, prompt_tokens;
  double *front_free_s;    /* when each process of its front end is free: frontend.c */
  GQueue parsing;          /* OrrRequest*: at the front end, before they wait at a core */
  gint64 unpolled_steps;   /* since it last looked for requests: replica_async.c */
  double polled_s;         /* requests that came later are not known */
  double slow;             /* factor on the time of its kernels */
  OrrServingCost *price;   /* of its steps, while faults slow its collectives; NULL: the group's */
  gboolean is_cut;         /* a link that they need is lost: it begins no step */
  guint generation;        /* batches under way when it was lost are void */
  OrrPool *deliveries;     /* frontend.c */
  GQueue newcomers;        /* OrrRequest*: wait since the last step began */
  GQueue expected, joined; /* OrrRequest*: without room yet; will decode from the next step on */
};

OrrStepTime orr_replica_step_time(const OrrReplica *replica, const OrrStepShape *shape);
/* replica_energy.c: the energy of the GPUs of one core during a step of @step_s, with its share of
 * a pool of feed-forwards. */
OrrJoules orr_replica_joules(const OrrReplica *replica, const OrrStepTime *time, double step_s);
void orr_replica_note_energy(OrrReplica *replica, const OrrReplicaDraw *draw);
void orr_replica_note_step(OrrReplica *replica, double begin_s, double end_s,
                           const OrrStepShape *shape);
/* Ends the step of core @i: gives its requests their tokens and checks that no block is lost. */
void orr_replica_finish_step(OrrReplica *replica, guint i, const GPtrArray *batch);
void orr_replica_on_token(OrrRequest *request, void *replica); /* frontend.c */
void orr_replica_on_finish(OrrRequest *request, void *replica);
/* replica_async.c: ends a step whose results the next plan does not know. */
void orr_replica_finish_unseen(OrrReplica *replica, guint core);
/* FALSE: nothing to run. Plans with what the engine knows; where that is nothing, with all. */
gboolean orr_replica_plan_cores(OrrReplica *replica, double now_s);
/* @n more steps of the run that is under way have ended: it looks for requests every
 * recv-interval of them, and after one with prompts. */
void orr_replica_count_steps(OrrReplica *replica, gint64 n, gboolean has_prompts);
void orr_replica_report_chunks(const OrrReplica *replica, double step_s); /* to the fleet */
void orr_replica_plan(OrrReplica *replica); /* begins every step that can begin now */

/* What host memory drops goes to the SSD, where blocks are written back. */
void orr_replica_spill(OrrReplica *replica);
void orr_replica_open_cores(OrrReplica *replica);                /* with empty caches */
void orr_replica_close_core(OrrReplica *replica, OrrCore *core); /* adds its figures to the row */
/* what the step that is planned waited for is there */
/* A step is planned; TRUE: it waits for reads. */
gboolean orr_replica_must_wait(OrrReplica *replica);

gboolean orr_replica_plan_seen(OrrReplica *replica, double now_s); /* all cores, once */

/* frontend.c */
void orr_replica_open_front(OrrReplica *replica);
/* Whether clients see each token when its step ends. */
gboolean orr_replica_streams_at_once(const OrrReplica *replica);
/* The client sees what orr_replica_stream says: notes the gap since the chunk before. */
void orr_replica_show(OrrReplica *replica, OrrRequest *request, gint32 written, double end_s);
/* TRUE: @request comes to the engine later, by orr_replica_admit. */
gboolean orr_replica_parse(OrrReplica *replica, OrrRequest *request);
void orr_replica_admit(OrrReplica *replica, OrrRequest *request); /* it waits at its core */

/* replica_pipeline.c: pp > 1 */
void orr_replica_pipeline_launch(OrrReplica *replica); /* the batch that is planned */
OrrPool *orr_replica_pipeline_flights(void);           /* for OrrReplica.flights */
/* FALSE: there is none, or no room */
gboolean orr_replica_pipeline_begin_batch(OrrReplica *replica, double now_s);
