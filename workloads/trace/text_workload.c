/*
 * text_workload.c - layers as text become a graph (text_workload.h). Node ids count up.
 */
#include "workloads/trace/text_workload.h"

#include "workloads/collectives/collective.h"

enum { MOST_RANKS = 1 << 17, MOST_NODES = 1 << 23, MOST_TOKEN = 64 };
#define NANO 1e-9

/* Who takes part in a collective. */
typedef enum { ALL, MODEL, DATA, EXPERTS, DATA_OF_EXPERTS } Group;

typedef struct {
  const char *name;
  Group passes, weights; /* of the forward pass and the input's gradient; of the weights' */
} Policy;

static const Policy policies[] = {{"DATA", ALL, ALL},
                                  {"MODEL", ALL, ALL},
                                  {"HYBRID_DLRM", ALL, ALL},
                                  {"MICRO", ALL, ALL},
                                  {"HYBRID_TRANSFORMER", MODEL, DATA},
                                  {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", MODEL, DATA}};

typedef enum { FORWARD, INPUT, WEIGHTS, N_PARTS } Part;

typedef struct {
  double seconds, bytes; /* bytes 0: no collective */
  OrrCollectiveOp op;
  Group group;
} Work;

typedef struct {
  const char *name; /* the graph's */
  Work parts[N_PARTS];
  double update_s;
} Layer;

typedef struct {
  OrrWorkGraph *graph;
  const char *file, *at, *end, *line_begin;
  gint64 line;
  const char *token; /* the last one */
  gsize length;      /* 0: the end of the line or of the text */
  const Policy *policy;
  gint64 ranks, model, experts; /* 0: not given */
  gboolean is_simai;
  GArray *layers; /* of Layer */
} Reader;

static gboolean wrong(const Reader *reader, GError **error, const char *allowed) {
  g_autofree char *found = g_strndup(reader->token, MIN(reader->length, MOST_TOKEN));
  g_autofree char *shown = g_utf8_make_valid(found, -1);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s:%ld:%d: expected %s, found %s%s%s",
                       reader->file, reader->line, (int)(reader->token - reader->line_begin) + 1,
                       allowed, *shown ? "'" : "", *shown ? shown : "the end of the line",
                       *shown ? "'" : "");
}

/* --- Tokens --- */

static gboolean is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The next word of the line. */
static void next(Reader *reader) {
  while (reader->at < reader->end && is_blank(*reader->at)) reader->at++;
  reader->token = reader->at;
  while (reader->at < reader->end && *reader->at != '\n' && !is_blank(*reader->at)) reader->at++;
  reader->length = (gsize)(reader->at - reader->token);
}

static gboolean is(const Reader *reader, const char *word) {
  return reader->length == strlen(word) && memcmp(reader->token, word, reader->length) == 0;
}

/* Goes to the next line that is not empty; FALSE: there is none. */
static gboolean next_line(Reader *reader) {
  while (reader->at < reader->end) {
    if (*reader->at == '\n') {
      reader->line++;
      reader->line_begin = ++reader->at;
    } else if (is_blank(*reader->at)) {
      reader->at++;
    } else {
      return TRUE;
    }
  }
  return FALSE;
}

static gboolean read_number(Reader *reader, double least, double most, double *ret_number,
                            GError **error) {
  char text[MOST_TOKEN] = "", *end = NULL;
  next(reader);
  if (reader->length > 0 && reader->length < sizeof text)
    memcpy(text, reader->token, reader->length);
  const double number = g_ascii_strtod(text, &end);
  if (end == text || *end || !(number >= least && number <= most)) {
    g_autofree char *allowed = g_strdup_printf("a number from %.0f to %.0f", least, most);
    return wrong(reader, error, allowed);
  }
  *ret_number = number;
  return TRUE;
}

static gboolean end_line(Reader *reader, GError **error) {
  next(reader);
  return reader->length == 0 || wrong(reader, error, "the end of the line");
}

/* --- The first line --- */

static gboolean read_policy(Reader *reader, GError **error) {
  next(reader);
  for (guint i = 0; i < G_N_ELEMENTS(policies); i++)
    if (is(reader, policies[i].name)) reader->policy = &policies[i];
  return reader->policy || wrong(reader, error,
                                 "a policy: DATA, MODEL, MICRO, HYBRID_DLRM, HYBRID_TRANSFORMER or "
                                 "HYBRID_TRANSFORMER_FWD_IN_BCKWD");
}

static gboolean keep(Reader *reader, const char *key, double number, GError **error) {
  if (g_str_equal(key, "all_gpus")) reader->is_simai = TRUE;
  if (g_str_equal(key, "all_gpus") && reader->ranks == 0) reader->ranks = (gint64)number;
  if (g_str_equal(key, "model_parallel_NPU_group")) reader->model = (gint64)number;
  if (g_str_equal(key, "ep")) reader->experts = (gint64)number;
  if (g_str_equal(key, "pp") && number > 1)
    return wrong(reader, error, "pp: 1, since the text has one stage's layers alone");
  if (g_str_equal(key, "checkpoints") && number > 0)
    orr_work_graph_note(reader->graph, "checkpoints: layers are not computed again in the backward "
                                       "pass");
  return TRUE;
}

static gboolean read_first_line(Reader *reader, GError **error) {
  if (!read_policy(reader, error)) return FALSE;
  for (;;) {
    double number;
    next(reader);
    if (reader->length == 0) return TRUE;
    g_autofree char *key = g_strndup(reader->token, reader->length);
    g_strdelimit(key, ":", '\0');
    if (g_str_equal(key, "checkpoint_initiates")) {
      next(reader); /* layers, or 0 */
      continue;
    }
    if (!read_number(reader, 0, 1e18, &number, error) || !keep(reader, key, number, error))
      return FALSE;
  }
}

static gboolean check_group(const Reader *reader, const char *what, gint64 size, GError **error) {
  if (size >= 1 && reader->ranks % size == 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s: %s is %ld: it divides the %ld ranks",
                       reader->file, what, size, reader->ranks);
}

static gboolean settle_groups(Reader *reader, GError **error) {
  if (reader->ranks < 1 || reader->ranks > MOST_RANKS)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "%s: the number of ranks is workload.ranks, or all_gpus of the first "
                         "line, 1 to %d",
                         reader->file, MOST_RANKS);
  if (reader->model == 0) reader->model = reader->policy->passes == MODEL ? 0 : 1;
  if (reader->experts == 0) reader->experts = 1;
  if (!check_group(reader, "model_parallel_NPU_group", reader->model, error)) return FALSE;
  return check_group(reader, "the product of model_parallel_NPU_group and ep",
                     reader->model * reader->experts, error);
}

