/*
 * trace.c - spans as Trace Event JSON (the Catapult project's "Trace Event Format", complete events
 * "X"), which Perfetto and chrome://tracing open. A process is a lane, and its threads are the
 * lane's streams; times are in microseconds. A campaign is one process, whose threads are phases.
 */
#include "sim/base/fault.h"
#include "sim/run/answer/outcome.h"

static void add_text(GString *out, const char *text) {
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\') g_string_append_c(out, '\\');
    if ((guchar)*c >= 0x20) g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

static void add_name(GString *out, const char *what, gint64 lane, guint thread, const char *name) {
  g_string_append_printf(
      out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":", what,
      (int)lane, thread);
  add_text(out, name);
  g_string_append(out, "}},\n");
}

/* Threads are numbered in the order in which streams first appear. */
static guint thread_of(GPtrArray *streams, const char *stream) {
  guint at;
  if (g_ptr_array_find(streams, stream, &at)) return at;
  g_ptr_array_add(streams, (gpointer)stream);
  return streams->len - 1;
}

static void add_first(GString *out, const char *key, double value) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append_printf(out, "\"%s\":%s", key, g_ascii_formatd(text, sizeof text, "%.4f", value));
}

static void add_number(GString *out, const char *key, double value) {
  g_string_append_c(out, ',');
  add_first(out, key, value);
}

static void add_span(GString *out, const OrrSpanRow *span, guint thread) {
  g_string_append(out, "{\"ph\":\"X\",\"name\":");
  add_text(out, span->name);
  g_string_append(out, ",\"cat\":");
  add_text(out, span->category);
  g_string_append_printf(out, ",\"pid\":%d,\"tid\":%u", (int)span->lane, thread);
  add_number(out, "ts", span->started_s * 1e6);
  add_number(out, "dur", (span->end_s - span->started_s) * 1e6);
  g_string_append_printf(out, ",\"args\":{\"micro-batch\":%d", (int)span->micro_batch);
  add_number(out, "waited_us", (span->started_s - span->begin_s) * 1e6);
  g_string_append(out, "}},\n");
}

/* Memory counters of a lane's GPU, in GiB: Perfetto stacks them in one graph, up to what nvidia-smi
 * shows. */
static void add_counter(GString *out, gint64 lane, double at_s, const OrrMemoryTimeRow *row,
                        double activations, double working) {
  const double gib = 1 << 30, fixed = row->fixed_bytes;
  g_string_append_printf(out, "{\"ph\":\"C\",\"name\":\"memory, GiB\",\"pid\":%d", (int)lane);
  add_number(out, "ts", at_s * 1e6);
  g_string_append(out, ",\"args\":{");
  add_first(out, "fixed", fixed / gib);
  add_number(out, "activations", activations / gib);
  add_number(out, "working", working / gib);
  add_number(out, "held, not filled", (row->total_bytes - fixed - activations - working) / gib);
  g_string_append(out, "}},\n");
}

/* On each stage's first lane. */
static void add_memory(GString *out, const OrrOutcome *outcome) {
  for (guint i = 0; i < outcome->memory_times->len; i++) {
    const OrrMemoryTimeRow *row = &g_array_index(outcome->memory_times, OrrMemoryTimeRow, i);
    guint lane = 0;
    while (g_array_index(outcome->lanes, OrrLaneRow, lane).stage != row->stage) lane++;
    add_counter(out, lane, row->begin_s, row, row->activations_bytes, row->working_bytes);
    add_counter(out, lane, row->end_s, row, row->after_bytes, 0);
  }
}

/* The job's power, on its first lane. */
static void add_power(GString *out, const OrrOutcome *outcome) {
  for (guint i = 0; i < outcome->powers->len; i++) {
    const OrrPowerRow *row = &g_array_index(outcome->powers, OrrPowerRow, i);
    g_string_append(out, "{\"ph\":\"C\",\"name\":\"power of all GPUs, kW\",\"pid\":0");
    add_number(out, "ts", row->begin_s * 1e6);
    g_string_append(out, ",\"args\":{");
    add_first(out, "static", row->idle_w / 1e3);
    add_number(out, "network", row->network_w / 1e3);
    add_number(out, "memory", row->memory_w / 1e3);
    add_number(out, "compute", row->compute_w / 1e3);
    g_string_append(out, "}},\n");
  }
}

/* A campaign's first seed: one process, a thread for each phase, and counters. */
static void add_campaign(GString *out, const OrrOutcome *outcome) {
  g_autoptr(GPtrArray) phases = g_ptr_array_new();
  for (guint i = 0; i < outcome->campaign_events->len; i++) {
    const OrrCampaignEventRow *row =
        &g_array_index(outcome->campaign_events, OrrCampaignEventRow, i);
    const OrrSpanRow span = {.name = row->cause ? row->cause : row->phase,
                             .category = row->phase,
                             .begin_s = row->begin_s,
                             .started_s = row->begin_s,
                             .end_s = row->end_s,
                             .micro_batch = -1};
    add_span(out, &span, thread_of(phases, g_intern_string(row->phase)));
    g_string_append(out, "{\"ph\":\"C\",\"name\":\"tokens, billion\",\"pid\":0");
    add_number(out, "ts", row->end_s * 1e6);
    g_string_append(out, ",\"args\":{");
    add_first(out, "kept", row->tokens / 1e9);
    g_string_append(out, "}},\n{\"ph\":\"C\",\"name\":\"nodes out of service\",\"pid\":0");
    add_number(out, "ts", row->begin_s * 1e6);
    g_string_append(out, ",\"args\":{");
    add_first(out, "nodes", (double)row->nodes_out);
    g_string_append(out, "}},\n");
  }
  if (phases->len > 0) add_name(out, "process_name", 0, 0, "campaign");
  for (guint i = 0; i < phases->len; i++)
    add_name(out, "thread_name", 0, i, g_ptr_array_index(phases, i));
}

gboolean orr_outcome_trace(const OrrOutcome *outcome, const char *path, GError **error) {
  g_autoptr(GString) out = g_string_new("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  g_autoptr(GPtrArray) streams = g_ptr_array_new();
  for (guint i = 0; i < outcome->spans->len; i++) {
    const OrrSpanRow *span = &g_array_index(outcome->spans, OrrSpanRow, i);
    add_span(out, span, thread_of(streams, span->stream));
  }
  add_memory(out, outcome);
  add_power(out, outcome);
  add_campaign(out, outcome);
  for (guint i = 0; i < outcome->lanes->len; i++) {
    const OrrLaneRow *lane = &g_array_index(outcome->lanes, OrrLaneRow, i);
    add_name(out, "process_name", lane->lane, 0, lane->name);
    for (guint s = 0; s < streams->len; s++)
      add_name(out, "thread_name", lane->lane, s, g_ptr_array_index(streams, s));
  }
  if (out->str[out->len - 2] == ',') g_string_truncate(out, out->len - 2);
  g_string_append(out, "\n]}\n");
  g_autoptr(GError) failure = NULL;
  if (g_file_set_contents(path, out->str, out->len, &failure)) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "cannot write the trace: %s", failure->message);
  return FALSE;
}
