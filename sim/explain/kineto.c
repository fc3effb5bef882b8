/*
 * kineto.c - zlib inflates, yajl parses, and each event is kept or forgotten at its closing brace.
 *
 *   {"traceEvents": [ {"ph": "X", "cat": "kernel", ..., "args": {"stream": 7}}, ... ], ...}
 *   depth 1           2                                          3
 */
#include "sim/explain/explain.h"

#include <yajl/yajl_parse.h>
#include <zlib.h>

enum {
  CHUNK = 1 << 18,
  MOST_DEPTH = 64,
  MOST_TOKEN = 16 << 20,      /* bytes without an end of a token, such as endless spaces */
  MOST_NAME_BYTES = 64 << 20, /* of all names of kernels */
  MOST_STEPS = 1000000,
  MOST_CATEGORIES = 16,
};

static const OrrKinetoLimits usual = {.most_events = 50000000, .most_s = 600};

typedef enum { SKIPPED, DEVICE, HOST_RANGE, DEVICE_RANGE } Sort;

static const struct {
  const char *category;
  Sort sort;
} sorts[] = {
    {"kernel", DEVICE},
    {"gpu_memcpy", DEVICE},
    {"gpu_memset", DEVICE},
    {"memcpy", DEVICE},
    {"memset", DEVICE},
    {"concurrent_kernel", DEVICE},
    {"mtia_ccp_events", DEVICE},
    {"user_annotation", HOST_RANGE},
    {"operator", HOST_RANGE},
    {"cpu_op", HOST_RANGE},
    {"gpu_user_annotation", DEVICE_RANGE},
};

typedef enum {
  NO_KEY,
  PH,
  CAT,
  NAME,
  TS,
  DUR,
  PID,
  TID,
  ARGS,
  ARG_DEVICE,
  ARG_STREAM,
  ARG_IN,
  ARG_OUT,
  ARG_DTYPE,
  ARG_GROUP
} Key;

static const struct {
  const char *text;
  Key key;
  int below; /* depth below the event */
} keys[] = {
    {"ph", PH, 0},
    {"cat", CAT, 0},
    {"name", NAME, 0},
    {"ts", TS, 0},
    {"dur", DUR, 0},
    {"pid", PID, 0},
    {"tid", TID, 0},
    {"args", ARGS, 0},
    {"device", ARG_DEVICE, 1},
    {"stream", ARG_STREAM, 1},
    {"In msg nelems", ARG_IN, 1},
    {"Out msg nelems", ARG_OUT, 1},
    {"dtype", ARG_DTYPE, 1},
    {"Process Group Description", ARG_GROUP, 1},
};

typedef struct {
  char text[40];
  guint64 n;
} Category;

typedef struct {
  OrrTimeline *timeline;
  GArray *device_steps; /* of OrrTimelineStep */
  OrrDiags *diags;
  const char *step;
  const OrrKinetoLimits *limits;
  yajl_handle parser;
  OrrPlace place;
  const char *wrong; /* what stopped the parser; static */
  /* where the parser is */
  int depth, events_depth; /* depth inside the array of events; 0: not in it */
  gboolean is_next;        /* the next array holds the events */
  Key key;
  guint64 n_tokens;
  /* the event */
  gboolean is_complete, has_ts, has_dur, has_device, is_odd;
  Sort sort;
  Category *category;
  GString *name, *group;
  gint64 ts_whole, base;
  double ts_part, dur, element, in, out;
  gint64 pid, device, tid, stream;
  gboolean has_base;
  Category categories[MOST_CATEGORIES];
  guint n_categories;
} Reader;

/* --- Values --- */

static int stop(Reader *reader, const char *wrong) {
  if (!reader->wrong) reader->wrong = wrong;
  return 0;
}

/* A number in at most 63 characters. */
static double number_of(const char *text, size_t length) {
  char buffer[64];
  if (length >= sizeof buffer) return NAN;
  memcpy(buffer, text, length);
  buffer[length] = '\0';
  return g_ascii_strtod(buffer, NULL);
}

static gint64 whole_of(const char *text, size_t length) {
  const double value = number_of(text, length);
  return isfinite(value) && fabs(value) < 1e15 ? (gint64)value : 0;
}

