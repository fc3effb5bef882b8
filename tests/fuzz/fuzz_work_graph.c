/*
 * fuzz_work_graph.c - libFuzzer target: no bytes may break the readers of traces, nor what finds
 * their communications and an order. The first byte picks Chakra ET, its JSON, GOAL, the layers of
 * ASTRA-sim 1 (which are written and read again), or a table of flows with htsim's log behind it.
 */
#include "tests/fuzz/fuzz_file.h"
#include "workloads/trace/et.h"
#include "workloads/trace/flow_list.h"
#include "workloads/trace/goal.h"
#include "workloads/trace/text_workload.h"
#include "workloads/trace/work_graph.h"

static OrrWorkGraph *read_graph(const uint8_t *data, size_t size, GError **error) {
  static const double sizes[] = {2, 3};
  const OrrEtDims dims = {sizes, 2};
  if (data[0] % 4 == 2)
    return orr_text_workload_read((const char *)data + 1, size - 1, "f.txt", data[0] / 4, error);
  if (data[0] % 2) return orr_goal_read((const char *)data + 1, size - 1, "f.goal", error);
  g_autoptr(GByteArray) json =
      data[0] == 4 ? orr_et_json_read((const char *)data + 1, size - 1, "f.json", error) : NULL;
  if (data[0] == 4 && !json) return NULL;
  OrrWorkGraph *graph = orr_work_graph_new();
  if (json ? orr_et_read(graph, json->data, json->len, "f.json", &dims, error)
           : orr_et_read(graph, data + 1, size - 1, "f.et", &dims, error))
    return graph;
  orr_work_graph_free(graph);
  return NULL;
}

/* A graph that has an order: each node once, after what it depends on. */
static void check_order(const OrrWorkGraph *graph, const OrrGraphOrder *order) {
  for (guint r = 0; r < graph->ranks->len; r++) {
    const OrrGraphRank *rank = orr_work_graph_rank(graph, r);
    for (guint i = 0; i < rank->nodes->len; i++) {
      const OrrGraphNode *node = orr_work_graph_node(rank, i);
      for (guint d = 0; d < node->n_deps; d++) {
        const guint32 dep = g_array_index(rank->deps, guint32, node->first_dep + d);
        const guint32 item = order->first[r] + (dep & ~ORR_GRAPH_ON_BEGIN);
        g_assert_cmpfloat(dep & ORR_GRAPH_ON_BEGIN ? order->begin_s[item] : order->end_s[item], <=,
                          order->begin_s[order->first[r] + i]);
      }
    }
  }
}

/* The bytes are a table, and a log of it. */
static void read_flows(const char *text, size_t size) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) flows = orr_flow_list_read(text, size, "f.csv", &error);
  g_assert_true((flows != NULL) == (error == NULL));
  if (!flows) return;
  g_assert_true(orr_flow_list_finish(flows, text, size, "f.log", &error) == (error == NULL));
  g_free(orr_flow_list_compared(flows));
}

/* Layers that are written are layers that are read. */
static void write_again(const OrrWorkGraph *graph) {
  g_autoptr(GError) error = NULL;
  g_autofree char *text = graph->ranks->len ? orr_text_workload_write(graph, &error) : NULL;
  if (!text) return;
  g_autoptr(OrrWorkGraph) again = orr_text_workload_read(text, strlen(text), "f.txt", 0, &error);
  g_assert_no_error(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  if (data[0] == 6) {
    read_flows((const char *)data + 1, size - 1);
    return 0;
  }
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrWorkGraph) graph = read_graph(data, size, &error);
  g_assert_true((graph != NULL) == (error == NULL));
  if (!graph || !orr_work_graph_match(graph, &error)) return 0;
  guint n = 0;
  for (guint r = 0; r < graph->ranks->len; r++) n += orr_work_graph_rank(graph, r)->nodes->len;
  g_autofree double *node_s = g_new0(double, n + 1);
  g_autofree double *comm_s = g_new0(double, graph->comms->len + 1);
  OrrGraphOrder order;
  const gboolean ends = orr_graph_order_init(&order, graph, node_s, comm_s, &error);
  if (ends) check_order(graph, &order);
  if (ends && data[0] % 4 == 2) write_again(graph);
  orr_graph_order_clear(&order);
  return 0;
}
