/*
 * trace.c - spans as Trace Event JSON (the Catapult project's "Trace Event Format", complete events
 * "X"), which Perfetto and chrome://tracing open. A process is a lane, and its threads are the
 * lane's streams; times are in microseconds. A campaign is one process, whose threads are phases. A
 * cluster of jobs is one process per node, on its first 1,000 nodes: its jobs that run side by side
 * are on threads of their own.
 *
 * An arrow joins each send with its receive ("s" and "f" events of one id). Counters show memory
 * on each stage's first lane, power on the first lane, and the use of the busiest links, which are
 * one more process.
 */
#include "sim/base/file.h"
#include "sim/run/answer/answer_private.h"

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

/* --- Arrows: a pipeline's send and receive are two spans of one transfer --- */

/* The facts that both spans of a transfer carry: its name, micro-batch, times, the replica and the
 * receiving stage. */
typedef struct {
  const char *name;
  gint64 micro_batch, replica, stage;
  double started_s, end_s;
} Transfer;

static guint transfer_hash(gconstpointer data) {
  const Transfer *t = data;
  return g_str_hash(t->name) ^ g_double_hash(&t->end_s) ^
         (guint)(t->micro_batch * 31 + t->replica * 1009 + t->stage * 65537);
}

static gboolean transfer_equal(gconstpointer first, gconstpointer second) {
  const Transfer *a = first, *b = second;
  return strcmp(a->name, b->name) == 0 && a->micro_batch == b->micro_batch &&
         a->replica == b->replica && a->stage == b->stage && a->started_s == b->started_s &&
         a->end_s == b->end_s;
}

/* How many stages the receiver is from the lane of a stream, 0 for receives: send-next goes to the
 * next stage, send-prev to the one before. FALSE: the stream is neither. */
static gboolean find_direction(const char *stream, int *ret_step) {
  *ret_step = strcmp(stream, "send-next") == 0 ? 1 : strcmp(stream, "send-prev") == 0 ? -1 : 0;
  return *ret_step != 0 || g_str_has_prefix(stream, "recv-");
}

static Transfer transfer_of(const OrrOutcome *outcome, const OrrSpanRow *span, int step,
                            gint64 n_stages) {
  const OrrLaneRow *lane = &g_array_index(outcome->lanes, OrrLaneRow, span->lane);
  return (Transfer){span->name,      span->micro_batch,
                    lane->replica,   (lane->stage + step + n_stages) % n_stages,
                    span->started_s, span->end_s};
}

static GHashTable *find_receives(const OrrOutcome *outcome, gint64 n_stages) {
  GHashTable *receives = g_hash_table_new_full(transfer_hash, transfer_equal, g_free, NULL);
  ORR_EACH(const OrrSpanRow, span, outcome->spans) {
    int step;
    if (!find_direction(span->stream, &step) || step != 0) continue;
    const Transfer transfer = transfer_of(outcome, span, 0, n_stages);
    g_hash_table_insert(receives, g_memdup2(&transfer, sizeof transfer), (gpointer)span);
  }
  return receives;
}

static void add_end(GString *out, const char *phase, guint id, const OrrSpanRow *span,
                    guint thread) {
  g_string_append_printf(out,
                         "{\"ph\":\"%s\",\"id\":%u,\"name\":\"transfer\",\"cat\":\"transfer\","
                         "\"pid\":%d,\"tid\":%u",
                         phase, id, (int)span->lane, thread);
  add_number(out, "ts", (span->started_s + span->end_s) / 2 * 1e6); /* within the span */
  g_string_append(out, "},\n");
}

static void add_arrows(GString *out, const OrrOutcome *outcome, GPtrArray *streams) {
  gint64 n_stages = 1;
  guint id = 0;
  ORR_EACH(const OrrLaneRow, row, outcome->lanes) n_stages = MAX(n_stages, row->stage + 1);
  g_autoptr(GHashTable) receives = find_receives(outcome, n_stages);
  for (guint i = 0; i < outcome->spans->len && g_hash_table_size(receives) > 0; i++) {
    const OrrSpanRow *span = &g_array_index(outcome->spans, OrrSpanRow, i);
    int step;
    if (!find_direction(span->stream, &step) || step == 0) continue;
    const Transfer transfer = transfer_of(outcome, span, step, n_stages);
    const OrrSpanRow *receive = g_hash_table_lookup(receives, &transfer);
    if (!receive) continue;
    add_end(out, "s", ++id, span, thread_of(streams, span->stream));
    add_end(out, "f\",\"bp\":\"e", id, receive, thread_of(streams, receive->stream));
  }
}

/* --- Counters --- */

