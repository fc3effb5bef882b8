/*
 * arrival_file.h - shared by loads that are read from files.
 */
#pragma once

#include "sim/base/csv.h"
#include "sim/base/json.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/core/request.h"

extern const OrrFieldTable orr_trace_file_table; /* of OrrTraceFile */

/* As OrrArrival.check: rate and speed exclude each other. */
void orr_arrival_file_check(const void *params, OrrPlace place, OrrDiags *diags);

/* What all traces of requests have in common, in an OrrArrival; open returns an OrrTrace. */
#define ORR_ARRIVAL_OF_TRACE                                                                       \
  .is_trace = TRUE, .is_endless = TRUE, .check = orr_arrival_file_check, .next = orr_trace_next,   \
  .left_out = orr_trace_left_out, .requests = orr_trace_requests, .cycle = orr_trace_cycle,        \
  .close = orr_trace_free

/* Reads one line of a CSV; @at: the index of each column, -1 of an optional one that is absent.
 * @zero_s belongs to the row function, 0 at first. */
typedef void (*OrrTraceRow)(OrrTrace *trace, const OrrCsv *csv, const OrrCsvLine *line,
                            const int *at, double *zero_s, OrrDiags *diags);

/* Reads a CSV with three required columns and none or two optional ones, which come together, each
 * with its names in other formats, "arrival_s|Timestamp". NULL with all findings (orr_csv_check,
 * orr_csv_require). */
OrrTrace *orr_arrival_file_read_csv(const OrrTraceFile *params, const OrrArrivalContext *context,
                                    const char *const *columns, OrrTraceRow add_row,
                                    GError **error);

/* Reads hash_ids, an array of numbers of blocks, onto @ids, of guint64. */
void orr_arrival_file_read_ids(OrrJson *json, GArray *ids);

/* span_texts.c: the prompts of a trace as few spans of long texts.
 *
 * A trace names each 512 tokens of a prompt by a number, and equal numbers mean equal tokens. Each
 * number gets a place in a text, for good; numbers that first come one after the other get places
 * one after the other. So a prompt that goes on where another ended is one span of one text, and
 * one that leaves another half-way is two.
 *
 *   hash_ids 1 2 3 4        A[0, 4)
 *            1 2 3 4 5 6    A[0, 6)
 *            1 2 3 7 8      A[0, 3) B[0, 2)
 */

typedef struct OrrSpanTexts OrrSpanTexts;

OrrSpanTexts *orr_span_texts_new(gint64 span_tokens);
void orr_span_texts_free(OrrSpanTexts *texts);

/* The spans of a prompt that begins with @n numbers @ids, n >= 1; newly allocated. */
OrrSpanOfText *orr_span_texts_read(OrrSpanTexts *texts, const guint64 *ids, guint n,
                                   gint32 *ret_n_spans);
