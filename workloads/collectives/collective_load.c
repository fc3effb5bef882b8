/*
 * collective_load.c - adds up the load of a plan's phases on each link.
 *
 *   busy(link) = sum over the plan's phases of weight * bytes / bandwidth
 *
 * is the time for which the link is in use; the busiest link of a phase sets its pace.
 */
#include "workloads/collectives/collective_load.h"

enum { N_HOTTEST = 8 };

void orr_collective_load_free(OrrCollectiveLoad *load) {
  if (!load) return;
  g_clear_pointer(&load->rows, g_array_unref);
  g_clear_pointer(&load->hottest, g_array_unref);
  ORR_FREE(load->busy_s, load->flows, load);
}

static void clear_row(gpointer row) { g_free(((OrrLoadRow *)row)->kind); }

static void clear_phase(gpointer phase) { g_free(((OrrCollectivePhase *)phase)->uses); }

/* Calls the algorithm directly: the planner would count each protocol that it tries. */
static void add_phases(OrrCollectiveLoad *load, const OrrFabric *fabric,
                       const OrrCollectiveCall *call) {
  const OrrCollectiveContext context = {.fabric = fabric, .connections = load->flows};
  g_autoptr(GArray) phases = g_array_new(FALSE, FALSE, sizeof(OrrCollectivePhase));
  g_array_set_clear_func(phases, clear_phase);
  load->algorithm->plan(&context, call, phases);
  ORR_EACH(const OrrCollectivePhase, phase, phases) {
    for (guint u = 0; u < phase->n_uses; u++) {
      guint32 link = phase->uses[u].link;
      load->busy_s[link] +=
          phase->uses[u].weight * phase->bytes / orr_fabric_link_bandwidth(fabric, link);
    }
  }
}

/* "leaf3-spine0#1.up": "leaf-spine.up". */
static char *kind_of(const OrrFabric *fabric, guint32 link) {
  g_autofree char *name = orr_fabric_link_name(fabric, link);
  GString *kind = g_string_new(NULL);
  for (const char *c = name; *c; c++)
    if (!g_ascii_isdigit(*c) && *c != '#' && *c != '_') g_string_append_c(kind, *c);
  return g_string_free(kind, FALSE);
}

static OrrLoadRow *row_of(OrrCollectiveLoad *load, GHashTable *row_numbers, const OrrFabric *fabric,
                          guint32 link) {
  char *kind = kind_of(fabric, link);
  const guint number = GPOINTER_TO_UINT(g_hash_table_lookup(row_numbers, kind));
  if (number) {
    g_free(kind);
    return &g_array_index(load->rows, OrrLoadRow, number - 1);
  }
  ORR_APPEND(load->rows, OrrLoadRow, {.kind = kind, .hottest = link});
  g_hash_table_insert(row_numbers, g_strdup(kind), GUINT_TO_POINTER(load->rows->len));
  return &g_array_index(load->rows, OrrLoadRow, load->rows->len - 1);
}

static void add_link(OrrCollectiveLoad *load, OrrLoadRow *row, guint32 link) {
  row->links++;
  if (load->busy_s[link] <= 0) return;
  row->used++;
  row->flows_mean += load->flows[link];
  row->flows_most = MAX(row->flows_most, load->flows[link]);
  row->busy_mean_s += load->busy_s[link];
  if (load->busy_s[link] <= row->busy_most_s) return;
  row->busy_most_s = load->busy_s[link];
  row->hottest = link;
}

/* Among equally loaded links the one with the lowest number comes first. */
static void note_hot(OrrCollectiveLoad *load, guint32 link) {
  guint at = load->hottest->len;
  while (at > 0 && load->busy_s[g_array_index(load->hottest, guint32, at - 1)] <
                       load->busy_s[link] * (1 - 1e-12))
    at--;
  if (at >= N_HOTTEST || load->busy_s[link] <= 0) return;
  g_array_insert_val(load->hottest, at, link);
  if (load->hottest->len > N_HOTTEST) g_array_set_size(load->hottest, N_HOTTEST);
}

