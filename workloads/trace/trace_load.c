/*
 * trace_load.c - finds the files of a traced job, one per rank, and reads them (trace_work.h).
 */
#include "workloads/trace/trace_work.h"

#include "sim/base/file.h"
#include "sim/base/json.h"
#include "workloads/trace/goal.h"
#include "workloads/trace/text_workload.h"

enum { MOST_RANKS = 1 << 20 };

const char *orr_trace_load_refuse(const char *file) {
  static const char *const suffixes[] = {".et", ".json", ".goal", ".txt"};
  for (guint i = 0; i < G_N_ELEMENTS(suffixes); i++)
    if (g_str_has_suffix(file, suffixes[i])) return NULL;
  return "a trace is a Chakra execution trace, NAME.et (of ranks: NAME.0.et, NAME.1.et, ...), "
         "the same as NAME.json, a schedule in GOAL, NAME.goal, or layers as ASTRA-sim 1 and SimAI "
         "have them, NAME.txt";
}

/* In the folder of the scenario, in one of the library's, or as given. NULL: nowhere. */
static char *find(const char *path, char *const *folders) {
  for (; folders && *folders && !g_path_is_absolute(path); folders++) {
    g_autofree char *below =
        strcmp(*folders, ".") == 0 ? g_strdup(path) : g_build_filename(*folders, path, NULL);
    if (g_file_test(below, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&below);
  }
  return g_file_test(path, G_FILE_TEST_EXISTS) ? g_strdup(path) : NULL;
}

static char *find_rank(const OrrTraceLoad *load, gint64 rank) {
  const char *suffix = strrchr(load->file, '.');
  g_autofree char *name =
      g_strdup_printf("%.*s.%ld%s", (int)(suffix - load->file), load->file, rank, suffix);
  return find(name, load->folders);
}

/* The paths of the ranks' files. */
static GPtrArray *find_files(const OrrTraceLoad *load, GError **error) {
  g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
  for (char *path; files->len < MOST_RANKS && (path = find_rank(load, files->len));)
    g_ptr_array_add(files, path);
  char *single = files->len == 0 ? find(load->file, load->folders) : NULL;
  if (single) g_ptr_array_add(files, single);
  if (files->len == 0)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                          "workload.file: there is neither a file %s nor one of its first rank, "
                          "%.*s.0%s",
                          load->file, (int)(strrchr(load->file, '.') - load->file), load->file,
                          strrchr(load->file, '.'));
  return g_steal_pointer(&files);
}

static gboolean read_file(OrrWorkGraph *graph, const OrrTraceLoad *load, const char *path,
                          GError **error) {
  g_autoptr(GBytes) bytes = orr_file_map(path, ORR_FILE_MAX_DATA, error);
  if (!bytes) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  gsize length;
  const void *data = g_bytes_get_data(bytes, &length);
  if (!g_str_has_suffix(path, ".json"))
    return orr_et_read(graph, data, length, path, &load->dims, error);
  g_autoptr(GByteArray) read = orr_et_json_read(data ? data : "", length, path, error);
  return read && orr_et_read(graph, read->data, read->len, path, &load->dims, error);
}

/* --- Groups --- */

static void read_group(OrrJson *json, OrrWorkGraph *graph, const char *name) {
  const OrrGraphGroup *group = graph->groups->pdata[orr_work_graph_group(graph, name)];
  double rank, last = -1;
  orr_json_open(json);
  while (orr_json_more(json)) {
    const OrrPlace place = orr_json_place(json);
    if (!orr_json_number(json, &rank)) continue;
    const guint32 number = (guint32)CLAMP(rank, 0, MOST_RANKS);
    if (rank != number || rank <= last || rank >= graph->ranks->len)
      orr_diags_error(json->diags, place,
                      "a group lists ranks in ascending order, 0 to %u, found %g",
                      graph->ranks->len - 1, rank);
    else
      g_array_append_val(group->ranks, number);
    last = rank;
  }
}

static gboolean read_groups(OrrWorkGraph *graph, const OrrTraceLoad *load, GError **error) {
  if (!load->groups || !*load->groups) return TRUE;
  g_autofree char *path = find(load->groups, load->folders);
  if (!path)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "workload.groups: there is no file %s",
                         load->groups);
  gsize length;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, &length, error);
  if (!text) return FALSE;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrJson json = orr_json_begin(text, length, path, diags);
  orr_json_open(&json);
  while (orr_json_more(&json)) {
    g_autofree char *name = orr_json_key(&json);
    read_group(&json, graph, name);
  }
  return orr_diags_check(diags, error);
}

