/*
 * training_job.h - one training job with all defaults filled in: its sizes, where its ranks run,
 * which layers a stage holds and with which weights.
 *
 * The lowest room of workloads/training: everything above reads an OrrJob and changes nothing in
 * it.
 */
#pragma once

#include "workloads/training/training_params.h"

/* training_layout.c: the model cut into the blocks of a pipeline.
 *
 * Here a layer is anything that a block lists: the embedding, a transformer layer, a
 * multi-token-prediction layer, the head. Equal layers share a spec, and so their operators,
 * costs, parameters and activations: whatever is computed for layers is computed once per spec. */

typedef enum {
  ORR_LAYER_EMBEDDING,
  ORR_LAYER_TRANSFORMER,
  ORR_LAYER_MTP,
  ORR_LAYER_HEAD,
  ORR_LAYER_MTP_BODY, /* in an earlier block than the head, which */
  ORR_LAYER_MTP_HEAD  /* then computes its logits, too */
} OrrLayerType;

typedef struct {
  OrrLayerType type;
  guint kind;    /* TRANSFORMER: orr_model_layer_kind */
  guint modules; /* of layers and MTP: what is recomputed before the backward, ORR_MODULE_* */
  gboolean wide; /* of layers and MTP: in the storage format, whatever the recipe */
} OrrLayerSpec;

typedef struct {
  GArray *specs;   /* of OrrLayerSpec, all different, in the order of their first layer */
  GArray **blocks; /* by block, NULL-terminated: of guint, each layer's spec in forward order */
} OrrLayout;

/* How many transformer layers each of @n_blocks blocks holds (@ret_layers, n_blocks of them), and
 * the block of the multi-token-prediction layers. FALSE with the broken rule. */
gboolean orr_layout_cut(const OrrTraining *params, const OrrModel *model,
                        const OrrPipelineShape *shape, gint64 n_blocks, gint64 *ret_layers,
                        gint64 *ret_mtp, GError **error);

/* How many blocks a `layout` has; 0: its text is wrong. */
gint64 orr_layout_n_blocks(const char *layout);

/* The modules that recomputation replays (ORR_MODULE_*). FALSE, naming an unknown word. */
gboolean orr_layout_modules(const OrrTraining *params, guint *ret_modules, GError **error);

/* After FALSE, too, the layout can be cleared. */
gboolean orr_layout_init(OrrLayout *layout, const OrrTraining *params, const OrrModel *model,
                         const OrrPipelineShape *shape, gint64 n_blocks, GError **error);
void orr_layout_clear(OrrLayout *layout);

/* Trained parameters, by the ranks that hold the same ones: routed experts are replicated over
 * fewer ranks than all other weights. */
typedef enum { ORR_WEIGHTS_DENSE, ORR_WEIGHTS_EXPERTS, ORR_N_WEIGHT_SETS } OrrWeightSet;

/* Activations of a layer, in bytes (memory/training_memory.h). */
typedef enum {
  ORR_LAYER_KEPT,
  ORR_LAYER_BACKWARD_WORKING,
  ORR_LAYER_FORWARD_WORKING,
  ORR_N_LAYER_BYTES
} OrrLayerBytes;

typedef struct {
  const OrrTraining *params;
  const OrrWorld *world;
  OrrShard shard;
  OrrShard wide; /* likewise, of layers in the storage format */
  double kept;   /* of the pairs of a token and an expert, the fraction that no capacity drops */
  OrrPipelineShape shape;
  const OrrPipelineKind *schedule;
  OrrPlacement placement;
  OrrLayout layout;
  gint64 tp, cp, pp, dp;
  gint64 ep, etp;             /* for routed experts; etp * ep divides tp * cp, or is a multiple */
  double gradient_bytes_each; /* of one parameter's gradient */
  OrrShardingPlan sharding;
  /* By spec * ORR_N_LAYER_BYTES + what: computed at the first query; below 0: not yet. */
  double *layer_bytes;
} OrrJob;

/* After FALSE, too, the job can be cleared. @params and @world outlive it. */
gboolean orr_job_init(OrrJob *job, const OrrTraining *params, const OrrWorld *world,
                      GError **error);
void orr_job_clear(OrrJob *job);

/* Parts of a job that checks need without a world. */
OrrShard orr_job_shard(const OrrTraining *params, const OrrModel *model);
gint64 orr_job_replicas(const OrrTraining *params,
                        gint64 n_gpus); /* dp; where it is 0: what fits */
OrrShardingShape orr_job_sharding_shape(const OrrTraining *params, const OrrCluster *cluster,
                                        gint64 dp);

/* --- ranks --- */

/* A stage numbers its ranks with tp fastest, then cp, then dp, whichever GPUs they run on: this is
 * Megatron's order, by which expert groups are cut. The ranks of one replica are consecutive. */
gint64 orr_job_gpu(const OrrJob *job, gint64 stage, gint64 rank);
static inline gint64 orr_job_replica_ranks(const OrrJob *job) { return job->tp * job->cp; }

/* The stages that hold @block: two where the schedule holds the model twice. Returns how many. */
guint orr_job_holders(const OrrJob *job, gint64 block, gint64 ret_stages[2]);

/* Ranks that shard one copy of @set; 1: each holds a whole copy. */
gint64 orr_job_shard_ranks(const OrrJob *job, OrrWeightSet set);

/* --- layers --- */

gint64 orr_job_n_blocks(const OrrJob *job);
/* of guint: the spec of each layer of the chunk, in forward order */
const GArray *orr_job_layers(const OrrJob *job, gint64 stage, gint64 chunk);
const OrrLayerSpec *orr_job_spec(const OrrJob *job, guint spec);
const OrrShard *orr_job_layer_shard(const OrrJob *job, const OrrLayerSpec *spec);
gint64 orr_job_n_layers(const OrrJob *job, gint64 stage, guint spec); /* of that spec */
gboolean orr_job_holds(const OrrJob *job, gint64 stage, OrrLayerType type);

/* Appends the steps of @stage's schedule (OrrPipelineStep); for an evaluation, only its
 * forwards. */
void orr_job_steps(const OrrJob *job, gint64 stage, GArray *steps);
gint64 orr_job_passes(const OrrJob *job);   /* micro-batches through each layer per step */
gint64 orr_job_forwards(const OrrJob *job); /* of a micro-batch: the model's, and a reference's */

/* Whether weights are gathered layer by layer: in every pass, or during the step's first
 * forwards. */
gboolean orr_job_gathers(const OrrJob *job);

/* Whether the job reads from or writes to a file system: checkpoints, or data. */
gboolean orr_job_uses_storage(const OrrTraining *params);

/* --- weights --- */

OrrWeights orr_job_layer_weights(const OrrJob *job, gint64 stage, guint spec); /* of one GPU */
OrrWeights orr_job_stage_weights(const OrrJob *job, gint64 stage);             /* of one GPU */
double orr_weight_set_parameters(OrrWeights weights, OrrWeightSet set);        /* trained ones */
double orr_job_optimized(const OrrJob *job, OrrWeights weights); /* that this GPU updates */
/* Bytes of the set's weights, as a gather makes them whole. */
double orr_job_gather_bytes(const OrrJob *job, OrrWeights weights, OrrWeightSet set);
/* Of a master weight beside the weight; 0: weights are their own masters. */
double orr_job_master_bytes(const OrrJob *job);
double orr_job_moment_bytes(const OrrJob *job); /* of one of Adam's two moments, per parameter */
