/*
 * sweep_reasons.h - counts of reasons: why combinations are not points, why points are not ok, why
 * tasks failed. Messages that differ only in their numbers are one reason.
 */
#pragma once

#include "sim/sweep/sweep.h"

#define ORR_REASON_BYTES 240

/* An empty array of OrrSweepExclusion that owns its texts. */
GArray *orr_sweep_reasons_new(void);

/* Adds @n to the count of @reason. */
void orr_sweep_reasons_add(GArray *reasons, const char *reason, guint64 n);

/* Sorts by count, most frequent first, then by text. */
void orr_sweep_reasons_sort(GArray *reasons);

/* "  12 reason", one line for each of the first @most. Newly allocated. */
char *orr_sweep_reasons_text(const GArray *reasons, guint most);

/* @message with its numbers replaced by "#": messages of one reason share it. Newly allocated. */
char *orr_sweep_reasons_kind(const char *message);

/* The text for both reasons where they differ at most in their numbers: "pipeline.chunks is 2 but
 * pp is 1: chunks need a pipeline (or other numbers)". Newly allocated; NULL: two reasons. */
char *orr_sweep_reasons_alike(const char *one, const char *other);

/* Copies @message, shortened, into @reason of ORR_REASON_BYTES. */
void orr_sweep_reasons_copy(char *reason, const char *message);