/* --- Layers --- */

static const struct {
  const char *word;
  OrrCollectiveOp op;
} ops[] = {{"ALLREDUCE", ORR_ALL_REDUCE},
           {"ALLGATHER", ORR_ALL_GATHER},
           {"REDUCESCATTER", ORR_REDUCE_SCATTER},
           {"ALLTOALL", ORR_ALL_TO_ALL}};

static const struct {
  const char *end;
  Group group;
} ends[] = {{"_DP_EP", DATA_OF_EXPERTS}, {"_EP", EXPERTS}};

/* FALSE: no collective has that name. */
static gboolean find_op(const char *name, Work *work) {
  g_autofree char *word = g_strdup(name);
  for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
    if (g_str_has_suffix(word, ends[i].end)) {
      word[strlen(word) - strlen(ends[i].end)] = '\0';
      work->group = ends[i].group;
    }
  for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
    if (g_str_equal(word, ops[i].word)) {
      work->op = ops[i].op;
      return TRUE;
    }
  return FALSE;
}

static gboolean read_work(Reader *reader, Part part, Work *work, GError **error) {
  *work = (Work){.group = part == WEIGHTS ? reader->policy->weights : reader->policy->passes};
  if (!read_number(reader, 0, 1e18, &work->seconds, error)) return FALSE;
  work->seconds *= NANO;
  next(reader);
  g_autofree char *name = g_strndup(reader->token, reader->length);
  const gboolean is_none = is(reader, "NONE");
  if (!is_none && !find_op(name, work))
    return wrong(reader, error,
                 "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _EP or _DP_EP");
  if (!read_number(reader, 0, 1e18, &work->bytes, error)) return FALSE;
  if (is_none) work->bytes = 0;
  return TRUE;
}

static gboolean read_layer(Reader *reader, GError **error) {
  Layer layer = {.update_s = 0};
  double ignored;
  next(reader);
  g_autofree char *name = g_strndup(reader->token, reader->length);
  g_autofree char *safe = g_utf8_make_valid(name, -1);
  layer.name = g_string_chunk_insert_const(reader->graph->names, safe);
  if (!read_number(reader, -1e18, 1e18, &ignored, error)) return FALSE;
  for (Part part = FORWARD; part < N_PARTS; part++)
    if (!read_work(reader, part, &layer.parts[part], error)) return FALSE;
  if (!read_number(reader, 0, 1e18, &layer.update_s, error)) return FALSE;
  layer.update_s *= NANO;
  g_array_append_val(reader->layers, layer);
  return end_line(reader, error);
}

static gboolean read_text(Reader *reader, GError **error) {
  double n = 0;
  if (!next_line(reader) || !read_first_line(reader, error) || !settle_groups(reader, error)) {
    reader->token = reader->at;
    reader->length = 0;
    return *error ? FALSE : wrong(reader, error, "a policy");
  }
  next_line(reader);
  if (!read_number(reader, 1, MOST_NODES, &n, error) || !end_line(reader, error)) return FALSE;
  while (next_line(reader))
    if (!read_layer(reader, error)) return FALSE;
  if (reader->layers->len == n) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "%s: the second line says %.0f layers, and %u follow", reader->file, n,
                       reader->layers->len);
}

/* --- The graph --- */

