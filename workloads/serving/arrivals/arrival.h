/*
 * arrival.h - when requests come, and what they are.
 *
 * A load is open where requests come whatever the engine does (rates, traces), closed where a
 * request comes because another one has ended (a number kept in flight, conversations). The fleet
 * asks for the next request, and tells of each one that ends:
 *
 *   next    the next request known in advance; times never fall. FALSE: there is no more.
 *   after   a request that follows from one that has ended, at ret->arrival_s >= now. FALSE: none does.
 *
 * An entry fills the times, and of traces and conversations the lengths; lengths that it leaves 0
 * are drawn from the workload's `input` and `output` (orr_arrival_fill). To add one: write
 * workloads/serving/arrivals/NAME.c with one `const OrrArrival`, add it to the array in arrival.c
 * and to meson.build.
 */
#ifndef ORR_ARRIVAL_H
#define ORR_ARRIVAL_H

#include "sim/base/library.h"
#include "workloads/lengths.h"
#include "workloads/serving/core/request.h"

G_BEGIN_DECLS

/* What an entry may draw on. */
typedef struct {
  gint64 requests; /* how many at most; 0: as many as a trace has, else 1000 */
  const OrrLengths *input, *output;
  guint64 seed;
  char *const *folders; /* where traces may lie (workload.h) */
  gint64 longest;       /* tokens of a request, prompt and output; 0: no limit */
} OrrArrivalContext;

typedef struct {
  OrrEntry entry;
  gboolean is_trace;                                                  /* brings its lengths along */
  void (*check)(const void *params, OrrPlace place, OrrDiags *diags); /* NULL: fields say it all */
  gpointer (*open)(const void *params, const OrrArrivalContext *context, GError **error);
  gboolean (*next)(gpointer state, OrrRequest *ret_request);
  gboolean (*after)(gpointer state, OrrRequest *ended, double now_s,
                    OrrRequest *ret_request); /* NULL: open */
  void (*close)(gpointer state);
  /* Closed form of the mean rate in requests a second over a long time; NULL or 0: has none. */
  double (*oracle)(const void *params);
} OrrArrival;

extern const OrrRegistry orr_arrival_registry;

/* The path of a trace that a document names: below the first of @folders that holds it, else as
 * it is. The document's own folder is the first, so that its meaning does not depend on where it
 * is run. Newly allocated; NULL with ORR_FAULT_DOCUMENT, which begins with @whose, the
 * scenario's path of what asks for it. */
char *orr_arrival_find(const char *path, char *const *folders, const char *whose, GError **error);

/* The bytes of a trace, of at most ORR_FILE_MAX_DATA; NULL with ORR_FAULT_RESOURCE, which names
 * it. */
GBytes *orr_trace_map(const char *path, GError **error);

/* --- rates: what constant, poisson, gamma, diurnal and ramp share --- */

typedef struct {
  const void *params;
  gint64 left;
  double now_s;
  OrrRandom random;
} OrrRateState;

gpointer orr_arrival_open_rate(const void *params, const OrrArrivalContext *context,
                               GError **error);

/* --- rows: what traces share --- */

typedef struct {
  GArray *requests; /* OrrRequest, in order of time */
  GPtrArray *spans; /* of guint64 *, owned; NULL */
  guint at;
  gint64 longest; /* as the context's */
} OrrTrace;

OrrTrace *orr_trace_new(const OrrArrivalContext *context);
void orr_trace_free(gpointer trace);
gboolean orr_trace_next(gpointer trace, OrrRequest *ret_request);
/* Appends a row of a trace: checks that time does not go back and that lengths are sane;
 * findings at @place. @time_s is since the trace's own zero. */
void orr_trace_add(OrrTrace *trace, double time_s, double prompt, double output, OrrPlace place,
                   OrrDiags *diags);
/* Cuts, rescales and checks what was read; takes @trace. NULL where there is no request or
 * @diags has errors. */
OrrTrace *orr_trace_finish(OrrTrace *trace, double time_scale, gint64 most, const char *path,
                           OrrDiags *diags, GError **error);

G_END_DECLS

#endif
