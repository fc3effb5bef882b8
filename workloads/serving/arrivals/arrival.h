/*
 * arrival.h - arrival processes: when requests arrive, and how long they are.
 *
 * A load is open if requests arrive regardless of the engine's progress (rates, traces). It is
 * closed if a request arrives because another one has ended (a number kept in flight,
 * conversations). The fleet requests the next arrival, and reports each request that ends:
 *
 *   next    the next request known in advance; times never fall. FALSE: there is no more.
 *   after   a request that follows from one that has ended, at ret->arrival_s >= now. FALSE: none
 *           does.
 *
 * An entry sets the times and, for traces and conversations, the lengths. Lengths that it leaves 0
 * are drawn from the workload's `input` and `output` (orr_arrival_fill). To add one: write
 * workloads/serving/arrivals/NAME.c with one `const OrrArrival` and its line in meson.build.
 */
#pragma once

#include "sim/base/library.h"
#include "workloads/lengths.h"
#include "workloads/serving/core/request.h"

/* The regions where clients are, 0: one place. weights: their parts of the load, sum 1. */
typedef struct {
  guint n;
  double *weights, *later_s; /* later_s: by how much the day of each is later */
} OrrClientRegions;

/* The region, from 1, in which part @place of @weights lies, 0 <= @place < their sum. */
guint16 orr_client_regions_draw(const OrrClientRegions *clients, const double *weights,
                                double place);

/* The inputs of an entry. */
typedef struct {
  gint64 requests;     /* maximum number of requests; 0: all of a trace, otherwise 1000 */
  gboolean is_endless; /* a trace is replayed again and again, until the run ends it */
  const OrrLengths *input, *output;
  guint64 seed;
  char *const *folders; /* folders to search for traces (workload.h) */
  gint64 longest;       /* maximum tokens of prompt and output together; 0: no limit */
  OrrClientRegions clients;
} OrrArrivalContext;

/* Requests that follow from one another: a conversation's, or a client's from one to its next. */
typedef struct {
  double requests,
      pauses_s;    /* of one, on average, and seconds in which it has none in the system */
  double bunching; /* E(n^2) / E(n) of its n requests, or of bursts; 0: not asked */
} OrrChain;

/* An endless load whose requests come again every period_s, at the same distances and with the same
 * lengths. 0, 0: none such. */
typedef struct {
  double period_s;
  gint64 requests; /* in a period */
} OrrCycle;

typedef struct {
  OrrEntry entry;
  /* Mandatory: open, next. Other functions may be NULL. */
  /* the entry provides lengths */
  gboolean is_trace;
  /* what says which tokens prompts share ("load.system-prompt"); NULL: nothing does */
  const char *shares;
  /* it goes on at one mean rate for as many requests as it is asked for */
  gboolean is_endless;
  /* its rate follows the time of day, which may be later in some regions (context.clients) */
  gboolean has_days;
  /* whether a file that begins with @head (text of up to 4 KiB) is a trace of this format; NULL:
   * the load has no file, or its format is the one of all other files */
  gboolean (*takes)(const char *head);
  /* checks that span fields; NULL: none */
  void (*check)(const void *params, OrrPlace place, OrrDiags *diags);
  gpointer (*open)(const void *params, const OrrArrivalContext *context, GError **error);
  gboolean (*next)(gpointer state, OrrRequest *ret_request);
  gboolean (*after)(gpointer state, OrrRequest *ended, double now_s,
                    OrrRequest *ret_request); /* NULL: an open load */
  /* "columns that are not read: a, b", of its file; NULL: none, or no function. Borrowed. */
  const char *(*left_out)(gconstpointer state);
  /* requests that its file gives, of the context's `requests` at most; NULL: there is no file */
  gint64 (*requests)(gconstpointer state);
  const char *rate_of; /* what its rate counts, in the plural; NULL: requests */
  gboolean is_bounded; /* its clients are a fixed number: so requests in the system have a bound */
  /* NULL: no request follows from another one */
  OrrChain (*chain)(gconstpointer state);
  /* of a load that is open and endless; NULL: it does not repeat itself */
  OrrCycle (*cycle)(gconstpointer state);
  void (*close)(gpointer state);
  /* Closed form of the long-term mean rate in requests per second; NULL or 0: none. */
  double (*oracle)(const void *params);
} OrrArrival;

