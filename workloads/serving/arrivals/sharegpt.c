/*
 * sharegpt.c - JSON as benchmark clients read and write it: a list of requests, each
 *
 *   {"prompt_len": 512, "output_len": 128}        also prompt_tokens, input_length, ...; an
 *                                                 optional "timestamp" (s)
 *   {"conversations": [{"value": question}, {"value": answer}]}            ShareGPT
 *
 * or one such object per line, with "prompt": text and "output_tokens" instead of lengths in files
 * for vLLM's benchmark (--dataset-name custom); or the output of `vllm bench serve
 * --save-detailed`: an object with the lists input_lens and output_lens. For ShareGPT, the first
 * question and answer count, as in vLLM's benchmark, at `characters-per-token` (there is no
 * tokenizer here; 4 is usual for English). Pairs that vLLM drops are dropped (fewer than 4 tokens,
 * prompts above 1,024, both together above 2,048). Requests without a time arrive by a Poisson
 * process of `rate` (0: all at once).
 *
 *   workload: {load: {kind: sharegpt, file: ShareGPT_V3.json, rate: 10}}
 */
#include "sim/base/json.h"
#include "workloads/serving/arrivals/arrival_file.h"

typedef struct {
  OrrTraceFile file; /* first */
  double characters_per_token;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "load-sharegpt", "Requests as benchmark clients write them.", Params,
    ORR_FIELD_TEXT(
        Params, "file", file.file, NULL,
        "The trace: a path from the document's folder, from one of the library's, or from "
        "the working directory."),
    ORR_FIELD_REAL(Params, "speed", file.speed, ORR_UNIT_NONE, "1",
                   "Factor by which the trace is replayed faster than it was recorded.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(Params, "rate", file.rate, ORR_UNIT_NONE, "0",
                   "Requests per second: of a file without times by a Poisson process (0: all at "
                   "once); otherwise the file's times are scaled (0: as recorded).",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Params, "characters-per-token", characters_per_token, ORR_UNIT_NONE, "4",
                   "Characters per token, for files that hold text.", .min = 0.1, .max = 100));

enum {
  LEAST_TOKENS = 4,
  MOST_PROMPT = 1024,
  MOST_BOTH = 2048
}; /* vllm/benchmarks/datasets.py, is_valid_sequence */

typedef struct {
  const Params *params;
  OrrTrace *trace;
  OrrRandom random;
  double now_s;
  gboolean has_times;
  OrrDiags *diags;
} Reader;

typedef struct {
  double time_s, prompt, output; /* < 0: not given */
  double text;                   /* tokens of a prompt given as text rather than as a number */
  gboolean is_pair;              /* a conversation's first question and answer */
} Row;

static const Row nothing = {-1, -1, -1, -1, FALSE};

static double tokens_of(const char *text, const Params *params) {
  return ceil((double)g_utf8_strlen(text, -1) / params->characters_per_token);
}

static void read_conversation(OrrJson *json, const Params *params, Row *row) {
  if (!orr_json_open(json)) return;
  for (guint turn = 0; orr_json_more(json); turn++) {
    if (turn > 1) {
      orr_json_skip(json);
      continue;
    }
    if (!orr_json_open(json)) return;
    while (orr_json_more(json)) {
      g_autofree char *key = orr_json_key(json);
      g_autofree char *text = strcmp(key, "value") == 0 ? orr_json_text(json) : NULL;
      if (text)
        *(turn == 0 ? &row->prompt : &row->output) = tokens_of(text, params);
      else
        orr_json_skip(json);
    }
  }
  row->is_pair = TRUE;
}

static void read_prompt(OrrJson *json, const Params *params, Row *row) {
  g_autofree char *text = orr_json_text(json);
  if (text) row->text = tokens_of(text, params);
}

static gboolean is_one_of(const char *key, const char *const *words) {
  return g_strv_contains(words, key);
}

/* Each conversation of ShareGPT has an id. */
static void leave_out(const Reader *reader, OrrJson *json, const char *key) {
  if (strcmp(key, "id") != 0) orr_trace_leave_out(reader->trace, key);
  orr_json_skip(json);
}

static void read_member(const Reader *reader, OrrJson *json, const char *key, Row *row) {
  static const char *const prompts[] = {"prompt_len",    "input_len",    "input_length",
                                        "prompt_tokens", "input_tokens", NULL};
  static const char *const outputs[] = {"output_len",    "output_length",       "completion_tokens",
                                        "output_tokens", "expected_output_len", NULL};
  static const char *const times[] = {"timestamp", "arrival_time", "arrival_s", NULL};
  if (is_one_of(key, prompts))
    orr_json_number(json, &row->prompt);
  else if (is_one_of(key, outputs))
    orr_json_number(json, &row->output);
  else if (is_one_of(key, times))
    orr_json_number(json, &row->time_s);
  else if (strcmp(key, "conversations") == 0 || strcmp(key, "conversation") == 0)
    read_conversation(json, reader->params, row);
  else if (strcmp(key, "prompt") == 0 && orr_json_peek(json) == '"')
    read_prompt(json, reader->params, row);
  else
    leave_out(reader, json, key);
}

