/*
 * arrival.c - the code that rates and traces share.
 */
#include "workloads/serving/arrivals/arrival.h"

#include "sim/base/csv.h"
#include "sim/base/file.h"

/* --- rates --- */

gpointer orr_arrival_open_rate(const void *params, const OrrArrivalContext *context,
                               GError **error) {
  OrrRateState *state = g_new0(OrrRateState, 1);
  *state = (OrrRateState){.params = params,
                          .left = context->requests > 0 ? context->requests : 1000,
                          .random = orr_random_stream(context->seed, "arrivals"),
                          .clients = context->clients};
  return state;
}

guint16 orr_client_regions_draw(const OrrClientRegions *clients, const double *weights,
                                double place) {
  guint i = 0;
  while (i + 1 < clients->n && (weights[i] <= 0 || place >= weights[i])) place -= weights[i++];
  return (guint16)(i + 1);
}

/* --- traces --- */

enum {
  MOST_REPEATED = 10000000,
  LONGEST = 100000000
}; /* tokens; longer than any context, and small enough not to
                               * overflow */
static const double latest_s =
    1e8; /* three years: larger values are dates, for which doubles lose the microseconds */

char *orr_arrival_find(const char *path, char *const *folders, const char *whose, GError **error) {
  g_autoptr(GString) searched = g_string_new(NULL);
  for (; folders && *folders && !g_path_is_absolute(path); folders++) {
    const gboolean is_here =
        strcmp(*folders, ".") == 0; /* messages show the name as the user wrote it */
    g_autofree char *below = is_here ? g_strdup(path) : g_build_filename(*folders, path, NULL);
    if (g_file_test(below, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&below);
    if (!is_here) g_string_append_printf(searched, ", nor %s", below);
  }
  if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) return g_strdup(path);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: there is no trace %s%s", whose, path,
                        searched->str);
}

GBytes *orr_trace_map(const char *path, GError **error) {
  GBytes *bytes = orr_file_map(path, ORR_FILE_MAX_DATA, error);
  if (!bytes) g_prefix_error(error, "%s: ", path);
  return bytes;
}

OrrTrace *orr_trace_new(const OrrArrivalContext *context) {
  OrrTrace *trace = g_new0(OrrTrace, 1);
  trace->longest = context->longest;
  trace->requests = g_array_new(FALSE, TRUE, sizeof(OrrRequest));
  trace->spans = g_ptr_array_new_with_free_func(g_free);
  trace->keys = g_ptr_array_new_with_free_func(g_free);
  return trace;
}

void orr_trace_free(gpointer data) {
  OrrTrace *trace = data;
  if (!trace) return;
  g_array_unref(trace->requests);
  g_ptr_array_unref(trace->spans);
  g_ptr_array_unref(trace->keys);
  ORR_FREE(trace->left_out, trace);
}

void orr_trace_leave_out(OrrTrace *trace, const char *key) {
  enum { MOST_KEYS = 100 }; /* a message names a dozen of them */
  if (trace->keys->len >= MOST_KEYS ||
      g_ptr_array_find_with_equal_func(trace->keys, key, g_str_equal, NULL))
    return;
  g_ptr_array_add(trace->keys, g_strdup(key));
}

const char *orr_trace_left_out(gconstpointer data) { return ((const OrrTrace *)data)->left_out; }

gint64 orr_trace_requests(gconstpointer data) { return ((const OrrTrace *)data)->requests->len; }

static gboolean is_length(double tokens, const char *what, double least, OrrPlace place,
                          OrrDiags *diags) {
  if (tokens >= least && tokens <= LONGEST && tokens == (double)(gint64)tokens) return TRUE;
  orr_diags_error(diags, place, "%s of %g tokens: must be a whole number from %g to %d", what,
                  tokens, least, LONGEST);
  return FALSE;
}

