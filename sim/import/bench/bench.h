/*
 * bench.h - what a benchmark measured: rows for `fit` and comparisons, and the load that it made.
 *
 *   text of a tool --a reader--> results: one per run of the benchmark
 *                                  |--> CSV, a row each, SI units
 *                                  '--> the load as a scenario's keys (serving)
 *
 * A reader is an entry: one file, one line in the array of bench.c. A text that is of two tools, or
 * of a tool that is known and not read (llmperf), is refused by name.
 */
#pragma once

#include "sim/base/diag.h"

/* What a result can hold; the names of bench.c are the columns. */
typedef enum {
  ORR_BENCH_CONCURRENCY, /* most requests in flight that the benchmark allows */
  ORR_BENCH_RATE,        /* requests per second offered; infinity: all at once */
  ORR_BENCH_REQUESTS,    /* completed */
  ORR_BENCH_FAILED,
  ORR_BENCH_DURATION,
  ORR_BENCH_INPUT_TOKENS, /* mean per request */
  ORR_BENCH_OUTPUT_TOKENS,
  ORR_BENCH_TTFT_MEAN,
  ORR_BENCH_TTFT_P50,
  ORR_BENCH_TTFT_P90,
  ORR_BENCH_TTFT_P99,
  ORR_BENCH_TPOT_MEAN,
  ORR_BENCH_TPOT_P50,
  ORR_BENCH_TPOT_P90,
  ORR_BENCH_TPOT_P99,
  ORR_BENCH_ITL_MEAN,
  ORR_BENCH_ITL_P50,
  ORR_BENCH_ITL_P90,
  ORR_BENCH_ITL_P99,
  ORR_BENCH_E2E_MEAN,
  ORR_BENCH_E2E_P50,
  ORR_BENCH_E2E_P90,
  ORR_BENCH_E2E_P99,
  ORR_BENCH_REQUEST_RATE, /* completed per second */
  ORR_BENCH_OUTPUT_RATE,  /* tokens per second */
  ORR_BENCH_TOTAL_RATE,
  ORR_BENCH_ITERATION,  /* training: median seconds of a step */
  ORR_BENCH_ITERATIONS, /* how many steps the median is of */
  ORR_BENCH_WARM_UP,    /* how many first steps were left out */
  ORR_BENCH_GLOBAL_BATCH,
  ORR_BENCH_TFLOPS, /* per GPU, 1e12 per second */
  ORR_BENCH_MEMORY, /* bytes of a GPU at the peak */
  ORR_BENCH_TOKENS_PER_GPU,
  ORR_BENCH_SAMPLES,      /* training: sequences per second, of all GPUs */
  ORR_BENCH_GENERATION,   /* post-training: seconds of a step's rollouts */
  ORR_BENCH_UPDATE,       /* ... and of its update of the policy */
  ORR_BENCH_CACHE_TOKENS, /* serving: tokens that the cache holds */
  ORR_BENCH_CACHE_BYTES,
  ORR_BENCH_IN_FLIGHT, /* serving: requests in flight, measured */
  ORR_BENCH_N_VALUES
} OrrBenchValue;

typedef struct {
  const char *tool; /* "vllm" */
  char *model;      /* as the tool printed it; NULL: not printed */
  char *server;  /* the server that it asked, as the tool calls it: "tensorrt-llm"; NULL: its own,
                      * or any */
  char *version; /* of the server: "1.0.0"; NULL: not printed */
  gboolean is_even;  /* the offered rate has equal gaps, not a Poisson process's */
  gboolean has_ramp; /* the rate grew during the run, from and to what this program does not take */
  double burstiness; /* shape of the gaps' gamma distribution; NaN: a Poisson process */
  /* Lengths were drawn evenly from `ratio` times these to these; NaN: they were not. */
  double ratio, input_longest, output_longest;
  guint other_batches; /* steps of training left out: of another global batch than the last */
  OrrPlace place;
  double values[ORR_BENCH_N_VALUES]; /* NaN: not printed */
} OrrBenchResult;

typedef struct {
  const char *text;
  gsize length;
  const char *file;   /* interned */
  GPtrArray *results; /* of OrrBenchResult *, which the reader appends */
  OrrDiags *diags;
} OrrBenchInput;