/* ts in two parts: a double has not the digits for nanoseconds since 1970. */
static gboolean read_ts(Reader *reader, const char *text, size_t length) {
  size_t at = length > 0 && *text == '-';
  gint64 whole = 0;
  for (; at < length && g_ascii_isdigit(text[at]); at++) {
    if (whole > G_MAXINT64 / 100) return FALSE;
    whole = 10 * whole + (text[at] - '0');
  }
  double part = 0;
  if (at < length && text[at] == '.') {
    const size_t from = at++;
    while (at < length && g_ascii_isdigit(text[at])) at++;
    part = number_of(text + from, at - from);
  }
  if (at < length) { /* an exponent */
    const double value = number_of(text, length);
    if (!(fabs(value) < 1e15)) return FALSE;
    whole = (gint64)fabs(value);
    part = fabs(value) - (double)whole;
  }
  reader->ts_whole = *text == '-' ? -whole : whole;
  reader->ts_part = *text == '-' ? -part : part;
  return isfinite(part);
}

/* PyTorch's names of types, and its C++ side's. */
static double element_of(const char *text, size_t length) {
  static const struct {
    const char *word;
    double bytes;
  } types[] = {{"double", 8},   {"float64", 8}, {"long", 8},  {"int64", 8}, {"float8", 1},
               {"bfloat16", 2}, {"float16", 2}, {"half", 2},  {"float", 4}, {"int8", 1},
               {"uint8", 1},    {"short", 2},   {"int16", 2}, {"int", 4},   {"byte", 1},
               {"char", 1},     {"bool", 1}};
  for (guint i = 0; i < G_N_ELEMENTS(types); i++)
    if (length >= strlen(types[i].word) &&
        g_ascii_strncasecmp(text, types[i].word, strlen(types[i].word)) == 0)
      return types[i].bytes;
  return 0;
}

/* What a group of ranks is for, from its description: Megatron's TENSOR_MODEL_PARALLEL_GROUP,
 * torchtitan's mesh_tp. Interned. */
static const char *purpose_of(const char *group) {
  static const char *const words[][2] = {
      {"tensor", "tp"},  {"expert", "ep"},  {"context", "cp"}, {"pipeline", "pp"},
      {"data", "dp"},    {"mesh_tp", "tp"}, {"mesh_ep", "ep"}, {"mesh_cp", "cp"},
      {"mesh_pp", "pp"}, {"mesh_dp", "dp"}, {"tp", "tp"},      {"ep", "ep"},
      {"cp", "cp"},      {"pp", "pp"},      {"dp", "dp"},      {"fsdp", "dp"}};
  g_autofree char *lower = g_ascii_strdown(group, -1);
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    const gboolean is_short = strlen(words[i][0]) == 2 || strcmp(words[i][0], "fsdp") == 0;
    if (is_short ? strcmp(lower, words[i][0]) == 0 : strstr(lower, words[i][0]) != NULL)
      return words[i][1];
  }
  return NULL;
}

/* --- Events --- */

static void begin_event(Reader *reader) {
  reader->is_complete = reader->has_ts = reader->has_dur = reader->has_device = FALSE;
  reader->is_odd = FALSE;
  reader->sort = SKIPPED;
  reader->category = NULL;
  reader->element = reader->in = reader->out = 0;
  reader->pid = reader->tid = reader->device = 0;
  reader->stream = -1;
  g_string_truncate(reader->name, 0);
  g_string_truncate(reader->group, 0);
}

static int keep_kernel(Reader *reader, double begin_s) {
  const gboolean has_size = reader->element > 0 && (reader->in > 0 || reader->out > 0);
  const double bytes = has_size ? reader->element * fmax(reader->in, reader->out) : 0;
  const char *purpose = reader->group->len > 0 ? purpose_of(reader->group->str) : NULL;
  const guint32 name =
      orr_timeline_name(reader->timeline, reader->name->str, purpose, isfinite(bytes) ? bytes : 0);
  orr_timeline_add(reader->timeline, name, reader->has_device ? reader->device : reader->pid,
                   reader->stream >= 0 ? reader->stream : reader->tid, begin_s,
                   begin_s + reader->dur * 1e-6);
  if (reader->timeline->events->len > reader->limits->most_events)
    return stop(reader, "holds more kernels than can be read: profile fewer steps");
  if (reader->timeline->name_bytes > MOST_NAME_BYTES)
    return stop(reader, "holds more names of kernels than can be read");
  return 1;
}

