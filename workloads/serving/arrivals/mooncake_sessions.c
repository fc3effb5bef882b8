/*
 * mooncake_sessions.c - recorded sessions of agents, in Mooncake's JSON lines with session_id, as
 * NVIDIA's Dynamo and AIPerf write them: rows of a session are turns, in the order of the file.
 *
 *   {"session_id": "a", "timestamp": 0, "input_length": 900, "output_length": 80}
 *   {"session_id": "a", "delay": 2500, "input_length": 1500, "output_length": 60}
 *
 * A session begins at the timestamp of its first row (ms). A later turn comes `delay` (ms) after
 * the one before has ended, or, without a delay, as long after that as their timestamps differ. A
 * row without a session is a session of one turn. hash_ids name `block` tokens of the prompt each,
 * and equal ids mean equal prefixes; without them a turn's prompt begins with its session so far.
 *
 *   workload: {load: {kind: mooncake-sessions, file: traces/agents-made-up.jsonl}}
 */
#include "sim/base/csv.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/arrivals/arrival_file.h"

typedef enum { WHOLE, ADDED } Prompts;
static const char *const prompts_words[] = {"whole", "added", NULL};

typedef struct {
  char *file;
  double speed;
  gint64 block;
  int prompts;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "load-mooncake-sessions", "Recorded sessions of several turns.", Params,
    ORR_FIELD_TEXT(Params, "file", file, NULL,
                   "The trace: a path from the document's folder, from one of the library's, or "
                   "from the working directory."),
    ORR_FIELD_REAL(Params, "speed", speed, ORR_UNIT_NONE, "1",
                   "Factor by which sessions begin faster than they were recorded; delays stay.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(Params, "block", block, "512", "Tokens of the prompt that a hash_id names.",
                  .min = 1, .max = 1e6),
    ORR_FIELD_WORD(Params, "prompts", prompts, prompts_words, "whole",
                   "What input_length counts: the whole prompt, or what the turn adds to its "
                   "session so far; with hash_ids always the whole."));

#define MOST_S 1e8 /* three years, as of other traces */

enum { NONE = G_MAXUINT };

typedef struct {
  double time, delay, prompt, output; /* ms, ms, tokens, tokens */
  guint found;                        /* one bit for each number that the row has */
  char *session;                      /* NULL: none */
  GArray *ids;                        /* of guint64 */
} Row;
enum { TIME = 1, DELAY = 2, PROMPT = 4, OUTPUT = 8 };

/* Of a turn, parallel to the trace's requests. */
typedef struct {
  double after_s; /* of a first turn, its arrival; of others, after the one before has ended */
  guint next;     /* NONE: the last of its session */
} Turn;

typedef struct {
  guint last;    /* its newest turn */
  double time_s; /* of that */
  gint64 tokens; /* of the session so far */
} Session;

typedef struct {
  OrrTrace *trace; /* its requests are all turns */
  GArray *turns;   /* Turn */
  GArray *starts;  /* of guint: first turns, in order of time */
  guint at;
} State;

static void close_load(gpointer data) {
  State *state = data;
  orr_trace_free(state->trace);
  g_array_unref(state->turns);
  g_array_unref(state->starts);
  g_free(state);
}

/* --- a row --- */

static double *member_of(Row *row, const char *key, guint *ret_bit) {
  const struct {
    const char *key, *alias;
    double *member;
    guint bit;
  } all[] = {{"timestamp", "created_time", &row->time, TIME},
             {"delay", "delay_ms", &row->delay, DELAY},
             {"input_length", "input_tokens", &row->prompt, PROMPT},
             {"output_length", "output_tokens", &row->output, OUTPUT}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    if (strcmp(key, all[i].key) == 0 || strcmp(key, all[i].alias) == 0) {
      *ret_bit = all[i].bit;
      return all[i].member;
    }
  return NULL;
}

static void read_row(OrrJson *json, OrrTrace *trace, Row *row) {
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    g_autofree char *key = orr_json_key(json);
    guint bit = 0;
    double *member = member_of(row, key, &bit);
    if (member) {
      if (orr_json_number(json, member)) row->found |= bit;
    } else if (strcmp(key, "hash_ids") == 0) {
      orr_arrival_file_read_ids(json, row->ids);
    } else if (strcmp(key, "session_id") == 0) {
      g_free(row->session);
      row->session = orr_json_text(json);
    } else {
      orr_trace_leave_out(trace, key);
      orr_json_skip(json);
    }
  }
}

