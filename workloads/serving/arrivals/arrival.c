/*
 * arrival.c - the registry of arrival processes, and the code that rates and traces share.
 */
#include "workloads/serving/arrivals/arrival.h"

#include "sim/base/csv.h"
#include "sim/base/fault.h"
#include "sim/base/file.h"

extern const OrrArrival orr_arrival_azure, orr_arrival_closed_loop, orr_arrival_constant,
    orr_arrival_csv, orr_arrival_diurnal, orr_arrival_gamma, orr_arrival_mooncake,
    orr_arrival_poisson, orr_arrival_ramp, orr_arrival_sessions, orr_arrival_sharegpt;

/* Alphabetical. To add one, see arrival.h. */
static const OrrEntry *const entries[] = {
    &orr_arrival_azure.entry,    &orr_arrival_closed_loop.entry, &orr_arrival_constant.entry,
    &orr_arrival_csv.entry,      &orr_arrival_diurnal.entry,     &orr_arrival_gamma.entry,
    &orr_arrival_mooncake.entry, &orr_arrival_poisson.entry,     &orr_arrival_ramp.entry,
    &orr_arrival_sessions.entry, &orr_arrival_sharegpt.entry,    NULL};
const OrrRegistry orr_arrival_registry = {"load", entries};

/* --- rates --- */

gpointer orr_arrival_open_rate(const void *params, const OrrArrivalContext *context,
                               GError **error) {
  (void)error;
  OrrRateState *state = g_new0(OrrRateState, 1);
  *state = (OrrRateState){.params = params,
                          .left = context->requests > 0 ? context->requests : 1000,
                          .random = orr_random_stream(context->seed, "arrivals")};
  return state;
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
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: there is no trace %s%s", whose, path,
              searched->str);
  return NULL;
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
  g_free(trace->left_out);
  g_free(trace);
}

gboolean orr_trace_next(gpointer data, OrrRequest *ret_request) {
  OrrTrace *trace = data;
  if (trace->at >= trace->requests->len) return FALSE;
  *ret_request = g_array_index(trace->requests, OrrRequest, trace->at++);
  return TRUE;
}

void orr_trace_leave_out(OrrTrace *trace, const char *key) {
  enum { MOST_KEYS = 100 }; /* of which a message names a dozen */
  if (trace->keys->len >= MOST_KEYS ||
      g_ptr_array_find_with_equal_func(trace->keys, key, g_str_equal, NULL))
    return;
  g_ptr_array_add(trace->keys, g_strdup(key));
}

const char *orr_trace_left_out(gconstpointer data) { return ((const OrrTrace *)data)->left_out; }

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
  if (!(time_s >= 0)) {
    orr_diags_error(diags, place, "time %g s is below 0", time_s);
    return;
  }
  if (n == 0 && time_s > latest_s) {
    orr_diags_error(diags, place,
                    "the first request comes at %.10g s: give seconds since the start, not a date",
                    time_s);
    return;
  }
  if (n > 0 && time_s < before) {
    orr_diags_error(diags, place, "time goes back from %g s to %g s", before, time_s);
    return;
  }
  const gboolean prompt_is = is_length(prompt, "a prompt", 1, place, diags),
                 output_is =
                     is_length(output, "an output", 1, place, diags); /* both are reported */
  if (!prompt_is || !output_is) return;
  if (trace->longest > 0 && prompt + output > (double)trace->longest) {
    orr_diags_error(diags, place,
                    "a request of %g + %g tokens is longer than the context or the key-value cache "
                    "(%" G_GINT64_FORMAT ")",
                    prompt, output, trace->longest);
    return;
  }
  const OrrRequest request = {
      .arrival_s = time_s, .prompt = (gint32)prompt, .output = (gint32)output};
  g_array_append_val(trace->requests, request);
}

static gboolean refuse_trace(OrrTrace *trace, const char *what, const char *path, GError **error) {
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "workload.load.%s: %s", what, path);
  orr_trace_free(trace);
  return FALSE;
}

/* The texts of a prompt that is replayed for the @time-th time: others than those before. */
static const OrrSpanOfText *other_spans(OrrTrace *trace, const OrrRequest *request, guint64 time) {
  OrrSpanOfText *spans = g_memdup2(request->spans, (gsize)request->n_spans * sizeof(OrrSpanOfText));
  for (gint32 i = 0; i < request->n_spans; i++) {
    spans[i].id = orr_random_hash3(spans[i].id, time, 0);
    spans[i].text = orr_random_hash3(spans[i].text, time, 0);
  }
  g_ptr_array_add(trace->spans, spans);
  return spans;
}

/* One replay follows the other after a mean gap between requests. */
static void repeat(OrrTrace *trace, gint64 times) {
  const guint n = trace->requests->len;
  const double last_s = g_array_index(trace->requests, OrrRequest, n - 1).arrival_s;
  const double period_s = n > 1 ? last_s * n / (n - 1) : last_s;
  for (gint64 time = 1; time < times; time++)
    for (guint i = 0; i < n; i++) {
      OrrRequest request = g_array_index(trace->requests, OrrRequest, i);
      request.arrival_s += (double)time * period_s;
      if (request.stream) request.stream = orr_random_hash3(request.stream, (guint64)time, 0);
      if (request.n_spans > 0) request.spans = other_spans(trace, &request, (guint64)time);
      g_array_append_val(trace->requests, request);
    }
}

OrrTrace *orr_trace_finish(OrrTrace *trace, double time_scale, gint64 times, gint64 most,
                           const char *path, OrrDiags *diags, GError **error) {
  if (!orr_diags_check(diags, error)) {
    orr_trace_free(trace);
    return NULL;
  }
  if (!trace->left_out) trace->left_out = orr_csv_left_out("keys", trace->keys);
  if (trace->requests->len == 0) {
    refuse_trace(trace, "file: the trace has no request", path, error);
    return NULL;
  }
  if (trace->requests->len > MOST_REPEATED / times && times > 1) {
    refuse_trace(trace, "repeat: more than 10 million requests in all", path, error);
    return NULL;
  }
  if (times > 1) repeat(trace, times);
  if (most > 0 && trace->requests->len > most) g_array_set_size(trace->requests, (guint)most);
  for (guint i = 0; i < trace->requests->len; i++) {
    OrrRequest *request = &g_array_index(trace->requests, OrrRequest, i);
    request->arrival_s *= time_scale;
    if (time_scale != 1 || times > 1)
      request->measured_first_s = request->measured_end_s = 0; /* times measured under another
                                                                * load */
  }
  return trace;
}