static int keep_step(Reader *reader, double begin_s) {
  if (!g_str_has_prefix(reader->name->str, reader->step)) return 1;
  const OrrTimelineStep step = {NULL, begin_s, begin_s + reader->dur * 1e-6};
  GArray *steps = reader->sort == DEVICE_RANGE ? reader->device_steps : reader->timeline->steps;
  if (steps->len >= MOST_STEPS) return stop(reader, "holds more than a million steps");
  g_array_append_val(steps, step);
  g_array_index(steps, OrrTimelineStep, steps->len - 1).name = g_strdup(reader->name->str);
  return 1;
}

static int end_event(Reader *reader) {
  if (reader->is_complete && reader->category) reader->category->n++;
  if (!reader->is_complete || reader->sort == SKIPPED) return 1;
  const gboolean is_kernel = reader->sort == DEVICE;
  if (!is_kernel && !g_str_has_prefix(reader->name->str, reader->step)) return 1;
  if (reader->is_odd || !reader->has_ts || !reader->has_dur)
    return stop(reader, "expected numbers as ts and dur of a kernel or step");
  if (!(reader->dur >= 0)) return stop(reader, "a kernel or step ends before it begins");
  if (!reader->has_base) reader->base = reader->ts_whole;
  reader->has_base = TRUE;
  if (llabs(reader->ts_whole / 2 - reader->base / 2) > (gint64)1e14 || !(reader->dur < 1e14))
    return stop(reader, "a kernel or step lies years from the first");
  const double begin_s = (double)(reader->ts_whole - reader->base) * 1e-6 + reader->ts_part * 1e-6;
  return is_kernel ? keep_kernel(reader, begin_s) : keep_step(reader, begin_s);
}

static void set_category(Reader *reader, const char *text, size_t length) {
  Category *category = NULL;
  for (guint i = 0; i < reader->n_categories && !category; i++)
    if (strlen(reader->categories[i].text) == length &&
        memcmp(reader->categories[i].text, text, length) == 0)
      category = &reader->categories[i];
  if (!category && reader->n_categories < MOST_CATEGORIES && length < sizeof category->text) {
    category = &reader->categories[reader->n_categories++];
    memcpy(category->text, text, length);
  }
  reader->category = category;
  for (guint i = 0; i < G_N_ELEMENTS(sorts); i++)
    if (strlen(sorts[i].category) == length &&
        g_ascii_strncasecmp(sorts[i].category, text, length) == 0)
      reader->sort = sorts[i].sort;
}

/* --- The parser's calls --- */

static gboolean is_in_event(const Reader *reader) {
  return reader->events_depth > 0 && reader->depth > reader->events_depth &&
         reader->depth <= reader->events_depth + 2;
}

static int on_string(void *user, const unsigned char *raw, size_t length) {
  Reader *reader = user;
  const char *text = (const char *)raw;
  const Key key = reader->key;
  reader->n_tokens++;
  if (key == PH)
    reader->is_complete = length == 1 && *text == 'X';
  else if (key == CAT)
    set_category(reader, text, length);
  else if (key == NAME && length < CHUNK)
    g_string_append_len(g_string_truncate(reader->name, 0), text, (gssize)length);
  else if (key == ARG_DTYPE)
    reader->element = element_of(text, length);
  else if (key == ARG_GROUP && length < 256)
    g_string_append_len(g_string_truncate(reader->group, 0), text, (gssize)length);
  else if (key == TS || key == DUR)
    reader->is_odd = TRUE;
  return 1;
}

