/*
 * arrival_file.c - the fields of loads that come from a file, and a reader of CSV traces.
 */
#include "workloads/serving/arrivals/arrival_file.h"

const OrrFieldTable orr_trace_file_table = ORR_FIELDS(
    "load-trace", "A trace in a file.", OrrTraceFile,
    ORR_FIELD_TEXT(OrrTraceFile, "file", file, NULL,
                   "The trace: a path from the document's folder, from one of the library's, or "
                   "from the working directory."),
    ORR_FIELD_REAL(OrrTraceFile, "speed", speed, ORR_UNIT_NONE, "1",
                   "Factor by which the trace is replayed faster than it was recorded.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(OrrTraceFile, "rate", rate, ORR_UNIT_NONE, "0",
                   "Requests per second, to which the times of arrival are scaled; lengths, shared "
                   "prefixes and order stay, and the first request comes at once. 0: as recorded.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(
        OrrTraceFile, "repeat", repeat, "1",
        "How many times the trace is replayed, one after the other, with a mean gap between "
        "requests in between; a trace whose requests all come at one time is a larger burst. "
        "Prompts of one time share nothing with another's.",
        .min = 1, .max = 100000));

void orr_arrival_file_check(const void *params, OrrPlace place, OrrDiags *diags) {
  const OrrTraceFile *file = params;
  if (file->rate > 0 && file->speed != 1)
    orr_diags_error(diags, place,
                    "load.rate and load.speed exclude each other: both scale the times of arrival");
}

enum { N_REQUIRED = 3, MOST_COLUMNS = 5 };

static gboolean find_columns(OrrTrace *trace, const OrrCsv *csv, const char *const *columns,
                             int *at, OrrDiags *diags) {
  gboolean ok = TRUE;
  for (int i = 0; columns[i]; i++) {
    at[i] = i < N_REQUIRED ? orr_csv_require(csv, columns, columns[i], diags)
                           : orr_csv_find(csv, columns[i]);
    ok &= i >= N_REQUIRED || at[i] >= 0;
  }
  if (ok) trace->left_out = orr_csv_check(csv, columns, NULL, diags);
  const OrrCsvLine *header = csv->lines->pdata[csv->header_line];
  const int first = N_REQUIRED, last = N_REQUIRED + 1;
  if (ok && columns[first] && (at[first] < 0) != (at[last] < 0))
    orr_diags_error(diags, header->place, "there is a column %s, but no column %s",
                    columns[at[first] < 0 ? last : first], columns[at[first] < 0 ? first : last]);
  return ok;
}

OrrTrace *orr_arrival_file_read_csv(const OrrTraceFile *params, const OrrArrivalContext *context,
                                    const char *const *columns, OrrTraceRow add_row,
                                    GError **error) {
  g_autofree char *path =
      orr_arrival_find(params->file, context->folders, "workload.load.file", error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = path ? orr_csv_read(path, diags, error) : NULL;
  int at[MOST_COLUMNS];
  double zero_s = 0;
  if (!csv) return NULL;
  OrrTrace *trace = orr_trace_new(context);
  if (find_columns(trace, csv, columns, at, diags))
    ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines) {
      if (line->cells) add_row(trace, csv, line, at, &zero_s, diags);
      if (context->requests > 0 && trace->requests->len >= context->requests) break;
    }
  return orr_trace_finish(trace, params, context, path, diags, error);
}

#define MOST_ID 9007199254740992.0 /* 2^53: doubles do not hold all whole numbers beyond it */

void orr_arrival_file_read_ids(OrrJson *json, GArray *ids) {
  if (!orr_json_open(json)) return;
  while (orr_json_more(json)) {
    double id = 0;
    if (!orr_json_number(json, &id)) return;
    if (!(id >= 0 && id <= MOST_ID)) {
      orr_diags_error(json->diags, orr_json_place(json),
                      "hash_ids: %g is not the number of a block", id);
      json->is_bad = TRUE;
      return;
    }
    ORR_APPEND(ids, guint64, (guint64)id);
  }
}
