/*
 * training_memory.h - bytes that a GPU of each stage holds: at its peak, and moment by moment.
 */
#pragma once

#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

/* Where the rows of all stages are appended. */
typedef struct {
  GArray *stages;      /* of OrrStageMemory */
  GArray *moments;     /* of OrrMemoryMoment, or NULL */
  GArray *activations; /* of OrrActivationRow, or NULL */
} OrrMemoryRows;

void orr_training_memory(const OrrJob *job, const OrrMemoryRows *rows);

/* The most that the job holds in the memory of one node; @stages: OrrStageMemory of each stage. */
double orr_training_memory_host_peak(const OrrJob *job, const GArray *stages);

/* OrrWorkloadKind.footprint; FALSE: compilation reports why. */
gboolean orr_training_memory_footprint(const void *params, const OrrWorld *world,
                                       OrrFootprint *ret_footprint);

/* training_activations.c: a stage's activations by operator, at its peak. */

/* Appends the rows (OrrActivationRow) of @stage, which holds most during its @peak-th pass. */
void orr_training_activations(const OrrJob *job, gint64 stage, guint peak, GArray *rows);

/* training_moments.c: a stage's activations and passing gradients, pass by pass of its schedule. */

/* Appends the stage's moments (OrrMemoryMoment) in the schedule's order, the update last. */
void orr_training_moments_append(const OrrJob *job, gint64 stage, GArray *moments);

/* The most that the stage's passes keep in the hosts' memory at once. */
double orr_training_moments_host_bytes(const OrrJob *job, gint64 stage);

/* Whether whole gradients of a chunk exist only from its first backward to its last (FSDP). */
gboolean orr_training_moments_have_gradients(const OrrJob *job);

/* training_state.c: the weights, gradients and optimizer state that a rank holds all the time. */

/* Bytes of the rank's own part of @weights. */
double orr_training_state_weights(const OrrJob *job, OrrWeights weights);
/* Bytes of the rank's own part of the reference model; 0: there is none. */
double orr_training_state_reference(const OrrJob *job, OrrWeights weights);
/* Bytes of weights, and of gradients of a layer, that are whole for a while on a rank of @stage. */
double orr_training_state_gathered(const OrrJob *job, gint64 stage);
/* Parameters of @weights whose gradients the rank holds; @in_host: parameters that its host
 * updates. */
double orr_training_state_reduced(const OrrJob *job, OrrWeights weights, double in_host);
/* Bytes of master weights and moments. */
double orr_training_state_optimizer(const OrrJob *job, double parameters);

/* training_kept.c: bytes of activations of one layer: what it keeps from forward to backward, and
 * what it needs in addition while it runs. */

/* Kept by the @layer-th of a block's @layers, from one pass. */
double orr_training_kept_bytes(const OrrJob *job, const GArray *layers, gint64 layer);
/* Kept by one pass of a block: in the hosts' memory, or in the GPU's. */
double orr_training_kept_by_block(const OrrJob *job, const GArray *layers, gboolean in_host);

/* In addition, while a block's backward runs; and while a forward runs that keeps nothing. Layers
 * run one after another, so the largest counts. */
double orr_training_kept_backward_working(const OrrJob *job, const GArray *layers);
double orr_training_kept_forward_working(const OrrJob *job, const GArray *layers);

/* training_overhead.c: memory that holds no part of the model: what libraries take for themselves.
 */

extern const OrrFieldTable orr_training_overhead_table;

/* Fills in context, workspace, communicators and flat copies. @optimized: parameters that this GPU
 * updates; @gradients: bytes of gradients that it holds. */
void orr_training_overhead_fill(const OrrJob *job, double optimized, double gradients,
                                OrrStageMemory *memory);
/* Bytes of gaps between tensors of @bytes. */
double orr_training_overhead_gaps(const OrrTraining *params, double bytes);

/* training_handover.c: bytes that a stage holds of tensors sent to and from its neighbours. */

extern const char *const orr_training_handover_words[]; /* "auto", "megatron", "torch", NULL */

typedef struct {
  double passing;  /* allocated in every step */
  double standing; /* allocated once */
  double merged;   /* all micro-batches' outputs, concatenated when no activations are left */
} OrrHandoverBytes;

/* @received: passes under way at the peak whose input came from another block. */
OrrHandoverBytes orr_handover_bytes_of(const OrrJob *job, gint64 stage, gint64 received);