static int on_number(void *user, const char *text, size_t length) {
  Reader *reader = user;
  reader->n_tokens++;
  switch (reader->key) {
  case TS:
    reader->has_ts = read_ts(reader, text, length);
    break;
  case DUR:
    reader->dur = number_of(text, length);
    reader->has_dur = TRUE;
    break;
  case PID:
    reader->pid = whole_of(text, length);
    break;
  case TID:
    reader->tid = whole_of(text, length);
    break;
  case ARG_DEVICE:
    reader->device = whole_of(text, length);
    reader->has_device = TRUE;
    break;
  case ARG_STREAM:
    reader->stream = whole_of(text, length);
    break;
  case ARG_IN:
    reader->in = number_of(text, length);
    break;
  case ARG_OUT:
    reader->out = number_of(text, length);
    break;
  default:
    break;
  }
  return 1;
}

static int on_other(void *user) {
  ((Reader *)user)->n_tokens++;
  return 1;
}

static int on_boolean(void *user, int value) { return on_other(user); }

static int on_key(void *user, const unsigned char *text, size_t length) {
  Reader *reader = user;
  reader->n_tokens++;
  reader->key = NO_KEY;
  if (reader->depth == 1)
    reader->is_next = length == strlen("traceEvents") && memcmp(text, "traceEvents", length) == 0;
  if (!is_in_event(reader)) return 1;
  const int below = reader->depth - reader->events_depth - 1;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (keys[i].below == below && strlen(keys[i].text) == length &&
        memcmp(keys[i].text, text, length) == 0)
      reader->key = keys[i].key;
  return 1;
}

static int on_map(void *user) {
  Reader *reader = user;
  reader->n_tokens++;
  if (++reader->depth > MOST_DEPTH) return stop(reader, "is nested more than 64 deep");
  if (reader->events_depth > 0 && reader->depth == reader->events_depth + 1) begin_event(reader);
  reader->key = NO_KEY;
  return 1;
}

static int on_map_end(void *user) {
  Reader *reader = user;
  reader->n_tokens++;
  reader->depth--;
  reader->key = NO_KEY;
  return reader->events_depth > 0 && reader->depth == reader->events_depth ? end_event(reader) : 1;
}

static int on_array(void *user) {
  Reader *reader = user;
  reader->n_tokens++;
  reader->key = NO_KEY;
  if (++reader->depth > MOST_DEPTH) return stop(reader, "is nested more than 64 deep");
  if (reader->depth == 1 || (reader->depth == 2 && reader->is_next))
    reader->events_depth = reader->depth;
  return 1;
}