void orr_trace_add(OrrTrace *trace, double time_s, double prompt, double output, OrrPlace place,
                   OrrDiags *diags) {
  const guint n = trace->requests->len;
  const double before = n > 0 ? g_array_index(trace->requests, OrrRequest, n - 1).arrival_s : 0;
  if (!(time_s >= 0)) return orr_diags_error(diags, place, "time %g s is below 0", time_s);
  if (n == 0 && time_s > latest_s)
    return orr_diags_error(
        diags, place,
        "the first request comes at %.10g s: give seconds since the start, not a date", time_s);
  if (n > 0 && time_s < before)
    return orr_diags_error(diags, place, "time goes back from %g s to %g s", before, time_s);
  if (output == 0) {
    trace->n_failed++;
    return;
  }
  const gboolean prompt_is = is_length(prompt, "a prompt", 1, place, diags),
                 output_is =
                     is_length(output, "an output", 1, place, diags); /* both are reported */
  if (!prompt_is || !output_is) return;
  if (trace->longest > 0 && prompt + output > (double)trace->longest)
    return orr_diags_error(
        diags, place,
        "a request of %g + %g tokens is longer than the context or the key-value cache "
        "(%ld)",
        prompt, output, trace->longest);
  ORR_APPEND(trace->requests, OrrRequest,
             {.arrival_s = time_s, .prompt = (gint32)prompt, .output = (gint32)output});
}

/* The texts of a prompt that is replayed for the @time-th time: others than those before. @salt
 * differs between the repeats of a trace and the replays of an endless load. */
static const OrrSpanOfText *other_spans(OrrTrace *trace, const OrrRequest *request, guint64 time,
                                        guint64 salt) {
  OrrSpanOfText *spans = g_memdup2(request->spans, (gsize)request->n_spans * sizeof(OrrSpanOfText));
  for (gint32 i = 0; i < request->n_spans; i++) {
    spans[i].id = orr_random_hash3(spans[i].id, time, salt);
    spans[i].text = orr_random_hash3(spans[i].text, time, salt);
  }
  g_ptr_array_add(trace->spans, spans);
  return spans;
}

static OrrRequest replayed(OrrTrace *trace, guint i, guint64 time, guint64 salt, double period_s) {
  OrrRequest request = g_array_index(trace->requests, OrrRequest, i);
  request.arrival_s += (double)time * period_s;
  if (request.stream) request.stream = orr_random_hash3(request.stream, time, salt);
  if (request.n_spans > 0) request.spans = other_spans(trace, &request, time, salt);
  request.measured_first_s = request.measured_end_s = 0; /* under another load */
  return request;
}

gboolean orr_trace_next(gpointer data, OrrRequest *ret_request) {
  OrrTrace *trace = data;
  if (trace->at >= trace->requests->len) {
    if (!trace->is_endless) return FALSE;
    trace->at = 0;
    trace->times++;
  }
  *ret_request = trace->times > 0 ? replayed(trace, trace->at, trace->times, 1, trace->period_s)
                                  : g_array_index(trace->requests, OrrRequest, trace->at);
  trace->at++;
  return TRUE;
}

OrrCycle orr_trace_cycle(gconstpointer data) {
  const OrrTrace *trace = data;
  return trace->is_endless ? (OrrCycle){trace->period_s, trace->requests->len} : (OrrCycle){0, 0};
}

static OrrTrace *refuse_trace(OrrTrace *trace, const char *what, const char *path, GError **error) {
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "workload.load.%s: %s", what, path);
  orr_trace_free(trace);
  return NULL;
}

static double arrival_at(const OrrTrace *trace, guint i) {
  return g_array_index(trace->requests, OrrRequest, i).arrival_s;
}

/* One replay follows the other after a mean gap between requests. Requests that all come at the
 * same time are a larger burst. */
static void repeat(OrrTrace *trace, gint64 times) {
  const guint n = trace->requests->len;
  const double span_s = arrival_at(trace, n - 1) - arrival_at(trace, 0);
  const double period_s = span_s * n / MAX(n - 1, 1);
  for (gint64 time = 1; time < times; time++)
    for (guint i = 0; i < n; i++)
      ORR_APPEND(trace->requests, OrrRequest, replayed(trace, i, (guint64)time, 0, period_s));
}

/* The first request comes at 0, for a trace cut from a longer one does not begin with nothing to
 * do. Times measured under another load are left out. */
static void scale(OrrTrace *trace, double origin_s, double factor, gboolean is_other) {
  ORR_EACH(OrrRequest, request, trace->requests) {
    const gboolean is_measured = !is_other && request->measured_end_s > 0;
    request->arrival_s = (request->arrival_s - origin_s) * factor;
    request->measured_first_s = is_measured ? request->measured_first_s - origin_s : 0;
    request->measured_end_s = is_measured ? request->measured_end_s - origin_s : 0;
  }
}

/* Says how many rows had no output. */
static void add_failed(OrrTrace *trace) {
  if (trace->n_failed == 0) return;
  g_autofree char *others = trace->left_out;
  trace->left_out = g_strdup_printf("%s%srequests without output, which failed: %u are left out",
                                    others ? others : "", others ? "; " : "", trace->n_failed);
}

