/*
 * sweep_likeness.h - what a point is like (sim/bands/likeness.c), as plain bytes that cross a pipe,
 * and as the row `likeness` of the point's run.
 *
 * The bands of a sweep are asked for after its last point, and only for the points that the report
 * shows: the best ones and the front. Every answer brings its likeness, but only a point that
 * enters the report while the sweep runs has it stored, so that --resume and the merge of shards
 * find it; at the end the likenesses of displaced points are removed. A point that the whole
 * sweep's report shows is shown by the report of every part that has it.
 */
#pragma once

#include "results/rows/rows.h"
#include "results/store.h"

typedef struct {
  double numbers[32];
  char texts[384]; /* one after the other, each with its end */
} OrrSweepLikeness;

/* FALSE: it does not fit; @ret_packed is then all zero, no likeness. */
gboolean orr_sweep_likeness_pack(const OrrLikenessRow *row, OrrSweepLikeness *ret_packed);

/* Newly allocated, with interned texts; NULL where @packed is all zero. */
OrrLikenessRow *orr_sweep_likeness_unpack(const OrrSweepLikeness *packed);

/* Whether any run of @store has one: kinds of workload without measured rows have none. */
gboolean orr_sweep_likeness_is_stored(OrrStore *store);
/* Reads the row of run @run, newly allocated; NULL without an @error set: it has none. */
OrrLikenessRow *orr_sweep_likeness_read(OrrStore *store, gint64 run, GError **error);