/* --- turns --- */

static gboolean is_span(double seconds) { return seconds >= 0 && seconds <= MOST_S; }

/* When the row's turn comes: since the trace's start, or after the turn before. FALSE with a
 * finding. */
static gboolean time_of(const Row *row, const Session *session, double *ret_s, OrrPlace place,
                        OrrDiags *diags) {
  const double time_s = row->time * 1e-3, delay_s = row->delay * 1e-3;
  const gboolean has_time = row->found & TIME, has_delay = row->found & DELAY;
  *ret_s = session && has_delay ? delay_s : session ? time_s - session->time_s : time_s;
  if (!session && !has_time)
    orr_diags_error(diags, place, "the first row of a session needs a timestamp");
  else if (session && !has_time && !has_delay)
    orr_diags_error(diags, place, "a later row of a session needs a delay, or a timestamp");
  else if (!is_span(*ret_s))
    orr_diags_error(diags, place, "%s of %g s: must be from 0 to %g s",
                    session ? "a delay" : "a timestamp", *ret_s, MOST_S);
  else
    return TRUE;
  return FALSE;
}

static void name_blocks(State *state, OrrSpanTexts *texts, const Row *row, guint i,
                        guint64 stream) {
  OrrRequest *request = &g_array_index(state->trace->requests, OrrRequest, i);
  request->stream = stream;
  if (row->ids->len == 0) return;
  OrrSpanOfText *spans = orr_span_texts_read(texts, (const guint64 *)(const void *)row->ids->data,
                                             row->ids->len, &request->n_spans);
  g_ptr_array_add(state->trace->spans, spans);
  request->spans = spans;
}

typedef struct {
  State *state;
  const Params *params;
  OrrSpanTexts *texts;
  GHashTable *sessions; /* char* -> Session*, both owned */
  OrrDiags *diags;
} Reading;

static Session *session_of(const Reading *reading, const Row *row) {
  return row->session ? g_hash_table_lookup(reading->sessions, row->session) : NULL;
}

static void add_turn(Reading *reading, Row *row, OrrPlace place) {
  State *state = reading->state;
  Session *session = session_of(reading, row);
  const guint i = state->trace->requests->len;
  const gboolean is_added = reading->params->prompts == ADDED && row->ids->len == 0;
  const double prompt = row->prompt + (session && is_added ? (double)session->tokens : 0);
  double time_s = 0;
  if ((row->found & (PROMPT | OUTPUT)) != (PROMPT | OUTPUT))
    return orr_diags_error(reading->diags, place, "a turn needs input_length and output_length");
  if (row->ids->len > row->prompt / (double)reading->params->block + 2)
    return orr_diags_error(
        reading->diags, place,
        "%u hash_ids for a prompt of %.0f tokens: blocks of %ld tokens are expected (block)",
        row->ids->len, row->prompt, reading->params->block);
  if (!time_of(row, session, &time_s, place, reading->diags)) return;
  orr_trace_add(state->trace, 0, prompt, row->output, place, reading->diags);
  if (state->trace->requests->len == i) return;
  ORR_APPEND(state->turns, Turn, {session ? time_s : time_s / reading->params->speed, NONE});
  name_blocks(state, reading->texts, row, i,
              session ? g_array_index(state->trace->requests, OrrRequest, session->last).stream
                      : i + 1);
  if (session) {
    g_array_index(state->turns, Turn, session->last).next = i;
  } else {
    g_array_append_val(state->starts, i);
  }
  if (!row->session) return;
  const Session now = {i, time_s + (session ? session->time_s : 0), (gint64)(prompt + row->output)};
  if (!session)
    g_hash_table_insert(reading->sessions, g_steal_pointer(&row->session),
                        g_memdup2(&now, sizeof now));
  else
    *session = now;
}

static int by_time(gconstpointer a, gconstpointer b, gpointer data) {
  const GArray *turns = data;
  const guint x = *(const guint *)a, y = *(const guint *)b;
  const double x_s = g_array_index(turns, Turn, x).after_s,
               y_s = g_array_index(turns, Turn, y).after_s;
  return x_s != y_s ? (x_s > y_s) - (x_s < y_s) : (x > y) - (x < y);
}