OrrTrace *orr_trace_finish(OrrTrace *trace, const OrrTraceFile *file,
                           const OrrArrivalContext *context, const char *path, OrrDiags *diags,
                           GError **error) {
  const gint64 most = context->requests;
  if (!orr_diags_check(diags, error)) {
    orr_trace_free(trace);
    return NULL;
  }
  if (!trace->left_out) trace->left_out = orr_csv_left_out("keys", trace->keys);
  add_failed(trace);
  if (trace->requests->len == 0)
    return refuse_trace(trace, "file: the trace has no request", path, error);
  if (trace->requests->len > MOST_REPEATED / file->repeat && file->repeat > 1)
    return refuse_trace(trace, "repeat: more than 10 million requests in all", path, error);
  if (file->repeat > 1) repeat(trace, file->repeat);
  if (most > 0 && trace->requests->len > most) g_array_set_size(trace->requests, (guint)most);
  const guint n = trace->requests->len;
  const gboolean is_moved = file->rate > 0 || context->is_endless;
  const double first_s = arrival_at(trace, 0), span_s = arrival_at(trace, n - 1) - first_s;
  if (is_moved && span_s <= 0)
    return refuse_trace(trace,
                        "file: all requests of the trace come at the same time, so it has no rate "
                        "to replay it at",
                        path, error);
  const double factor = file->rate > 0 ? (n - 1) / span_s / file->rate : 1 / file->speed;
  scale(trace, first_s, factor, factor != 1 || file->repeat > 1);
  trace->is_endless = context->is_endless;
  trace->period_s = span_s * factor * n / MAX(n - 1, 1);
  return trace;
}

/* --- facts --- */

static void add_fact(OrrTraceFacts *facts, const OrrRequest *request, gint64 n) {
  facts->shortest_prompt = MIN(facts->shortest_prompt, request->prompt);
  facts->longest_prompt = MAX(facts->longest_prompt, request->prompt);
  facts->shortest_output = MIN(facts->shortest_output, request->output);
  facts->longest_output = MAX(facts->longest_output, request->output);
  facts->mean_prompt += (double)request->prompt / (double)n;
  facts->mean_output += (double)request->output / (double)n;
  facts->shares |= request->n_spans > 0 || request->stream != 0;
}

gboolean orr_trace_facts(const OrrArrival *load, const void *params, gint64 requests,
                         char *const *folders, OrrTraceFacts *ret_facts, GError **error) {
  const OrrArrivalContext context = {
      .requests = requests, .is_endless = TRUE, .seed = 1, .folders = folders};
  g_return_val_if_fail(load->cycle, FALSE);
  gpointer state = load->open(params, &context, error);
  if (!state) return FALSE;
  const OrrCycle cycle = load->cycle(state);
  OrrTraceFacts facts = {.requests = cycle.requests,
                         .rate = (double)cycle.requests / cycle.period_s,
                         .shortest_prompt = G_MAXINT64,
                         .shortest_output = G_MAXINT64,
                         .left_out = load->left_out ? g_strdup(load->left_out(state)) : NULL};
  OrrRequest request = {0};
  for (gint64 i = 0; i < cycle.requests && load->next(state, &request); i++)
    add_fact(&facts, &request, cycle.requests);
  load->close(state);
  *ret_facts = facts;
  return TRUE;
}

void orr_trace_facts_clear(OrrTraceFacts *facts) { g_clear_pointer(&facts->left_out, g_free); }

const OrrArrival *orr_arrival_of_file(const char *path) {
  const OrrEntry *const *entries = orr_arrival_registry.entries;
  char head[4096] = "";
  g_autoptr(GError) ignored = NULL;
  g_autoptr(GBytes) file = orr_file_map(path, ORR_FILE_MAX_DATA, &ignored);
  gsize size = 0;
  const char *bytes = file ? g_bytes_get_data(file, &size) : NULL;
  if (bytes) memcpy(head, bytes, MIN(size, sizeof head - 1)); /* up to a zero byte, if it has one */
  for (guint i = 0; entries[i]; i++) {
    const OrrArrival *arrival = (const OrrArrival *)(gconstpointer)entries[i];
    if (arrival->takes && arrival->takes(head)) return arrival;
  }
  return (gconstpointer)orr_registry_find(&orr_arrival_registry, "csv");
}