static int hotter_first(gconstpointer a, gconstpointer b) {
  const OrrLoadRow *x = a, *y = b;
  if (x->busy_most_s != y->busy_most_s) return x->busy_most_s < y->busy_most_s ? 1 : -1;
  return g_strcmp0(x->kind, y->kind);
}

static void sum_up(OrrCollectiveLoad *load, const OrrFabric *fabric) {
  g_autoptr(GHashTable) row_numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint32 link = 0; link < orr_fabric_n_links(fabric); link++) {
    OrrLoadRow *row = row_of(load, row_numbers, fabric, link);
    add_link(load, row, link);
    note_hot(load, link);
  }
  ORR_EACH(OrrLoadRow, row, load->rows) {
    row->flows_mean /= (double)MAX(row->used, 1);
    row->busy_mean_s /= (double)MAX(row->used, 1);
  }
  g_array_sort(load->rows, hotter_first);
}

OrrCollectiveLoad *orr_collective_load(const OrrFabric *fabric, const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error) {
  const OrrCollectiveContext context = {.fabric = fabric};
  g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, call, algorithm, error);
  if (!plan) return NULL;
  OrrCollectiveLoad *load = g_new0(OrrCollectiveLoad, 1);
  load->algorithm = plan->algorithm;
  load->rows = g_array_new(FALSE, FALSE, sizeof(OrrLoadRow));
  g_array_set_clear_func(load->rows, clear_row);
  load->hottest = g_array_new(FALSE, FALSE, sizeof(guint32));
  load->busy_s = g_new0(double, orr_fabric_n_links(fabric) + 1);
  load->flows = g_new0(guint32, orr_fabric_n_links(fabric) + 1);
  if (call->n > 1) add_phases(load, fabric, call);
  sum_up(load, fabric);
  return load;
}

/* --- Text --- */

#define ROW "%-24s %9s %9s %11s %11s %11s %11s\n"

static void add_row(GString *text, const OrrLoadRow *row) {
  if (row->used == 0) return;
  g_autofree char *links = g_strdup_printf("%ld", row->links);
  g_autofree char *used = g_strdup_printf("%ld", row->used);
  g_autofree char *flows_mean = g_strdup_printf("%.4g", row->flows_mean);
  g_autofree char *flows_most = g_strdup_printf("%.0f", row->flows_most);
  g_autofree char *busy_mean = orr_quantity_format(row->busy_mean_s, ORR_UNIT_SECONDS);
  g_autofree char *busy_most = orr_quantity_format(row->busy_most_s, ORR_UNIT_SECONDS);
  g_string_append_printf(text, ROW, row->kind, links, used, flows_mean, flows_most, busy_mean,
                         busy_most);
}

static void add_hottest(GString *text, const OrrCollectiveLoad *load, const OrrFabric *fabric) {
  ORR_EACH_VALUE_AT(i, const guint32, link, load->hottest) {
    g_autofree char *name = orr_fabric_link_name(fabric, link);
    g_autofree char *busy = orr_quantity_format(load->busy_s[link], ORR_UNIT_SECONDS);
    g_autofree char *rate =
        orr_quantity_format(orr_fabric_link_bandwidth(fabric, link), ORR_UNIT_BYTES_PER_S);
    g_string_append_printf(text, "%-11s%-36s %9u flows, busy %s at %s\n", i == 0 ? "hottest" : "",
                           name, load->flows[link], busy, rate);
  }
}

char *orr_collective_load_text(const OrrCollectiveLoad *load, const OrrFabric *fabric,
                               const OrrCollectiveCall *call) {
  GString *text = g_string_new(NULL);
  g_autofree char *size = orr_quantity_format(call->bytes, ORR_UNIT_BYTES);
  g_string_append_printf(text, "%-11s%s of %s over %u GPUs, %s\n", "collective",
                         orr_collective_words[call->op], size, call->n,
                         load->algorithm->entry.name);
  g_string_append_printf(text, ROW, "links", "in all", "used", "flows, mean", "most", "busy, mean",
                         "most");
  for (guint i = 0; i < load->rows->len; i++)
    add_row(text, &g_array_index(load->rows, OrrLoadRow, i));
  add_hottest(text, load, fabric);
  return g_string_free(text, FALSE);
}
