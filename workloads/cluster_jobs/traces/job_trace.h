/*
 * job_trace.h - traces of jobs, read from files.
 *
 * A reader is an entry for one format. It adds each line's job to the trace, and every finding to
 * the diagnostics. To add one: write traces/NAME.c with a `const OrrJobReader` and its line in
 * meson.build; tests/workloads/cluster_jobs/test_job_trace.c and the fuzzer of jobs
 * (tests/fuzz/fuzz_jobs.c) walk all.
 */
#pragma once

#include "workloads/cluster_jobs/core/gang_rules.h"

typedef struct {
  GArray *jobs;           /* of OrrGangJob, in FIFO order once read */
  GStringChunk *texts;    /* of the jobs' names */
  GPtrArray *phases;      /* of OrrGangPhases *, of jobs whose speed changes */
  GPtrArray *assumed;     /* of char *: what the trace lacks, and what is taken instead */
  gboolean is_dated;      /* submissions are dates: the first becomes 0 */
  const char *only_queue; /* other queues' jobs are left out; NULL or "": none */
  guint n_other_queues, n_without_gpus; /* jobs left out */
  GHashTable *left_out;                 /* ids of jobs left out, where jobs wait for others */
  GArray *after;                        /* jobs that wait for others (job_after.c); NULL: none */
} OrrJobTrace;

/* One line of a trace, in the trace's own units. */
typedef struct {
  const char *id, *user, *queue, *model; /* NULL: none */
  double submit_s, work_s, limit_s;      /* limit_s 0: none */
  double gpus;
  double restart_s, checkpoint_s, checkpoint_cost_s, detection_s; /* -1: not stated */
  double priority;
  double cpus, memory_gb, min_gpus, max_gpus, segment, steps; /* 0: not stated */
  const char *after;                                          /* NULL: none */
  OrrPlace after_place;
  const OrrGangPhases *phases; /* NULL: none; the trace takes it */
} OrrJobLine;

/* A line that states nothing: every optional member at what stands for that. */
#define ORR_JOB_LINE_NONE                                                                          \
  .restart_s = -1, .checkpoint_s = -1, .checkpoint_cost_s = -1, .detection_s = -1

typedef struct {
  OrrEntry entry;
  const char *ending; /* of the files' names: ".csv"; of several formats, the first has it */
  /* Whether a file that begins with @head (text of up to 4 KiB) is of this format, whatever its
   * name; NULL: its name says it. */
  gboolean (*takes)(const char *head);
  /* @path is checked to be a file; FALSE with @error: it cannot be read. */
  gboolean (*read)(OrrJobTrace *trace, const char *path, OrrDiags *diags, GError **error);
} OrrJobReader;

extern const OrrRegistry orr_job_reader_registry;

/* Reads @path with @reader, NULL: the first that takes the file's beginning, then the one whose
 * ending the name has, otherwise csv. NULL with all findings. */
OrrJobTrace *orr_job_trace_read(const char *path, const OrrJobReader *reader,
                                const char *only_queue, GError **error);
OrrJobTrace *orr_job_trace_new(void);
void orr_job_trace_free(OrrJobTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrJobTrace, orr_job_trace_free)

/* --- Jobs that no trace has: arrivals, gangs and run times drawn from distributions --- */

typedef enum { ORR_ARRIVALS_POISSON, ORR_ARRIVALS_EVEN, ORR_ARRIVALS_AT_ONCE } OrrJobArrivals;
typedef enum {
  ORR_DURATIONS_EXPONENTIAL,
  ORR_DURATIONS_LOGNORMAL,
  ORR_DURATIONS_CONSTANT,
  ORR_DURATIONS_PHILLY /* as Gavel draws them, after Philly's */
} OrrJobDurations;

typedef enum { ORR_JOB_MODELS_NONE, ORR_JOB_MODELS_THROUGHPUTS } OrrJobModels;
typedef enum { ORR_JOB_NUMBERS_STREAMS, ORR_JOB_NUMBERS_PYTHON } OrrJobNumbers;

typedef struct {
  gint64 n;
  double load;             /* of the cluster's GPUs */
  double gap_s;            /* mean time between submissions; 0: by the load */
  int models, numbers;     /* OrrJobModels, OrrJobNumbers */
  int arrivals, durations; /* OrrJobArrivals, OrrJobDurations */
  double mean_s, sigma;    /* of run times; sigma of their logarithm */
  GArray *gpus, *weights;  /* of double */
  char **queues;
} OrrJobGenerate;

extern const OrrFieldTable orr_job_generate_table;

void orr_job_generate_check(const OrrJobGenerate *generate, OrrPlace place, OrrDiags *diags);
/* The machine and load that jobs are drawn for. */
typedef struct {
  gint64 n_gpus;                    /* of the cluster */
  guint64 seed;                     /* the same gives the same jobs */
  const OrrGangThroughputs *speeds; /* NULL: no table */
  const char *kind;                 /* of GPU, on which run times are drawn */
} OrrJobGround;

/* NULL where the table has no model for a gang. */
OrrJobTrace *orr_job_generate(const OrrJobGenerate *generate, const OrrJobGround *ground,
                              GError **error);

/* --- for readers --- */

/* The text of a file of lines, newly allocated; NULL with an error: not read, or not text. */
char *orr_job_trace_text(const char *path, GError **error);

/* Checks ranges and adds the job. A job of no GPUs is counted and left out. */
void orr_job_trace_add(OrrJobTrace *trace, const OrrJobLine *line, OrrPlace place, OrrDiags *diags);
/* "2020-04-01 00:00:10", with 'T' for the blank and an offset as it may be (UTC without one), in
 * seconds of the trace; in the end 0 is its first submission. FALSE with a finding. */
gboolean orr_job_trace_date(OrrJobTrace *trace, const char *text, OrrPlace place, OrrDiags *diags,
                            double *ret_s);
/* Notes once what the trace lacks. */
void orr_job_trace_assume(OrrJobTrace *trace, const char *text);

/* --- job_after.c: what jobs wait for --- */

/* Notes what the job of @line, the next one of the trace, waits for. */
void orr_job_after_note(OrrJobTrace *trace, const OrrJobLine *line);
/* The job @id (NULL: it has none) is left out. */
void orr_job_after_leave_out(OrrJobTrace *trace, const char *id);
/* Findings about ids that no job has, or several have, and about jobs that wait for each other. The
 * jobs are in the order of the file. */
void orr_job_after_check(OrrJobTrace *trace, OrrDiags *diags);
/* Takes out the jobs that wait for jobs left out, directly or not; returns how many. */
guint orr_job_after_drop(OrrJobTrace *trace);
