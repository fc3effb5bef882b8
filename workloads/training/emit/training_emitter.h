/*
 * training_emitter.h - the state of emission, and the operations that every file of this room
 * emits.
 *
 * The streams of a lane:
 *
 *   compute    wait(input) [work | work collective work ...] record(output) ...
 *   recv-*     join(transfer) record(input)        receives are posted ahead, in schedule order
 *   send-*     wait(output) join(transfer)         without overlap-p2p, compute waits for the send
 *   dp         wait(bucket's gradients) join(reduction)
 *   tp         a layer's collective that overlaps compute, where the lane is not alone on its links
 *
 * Schedules of kind v and bidirectional also run the model from the last stage to the first. That
 * direction has streams of its own, `*-2`, since its order is different.
 */
#pragma once

#include "workloads/training/comm/training_plan.h"
#include "workloads/training/cost/training_costs.h"
#include "workloads/training/emit/training_noise.h"
#include "workloads/training/job/training_job.h"
#include "workloads/training/job/training_offload.h"
#include "workloads/training/training_work.h"

typedef enum {
  ORR_STREAM_COMPUTE,
  ORR_STREAM_SEND_NEXT,
  ORR_STREAM_SEND_PREV,
  ORR_STREAM_RECV_PREV,
  ORR_STREAM_RECV_NEXT,
  ORR_STREAM_DP,
  ORR_STREAM_TP,
  ORR_STREAM_GATHER, /* from here on, created only when used */
  ORR_STREAM_SEND_NEXT_2,
  ORR_STREAM_SEND_PREV_2,
  ORR_STREAM_RECV_PREV_2,
  ORR_STREAM_RECV_NEXT_2,
  ORR_STREAM_EP,      /* all-to-alls that overlap another micro-batch's compute */
  ORR_STREAM_STORAGE, /* the host's, as the next one: they and the GPU do not slow each other */
  ORR_STREAM_DATA,
  ORR_STREAM_TO_HOST, /* from here on, quiet: they do not slow compute down */
  ORR_STREAM_FROM_HOST,
  ORR_STREAM_HOST,
  ORR_STREAM_LOADER,
  ORR_N_STREAMS
} OrrTrainingStream;

#define ORR_NO_COMM G_MAXUINT32

typedef struct {
  const OrrJob *job;
  const OrrTrainingCosts *costs;
  const OrrTrainingPlan *plan;
  const double *optimizer_s; /* by stage */
  OrrTrainingWork *work;
  OrrProgram *program;
  OrrNoiseDraws *noise;
  gint64 directions, blocks; /* of the schedule; blocks of one direction */
  gint64 step;
  guint32 (*streams)[ORR_N_STREAMS]; /* by lane; G_MAXUINT32: not created yet */

  /* Communications of this step, made by the first lane that joins them; ORR_NO_COMM: not yet. */
  /* by (((class * 2 + backward) * directions + direction) * blocks + boundary) *
   * micro-batches + micro-batch */
  guint32 *transfers;
  GArray **reduced[ORR_N_WEIGHT_SETS];  /* by stage: of guint32 */
  GArray **gathered[ORR_N_WEIGHT_SETS]; /* by stage: of guint32 */
  guint32 *gathers[ORR_N_WEIGHT_SETS];  /* by stage: parameters after the update */
  guint32 *embeddings;                  /* by class */
  guint32 norm, checkpoint;
  GArray **group_comms; /* by stage * groups + group of replicas: of guint32, in order */
  guint *group_at;      /* by lane: how many of them it has joined */
  guint32 loaded;       /* the barrier after loading; of the whole run */

  GArray **ready; /* by lane: of guint32, events of micro-batches that the loader has prepared */
  gint64 *taken;  /* by lane: how many micro-batches compute has taken */
  GHashTable *passes;         /* passes to repeat (training_runs.c); NULL: no two are equal */
  guint32 handover_labels[2]; /* forward, backward; G_MAXUINT32: not yet */
  gboolean is_in_routine;
} OrrEmitter;

typedef struct {
  guint lane, class;
  gint64 stage;
} OrrLaneAt;

/* How far a lane has come in this step. */
typedef struct {
  GArray *computed; /* of guint32: an event for each layer, where weights are gathered */
  GArray *launched; /* of guint32: the host has finished a layer's lists, where it has any */
  guint n_gathers[ORR_N_WEIGHT_SETS], n_reductions[ORR_N_WEIGHT_SETS];
  gint64 *left;                     /* by chunk: backwards until its gradients are complete */
  gboolean *first;                  /* by chunk: its first forward has not begun */
  gint64 layers[ORR_N_WEIGHT_SETS]; /* in the open bucket */
  guint bucket[ORR_N_WEIGHT_SETS];  /* the open one */
  gboolean adds;                    /* this pass's gradients are added to earlier ones */
  GHashTable *stashed; /* layer of a pass -> event: its activations are in the host's memory */
  guint32 sent[ORR_STASH_BUFFERS], used[ORR_STASH_BUFFERS]; /* events that free buffers, in turn */
  guint n_sent, n_used;
} OrrLaneProgress;

void orr_lane_progress_init(OrrLaneProgress *progress, const OrrJob *job);
void orr_lane_progress_clear(OrrLaneProgress *progress);

/* What a whole emission reads, and where to. */
typedef struct {
  const OrrJob *job;
  const OrrTrainingCosts *costs;
  const OrrTrainingPlan *plan;
  const double *optimizer_s; /* by stage */
  OrrTrainingWork *work;
  gint64 left_out; /* steps that repeat the last one of @job (training_emitter.h) */
} OrrEmission;