static double next_time(Reader *reader) {
  if (reader->params->file.rate > 0)
    reader->now_s += -log1p(-orr_random_unit(&reader->random)) / reader->params->file.rate;
  return reader->now_s;
}

static void add(Reader *reader, const Row *row, OrrPlace place) {
  const double prompt = row->prompt >= 0 ? row->prompt : row->text;
  reader->has_times |= row->time_s >= 0;
  if (row->is_pair && (prompt < LEAST_TOKENS || row->output < LEAST_TOKENS ||
                       prompt > MOST_PROMPT || prompt + row->output > MOST_BOTH))
    return;
  if (prompt < 0 || row->output < 0)
    orr_diags_error(reader->diags, place,
                    "a request needs prompt_len (or prompt) and output_len (or output_tokens), or "
                    "conversations; the result of a benchmark input_lens and output_lens");
  else
    orr_trace_add(reader->trace, row->time_s >= 0 ? row->time_s : next_time(reader), prompt,
                  row->output, place, reader->diags);
}

static void read_list(Reader *reader, OrrJson *json, gint64 most) {
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    const OrrPlace place = orr_json_place(json);
    Row row = nothing;
    if (!orr_json_open(json)) return;
    while (orr_json_more(json)) {
      g_autofree char *key = orr_json_key(json);
      read_member(reader, json, key, &row);
    }
    if (json->is_bad) return;
    add(reader, &row, place);
    if (most > 0 && reader->trace->requests->len >= most) return;
  }
}

static void read_numbers(OrrJson *json, GArray *numbers) {
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    double value;
    if (!orr_json_number(json, &value)) return;
    g_array_append_val(numbers, value);
  }
}

/* One request, or the result file of `vllm bench serve --save-detailed`. */
static void read_object(Reader *reader, OrrJson *json) {
  g_autoptr(GArray) prompts = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) outputs = g_array_new(FALSE, FALSE, sizeof(double));
  const OrrPlace place = orr_json_place(json);
  Row row = nothing;
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    g_autofree char *key = orr_json_key(json);
    if (strcmp(key, "input_lens") == 0)
      read_numbers(json, prompts);
    else if (strcmp(key, "output_lens") == 0)
      read_numbers(json, outputs);
    else
      read_member(reader, json, key, &row);
  }
  if (json->is_bad) return;
  if (prompts->len == 0) return add(reader, &row, place);
  g_ptr_array_set_size(reader->trace->keys, 0); /* a result has dozens besides its requests */
  if (prompts->len != outputs->len)
    orr_diags_error(reader->diags, place, "input_lens has %u requests, output_lens %u",
                    prompts->len, outputs->len);
  for (guint i = 0; i < MIN(prompts->len, outputs->len); i++) {
    row = nothing;
    row.prompt = g_array_index(prompts, double, i);
    row.output = g_array_index(outputs, double, i);
    if (row.output > 0) add(reader, &row, place); /* 0: the request failed */
  }
}

static gpointer open_load(const void *data, const OrrArrivalContext *context, GError **error) {
  const Params *params = data;
  g_autofree char *path =
      orr_arrival_find(params->file.file, context->folders, "workload.load.file", error);
  g_autoptr(GBytes) file = path ? orr_trace_map(path, error) : NULL;
  if (!file) return NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  Reader reader = {.params = params,
                   .trace = orr_trace_new(context),
                   .random = orr_random_stream(context->seed, "arrivals"),
                   .diags = diags};
  OrrJson json = orr_json_begin(g_bytes_get_data(file, NULL), g_bytes_get_size(file), path, diags);
  if (orr_json_peek(&json) != '{') read_list(&reader, &json, context->requests);
  while (orr_json_peek(&json) &&
         (context->requests == 0 || reader.trace->requests->len < context->requests))
    read_object(&reader, &json);
  OrrTraceFile replay = params->file;
  replay.repeat = 1;
  if (!reader.has_times && !context->is_endless) replay.rate = 0; /* the times drawn have it */
  return orr_trace_finish(reader.trace, &replay, context, path, diags, error);
}

static gboolean takes(const char *head) {
  head += strspn(head, " \t\r\n");
  return *head == '{' || *head == '[';
}

const OrrArrival orr_arrival_sharegpt = {
    .entry = {"sharegpt", "Trace: JSON of vLLM's benchmark or of ShareGPT.", &table},
    .takes = takes,
    .open = open_load,
    ORR_ARRIVAL_OF_TRACE,
};