typedef struct {
  const char *name, *sentence;
  gboolean (*recognise)(const OrrBenchInput *input);
  void (*read)(OrrBenchInput *input); /* errors go to the diagnostics */
  gboolean yields;                    /* to any other reader that recognises the text */
} OrrBenchReader;

extern const OrrBenchReader *const orr_bench_readers[]; /* alphabetical, NULL-terminated */

/* Reads a file of any tool and appends its results. FALSE with ORR_FAULT_DOCUMENT or _RESOURCE. */
gboolean orr_bench_read(const char *path, GPtrArray *results, GError **error);
/* The same for text in memory, for tests and fuzzers. */
gboolean orr_bench_read_text(const char *text, gsize length, const char *name, GPtrArray *results,
                             GError **error);

OrrBenchResult *orr_bench_result_new(const char *tool, OrrPlace place); /* all values NaN */
void orr_bench_result_free(OrrBenchResult *result);

/* A table with a column for each value that some result has. Newly allocated. */
char *orr_bench_csv(const GPtrArray *results);
/* The load of @result as keys of a scenario's workload, YAML. NULL with ORR_FAULT_DOCUMENT where it
 * is not of serving, or says neither concurrency nor rate. */
char *orr_bench_load(const OrrBenchResult *result, GError **error);

/* A table bench_*.csv of keys or labels as it was compiled in (results/embed.sh). */
typedef struct {
  const char *name, *sentence, *text;
} OrrBenchTable;

/* A key, or a label, gives a value. */
typedef struct {
  const char *key;
  int value;    /* OrrBenchValue, or from ORR_BENCH_N_VALUES on a word of the reader's own */
  double scale; /* to SI; 0: the unit stands next to the number */
} OrrBenchKey;

/* The keys of the table @name, of OrrBenchKey. @more: values of the reader's own; or NULL. Newly
 * allocated; the program keeps its texts. */
GArray *orr_bench_keys(const char *name, const char *const *more);

/* "1,799.53" -> 1799.53. FALSE: not a number ("N/A", "xxx.xx"). */
gboolean orr_bench_number(const char *text, double *ret_value);

extern const OrrBenchReader orr_bench_guidellm, orr_bench_json, orr_bench_labels, orr_bench_loadgen,
    orr_bench_megatron, orr_bench_mlperf, orr_bench_nemo, orr_bench_offline, orr_bench_server_log,
    orr_bench_table, orr_bench_torchtitan, orr_bench_trainers, orr_bench_trtllm;

/* bench_steps.c: times of training steps, from which the first are left out. */

typedef struct {
  GArray *seconds, *tflops, *tokens;     /* of double; steps, in order */
  GArray *samples, *generation, *update; /* the same */
  double memory, global_batch;           /* NaN: not printed */
  double newest;                         /* the number of the newest step, of readers that ask */
  guint other_batches;                   /* steps dropped by orr_bench_steps_set_batch */
  guint warm_up;                         /* least number of steps to leave out; 0: one */
} OrrBenchSteps;

OrrBenchSteps orr_bench_steps_new(void);
void orr_bench_steps_clear(OrrBenchSteps *steps);
/* The global batch of the steps that follow. Where it changes (a ramp), earlier steps are dropped:
 * a row is of one batch, the last one. */
void orr_bench_steps_set_batch(OrrBenchSteps *steps, double batch);

/* Adds to @steps what @line says of a step, if it is the line of one. @user: the reader's own. */
typedef void (*OrrBenchStepLine)(OrrBenchSteps *steps, const char *line, gconstpointer user);

/* Reads all lines, and all states of progress bars, which carriage returns divide. Appends a result
 * if there are steps: medians of all but the first tenth of the steps, at least one and at most ten
 * (first steps compile, tune and allocate). */
void orr_bench_steps_read(OrrBenchInput *input, const char *tool, OrrBenchStepLine read_line,
                          gconstpointer user);

/* The median of all but the first @skipped; NaN where nothing is left. */
double orr_bench_steps_median(const GArray *values, guint skipped);

/* The number behind @label in @line ("elapsed time per iteration (ms):"). FALSE: not there. */
gboolean orr_bench_steps_number(const char *line, const char *label, double *ret_value);
