/*
 * gang_history.h - what happened over time: where each gang sat, and the state of the cluster.
 *
 * Spans are one per stretch of a job on the same GPUs: 32 bytes, and 12 for each run of
 * neighbouring nodes with as many GPUs of it, since orders that preempt make many. The state is
 * summed in at most 256 equal intervals: where the run outlasts them, neighbours merge and each is
 * twice as long, so that memory does not grow with time.
 */
#ifndef ORR_GANG_HISTORY_H
#define ORR_GANG_HISTORY_H

#include "workloads/cluster_jobs/core/gang_bins.h"

G_BEGIN_DECLS

/* Nodes @first, ..., @first + @n - 1, with @gpus of a gang on each. */
typedef struct {
  guint32 first, n;
  gint32 gpus;
} OrrGangRun;

/* Why a span ended: "" (it has not), "done", "preempted", "cancelled", "failed", "moved", NULL. */
extern const char *const orr_gang_why_words[];

typedef struct {
  gint64 begin_us, end_us; /* end -1: it runs */
  guint32 job;             /* its index in the trace */
  gint32 gpus;             /* of its gang then */
  guint32 first_run;
  guint32 n_runs : 24, why : 8; /* why: of orr_gang_why_words */
} OrrGangSpan;

/* Sums over the time of one interval, of GPUs times microseconds. */
typedef struct {
  double held, waiting, free, largest, out, jobs_waiting;
} OrrGangMoment;

enum { ORR_GANG_N_MOMENTS = 256 };

typedef struct {
  GArray *spans; /* of OrrGangSpan */
  GArray *runs;  /* of OrrGangRun */
  GArray *place; /* of OrrGangRun; scratch */
  OrrGangMoment moments[ORR_GANG_N_MOMENTS];
  gint64 begin_us, each_us;
  guint n; /* moments in use */
} OrrGangHistory;

OrrGangHistory *orr_gang_history_new(void);
void orr_gang_history_free(OrrGangHistory *history);

/* @job starts on its shares at @now_us, or goes on there. */
void orr_gang_history_start(OrrGangHistory *history, OrrGangJob *job, gint64 now_us);
/* It stops; nothing where it does not run. @why: of orr_gang_why_words. */
void orr_gang_history_stop(OrrGangHistory *history, OrrGangJob *job, gint64 now_us,
                           const char *why);
/* From @from_us to @to_us the state was @rates, in GPUs (and jobs). */
void orr_gang_history_pass(OrrGangHistory *history, gint64 from_us, gint64 to_us,
                           const OrrGangMoment *rates);
/* The largest gang that would start now on @n nodes of @size GPUs: whole empty nodes, and the rest
 * on one more. */
gint64 orr_gang_history_largest(const gint64 *free, guint n, gint64 size);

G_END_DECLS

#endif
