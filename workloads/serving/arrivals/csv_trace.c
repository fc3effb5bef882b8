/*
 * csv_trace.c - a plain CSV with arrival_s, input_tokens and output_tokens, in order of time; lines
 * that begin with '#' are comments. The columns of Vidur's traces (arrived_at, num_prefill_tokens,
 * num_decode_tokens), of BurstGPT (Timestamp, Request tokens, Response tokens) and of Splitwise
 * (arrival_timestamp, prompt_size, token_size) are known, too, and other names of lengths.
 * If it also has first_token_s and last_token_s, times on the same clock measured on a real engine,
 * the results contain the error of each request (view request-errors, *_error_* of the result).
 * A column whose name resembles one of these two where they are absent is an error; other columns,
 * which serving logs have many of, are not read, and a warning names them.
 *
 *   workload: {load: {kind: csv, file: requests.csv}}
 */
#include "sim/base/csv.h"
#include "workloads/serving/arrivals/arrival_file.h"

static const char *const columns[] = {
    "arrival_s|arrived_at|Timestamp|arrival_timestamp",
    "input_tokens|num_prefill_tokens|Request tokens|prompt_size|prompt_tokens|num_input_tokens|"
    "prompt_len|input_len",
    "output_tokens|num_decode_tokens|Response tokens|token_size|completion_tokens|"
    "num_output_tokens|output_len",
    "first_token_s",
    "last_token_s",
    NULL};

static void add_measured(OrrRequest *request, const OrrCsv *csv, const OrrCsvLine *line, int first,
                         int last, OrrDiags *diags) {
  double first_s, last_s;
  if (first < 0 || last < 0 || !orr_csv_number(csv, line, first, diags, &first_s) ||
      !orr_csv_number(csv, line, last, diags, &last_s))
    return;
  request->measured_first_s = first_s;
  request->measured_end_s = last_s;
  if (first_s < request->arrival_s || last_s < first_s)
    orr_diags_error(diags, line->place, "arrival_s, first_token_s and last_token_s must rise");
}

static void add_row(OrrTrace *trace, const OrrCsv *csv, const OrrCsvLine *line, const int *at,
                    double *zero_s, OrrDiags *diags) {
  double time_s, prompt, output;
  if (!orr_csv_number(csv, line, at[0], diags, &time_s) ||
      !orr_csv_number(csv, line, at[1], diags, &prompt) ||
      !orr_csv_number(csv, line, at[2], diags, &output))
    return;
  const guint before = trace->requests->len;
  orr_trace_add(trace, time_s, prompt, output, line->place, diags);
  if (trace->requests->len > before)
    add_measured(&g_array_index(trace->requests, OrrRequest, before), csv, line, at[3], at[4],
                 diags);
}

static gpointer open_load(const void *data, const OrrArrivalContext *context, GError **error) {
  const OrrTraceFile *params = data;
  return orr_arrival_file_read_csv(params, context, columns, add_row, error);
}

const OrrArrival orr_arrival_csv = {
    .entry = {"csv", "Trace: a CSV with arrival_s, input_tokens and output_tokens.",
              &orr_trace_file_table},
    .open = open_load,
    ORR_ARRIVAL_OF_TRACE,
};
