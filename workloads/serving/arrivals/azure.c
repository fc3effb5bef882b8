/*
 * azure.c - traces that Azure published of its LLM inference services: CSV with TIMESTAMP,
 * ContextTokens and GeneratedTokens (github.com/Azure/AzurePublicDataset, CC-BY-4.0; Patel et al.,
 * Splitwise, ISCA 2024).
 *
 * The first request arrives at 0 s; `speed: 2` replays the trace twice as fast.
 *
 *   workload: {load: {kind: azure, file: AzureLLMInferenceTrace_conv.csv}}
 */
#include "sim/base/csv.h"

#include "workloads/serving/arrivals/arrival_file.h"

static const char *const columns[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL};

/* "2023-11-16 18:15:46.6805900", in seconds since the epoch; the sub-second part may have any
 * number of digits. */
static gboolean read_time(const char *text, double *ret_time_s) {
  g_autofree char *iso = g_strdelimit(g_strndup(text, MIN(strlen(text), 19)), " ", 'T');
  g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
  g_autoptr(GDateTime) date = strlen(iso) == 19 ? g_date_time_new_from_iso8601(iso, utc) : NULL;
  if (!date) return FALSE;
  double fraction = 0;
  if (text[19] == '.' && g_ascii_isdigit(text[20])) fraction = g_ascii_strtod(text + 19, NULL);
  *ret_time_s = (double)g_date_time_to_unix(date) + fraction;
  return TRUE;
}

static void add_row(OrrTrace *trace, const OrrCsv *csv, const OrrCsvLine *line, const int *at,
                    double *zero_s, OrrDiags *diags) {
  double time_s, prompt, output;
  if (!read_time(line->cells[at[0]], &time_s))
    return orr_diags_error(diags, line->place,
                           "TIMESTAMP '%.40s' is not a time such as 2023-11-16 18:15:46.680",
                           line->cells[at[0]]);
  if (!orr_csv_number(csv, line, at[1], diags, &prompt) ||
      !orr_csv_number(csv, line, at[2], diags, &output))
    return;
  if (trace->requests->len == 0) *zero_s = time_s;
  if (time_s < *zero_s)
    orr_diags_error(diags, line->place, "time goes back to before the first request");
  else
    orr_trace_add(trace, time_s - *zero_s, prompt, output, line->place, diags);
}

static gpointer open_load(const void *data, const OrrArrivalContext *context, GError **error) {
  const OrrTraceFile *params = data;
  return orr_arrival_file_read_csv(params, context, columns, add_row, error);
}

static gboolean takes(const char *head) { return strstr(head, columns[1]) != NULL; }

const OrrArrival orr_arrival_azure = {
    .entry = {"azure", "Trace: Azure's published LLM inference traces (CSV).",
              &orr_trace_file_table},
    .takes = takes,
    .open = open_load,
    ORR_ARRIVAL_OF_TRACE,
};
