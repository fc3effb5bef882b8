/*
 * training_emit.h - what training_program.c and training_emit.c share: the state of emission, and
 * pieces of a step.
 *
 *   compute    wait(input) [work | work collective work ...] record(output) ...   one lane
 *   recv-*     join(transfer) record(input)                    receives are posted ahead, in the schedule's order
 *   send-*     wait(output) join(transfer)                     compute waits for a send's end unless overlap-p2p
 *   dp         wait(bucket's gradients) join(reduction)
 *   tp         a layer's collective beside compute (only where the lane is not alone on its links)
 *
 * The model's second way through the stages (v and bidirectional schedules) has streams of its own,
 * `*-2`: its order is another.
 */
#ifndef ORR_TRAINING_EMITTER_H
#define ORR_TRAINING_EMITTER_H

#include "workloads/training/training_private.h"

G_BEGIN_DECLS

typedef enum {
  ORR_STREAM_COMPUTE,
  ORR_STREAM_SEND_NEXT,
  ORR_STREAM_SEND_PREV,
  ORR_STREAM_RECV_PREV,
  ORR_STREAM_RECV_NEXT,
  ORR_STREAM_DP,
  ORR_STREAM_TP,
  ORR_STREAM_GATHER, /* from here on only where something uses them */
  ORR_STREAM_SEND_NEXT_2,
  ORR_STREAM_SEND_PREV_2,
  ORR_STREAM_RECV_PREV_2,
  ORR_STREAM_RECV_NEXT_2,
  ORR_STREAM_EP, /* all-to-alls beside another micro-batch's compute */
  ORR_STREAM_STORAGE,
  ORR_STREAM_DATA,
  ORR_STREAM_TO_HOST, /* from here on quiet: beside compute without slowing it */
  ORR_STREAM_FROM_HOST,
  ORR_STREAM_HOST,
  ORR_STREAM_LOADER,
  ORR_N_STREAMS
} OrrTrainingStream;

#define ORR_NO_COMM G_MAXUINT32

/* training_noise.c; NULL where all kernels take the same time. Indexed by lane; one draw a GPU
 * of it. */
typedef struct OrrNoiseDraws OrrNoiseDraws;
OrrNoiseDraws *orr_noise_draws_new(const OrrJob *job, const OrrFold *fold);
void orr_noise_draws_free(OrrNoiseDraws *draws);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNoiseDraws, orr_noise_draws_free)

/* The lane's GPUs each do kernels of @work_s in all, whose squares add up to @squares. */
void orr_noise_work(OrrNoiseDraws *draws, guint lane, double work_s, double squares);
/* They meet: how much later than expected the last one comes, since they met before. */
double orr_noise_meet(OrrNoiseDraws *draws, guint lane);

typedef struct {
  const OrrJob *job;
  const OrrTrainingCosts *costs;
  const OrrTrainingPlan *plan;
  const double *optimizer_s;
  OrrTrainingWork *work;
  OrrProgram *program;
  OrrNoiseDraws *noise;
  double backlog_s; /* of the lane's GPU, when its host has launched all so far */
  gint64 chains, blocks;
  guint32 (*streams)[ORR_N_STREAMS]; /* by lane; G_MAXUINT32: not there yet */
  /* by (((class * 2 + backward) * chains + chain) * blocks + boundary) * m + micro-batch */
  guint32 *transfers;
  GArray **reduced[ORR_N_SHARES];  /* by stage: comms of this step, of guint32 */
  GArray **gathered[ORR_N_SHARES]; /* likewise */
  guint32 *gathers[ORR_N_SHARES];  /* by stage */
  guint32 *embeddings;             /* by class */
  guint32 norm;
  gint64 step;
  /* by lane: of guint32, events of the micro-batches that the loader has prepared */
  GArray **ready;
  /* by lane: of them, and of those that were there before, how many compute has taken */
  gint64 *taken;
  guint32 checkpoint, loaded; /* barriers */
  GHashTable *passes;         /* OrrPassKey -> what it comes to; NULL: no two passes are equal */
  guint32 handover_labels[2]; /* forward and backward; G_MAXUINT32: not yet */
  gboolean is_in_routine;
  GArray **
      /* by stage * teams + team: of guint32, what the team has met in so far, this step */
      team_comms;
  guint *team_at; /* by lane: in how many of them it has been */
} OrrEmitter;

typedef struct {
  guint lane, class;
  gint64 stage;
} OrrLaneAt;

guint32 orr_emit_stream(OrrEmitter *e, const OrrLaneAt *lane, OrrTrainingStream stream);
guint32 orr_emit_comm_label(OrrEmitter *e, const char *name, OrrTimeKind kind);
/* @late_s: what noise adds to the sum of @seconds, or takes from it. */
void orr_emit_work(OrrEmitter *e, const OrrLaneAt *lane, const char *name,
                   const double seconds[ORR_N_TIMES], double late_s, gint32 tag);

/* Consecutive equal units: @count times a run. */
typedef struct {
  const OrrRun *run;
  gint64 count;
} OrrRuns;

/* Which part of which pass: what a lane does again and again, whatever the micro-batch. */
typedef struct {
  guint32 lane, kind, chunk, from, to;
} OrrPassKey;