/* Use of the busiest links, as a process after the lanes: a track for each link. */
static void add_links(GString *out, const OrrOutcome *outcome) {
  const int process = (int)outcome->lanes->len;
  ORR_EACH(const OrrLinkTimeRow, row, outcome->link_times) {
    g_string_append(out, "{\"ph\":\"C\",\"name\":");
    add_text(out, row->link);
    g_string_append_printf(out, ",\"pid\":%d", process);
    add_number(out, "ts", row->begin_s * 1e6);
    g_string_append(out, ",\"args\":{");
    add_first(out, "% of bandwidth", 100 * row->utilization);
    g_string_append(out, "}},\n");
  }
  if (outcome->link_times->len > 0)
    add_name(out, "process_name", process, 0, "use of the busiest links");
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
  ORR_EACH(const OrrMemoryTimeRow, row, outcome->memory_times) {
    guint lane = 0;
    while (g_array_index(outcome->lanes, OrrLaneRow, lane).stage != row->stage) lane++;
    add_counter(out, lane, row->begin_s, row, row->activations_bytes, row->working_bytes);
    add_counter(out, lane, row->end_s, row, row->after_bytes, 0);
  }
}

/* The job's power, on its first lane. */
static void add_power(GString *out, const OrrOutcome *outcome) {
  ORR_EACH(const OrrPowerRow, row, outcome->powers) {
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

enum { MOST_NODES = 1000, MOST_THREADS = 64 };

/* The first thread of a node that is free from @begin_s on; it is then taken until @end_s. */
static guint free_thread(double *ends, double begin_s, double end_s) {
  guint thread = 0;
  while (thread + 1 < MOST_THREADS && ends[thread] > begin_s) thread++;
  ends[thread] = end_s;
  return thread;
}

static void add_cluster_span(GString *out, const OrrClusterSpanRow *row, gint64 node,
                             guint thread) {
  g_string_append(out, "{\"ph\":\"X\",\"name\":");
  add_text(out, row->job);
  g_string_append_printf(out, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u", row->why, (int)node, thread);
  add_number(out, "ts", row->begin_s * 1e6);
  add_number(out, "dur", (row->end_s - row->begin_s) * 1e6);
  g_string_append_printf(out, ",\"args\":{\"gpus\":%d,\"here\":%d}},\n", (int)row->gpus,
                         (int)row->node_gpus);
}

typedef struct {
  GString *out;
  double *ends; /* by node and thread */
  gint64 n_nodes;
} Nodes;

static void add_to_nodes(const OrrClusterSpanRow *row, void *user) {
  Nodes *nodes = user;
  for (gint64 node = row->first_node; node <= row->last_node && node < MOST_NODES; node++) {
    double *ends = &nodes->ends[node * MOST_THREADS];
    add_cluster_span(nodes->out, row, node, free_thread(ends, row->begin_s, row->end_s));
    nodes->n_nodes = MAX(nodes->n_nodes, node + 1);
  }
}

/* Spans are in the order of their begins. */
static void add_cluster(GString *out, const OrrOutcome *outcome) {
  g_autofree double *ends = g_new0(double, MOST_NODES *MOST_THREADS);
  Nodes nodes = {.out = out, .ends = ends};
  orr_cluster_spans_each(outcome->job_spans, add_to_nodes, &nodes);
  for (gint64 node = 0; node < nodes.n_nodes; node++) {
    g_autofree char *name = g_strdup_printf("node %d", (int)node);
    add_name(out, "process_name", node, 0, name);
  }
}

/* A campaign's first seed: one process, a thread for each phase, and counters. */
static void add_campaign(GString *out, const OrrOutcome *outcome) {
  g_autoptr(GPtrArray) phases = g_ptr_array_new();
  ORR_EACH(const OrrCampaignEventRow, row, outcome->campaign_events) {
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
  ORR_EACH(const OrrSpanRow, span, outcome->spans)
    add_span(out, span, thread_of(streams, span->stream));
  add_arrows(out, outcome, streams);
  add_memory(out, outcome);
  add_power(out, outcome);
  add_links(out, outcome);
  add_campaign(out, outcome);
  add_cluster(out, outcome);
  ORR_EACH(const OrrLaneRow, lane, outcome->lanes) {
    add_name(out, "process_name", lane->lane, 0, lane->name);
    for (guint s = 0; s < streams->len; s++)
      add_name(out, "thread_name", lane->lane, s, g_ptr_array_index(streams, s));
  }
  if (out->str[out->len - 2] == ',') g_string_truncate(out, out->len - 2);
  g_string_append(out, "\n]}\n");
  return orr_file_write(path, out->str, (gssize)out->len, error);
}