static void read_all(Reading *reading, GBytes *file, const char *path, gint64 most) {
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
  OrrJson json =
      orr_json_begin(g_bytes_get_data(file, NULL), g_bytes_get_size(file), path, reading->diags);
  while (orr_json_peek(&json) && (most == 0 || reading->state->trace->requests->len < most)) {
    const OrrPlace place = orr_json_place(&json);
    Row row = {.ids = g_array_set_size(ids, 0)};
    read_row(&json, reading->state->trace, &row);
    if (!json.is_bad) add_turn(reading, &row, place);
    g_free(row.session);
  }
}

static gpointer open_load(const void *data, const OrrArrivalContext *context, GError **error) {
  const Params *params = data;
  g_autofree char *path =
      orr_arrival_find(params->file, context->folders, "workload.load.file", error);
  g_autoptr(GBytes) file = path ? orr_trace_map(path, error) : NULL;
  if (!file) return NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  State *state = g_new0(State, 1);
  *state = (State){.trace = orr_trace_new(context),
                   .turns = g_array_new(FALSE, FALSE, sizeof(Turn)),
                   .starts = g_array_new(FALSE, FALSE, sizeof(guint))};
  Reading reading = {state, params, orr_span_texts_new(params->block),
                     g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free), diags};
  read_all(&reading, file, path, context->requests);
  orr_span_texts_free(reading.texts);
  g_hash_table_unref(reading.sessions);
  g_array_sort_with_data(state->starts, by_time, state->turns);
  state->trace->left_out = orr_csv_left_out("keys", state->trace->keys);
  gboolean ok = orr_diags_check(diags, error);
  if (ok && state->starts->len == 0)
    ok = orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "workload.load.file: the trace has no request: %s", path);
  if (ok) return state;
  close_load(state);
  return NULL;
}

static void give(State *state, guint i, double at_s, OrrRequest *ret_request) {
  *ret_request = g_array_index(state->trace->requests, OrrRequest, i);
  ret_request->arrival_s = at_s;
  ret_request->session = &g_array_index(state->turns, Turn, i);
}

static gboolean next(gpointer data, OrrRequest *ret_request) {
  State *state = data;
  if (state->at >= state->starts->len) return FALSE;
  const guint first = g_array_index(state->starts, guint, 0); /* comes at 0, as in other traces */
  const guint i = g_array_index(state->starts, guint, state->at++);
  const double begin_s = g_array_index(state->turns, Turn, first).after_s;
  give(state, i, g_array_index(state->turns, Turn, i).after_s - begin_s, ret_request);
  return TRUE;
}

static gboolean after(gpointer data, OrrRequest *ended, double now_s, OrrRequest *ret_request) {
  State *state = data;
  const Turn *turn = ended->session;
  if (turn->next == NONE) return FALSE;
  give(state, turn->next, now_s + g_array_index(state->turns, Turn, turn->next).after_s,
       ret_request);
  return TRUE;
}

static const char *left_out(gconstpointer data) {
  return orr_trace_left_out(((const State *)data)->trace);
}

static gint64 n_requests(gconstpointer data) {
  return orr_trace_requests(((const State *)data)->trace);
}

static OrrChain chain(gconstpointer data) {
  const State *state = data;
  double pauses_s = 0, squares = 0;
  ORR_EACH(guint, first, state->starts) {
    double n = 1;
    for (guint i = *first; (i = g_array_index(state->turns, Turn, i).next) != NONE; n++)
      pauses_s += g_array_index(state->turns, Turn, i).after_s;
    squares += n * n;
  }
  const double sessions = state->starts->len, turns = state->turns->len;
  return (OrrChain){turns / sessions, pauses_s / sessions, squares / turns};
}

const OrrArrival orr_arrival_mooncake_sessions = {
    .entry = {"mooncake-sessions",
              "Closed loop: recorded sessions of agents, Mooncake's JSON lines with session_id.",
              &table},
    .is_trace = TRUE,
    .shares = "hash_ids of the trace",
    .open = open_load,
    .next = next,
    .after = after,
    .chain = chain,
    .left_out = left_out,
    .requests = n_requests,
    .close = close_load,
};