GHashTable *orr_emit_passes_new(const OrrEmitter *e);
/* The same again, where it was emitted before for another micro-batch; else FALSE: orr_emit_runs
 * does. */
gboolean orr_emit_again(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key, gint32 tag);
/* In order, as one piece of work where that is exact, else as a routine where that can be.
 * @extra_pp_s: what a receiver adds first. */
void orr_emit_runs(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassKey *key, const char *name,
                   const OrrRuns *runs, guint n, double extra_pp_s, gint32 tag);

/* One of two micro-batches' passes that run side by side. */
typedef struct {
  const char *name;
  const OrrRuns *runs;
  guint n;
  double extra_pp_s;
  gint32 tag;
} OrrPassRuns;

/* Two passes by turns: while one's all-to-all between experts is under way, the other computes
 * (DualPipe). */
void orr_emit_by_turns(OrrEmitter *e, const OrrLaneAt *lane, const OrrPassRuns passes[2]);

/* A boundary tensor between block @boundary of a chain and the next one, received or sent by
 * @lane. */
typedef struct {
  gint64 chain, boundary;
  gint32 micro_batch;
  gboolean backward;
} OrrHandover;

/* Whether two stages meet at the boundary at all: at the turn of a V one stage holds both
 * blocks. */
gboolean orr_emit_crosses(const OrrEmitter *e, const OrrHandover *handover);
void orr_emit_receive(OrrEmitter *e, const OrrLaneAt *lane, const OrrHandover *handover);
void orr_emit_send(OrrEmitter *e, const OrrLaneAt *lane, const OrrHandover *handover);

/* training_sharding.c: how far a lane has come in this step. */
typedef struct {
  GArray *computed; /* of guint32: an event a unit, where weights are gathered */
  GArray *launched; /* likewise: the host is through with a unit's lists, where there are any */
  guint n_gathers[ORR_N_SHARES], n_reductions[ORR_N_SHARES];
  gint64 *left;              /* by chunk: backwards that complete gradients, to go */
  gboolean *first;           /* by chunk: its first forward is to come */
  gint64 unit[ORR_N_SHARES]; /* of the open bucket */
  guint bucket[ORR_N_SHARES];
  gboolean adds;       /* this pass' gradients are added to others' */
  GHashTable *stashed; /* unit of a pass -> event: its activations are in the host's memory */
  guint32 gone[ORR_STASH_BUFFERS], used[ORR_STASH_BUFFERS]; /* events that free buffers, in turn */
  guint n_gone, n_used;
} OrrEmitShards;

void orr_emit_shards_init(OrrEmitShards *shards, const OrrJob *job);
void orr_emit_shards_clear(OrrEmitShards *shards);

/* The weights of a unit, which compute waits for; and that it has computed. */
void orr_emit_gather(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, guint part,
                     gboolean backward);
void orr_emit_computed(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards);

/* The gradients of @stage's bucket @b are complete on compute: reduce them on the dp stream with
 * @n_stages stages. */
void orr_emit_reduction(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, OrrShare share,
                        gint64 stage, guint b, guint n_stages);

/* The updated parameters of @owner, where they are gathered after the update. */
void orr_emit_parameters(OrrEmitter *e, const OrrLaneAt *lane, OrrShare share, gint64 owner,
                         guint n_stages);

/* training_offload_emit.c: nothing where nothing is offloaded. */

/* A bucket's gradients, reduced: to the host. Compute waits until all are there; after the norm
 * the host updates, and compute goes on when the parameters are back. */
void orr_emit_gradients_out(OrrEmitter *e, const OrrLaneAt *lane, const OrrEmitShards *shards,
                            OrrShare share, double bucket_bytes);
/* The lane's shares of a unit's weights, from the host, before they are gathered; no earlier
 * than gathers are. */
void orr_emit_weights_up(OrrEmitter *e, const OrrLaneAt *lane, const OrrEmitShards *shards,
                         guint part);
void orr_emit_gradients_there(OrrEmitter *e, const OrrLaneAt *lane);
void orr_emit_host_update(OrrEmitter *e, const OrrLaneAt *lane);
void orr_emit_host_updated(OrrEmitter *e, const OrrLaneAt *lane);

/* A unit of a pass, before and after it computes: its activations go, or have come. */
typedef struct {
  const GArray *units;
  gint64 chunk, micro_batch, unit;
  gboolean forward;
} OrrStash;
void orr_emit_stash_room(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards,
                         const OrrStash *stash);
void orr_emit_stashed(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards,
                      const OrrStash *stash);

/* training_loader.c: a micro-batch enters the model; the last step waits for what takes the
 * place of its own. */
void orr_emit_loaded(OrrEmitter *e, const OrrLaneAt *lane, gint32 micro_batch);
void orr_emit_refilled(OrrEmitter *e, const OrrLaneAt *lane, gint64 step);

/* training_storage.c: before the first step, before each, after each. */
void orr_emit_load(OrrEmitter *e, const OrrLaneAt *lane);
void orr_emit_data(OrrEmitter *e, const OrrLaneAt *lane, gint64 step);
void orr_emit_checkpoint(OrrEmitter *e, const OrrLaneAt *lane, gint64 step);

/* The communication in @slot, made by whoever comes first. */
guint32 orr_emit_once(OrrEmitter *e, guint32 *slot, guint members, const OrrWire *wire);

G_END_DECLS

#endif
