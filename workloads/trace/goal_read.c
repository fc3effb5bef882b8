/*
 * goal_read.c - a schedule in GOAL becomes a graph (goal.h). Node ids are lines.
 */
#include "workloads/trace/goal.h"

enum { MOST_RANKS = 1 << 17, MOST_TOKEN = 64 };

/* "l2 requires l1" */
typedef struct {
  guint32 node, dep; /* with ORR_GRAPH_ON_BEGIN */
} Need;

typedef struct {
  OrrWorkGraph *graph;
  const char *file, *at, *end, *line_begin;
  gint64 line;
  const char *token;  /* the last one */
  gsize length;       /* 0: the end of the line or of the text */
  GHashTable *labels; /* of the rank: text -> node + 1 */
  OrrGraphRank *rank; /* NULL: outside of ranks */
  guint32 number;
  GArray *needs;   /* of Need, of the rank */
  gboolean *given; /* by rank */
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

static gboolean is_at(const Reader *reader, const char *text) {
  const gsize n = strlen(text);
  return (gsize)(reader->end - reader->at) >= n && memcmp(reader->at, text, n) == 0;
}

static void new_line(Reader *reader) {
  reader->at++;
  reader->line++;
  reader->line_begin = reader->at;
}

static void skip_comment(Reader *reader) {
  reader->at += 2;
  while (reader->at < reader->end && !is_at(reader, "*/"))
    if (*reader->at == '\n')
      new_line(reader);
    else
      reader->at++;
  reader->at = MIN(reader->at + 2, reader->end);
}

static void skip_blanks(Reader *reader) {
  while (reader->at < reader->end) {
    if (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r')
      reader->at++;
    else if (is_at(reader, "//"))
      while (reader->at < reader->end && *reader->at != '\n') reader->at++;
    else if (is_at(reader, "/*"))
      skip_comment(reader);
    else
      return;
  }
}

static gboolean is_word(char c) { return g_ascii_isalnum(c) || c == '_' || c == '-'; }

/* The next word, number or sign of the line. */
static void next(Reader *reader) {
  skip_blanks(reader);
  reader->token = reader->at;
  while (reader->at < reader->end && is_word(*reader->at)) reader->at++;
  if (reader->at == reader->token && reader->at < reader->end && *reader->at != '\n') reader->at++;
  reader->length = (gsize)(reader->at - reader->token);
}

static gboolean is(const Reader *reader, const char *word) {
  return reader->length == strlen(word) && memcmp(reader->token, word, reader->length) == 0;
}

static gboolean read_number(Reader *reader, double most, const char *unit, double *ret_number,
                            GError **error) {
  const gsize n_unit = strlen(unit);
  next(reader);
  double number = 0;
  gsize digits = 0;
  for (; digits < reader->length && g_ascii_isdigit(reader->token[digits]); digits++)
    number = number * 10 + (reader->token[digits] - '0');
  const gboolean is_whole = digits > 0 && digits + n_unit == reader->length &&
                            memcmp(reader->token + digits, unit, n_unit) == 0;
  if (!is_whole || number > most) {
    g_autofree char *allowed =
        g_strdup_printf("a number up to %.0f%s%s", most, *unit ? " and then " : "", unit);
    return wrong(reader, error, allowed);
  }
  *ret_number = number;
  return TRUE;
}

static gboolean end_line(Reader *reader, GError **error) {
  next(reader);
  return reader->length == 0 || wrong(reader, error, "the end of the line");
}

/* --- Operations --- */

static gboolean read_options(Reader *reader, OrrGraphNode *node, GError **error) {
  double number;
  for (;;) {
    next(reader);
    if (reader->length == 0) return TRUE;
    const gboolean is_tag = is(reader, "tag") && node->kind != ORR_GRAPH_COMPUTE;
    const gboolean is_cpu = is(reader, "cpu");
    if (!is_tag && !is_cpu && !is(reader, "nic"))
      return wrong(reader, error,
                   node->kind == ORR_GRAPH_COMPUTE ? "cpu or the end of the line"
                                                   : "tag, cpu, nic or the end of the line");
    if (!read_number(reader, G_MAXUINT32, "", &number, error)) return FALSE;
    if (is_tag) node->tag = (gint64)number;
    if (is_cpu) node->queue = (guint64)number;
  }
}

static gboolean read_message(Reader *reader, OrrGraphNode *node, GError **error) {
  const char *way = node->kind == ORR_GRAPH_SEND ? "to" : "from";
  double peer;
  if (!read_number(reader, 1e18, "b", &node->bytes, error)) return FALSE;
  next(reader);
  if (!is(reader, way)) return wrong(reader, error, way);
  if (!read_number(reader, reader->graph->ranks->len - 1.0, "", &peer, error)) {
    g_prefix_error(error, "%s",
                   is(reader, "-1") ? "a receive from any rank is not replayed: " : "");
    return FALSE;
  }
  if (peer == reader->number) return wrong(reader, error, "another rank than its own");
  node->peer = (guint32)peer;
  node->op = ORR_SEND_RECV;
  return read_options(reader, node, error);
}

static gboolean read_operation(Reader *reader, char *label, GError **error) {
  const gboolean is_calc = is(reader, "calc");
  OrrGraphNode node = {.id = (guint64)reader->line,
                       .name =
                           label ? g_string_chunk_insert_const(reader->graph->names, label) : "",
                       .group = ORR_GRAPH_ALL,
                       .kind = is_calc              ? ORR_GRAPH_COMPUTE
                               : is(reader, "send") ? ORR_GRAPH_SEND
                                                    : ORR_GRAPH_RECV};
  if (!is_calc && !is(reader, "send") && !is(reader, "recv"))
    return wrong(reader, error, "calc, send or recv");
  if (is_calc ? !read_number(reader, 1e18, "", &node.seconds, error) ||
                    !read_options(reader, &node, error)
              : !read_message(reader, &node, error))
    return FALSE;
  node.seconds *= 1e-9;
  if (is_calc && node.seconds == 0) node.kind = ORR_GRAPH_EMPTY;
  g_array_append_val(reader->rank->nodes, node);
  if (label)
    g_hash_table_insert(reader->labels, g_strdup(label),
                        GUINT_TO_POINTER(reader->rank->nodes->len));
  return TRUE;
}

static gboolean find_label(const Reader *reader, const char *label, guint32 *ret_node,
                           GError **error) {
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(reader->labels, label));
  *ret_node = known - 1;
  return known > 0 || wrong(reader, error, "the label of an earlier operation of this rank");
}

static gboolean read_need(Reader *reader, const char *label, GError **error) {
  const guint32 on_begin = is(reader, "irequires") ? ORR_GRAPH_ON_BEGIN : 0;
  Need need;
  if (!find_label(reader, label, &need.node, error)) return FALSE;
  next(reader);
  g_autofree char *other = g_strndup(reader->token, reader->length);
  if (!find_label(reader, other, &need.dep, error)) return FALSE;
  need.dep |= on_begin;
  g_array_append_val(reader->needs, need);
  return end_line(reader, error);
}

/* --- Ranks --- */

static gboolean begin_rank(Reader *reader, GError **error) {
  double number;
  if (reader->graph->ranks->len == 0) return wrong(reader, error, "num_ranks first");
  if (!read_number(reader, reader->graph->ranks->len - 1.0, "", &number, error)) return FALSE;
  if (reader->given[(guint)number]) return wrong(reader, error, "each rank once");
  next(reader);
  if (!is(reader, "{")) return wrong(reader, error, "{");
  reader->number = (guint32)number;
  reader->given[reader->number] = TRUE;
  reader->rank = reader->graph->ranks->pdata[reader->number];
  g_hash_table_remove_all(reader->labels);
  return end_line(reader, error);
}

static int compare_needs(const void *a, const void *b) {
  const Need *x = a, *y = b;
  return (x->node > y->node) - (x->node < y->node);
}

/* The dependencies of each node, next to each other. */
static void end_rank(Reader *reader) {
  GArray *needs = reader->needs;
  if (needs->len > 0) qsort(needs->data, needs->len, sizeof(Need), compare_needs);
  ORR_EACH(const Need, need, needs) {
    OrrGraphNode *node = &g_array_index(reader->rank->nodes, OrrGraphNode, need->node);
    if (node->n_deps++ == 0) node->first_dep = reader->rank->deps->len;
    g_array_append_val(reader->rank->deps, need->dep);
  }
  g_array_set_size(needs, 0);
  reader->rank = NULL;
}

static gboolean read_n_ranks(Reader *reader, GError **error) {
  double number;
  if (reader->given) return wrong(reader, error, "num_ranks once");
  if (!read_number(reader, MOST_RANKS, "", &number, error)) return FALSE;
  for (guint i = 0; i < number; i++) orr_work_graph_add_rank(reader->graph, reader->file);
  reader->given = g_new0(gboolean, (gsize)number + 1);
  return end_line(reader, error);
}

static gboolean read_labelled(Reader *reader, GError **error) {
  g_autofree char *label = g_strndup(reader->token, reader->length);
  if (!g_ascii_isalpha(*label)) return wrong(reader, error, "a label, calc, send, recv or }");
  next(reader);
  if (is(reader, "requires") || is(reader, "irequires")) return read_need(reader, label, error);
  if (!is(reader, ":")) return wrong(reader, error, ":, requires or irequires");
  if (g_hash_table_contains(reader->labels, label))
    return wrong(reader, error, "a label that no earlier operation of this rank has");
  next(reader);
  return read_operation(reader, label, error);
}

static gboolean read_line(Reader *reader, GError **error) {
  next(reader);
  if (reader->length == 0) return TRUE;
  if (!reader->rank && is(reader, "num_ranks")) return read_n_ranks(reader, error);
  if (!reader->rank && is(reader, "rank")) return begin_rank(reader, error);
  if (!reader->rank) return wrong(reader, error, "num_ranks or rank");
  if (is(reader, "calc") || is(reader, "send") || is(reader, "recv"))
    return read_operation(reader, NULL, error);
  if (!is(reader, "}")) return read_labelled(reader, error);
  end_rank(reader);
  return end_line(reader, error);
}

static gboolean read_text(Reader *reader, GError **error) {
  while (reader->at < reader->end) {
    if (!read_line(reader, error)) return FALSE;
    if (reader->at < reader->end) new_line(reader);
  }
  reader->token = reader->at;
  reader->length = 0;
  if (reader->rank) return wrong(reader, error, "} before the end of the file");
  if (reader->graph->ranks->len == 0) return wrong(reader, error, "num_ranks");
  return TRUE;
}

OrrWorkGraph *orr_goal_read(const char *text, gsize length, const char *file, GError **error) {
  g_autoptr(OrrWorkGraph) graph = orr_work_graph_new();
  Reader reader = {.graph = graph,
                   .file = file,
                   .at = text,
                   .end = text + length,
                   .line_begin = text,
                   .line = 1,
                   .labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                   .needs = g_array_new(FALSE, FALSE, sizeof(Need))};
  const gboolean is_read = read_text(&reader, error);
  g_hash_table_unref(reader.labels);
  g_array_unref(reader.needs);
  g_free(reader.given);
  return is_read ? g_steal_pointer(&graph) : NULL;
}
