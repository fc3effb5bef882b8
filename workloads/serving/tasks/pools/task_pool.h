/*
 * task_pool.h - what steps of tasks queue for outside the engines: workers, indexes, models.
 *
 * A pool has servers and one queue, first come first served. Its entry turns a job into a time of
 * service; what it has done is added up for the rows of the run.
 *
 * To add one: write workloads/serving/tasks/pools/NAME.c with one `const OrrTaskPoolKind` and its
 * line in meson.build.
 */
#pragma once

#include "sim/base/diag.h"
#include "workloads/collectives/nccl.h"
#include "workloads/serving/tasks/task_params.h"
#include "workloads/workload.h"

typedef struct OrrTaskBranch OrrTaskBranch;

/* Which of the members a pool reads is the pool's. */
typedef struct {
  OrrTaskBranch *branch;
  double service_s;                /* workers: on one of them */
  double queries;                  /* index */
  double sequences, tokens;        /* model: sequences, and tokens in all; generator: outputs */
  double asked_s, begin_s, work_s; /* when it came; when and for how long it was served */
  gint32 adds;
  gboolean is_cut;  /* by a time-out of its own */
  gboolean is_turn; /* the wait before a turn of a replayed session */
} OrrTaskJob;

typedef struct {
  gint64 jobs, cut, most_waiting; /* cut: by a time-out */
  gint64 loads;                   /* of the model, onto a GPU that had another pool's */
  double busy_s, waited_s;        /* of servers; of jobs before them, in all */
  double bytes, flops;            /* that jobs touched, and computed, in all; 0: not counted */
  OrrJoules joules;               /* of GPUs, on top of static power */
} OrrTaskPoolBooks;

/* GPUs that serve the batches of one pool, or of several: task_batches.c. */
typedef struct OrrTaskGpus OrrTaskGpus;
OrrTaskGpus *orr_task_gpus_new(OrrEngine *engine, gint64 n);
void orr_task_gpus_free(OrrTaskGpus *gpus); /* NULL is fine */

typedef struct {
  const OrrWorld *world;
  OrrEngine *engine;
  gint64 first_gpu;  /* of the pool's */
  OrrTaskGpus *gpus; /* the same; outlives the pool; NULL: it has none */
  const OrrNccl *nccl;
  OrrTaskPoolBooks *books;
  void *user;
  void (*done)(void *user, OrrTaskJob *job); /* with begin_s and work_s */
} OrrTaskPoolHost;

typedef struct {
  OrrEntry entry;
  /* Mandatory: open, add, servers, close. */
  void (*check)(const void *params, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);
  gpointer (*open)(const void *params, const OrrTaskPoolHost *host, GError **error);
  void (*add)(gpointer state, OrrTaskJob *job); /* the caller keeps it until done */
  gint64 (*servers)(const void *params);        /* 0: no limit */
  gint64 (*gpus)(const void *params);           /* NULL: none */
  gint64 (*longest)(const void *params);        /* tokens of a sequence, at most; NULL: no limit */
  double (*cores)(const void *params);          /* of a busy server; NULL: none */
  gboolean has_batches;                         /* other pools of such kinds may share its GPUs */
  void (*close)(gpointer state);
} OrrTaskPoolKind;

/* --- servers with a time of service each: for workers and indexes --- */

typedef struct OrrTaskServers OrrTaskServers;
OrrTaskServers *orr_task_servers_new(const OrrTaskPoolHost *host, gint64 servers); /* 0: no limit */
void orr_task_servers_add(OrrTaskServers *servers, OrrTaskJob *job, double service_s);
void orr_task_servers_free(gpointer servers);

/* --- GPUs that serve jobs in batches: for models, generators and recommenders --- */

typedef struct {
  double most;        /* size of a batch; a larger job is served alone */
  gboolean by_tokens; /* a job's size: its tokens; FALSE: its sequences */
  double wait_s;      /* how long the first job of a batch that is not full waits for others */
  double load_s;      /* of the model's weights, from host memory */
  /* Seconds of a replica for a batch, of @sequences and @tokens in all; adds its joules to the
   * books. */
  double (*serve)(void *user, double sequences, double tokens);
  void *user;
} OrrTaskBatchesParams;

typedef struct OrrTaskBatches OrrTaskBatches;
OrrTaskBatches *orr_task_batches_new(const OrrTaskPoolHost *host,
                                     const OrrTaskBatchesParams *params);
void orr_task_batches_add(OrrTaskBatches *room, OrrTaskJob *job);
void orr_task_batches_free(OrrTaskBatches *room); /* NULL is fine */
