/*
 * verb_import_flows.c - orrery import flows LOG NAME.flows.csv: flow completion times of a packet
 * simulator next to the times of flows that share links.
 */
#include "sim/base/file.h"
#include "sim/cli/verb_import.h"
#include "workloads/trace/flow_list.h"

static const GOptionEntry options[] = {
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* On stderr: how packets compare with flows, over all flows that ended. */
static void sum_up(const GArray *flows) {
  g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));
  double here_s = 0, there_s = 0;
  ORR_EACH(const OrrFlow, flow, flows) {
    if (isnan(flow->got_s)) continue;
    const double ratio = (flow->got_s - flow->start_s) / (flow->end_s - flow->start_s);
    g_array_append_val(ratios, ratio);
    here_s = MAX(here_s, flow->end_s);
    there_s = MAX(there_s, flow->got_s);
  }
  const double *sorted = (const double *)(void *)ratios->data;
  qsort(ratios->data, ratios->len, sizeof(double), compare);
  fprintf(stderr,
          "orrery: %u of %u flows finished; packets take %.3g times as long as flows at the "
          "median, %.3g at the 99th percentile; the last flow ends at %.6g us, here at %.6g us\n",
          ratios->len, flows->len, sorted[ratios->len / 2], sorted[(ratios->len - 1) * 99 / 100],
          there_s * 1e6, here_s * 1e6);
}

static GArray *read_files(const char *log, const char *sent, GError **error) {
  gsize n_table = 0, n_log = 0;
  g_autofree char *table = orr_file_read(sent, ORR_FILE_MAX_DATA, &n_table, error);
  g_autofree char *lines = table ? orr_file_read(log, ORR_FILE_MAX_DATA, &n_log, error) : NULL;
  if (!lines) {
    g_prefix_error(error, "%s: ", table ? log : sent);
    return NULL;
  }
  g_autoptr(GArray) flows = orr_flow_list_read(table, n_table, sent, error);
  if (!flows || !orr_flow_list_finish(flows, lines, n_log, log, error)) return NULL;
  return g_steal_pointer(&flows);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 2, 2,
                          "import flows takes a log, and NAME.flows.csv as run --trace NAME.cm "
                          "wrote it",
                          error) ||
      !orr_verb_import_check_paths(args, error))
    return 2;
  g_autoptr(GArray) flows = read_files(args[0], args[1], error);
  if (!flows) return 2;
  sum_up(flows);
  g_autofree char *text = orr_flow_list_compared(flows);
  return orr_verb_import_write(text, error);
}

const OrrCommand orr_verb_import_flows = {
    .verb = "flows",
    .sentence = "Flow completion times of htsim next to the times of flows that share links.",
    .usage = "LOG NAME.flows.csv [-o FILE]",
    .more = "'run SCENARIO --trace NAME.cm' writes a training step's flows over the network as "
            "htsim's connection matrix, and NAME.flows.csv. LOG is what htsim_uec, htsim_roce, "
            "htsim_ndp or htsim_eqds printed ('Flow Uec_0_8 flowId 1 ... finished at 90.5 ...'). "
            "Prints a CSV with a line for each flow.",
    .options = options,
    .run = run,
};