static int on_array_end(void *user) {
  Reader *reader = user;
  reader->n_tokens++;
  reader->key = NO_KEY;
  if (reader->depth-- == reader->events_depth) reader->events_depth = 0;
  return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_other,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_map_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* --- The file --- */

/* Moves the place over @length bytes. */
static void advance(OrrPlace *place, const char *text, size_t length) {
  const char *end = text + length, *line;
  while ((line = memchr(text, '\n', (size_t)(end - text)))) {
    place->line += place->line < G_MAXINT;
    place->column = 1;
    text = line + 1;
  }
  place->column = (int)MIN((gint64)place->column + (end - text), G_MAXINT);
}

static gboolean fail(Reader *reader, const char *wrong) {
  orr_diags_error(reader->diags, reader->place, "%s", wrong);
  return FALSE;
}

static gboolean parsed(Reader *reader, yajl_status status, const char *text, size_t length) {
  if (status == yajl_status_ok) return TRUE;
  advance(&reader->place, text, MIN(yajl_get_bytes_consumed(reader->parser), length));
  if (reader->wrong) return fail(reader, reader->wrong);
  unsigned char *message = yajl_get_error(reader->parser, 0, NULL, 0);
  g_strchomp((char *)message);
  orr_diags_error(reader->diags, reader->place, "is not JSON of PyTorch's profiler: %s",
                  (const char *)message);
  yajl_free_error(reader->parser, message);
  return FALSE;
}

static gboolean read_chunks(Reader *reader, gzFile file) {
  g_autofree char *chunk = g_malloc(CHUNK);
  const gint64 until = g_get_monotonic_time() + (gint64)(reader->limits->most_s * 1e6);
  guint64 before = 0, idle = 0;
  int n, code;
  while ((n = gzread(file, chunk, CHUNK)) > 0) {
    if (!parsed(reader, yajl_parse(reader->parser, (unsigned char *)chunk, (size_t)n), chunk,
                (size_t)n))
      return FALSE;
    advance(&reader->place, chunk, (size_t)n);
    idle = reader->n_tokens == before ? idle + (guint)n : 0;
    before = reader->n_tokens;
    if (idle > MOST_TOKEN) return fail(reader, "expected the end of a value within 16 MiB");
    if (g_get_monotonic_time() > until) return fail(reader, "cannot be read in time");
  }
  gzerror(file, &code);
  if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
    return fail(reader, code == Z_BUF_ERROR ? "ends within its gzip stream: it was cut short"
                                            : "is damaged: its gzip stream does not inflate");
  const yajl_status end = yajl_complete_parse(reader->parser);
  if (end != yajl_status_ok && !reader->wrong)
    return fail(reader, "ends within its JSON: it was cut short");
  return parsed(reader, end, "", 0);
}

static gboolean read_file(Reader *reader, const char *path) {
  if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
    return fail(reader, "is not a regular file that can be read");
  gzFile file = gzopen(path, "rbe");
  if (!file) return fail(reader, "cannot be opened");
  gzbuffer(file, CHUNK);
  reader->parser = yajl_alloc(&callbacks, NULL, reader);
  yajl_config(reader->parser, yajl_dont_validate_strings, 1);
  reader->place.line = reader->place.column = 1;
  const gboolean is_read = read_chunks(reader, file);
  yajl_free(reader->parser);
  gzclose(file);
  return is_read;
}

static void refuse_empty(Reader *reader) {
  g_autoptr(GString) found = g_string_new(NULL);
  gboolean has_counters = FALSE;
  for (guint i = 0; i < reader->n_categories; i++) {
    const Category *category = &reader->categories[i];
    if (category->n > 0)
      g_string_append_printf(found, "%s%s %" G_GUINT64_FORMAT, found->len > 0 ? ", " : "",
                             category->text, category->n);
    has_counters |= strcmp(category->text, "cuda_profiler_range") == 0;
  }
  reader->place.line = 0;
  orr_diags_error(reader->diags, reader->place, "holds no kernel of a GPU (found: %s): %s",
                  found->len > 0 ? found->str : "no event",
                  has_counters ? "it was made for CUPTI's counters; profile without them"
                               : "profile with ProfilerActivity.CUDA");
}

/* Steps as the device saw them, where it saw as many: the host runs ahead. A range that ends where
 * the next one begins, or a little before, lasts until there. */
static void settle_steps(Reader *reader) {
  GArray *steps = reader->timeline->steps;
  if (reader->device_steps->len >= MAX(steps->len, 1)) {
    GArray *other = steps;
    reader->timeline->steps = steps = reader->device_steps;
    reader->device_steps = other;
  }
  orr_timeline_sort(reader->timeline);
  for (guint i = 0; i + 1 < steps->len; i++) {
    OrrTimelineStep *step = &g_array_index(steps, OrrTimelineStep, i);
    const double next_s = g_array_index(steps, OrrTimelineStep, i + 1).begin_s;
    if (next_s - step->end_s < 0.1 * (step->end_s - step->begin_s)) step->end_s = next_s;
  }
}

static void free_step(gpointer data) { g_free(((OrrTimelineStep *)data)->name); }

OrrTimeline *orr_kineto_read(const char *path, const char *step, const OrrKinetoLimits *limits,
                             OrrDiags *diags) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  Reader reader = {.timeline = timeline,
                   .diags = diags,
                   .step = step ? step : "ProfilerStep#",
                   .limits = limits ? limits : &usual,
                   .place = {g_intern_string(path), 0, 0, NULL}};
  reader.name = g_string_new(NULL);
  reader.group = g_string_new(NULL);
  reader.device_steps = g_array_new(FALSE, FALSE, sizeof(OrrTimelineStep));
  g_array_set_clear_func(reader.device_steps, free_step);
  const gboolean is_read = read_file(&reader, path);
  if (is_read && timeline->events->len == 0) refuse_empty(&reader);
  if (is_read) settle_steps(&reader);
  g_string_free(reader.name, TRUE);
  g_string_free(reader.group, TRUE);
  g_array_unref(reader.device_steps);
  return is_read && timeline->events->len > 0 ? g_steal_pointer(&timeline) : NULL;
}