extern const OrrRegistry orr_arrival_registry;

/* The path of a trace that a document names: below the first of @folders that holds it,
 * otherwise unchanged. The document's own folder is the first, so the result does not depend on
 * the working directory. Newly allocated; NULL with ORR_FAULT_DOCUMENT that begins with @whose,
 * the scenario path of the field that names the trace. */
char *orr_arrival_find(const char *path, char *const *folders, const char *whose, GError **error);

/* The bytes of a trace, at most ORR_FILE_MAX_DATA; NULL with ORR_FAULT_RESOURCE that names the
 * file. */
GBytes *orr_trace_map(const char *path, GError **error);

/* --- rates: shared by constant, poisson, gamma, diurnal and ramp --- */

typedef struct {
  const void *params;
  gint64 left;
  double now_s;
  OrrRandom random;
  OrrClientRegions clients; /* borrowed */
} OrrRateState;

gpointer orr_arrival_open_rate(const void *params, const OrrArrivalContext *context,
                               GError **error);

/* --- rows: shared by traces --- */

/* How a trace is replayed. */
typedef struct {
  char *file;
  double speed, rate; /* rate: requests/s, to which its times are scaled; 0: as recorded */
  gint64 repeat;
} OrrTraceFile;

typedef struct {
  GArray *requests;    /* OrrRequest, in order of time */
  GPtrArray *spans;    /* of OrrSpanOfText *, owned; NULL */
  GPtrArray *keys;     /* of char *: keys of JSON that are not read, each once */
  char *left_out;      /* columns or keys that are not read (orr_csv_left_out); NULL: none */
  guint at, n_failed;  /* rows without an output, which are left out */
  gint64 longest;      /* as in OrrArrivalContext */
  gboolean is_endless; /* the rows are replayed every period_s */
  double period_s;
  guint64 times; /* replayed before */
} OrrTrace;

OrrTrace *orr_trace_new(const OrrArrivalContext *context);
void orr_trace_free(gpointer trace);
gboolean orr_trace_next(gpointer trace, OrrRequest *ret_request);
/* Appends a row of a trace. Checks that time does not decrease and that lengths are valid; adds
 * findings at @place. @time_s counts from the trace's own start. */
void orr_trace_add(OrrTrace *trace, double time_s, double prompt, double output, OrrPlace place,
                   OrrDiags *diags);
/* Notes that a key of JSON is not read. */
void orr_trace_leave_out(OrrTrace *trace, const char *key);
const char *orr_trace_left_out(gconstpointer trace);
gint64 orr_trace_requests(gconstpointer trace);
OrrCycle orr_trace_cycle(gconstpointer trace);
/* Limits, repeats, rescales and checks the rows, as @file and @context say; @path: for messages.
 * Takes @trace. NULL if there is no request, if there are too many, if times cannot be scaled or
 * replayed, or if @diags has errors. */
OrrTrace *orr_trace_finish(OrrTrace *trace, const OrrTraceFile *file,
                           const OrrArrivalContext *context, const char *path, OrrDiags *diags,
                           GError **error);

/* --- facts: of a trace, for those who choose its rate --- */

typedef struct {
  gint64 requests;
  double rate; /* requests/s as recorded */
  gint64 shortest_prompt, longest_prompt, shortest_output, longest_output;
  double mean_prompt, mean_output;
  gboolean shares; /* requests have texts in common, which caches may hold */
  char *left_out;  /* as OrrArrival.left_out; owned */
} OrrTraceFacts;

/* Reads one replay of the first @requests rows of a trace (0: all), at the rate that @params
 * give. FALSE with @error as OrrArrival.open, and where it cannot be replayed at a rate. */
gboolean orr_trace_facts(const OrrArrival *load, const void *params, gint64 requests,
                         char *const *folders, OrrTraceFacts *ret_facts, GError **error);
void orr_trace_facts_clear(OrrTraceFacts *facts);

/* The format of the trace at @path, by how it begins; csv where no other takes it. */
const OrrArrival *orr_arrival_of_file(const char *path);