void orr_emitter_init(OrrEmitter *e, const OrrEmission *emission);
void orr_emitter_begin_step(OrrEmitter *e, gint64 step);
void orr_emitter_clear(OrrEmitter *e);

guint32 orr_emitter_stream(OrrEmitter *e, const OrrLaneAt *lane, OrrTrainingStream stream);

/* An event after everything on @stream so far. */
guint32 orr_emitter_record(OrrEmitter *e, guint32 stream);
/* Stream @to waits for everything on stream @from so far. */
void orr_emitter_wait_for(OrrEmitter *e, guint32 from, guint32 to);

/* A label stands for one sum of kinds of time: equal names with other times are numbered. */
guint32 orr_emitter_work_label(OrrEmitter *e, const char *name, const double seconds[ORR_N_TIMES]);
guint32 orr_emitter_comm_label(OrrEmitter *e, const char *name, OrrTimeKind kind);

/* Work on compute. @late_s: what noise adds to the sum of @seconds (below 0: takes from it). */
void orr_emitter_work(OrrEmitter *e, const OrrLaneAt *lane, const char *name,
                      const double seconds[ORR_N_TIMES], double late_s, gint32 tag);

/* The communication in @slot, made by the first caller. */
guint32 orr_emitter_once(OrrEmitter *e, guint32 *slot, guint members, const OrrCommPlan *plan);

/* training_size.c: how much there will be to replay, before anything is emitted. */

/* Estimates; rather too much. */
typedef struct {
  double ops;    /* operations of all streams; a call of a routine is one */
  double called; /* operations of routines, which are stored once */
  double comms, events;
  double spans; /* operations that take time, routines' counted at each call */
  double bytes; /* memory that the whole process takes at its peak */
} OrrTrainingSize;

/* @job has the micro-batches and steps that are emitted. */
OrrTrainingSize orr_training_size(const OrrJob *job, const OrrTrainingCosts *costs,
                                  const OrrTrainingPlan *plan);

/* training_slots.c: the slots in which all stages move together (pipeline-comm.lock-step). */

typedef struct OrrSlots OrrSlots;

/* Whether @job's stages move in slots: with several chunks per stage, in one direction, each pass
 * by itself. */
gboolean orr_slots_apply(const OrrJob *job);

/* @job must outlive the slots. */
OrrSlots *orr_slots_new(const OrrJob *job);
void orr_slots_free(OrrSlots *slots); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSlots, orr_slots_free)

guint orr_slots_n(const OrrSlots *slots);
/* What @stage does in @slot; NULL: nothing. */
const OrrPipelineStep *orr_slots_at(const OrrSlots *slots, gint64 stage, guint slot);

/* training_steps.c: which steps of a job are replayed. */

/* How many of the job's steps repeat the second one, and need no operations of their own. 0: all
 * are emitted. */
gint64 orr_training_steps_left_out(const OrrJob *job);

/* training_stage_send.c: boundary tensors sent and received between pipeline stages, as
 * operations. */

/* The tensor between block @boundary of a direction and the block after it: the forward's output,
 * or the backward's gradient. */
typedef struct {
  gint64 direction, boundary;
  gint32 micro_batch;
  gboolean backward;
} OrrStageSend;

/* Whether the boundary lies between two stages: at the turning point of a V, one stage holds both
 * blocks. */
gboolean orr_stage_send_crosses(const OrrEmitter *e, const OrrStageSend *send);
void orr_stage_send_receive(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send);
void orr_stage_send_send(OrrEmitter *e, const OrrLaneAt *lane, const OrrStageSend *send);

/* The stage that receives it. */
gint64 orr_stage_send_target(const OrrEmitter *e, const OrrStageSend *send);
/* Posts @sends and @receives (OrrStageSend) together, after the compute so far, and lets the
 * compute that follows wait for all of them. */
void orr_stage_send_exchange(OrrEmitter *e, const OrrLaneAt *lane, const GArray *sends,
                             const GArray *receives);

/* training_runs.c: the runs of a pass as operations: compute, and the collectives inside layers. */

/* Consecutive equal layers: @count times a run. */
typedef struct {
  const OrrRun *run;
  gint64 count;
} OrrRuns;

/* A pass of one micro-batch through a block, or part of one. */
typedef struct {
  const char *name;
  const OrrRuns *runs;
  guint n;
  double extra_pp_s; /* what a receiver of a boundary tensor adds first */
  gint32 tag;        /* the micro-batch */
} OrrPassRuns;

/* What a lane repeats for every micro-batch: layers [from, to) of a chunk, in one kind of pass. */
typedef struct {
  guint32 lane, kind, chunk, from, to;
} OrrPassKey;

/* Whether equal passes are emitted once, and repeated for each micro-batch. */
gboolean orr_training_runs_are_repeated(const OrrJob *job, const OrrLayerTraffic *layers);

/* For OrrEmitter.passes; NULL where no two passes are equal. */
GHashTable *orr_training_runs_passes_new(const OrrEmitter *e);

/* Repeats the pass of @key if it was emitted before for another micro-batch; else FALSE: call
 * orr_training_runs_emit. */
gboolean orr_training_runs_repeat(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key,
                                  gint32 tag);
/* Emits @pass in order: as one operation where that is exact, else as a routine where that is
 * possible, else segment by segment. */
void orr_training_runs_emit(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key,
                            const OrrPassRuns *pass);
/* Emits two micro-batches' passes alternately: while the all-to-all between experts of one is under
 * way, the other computes (DualPipe). */
void orr_training_runs_interleave(OrrEmitter *e, const OrrLaneAt *lane,
                                  const OrrPassRuns passes[2]);
