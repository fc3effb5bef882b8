/*
 * batch_step.h - a step that every GPU runs alike, as a list of items: the program of the workloads
 * `diffusion-training` and `recommendation`.
 *
 *   WORK   kernels, one after another, and the host's launches
 *   COMM   a collective that blocks them
 *   BEGIN  a collective under what comes next; they run one after another
 *   MEET   waits for one that has begun
 *
 *   kernels     |--WORK--|--COMM--|--WORK--|--WORK--|..MEET|--WORK--|
 *   background                    |--BEGIN---------------|
 *   host        |-launches-|      |-launches-|
 *   sparse cores  items with `beside`, one after another, which nothing else waits for
 *
 * All GPUs are one lane: they have equal items, and their groups share no link with one another. A
 * collective is planned for the group of GPU 0.
 */
#pragma once

#include "models/operator.h"
#include "workloads/collectives/collective.h"
#include "workloads/workload.h"

/* GPUs 0, stride, 2 stride ... */
typedef struct {
  gint64 n, stride;
} OrrBatchGroup;

typedef enum { ORR_BATCH_WORK, ORR_BATCH_COMM, ORR_BATCH_BEGIN, ORR_BATCH_MEET } OrrBatchItemKind;

typedef struct {
  OrrBatchItemKind kind;
  const char *name;            /* static */
  double seconds[ORR_N_TIMES]; /* WORK: of kernels */
  double host_s;               /* WORK: launches */
  OrrCollectiveOp op;          /* COMM, BEGIN */
  double bytes;
  OrrBatchGroup group;
  const char *category; /* static: a word of orr_time_words */
  gboolean beside;      /* WORK, COMM: on the device's sparse cores */
  guint begun;          /* MEET: the item that began */
} OrrBatchItem;

typedef struct {
  OrrWork work; /* first */
  const OrrWorld *world;
  GArray *items;      /* of OrrBatchItem */
  const char *name;   /* of the last WORK; static */
  gboolean beside;    /* WORK that follows is for the sparse cores */
  double dispatch_s;  /* the host's time of one dispatch; 0: graphs */
  double batch;       /* samples of all GPUs */
  double flops;       /* of a GPU, in a step */
  double model_bytes; /* that a GPU holds: weights, gradients, the optimizer's state */
  double parameters;  /* of the whole model */
  double cost_s[5];   /* seconds of kernels by OrrHow */
  double seconds[ORR_N_TIMES];
  OrrJoules joules[ORR_N_TIMES];
} OrrBatchStep;

OrrBatchStep *orr_batch_step_new(const OrrWorkloadKind *kind, const OrrWorld *world);
void orr_batch_step_free(OrrWork *work); /* OrrWorkloadKind.work_free */

/* Kernels that follow belong to a WORK of this name. */
void orr_batch_step_work(OrrBatchStep *step, const char *name);
/* @op @times times, which the host dispatches @dispatches times. */
void orr_batch_step_operator(OrrBatchStep *step, const OrrOperator *op, double times,
                             double dispatches);
/* @seconds of another kind than kernels: copies from the host (offload). */
void orr_batch_step_seconds(OrrBatchStep *step, OrrTimeKind kind, double seconds);
/* Nothing for groups of one. */
void orr_batch_step_comm(OrrBatchStep *step, const OrrBatchItem *comm);
/* The number of the item, for orr_batch_step_meet. */
guint orr_batch_step_begin(OrrBatchStep *step, const OrrBatchItem *comm);
void orr_batch_step_meet(OrrBatchStep *step, guint begun);

/* The items so far on one GPU, without a replay: seconds, and the joules of the kernels. */
double orr_batch_step_alone_s(const OrrBatchStep *step, OrrJoules *ret_joules);

/* Seals the program of all items. NULL with @error: a collective cannot be planned; @step is
 * freed. */
OrrWork *orr_batch_step_compile(OrrBatchStep *step, const OrrNccl *nccl, GError **error);