/* --- Ranks that are like the first --- */

static gboolean check_symmetric(const OrrWorkGraph *graph, GError **error) {
  const OrrGraphRank *rank = orr_work_graph_rank(graph, 0);
  for (guint i = 0; i < rank->nodes->len; i++) {
    const OrrGraphNode *node = orr_work_graph_node(rank, i);
    const char *what =
        node->kind == ORR_GRAPH_SEND || node->kind == ORR_GRAPH_RECV ? "sends or receives" : NULL;
    if (node->kind == ORR_GRAPH_COLLECTIVE && node->group != ORR_GRAPH_ALL &&
        !g_str_has_prefix(((const OrrGraphGroup *)graph->groups->pdata[node->group])->name, "dims"))
      what = "names a process group";
    if (what)
      return orr_fault_set(
          error, ORR_FAULT_DOCUMENT,
          "workload.symmetric: node %" G_GUINT64_FORMAT
          " (%s) %s: the other ranks' operations there do not follow from the first rank's trace",
          node->id, node->name, what);
  }
  return TRUE;
}

static gboolean settle_ranks(const OrrTraceLoad *load, GPtrArray *files, GError **error) {
  const gint64 n = load->ranks > 0 ? load->ranks : files->len;
  if (n < files->len) g_ptr_array_set_size(files, (gint)n);
  if (n > files->len && !load->symmetric)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "workload.ranks is %ld, and there are files of %u ranks: give the others, "
                         "or symmetric: true if they do the same as the first rank",
                         n, files->len);
  while (files->len < n) g_ptr_array_add(files, g_strdup(files->pdata[0]));
  return TRUE;
}

/* --- All formats --- */

static OrrWorkGraph *load_et(const OrrTraceLoad *load, GError **error) {
  g_autoptr(GPtrArray) files = find_files(load, error);
  g_autoptr(OrrWorkGraph) graph = orr_work_graph_new();
  const guint n_given = files ? files->len : 0;
  if (!files || !settle_ranks(load, files, error)) return NULL;
  for (guint i = 0; i < files->len; i++)
    if (!read_file(graph, load, files->pdata[i], error)) return NULL;
  if (files->len > n_given && !check_symmetric(graph, error)) return NULL;
  return g_steal_pointer(&graph);
}

static OrrWorkGraph *read_goal(const char *text, gsize length, const char *path, gint64 ranks,
                               GError **error) {
  OrrWorkGraph *graph = orr_goal_read(text, length, path, error);
  if (graph && ranks > 0 && ranks != graph->ranks->len) {
    orr_work_graph_free(graph);
    return orr_fault_null(
        error, ORR_FAULT_DOCUMENT,
        "workload.ranks is %ld: a schedule in GOAL says itself how many there are", ranks);
  }
  return graph;
}

/* One text for all ranks. */
static OrrWorkGraph *load_text(const OrrTraceLoad *load, GError **error) {
  g_autofree char *path = find(load->file, load->folders);
  if (!path)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "workload.file: there is no file %s",
                          load->file);
  g_autoptr(GBytes) bytes = orr_file_map(path, ORR_FILE_MAX_DATA, error);
  if (!bytes) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  gsize length;
  const char *text = g_bytes_get_data(bytes, &length);
  const gboolean is_goal = g_str_has_suffix(load->file, ".goal");
  return (is_goal ? read_goal : orr_text_workload_read)(text ? text : "", length, path, load->ranks,
                                                        error);
}

OrrWorkGraph *orr_trace_load(const OrrTraceLoad *load, GError **error) {
  const gboolean is_et =
      g_str_has_suffix(load->file, ".et") || g_str_has_suffix(load->file, ".json");
  g_autoptr(OrrWorkGraph) graph = is_et ? load_et(load, error) : load_text(load, error);
  if (!graph) return NULL;
  if (!read_groups(graph, load, error) || !orr_work_graph_match(graph, error)) {
    g_prefix_error(error, "%s: ", load->file);
    return NULL;
  }
  return g_steal_pointer(&graph);
}