typedef struct {
  const Reader *reader;
  OrrGraphRank *rank;
  gint64 number;
  guint32 last; /* the node that the next one waits for, + 1 */
} Writer;

/* The ranks of a group are @size numbers, @stride apart; all others of them differ in their
 * `block`. */
static guint32 group_of(const Writer *writer, Group group, gint64 *ret_size) {
  const Reader *reader = writer->reader;
  const gint64 model = reader->model, experts = reader->experts, rank = writer->number,
               place = rank % model, block = rank / model;
  const gint64 sizes[] = {reader->ranks, model, reader->ranks / model, experts,
                          reader->ranks / model / experts};
  const gint64 names[] = {0, block, place, block / experts * model + place,
                          block % experts * model + place};
  static const char *const words[] = {"all", "model", "data", "experts", "data-of-experts"};
  *ret_size = sizes[group];
  if (sizes[group] == reader->ranks) return ORR_GRAPH_ALL;
  g_autofree char *name = g_strdup_printf("%s%ld", words[group], names[group]);
  return orr_work_graph_group(reader->graph, name);
}

/* Appends @node after @dep (a node + 1; 0: none). Returns the node + 1. */
static guint32 add(Writer *writer, OrrGraphNode node, const char *name, guint32 dep) {
  GArray *nodes = writer->rank->nodes, *deps = writer->rank->deps;
  node.id = nodes->len;
  node.name = name;
  if (dep > 0) {
    const guint32 before = dep - 1;
    node.first_dep = deps->len;
    node.n_deps = 1;
    g_array_append_val(deps, before);
  }
  g_array_append_val(nodes, node);
  return nodes->len;
}

static guint32 add_compute(Writer *writer, const char *name, double seconds, guint64 queue,
                           guint32 dep) {
  if (seconds <= 0) return dep;
  return add(
      writer,
      (OrrGraphNode){
          .kind = ORR_GRAPH_COMPUTE, .seconds = seconds, .queue = queue, .group = ORR_GRAPH_ALL},
      name, dep);
}

/* The collective of @work after @dep; a group of one has none. */
static guint32 add_collective(Writer *writer, const char *name, const Work *work, guint32 dep) {
  gint64 size = 1;
  const guint32 group = work->bytes > 0 ? group_of(writer, work->group, &size) : ORR_GRAPH_ALL;
  if (work->bytes <= 0 || size < 2) return dep;
  /* a node's bytes are what its rank gives in */
  const gboolean is_whole = work->op == ORR_ALL_GATHER && writer->reader->is_simai;
  return add(writer,
             (OrrGraphNode){.kind = ORR_GRAPH_COLLECTIVE,
                            .op = (guint8)work->op,
                            .bytes = work->bytes / (is_whole ? (double)size : 1),
                            .group = group},
             name, dep);
}

static void add_in_line(Writer *writer, const Layer *layer, Part part) {
  const Work *work = &layer->parts[part];
  writer->last = add_compute(writer, layer->name, work->seconds, 0, writer->last);
  writer->last = add_collective(writer, layer->name, work, writer->last);
}

static void add_weights(Writer *writer, const Layer *layer) {
  const Work *work = &layer->parts[WEIGHTS];
  writer->last = add_compute(writer, layer->name, work->seconds, 0, writer->last);
  const guint32 reduced = add_collective(writer, layer->name, work, writer->last);
  add_compute(writer, layer->name, layer->update_s, 1, reduced);
}

static void write_rank(const Reader *reader, gint64 number) {
  Writer writer = {reader, orr_work_graph_add_rank(reader->graph, reader->file), number, 0};
  const GArray *layers = reader->layers;
  ORR_EACH(Layer, one, layers) add_in_line(&writer, one, FORWARD);
  for (guint i = layers->len; i-- > 0;) {
    const Layer *layer = &g_array_index(layers, Layer, i);
    add_in_line(&writer, layer, INPUT);
    add_weights(&writer, layer);
  }
}

OrrWorkGraph *orr_text_workload_read(const char *text, gsize length, const char *file, gint64 ranks,
                                     GError **error) {
  g_autoptr(GError) fault = NULL;
  g_autoptr(OrrWorkGraph) graph = orr_work_graph_new();
  g_autoptr(GArray) layers = g_array_new(FALSE, FALSE, sizeof(Layer));
  Reader reader = {.graph = graph,
                   .file = file,
                   .at = text,
                   .end = text + length,
                   .line_begin = text,
                   .line = 1,
                   .ranks = ranks,
                   .layers = layers};
  if (read_text(&reader, &fault) && (guint64)reader.ranks * layers->len * 2 * N_PARTS > MOST_NODES)
    orr_fault_set(&fault, ORR_FAULT_DOCUMENT, "%s: more than %d operations of all ranks", file,
                  MOST_NODES);
  if (fault) {
    g_propagate_error(error, g_steal_pointer(&fault));
    return NULL;
  }
  for (gint64 rank = 0; rank < reader.ranks; rank++) write_rank(&reader, rank);
  return g_steal_pointer(&graph);
}
