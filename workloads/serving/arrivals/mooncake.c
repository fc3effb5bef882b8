/*
 * mooncake.c - the traces of Mooncake (github.com/kvcache-ai/Mooncake, Apache-2.0; Qin et al., FAST
 * 2025): one JSON object per line with timestamp (ms), input_length, output_length and hash_ids.
 *
 * Each hash_id stands for 512 tokens of the prompt and everything before them, so equal ids mean
 * equal prefixes, which a prefix cache can reuse. The traces of Qwen's service at Bailian
 * (github.com/alibaba-edu/qwen-bailian-usagetraces-anon; Wang et al., ATC 2025) have the same keys,
 * and chat_id: their timestamps are seconds, their blocks 16 tokens. A line with more ids than
 * its prompt has blocks is an error.
 *
 *   workload: {load: {kind: mooncake, file: conversation_trace.jsonl}}
 */
#include "workloads/serving/arrivals/arrival_file.h"

enum { SPAN_TOKENS = 512, BAILIAN_TOKENS = 16 };

typedef struct {
  double time, prompt, output; /* time: ms, or s of a trace of Bailian */
  guint found;                 /* one bit for each of the three keys */
  GArray *ids;                 /* of guint64 */
} Row;

static void read_row(OrrJson *json, OrrTrace *trace, Row *row) {
  static const char *const names[] = {"timestamp", "input_length", "output_length"};
  double *const members[] = {&row->time, &row->prompt, &row->output};
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    g_autofree char *key = orr_json_key(json);
    guint i = 0;
    while (i < G_N_ELEMENTS(names) && strcmp(key, names[i]) != 0) i++;
    if (i < G_N_ELEMENTS(names)) {
      orr_json_number(json, members[i]);
      row->found |= 1u << i;
    } else if (strcmp(key, "hash_ids") == 0) {
      orr_arrival_file_read_ids(json, row->ids);
    } else {
      orr_trace_leave_out(trace, key);
      orr_json_skip(json);
    }
  }
}

/* At most a block for every @span tokens that the prompt began, and one more. */
static gboolean has_blocks(const Row *row, guint span) {
  return row->ids->len <= row->prompt / span + 2;
}

static void add_row(OrrTrace *trace, OrrSpanTexts *texts, const Row *row, guint span,
                    OrrPlace place, OrrDiags *diags) {
  const guint before = trace->requests->len;
  if (row->found != 7)
    return orr_diags_error(diags, place,
                           "a request needs timestamp, input_length and output_length");
  if (!has_blocks(row, span))
    return orr_diags_error(diags, place,
                           "%u hash_ids for a prompt of %.0f tokens: blocks of %u tokens "
                           "are expected",
                           row->ids->len, row->prompt, span);
  orr_trace_add(trace, row->time * (span == BAILIAN_TOKENS ? 1 : 1e-3), row->prompt, row->output,
                place, diags);
  if (trace->requests->len == before || row->ids->len == 0) return;
  OrrRequest *request = &g_array_index(trace->requests, OrrRequest, before);
  OrrSpanOfText *spans = orr_span_texts_read(texts, (const guint64 *)(const void *)row->ids->data,
                                             row->ids->len, &request->n_spans);
  g_ptr_array_add(trace->spans, spans);
  request->spans = spans;
}

static gboolean is_of_bailian(GBytes *file) {
  gsize size = 0;
  const char *text = g_bytes_get_data(file, &size);
  return text && g_strstr_len(text, (gssize)MIN(size, 400), "\"chat_id\"") != NULL;
}

static gpointer open_load(const void *data, const OrrArrivalContext *context, GError **error) {
  const OrrTraceFile *params = data;
  g_autofree char *path =
      orr_arrival_find(params->file, context->folders, "workload.load.file", error);
  g_autoptr(GBytes) file = path ? orr_trace_map(path, error) : NULL;
  if (!file) return NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
  OrrTrace *trace = orr_trace_new(context);
  const guint span = is_of_bailian(file) ? BAILIAN_TOKENS : SPAN_TOKENS;
  OrrSpanTexts *texts = orr_span_texts_new(span);
  OrrJson json = orr_json_begin(g_bytes_get_data(file, NULL), g_bytes_get_size(file), path, diags);
  while (orr_json_peek(&json) &&
         (context->requests == 0 || trace->requests->len < context->requests)) {
    const OrrPlace place = orr_json_place(&json);
    Row row = {.ids = g_array_set_size(ids, 0)};
    read_row(&json, trace, &row);
    if (!json.is_bad) add_row(trace, texts, &row, span, place, diags);
  }
  orr_span_texts_free(texts);
  return orr_trace_finish(trace, params, context, path, diags, error);
}

/* The same keys as in JSON of benchmarks' clients count seconds: there a list, or other names. */
static gboolean takes(const char *head) {
  return *head == '{' && strstr(head, "\"timestamp\"") && strstr(head, "\"input_length\"");
}

const OrrArrival orr_arrival_mooncake = {
    .entry = {"mooncake", "Trace: Mooncake's JSON lines, with the prefixes that requests share.",
              &orr_trace_file_table},
    .takes = takes,
    .open = open_load,
    ORR_ARRIVAL_OF_TRACE,
    .shares = "hash_ids of the trace",
};
